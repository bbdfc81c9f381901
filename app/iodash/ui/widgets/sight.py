"""Which of a table's rows are in sight, and which one is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Row = TypeVar("Row")


class Sight(Generic[Row]):
    """A window of `room` rows onto rows that come anew with every frame.

    The selection is an identity, not a position: it stays on its row whatever the order does. Nothing is selected until
    the user moves. With `follow` the selected row stays in sight.
    """

    def __init__(self, identity: Callable[[Row], Hashable]) -> None:
        self._identity = identity
        self._selected: Hashable | None = None
        self._position = 0
        self.rows: Sequence[Row] = ()
        self.room = 0
        self.top = 0
        self.follow = False

    def take(self, rows: Sequence[Row], room: int, *, anew: bool = False) -> None:
        """Looks onto `rows`; a selected row that is not among them is selected no longer.

        With `anew` they are another choice or order: sight begins at the top, but for a row to follow. The selection
        stays on its row, which the next move brings into sight.
        """
        self.rows, self.room = rows, room
        if anew:
            self.top = 0
        if self._selected is not None:
            self._position = self._find(self._selected)
            if self._position < 0:
                self._position = 0
                self._selected = None
        self._bring_in_sight(self._position if self.follow and self._selected is not None else None)

    def resize(self, room: int) -> None:
        """Looks onto `room` rows, the selected one among them."""
        self.room = room
        self._bring_in_sight(self._position if self._selected is not None else None)

    @property
    def in_sight(self) -> Sequence[Row]:
        """The rows in sight."""
        return self.with_margin(0)

    def with_margin(self, margin: int) -> Sequence[Row]:
        """The rows in sight and `margin` rows above and below."""
        return self.rows[max(0, self.top - margin) : self.top + self.room + margin]

    @property
    def selected(self) -> Row | None:
        """The selected row."""
        if self._selected is None or not 0 <= self._position < len(self.rows):
            return None
        return self.rows[self._position]

    def is_selected(self, row: Row) -> bool:
        """Whether `row` is the selected one."""
        return self._selected is not None and self._identity(row) == self._selected

    def select(self, identity: Hashable | None) -> None:
        """Selects the row of that identity, if it is there, and brings it into sight."""
        position = -1 if identity is None else self._find(identity)
        self._selected = identity if position >= 0 else None
        self._position = max(0, position)
        self._bring_in_sight(position if position >= 0 else None)

    def move(self, rows: int) -> None:
        """Moves the selection; the first move selects the first row in sight."""
        self.move_to(self.top if self._selected is None else self._position + rows)

    def move_page(self, pages: int) -> None:
        """Moves the selection by what is in sight."""
        self.move_to((self._position if self._selected is not None else self.top) + pages * max(1, self.room - 1))

    def move_to(self, position: int) -> None:
        """Moves the selection to a row; positions beyond the ends are the last or first."""
        if self.rows:
            self._position = min(max(0, position), len(self.rows) - 1)
            self._selected = self._identity(self.rows[self._position])
            self._bring_in_sight(self._position)

    def scroll(self, rows: int) -> None:
        """Moves what is in sight, not the selection."""
        self.top += rows
        self._bring_in_sight(None)

    def _find(self, identity: Hashable) -> int:
        of = self._identity
        if 0 <= self._position < len(self.rows) and of(self.rows[self._position]) == identity:
            return self._position
        return next((index for index, row in enumerate(self.rows) if of(row) == identity), -1)

    def _bring_in_sight(self, position: int | None) -> None:
        room = max(1, self.room)
        if position is not None:
            self.top = min(max(self.top, position - room + 1), position)
        self.top = max(0, min(self.top, len(self.rows) - room))
