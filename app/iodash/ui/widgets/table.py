"""The live table: many rows, few of them on screen, drawn line by line; only lines that changed are drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from iodash.ui.looks import segments
from iodash.ui.widgets.fit import FLEXIBLE_LEAST, Slot, fit_columns
from iodash.ui.widgets.table_lines import Line, Piece, foot_line, heading_line, row_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from textual import events

    from iodash.columns import Column

Row = TypeVar("Row")

WHEEL_ROWS = 3

FOOT_LEAST_HEIGHT = 6
"""In fewer lines the rows need the foot's."""


class LiveTable(Widget, Generic[Row], can_focus=True):
    """A table whose rows come anew with every frame.

    The selection is an identity, not a position: it stays on its row whatever the order does. Nothing is selected until
    the user moves. `cell` gives text and look of one cell, `note` what stands at the right end of the flexible column,
    which gets at least `flexible_share` of the width.
    """

    ALLOW_SELECT = False

    class HeadingClicked(Message):
        """A heading was clicked."""

        def __init__(self, table: LiveTable[Any], key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> LiveTable[Any]:
            """The table."""
            return self.table

    class Moved(Message):
        """Other rows came into sight, or another row is selected."""

        def __init__(self, table: LiveTable[Any]) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> LiveTable[Any]:
            """The table."""
            return self.table

        def can_replace(self, message: Message) -> bool:
            """Only the newest matters."""
            return isinstance(message, LiveTable.Moved)

    def __init__(
        self,
        identity: Callable[[Row], Hashable],
        cell: Callable[[Row, Column[Row]], Piece],
        note: Callable[[Row], str] | None = None,
        *,
        flexible_share: float = 0.0,
    ) -> None:
        super().__init__()
        self._identity = identity
        self._cell = cell
        self._note = note
        self._flexible_share = flexible_share
        self._columns: tuple[Column[Row], ...] = ()
        self._slots: tuple[Slot[Row], ...] = ()
        self._rows: Sequence[Row] = ()
        self._marked: frozenset[Hashable] = frozenset()
        self._foot: Mapping[str, Piece] | None = None
        self._empty: Sequence[str] = ()
        self._sorted: tuple[str, bool] | None = None
        self._selected: Hashable | None = None
        self._position = 0
        self._top = 0
        self._drawn: list[Line] = []
        self._drawn_size = Size(0, 0)
        self._strips: dict[int, Strip] = {}
        self.follow = False
        self.ascii = False

    # What is shown

    def show(
        self,
        rows: Sequence[Row],
        *,
        columns: tuple[Column[Row], ...],
        sorted_by: tuple[str, bool] | None = None,
        marked: frozenset[Hashable] = frozenset(),
        foot: Mapping[str, Piece] | None = None,
        empty: Sequence[str] = (),
    ) -> None:
        """Shows `rows`, in their order.

        Args:
            rows: all of them; only those in sight are formatted.
            columns: those to show where there is room.
            sorted_by: the key of the sorted column, and whether it falls.
            marked: identities of rows that attention is drawn to.
            foot: a line that stays below the rows, cells by column key.
            empty: what stands in the place of rows when there are none.
        """
        if columns != self._columns or sorted_by != self._sorted:
            self._columns, self._sorted = columns, sorted_by
            self._fit(self.size.width)
        self._rows, self._marked, self._foot, self._empty = rows, marked, foot, empty
        if self._selected is not None:
            self._position = self._find(self._selected)
            if self._position < 0:
                self._position = 0
                self._selected = None
        self._bring_in_sight(self._position if self.follow and self._selected is not None else None)
        self._draw()

    @property
    def rows_in_sight(self) -> Sequence[Row]:
        """The rows in sight."""
        return self._rows[self._top : self._top + self._room]

    def in_sight(self, margin: int) -> Sequence[Row]:
        """The rows in sight and `margin` rows above and below."""
        return self._rows[max(0, self._top - margin) : self._top + self._room + margin]

    @property
    def hidden_columns(self) -> int:
        """How many columns there is no room for."""
        return len(self._columns) - len(self._slots)

    @property
    def column_keys(self) -> list[str]:
        """The keys of the columns, left to right, those without room too."""
        return [column.key for column in self._columns]

    @property
    def fitting_keys(self) -> list[str]:
        """The keys of the columns on screen, left to right."""
        return [slot.column.key for slot in self._slots]

    # The selection

    @property
    def selected(self) -> Row | None:
        """The selected row."""
        if self._selected is None or not 0 <= self._position < len(self._rows):
            return None
        return self._rows[self._position]

    def select(self, identity: Hashable | None) -> None:
        """Selects the row of that identity, if it is there, and brings it into sight."""
        position = -1 if identity is None else self._find(identity)
        self._selected = identity if position >= 0 else None
        self._position = max(0, position)
        self._bring_in_sight(position if position >= 0 else None)
        self._changed()

    def move(self, rows: int) -> None:
        """Moves the selection; the first move selects the first row in sight."""
        if not self._rows:
            return
        if self._selected is None:
            self.move_to(self._top)
        else:
            self.move_to(self._position + rows)

    def move_page(self, pages: int) -> None:
        """Moves the selection by what is in sight."""
        self.move_to((self._position if self._selected is not None else self._top) + pages * max(1, self._room - 1))

    def move_to(self, position: int) -> None:
        """Moves the selection to a row; -1 and all beyond the ends are the last or first."""
        if not self._rows:
            return
        self._position = min(max(0, position), len(self._rows) - 1)
        self._selected = self._identity(self._rows[self._position])
        self._bring_in_sight(self._position)
        self._changed()

    def move_to_last(self) -> None:
        """Moves the selection to the last row."""
        self.move_to(len(self._rows) - 1)

    def _find(self, identity: Hashable) -> int:
        if 0 <= self._position < len(self._rows) and self._identity(self._rows[self._position]) == identity:
            return self._position
        of = self._identity
        return next((index for index, row in enumerate(self._rows) if of(row) == identity), -1)

    # Scrolling

    def _fit(self, width: int) -> None:
        self._slots = fit_columns(
            self._columns,
            width,
            always=self._sorted[0] if self._sorted else "",
            flexible_least=max(FLEXIBLE_LEAST, int(width * self._flexible_share)),
        )

    @property
    def _has_foot(self) -> bool:
        return self._foot is not None and self.size.height >= FOOT_LEAST_HEIGHT

    @property
    def _room(self) -> int:
        return max(0, self.size.height - 1 - self._has_foot)

    def _bring_in_sight(self, position: int | None) -> None:
        room = max(1, self._room)
        if position is not None:
            self._top = min(max(self._top, position - room + 1), position)
        self._top = max(0, min(self._top, len(self._rows) - room))

    def scroll_rows(self, rows: int) -> None:
        """Moves what is in sight, not the selection."""
        self._top = max(0, min(self._top + rows, len(self._rows) - max(1, self._room)))
        self._changed()

    def _changed(self) -> None:
        self._draw()
        self.post_message(self.Moved(self))

    # Events

    def on_resize(self, event: events.Resize) -> None:
        """Fits columns and rows to the new size."""
        self._take_size(event.size)
        self._draw()
        self.post_message(self.Moved(self))

    def on_focus(self) -> None:
        """The selection shows where the keys go."""
        self._draw()

    def on_blur(self) -> None:
        """The selection shows where the keys go."""
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """A heading sorts, a row is selected."""
        event.stop()
        if event.y == 0:
            for slot in self._slots:
                if slot.x <= event.x <= slot.x + slot.width:
                    self.post_message(self.HeadingClicked(self, slot.column.key))
                    return
        elif 0 < event.y <= min(self._room, len(self._rows) - self._top):
            self.move_to(self._top + event.y - 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scrolls."""
        event.stop()
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scrolls."""
        event.stop()
        self.scroll_rows(-WHEEL_ROWS)

    def notify_style_update(self) -> None:
        """Forgets what was drawn in the old colours."""
        super().notify_style_update()
        self._strips.clear()

    # Drawing

    def _take_size(self, size: Size) -> None:
        self._drawn_size = size
        self._fit(size.width)
        self._bring_in_sight(self._position if self._selected is not None else None)
        self._strips.clear()

    def _draw(self) -> None:
        width, height = self.size
        if width <= 0 or height <= 0:
            return
        new = self._lines(height)
        old = self._drawn
        self._drawn = new
        for y in range(max(len(old), len(new))):
            if y >= len(old) or y >= len(new) or old[y] != new[y]:
                self._strips.pop(y, None)
                self.refresh(Region(0, y, width, 1))

    def _lines(self, height: int) -> list[Line]:
        ellipsis = "~" if self.ascii else "…"
        lines = [heading_line(self._slots, self._sorted, ascii=self.ascii)]
        if self._rows:
            lines += [self._row(row, ellipsis) for row in self.rows_in_sight]
        else:
            lines += [(("  " + text, "quiet"),) for text in self._empty[: self._room]]
        if self._foot is not None and self._has_foot:
            lines = lines[: height - 1]
            lines += [()] * (height - 1 - len(lines))
            lines.append(foot_line(self._slots, self._foot, ellipsis))
        return lines[:height]

    def _row(self, row: Row, ellipsis: str) -> Line:
        identity = self._identity(row)
        look = ("selected" if self.has_focus else "blurred") if identity == self._selected else ""
        return row_line(
            self._slots,
            [self._cell(row, slot.column) for slot in self._slots],
            self._note(row) if self._note is not None else "",
            mark=("" if identity not in self._marked else "*" if self.ascii else "◆"),
            whole=look,
            width=self.size.width,
            ellipsis=ellipsis,
        )

    def render_line(self, y: int) -> Strip:
        """One line: the heading, a row, or the foot. The first frame is drawn before the first resize event comes."""
        if self._drawn_size != self.size:
            self._take_size(self.size)
            self._drawn = self._lines(self.size.height)
        strip = self._strips.get(y)
        if strip is None:
            line = self._drawn[y] if y < len(self._drawn) else ()
            strip = Strip(segments(self, line)).adjust_cell_length(self.size.width, self.rich_style)
            self._strips[y] = strip
        return strip
