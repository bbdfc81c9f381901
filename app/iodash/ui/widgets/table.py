"""The live table: many rows, few of them on screen, drawn line by line; only lines that changed are drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from iodash.ui.looks import segments
from iodash.ui.widgets.fit import FLEXIBLE_LEAST, Slot, fit_columns
from iodash.ui.widgets.sight import Sight
from iodash.ui.widgets.table_lines import UNSORTED, Line, Piece, SortMark, foot_line, heading_line, row_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from rich.style import Style
    from textual import events

    from iodash.columns import Column

Row = TypeVar("Row")

WHEEL_ROWS = 3

FOOT_LEAST_HEIGHT = 6
"""In fewer lines the rows need the foot's."""


class TableMessage(Message):
    """Something happened in `table`."""

    def __init__(self, table: LiveTable[Any]) -> None:
        super().__init__()
        self.table = table

    @property
    def control(self) -> LiveTable[Any]:
        """The table."""
        return self.table


class LiveTable(Widget, Generic[Row], can_focus=True):
    """A table whose rows come anew with every frame.

    The selection is an identity, not a position: it stays on its row whatever the order does. Nothing is selected until
    the user moves. `columns` gives the columns for a width in cells, `cell` text and look of one cell, `note` what
    stands at the right end of the flexible column, which gets at least `flexible_share` of the width.
    """

    ALLOW_SELECT = False

    class HeadingClicked(TableMessage):
        """A heading was clicked."""

        def __init__(self, table: LiveTable[Any], key: str) -> None:
            super().__init__(table)
            self.key = key

    class RowClicked(TableMessage):
        """A row was clicked, `times` times in a row, on the cell `x` of the column `key`. It is selected already."""

        def __init__(self, table: LiveTable[Any], key: str, x: int, times: int) -> None:
            super().__init__(table)
            self.key = key
            self.x = x
            self.times = times

    class Moved(TableMessage):
        """Other rows came into sight, or another row is selected."""

        def can_replace(self, message: Message) -> bool:
            """Only the newest matters."""
            return isinstance(message, LiveTable.Moved)

    def __init__(
        self,
        identity: Callable[[Row], Hashable],
        columns: Callable[[int], tuple[Column[Any], ...]],
        cell: Callable[[Row, Column[Any]], Piece],
        note: Callable[[Row], str] | None = None,
        *,
        flexible_share: float = 0.0,
    ) -> None:
        super().__init__()
        self._identity = identity
        self._columns_for = columns
        self._cell = cell
        self._note = note
        self._flexible_share = flexible_share
        self._columns: tuple[Column[Any], ...] = ()
        self._slots: tuple[Slot[Any], ...] = ()
        self._fitted: tuple[object, ...] = ()
        self._sight = Sight(identity)
        self._marked: frozenset[Hashable] = frozenset()
        self._foot: Mapping[str, Piece] | None = None
        self._empty: Sequence[str] = ()
        self._sorted = UNSORTED
        self._drawn: list[Line] = []
        self._drawn_size = Size(0, 0)
        self._strips: dict[int, Strip] = {}
        self._base: Style | None = None
        self.ascii = False

    # What is shown

    def show(
        self,
        rows: Sequence[Row],
        *,
        sorted_by: SortMark = UNSORTED,
        marked: frozenset[Hashable] = frozenset(),
        foot: Mapping[str, Piece] | None = None,
        empty: Sequence[str] = (),
        anew: bool = False,
    ) -> None:
        """Shows `rows`, in their order.

        Args:
            rows: all of them; only those in sight are formatted.
            sorted_by: the columns whose headings are marked.
            marked: identities of rows that attention is drawn to.
            foot: a line that stays below the rows, cells by column key.
            empty: what stands in the place of rows when there are none.
            anew: whether somebody has just chosen them or their order: then the top comes into sight.
        """
        self._sorted, self._marked, self._foot, self._empty = sorted_by, marked, foot, empty
        self._fit(self.size.width)
        self._sight.take(rows, self.room, anew=anew)
        if anew:
            self._changed()
        else:
            self._draw()

    @property
    def room(self) -> int:
        """How many rows there is room for."""
        return max(0, self.size.height - 1 - self._has_foot)

    @property
    def rows_in_sight(self) -> Sequence[Row]:
        """The rows in sight."""
        return self._sight.in_sight

    def in_sight(self, margin: int) -> Sequence[Row]:
        """The rows in sight and `margin` rows above and below."""
        return self._sight.with_margin(margin)

    @property
    def hidden_columns(self) -> int:
        """How many columns there is no room for."""
        return len(self._columns) - len(self._slots)

    def columns_without_room(self, width: int) -> list[Column[Any]]:
        """The columns that a table of `width` cells has no room for, left to right."""
        columns = self._columns_for(width)
        fitting = {slot.column.key for slot in self._slots_of(columns, width)}
        return [column for column in columns if column.key not in fitting]

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
        return self._sight.selected

    @property
    def follow(self) -> bool:
        """Whether the selected row stays in sight."""
        return self._sight.follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        self._sight.follow = follow

    def select(self, identity: Hashable | None) -> None:
        """Selects the row of that identity, if it is there, and brings it into sight."""
        self._sight.select(identity)
        self._changed()

    def move(self, rows: int) -> None:
        """Moves the selection; the first move selects the first row in sight."""
        self._sight.move(rows)
        self._changed()

    def move_page(self, pages: int) -> None:
        """Moves the selection by what is in sight."""
        self._sight.move_page(pages)
        self._changed()

    def move_to(self, position: int) -> None:
        """Moves the selection to a row; positions beyond the ends are the last or first."""
        self._sight.move_to(position)
        self._changed()

    def move_to_last(self) -> None:
        """Moves the selection to the last row."""
        self.move_to(len(self._sight.rows) - 1)

    def scroll_rows(self, rows: int) -> None:
        """Moves what is in sight, not the selection."""
        self._sight.scroll(rows)
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
        slot = next((slot for slot in self._slots if slot.x <= event.x <= slot.x + slot.width), None)
        if event.y == 0:
            if slot is not None:
                self.post_message(self.HeadingClicked(self, slot.column.key))
        elif event.y <= len(self.rows_in_sight):
            self.move_to(self._sight.top + event.y - 1)
            if slot is not None:
                self.post_message(self.RowClicked(self, slot.column.key, event.x - slot.x, event.chain))

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
        self._base = None
        self._strips.clear()

    # Drawing

    def _take_size(self, size: Size) -> None:
        self._drawn_size = size
        self._fit(size.width)
        self._sight.resize(self.room)
        self._strips.clear()

    def _fit(self, width: int) -> None:
        columns = self._columns_for(width)
        fitted = (columns, self._sorted, width)
        if fitted != self._fitted:
            self._columns, self._fitted = columns, fitted
            self._slots = self._slots_of(columns, width)

    def _slots_of(self, columns: Sequence[Column[Any]], width: int) -> tuple[Slot[Any], ...]:
        return fit_columns(
            columns,
            width,
            always=self._sorted.keys,
            flexible_least=max(FLEXIBLE_LEAST, int(width * self._flexible_share)),
        )

    @property
    def _has_foot(self) -> bool:
        return self._foot is not None and self.size.height >= FOOT_LEAST_HEIGHT

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
        if self._sight.rows:
            lines += [self._row(row, ellipsis) for row in self.rows_in_sight]
        else:
            lines += [(("  " + text, "quiet"),) for text in self._empty[: self.room]]
        if self._foot is not None and self._has_foot:
            lines = lines[: height - 1]
            lines += [()] * (height - 1 - len(lines))
            lines.append(foot_line(self._slots, self._foot, ellipsis))
        return lines[:height]

    def _row(self, row: Row, ellipsis: str) -> Line:
        look = ("selected" if self.has_focus else "blurred") if self._sight.is_selected(row) else ""
        return row_line(
            self._slots,
            [self._cell(row, slot.column) for slot in self._slots],
            self._note(row) if self._note is not None else "",
            mark=("" if self._identity(row) not in self._marked else "*" if self.ascii else "◆"),
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
            if self._base is None:
                self._base = self.rich_style
            line = self._drawn[y] if y < len(self._drawn) else ()
            strip = Strip(segments(self, line, self._base)).adjust_cell_length(self.size.width, self._base)
            self._strips[y] = strip
        return strip
