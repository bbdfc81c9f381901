"""What the panels that are a table have in common: a rule, the table, its order and its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from iodash.formatting.units import Units
from iodash.ui.panels.panel import Panel
from iodash.ui.panels.why_empty import COLLECTING
from iodash.ui.widgets.rule import RuleLine
from iodash.ui.widgets.table import LiveTable

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from textual.app import ComposeResult

    from iodash.columns import Column
    from iodash.model.frame import Frame
    from iodash.ui.view import View
    from iodash.ui.widgets.table_lines import Piece, SortMark

Row = TypeVar("Row")


class TablePanel(Panel, Generic[Row]):
    """A rule with the title, and a live table.

    A panel says which columns there are in a width, what a cell holds, and in which order the rows stand; the keys that
    sort do the same thing to all of them. The sort key None is the panel's own order.
    """

    def __init__(self, identity: Callable[[Row], Hashable], *, kilobytes: bool, flexible_share: float = 0.0) -> None:
        super().__init__(id=self.key)
        self._table: LiveTable[Row] = LiveTable(
            identity, self._columns, self._cell, self._note, flexible_share=flexible_share
        )
        self._rule = RuleLine(self.title)
        self._units = Units.KIB if kilobytes else Units.IEC
        self._shown: tuple[Frame, View] | None = None

    def compose(self) -> ComposeResult:
        """Rule and table."""
        yield self._rule
        yield self._table

    def on_mount(self) -> None:
        """The first frame drawn already has the headings."""
        self._show_headings()

    @property
    def table(self) -> LiveTable[Row]:
        """The table, which holds the selection."""
        return self._table

    def show_again(self) -> None:
        """Shows the last frame again."""
        if self._shown is not None:
            self.show_frame(*self._shown)
        else:
            self._show_headings()

    def show_info(self) -> None:
        """Says in the rule what is listed, and what there is no room for."""
        raise NotImplementedError

    @property
    def reason(self) -> str:
        """What the footer says of the selected row."""
        raise NotImplementedError

    @property
    def is_full(self) -> bool:
        """Whether the panel has the whole screen."""
        return self._shown is not None and self._shown[1].full == self.key

    def _show_headings(self) -> None:
        self._table.show((), sorted_by=self._sorted_by(), empty=COLLECTING)

    @property
    def _unseen_columns(self) -> int:
        """How many columns of the selected row can't be seen."""
        return self._table.hidden_columns

    def _hidden_info(self) -> list[str]:
        """How many columns there is no room for, and how to see them all the same."""
        hidden = self._unseen_columns
        if not hidden:
            return []
        return [f"{hidden} column{'s' if hidden > 1 else ''} hidden", "a wider terminal shows them", "F6 sorts by one"]

    # Order

    @property
    def sort(self) -> str | None:
        """The key of the sorted column, None for the panel's own order."""
        raise NotImplementedError

    @property
    def is_reversed(self) -> bool:
        """Whether the order is the other way round."""
        raise NotImplementedError

    def order_by(self, key: str | None, *, reverse: bool) -> None:
        """Puts the rows in another order."""
        raise NotImplementedError

    def sort_choices(self) -> list[tuple[str, str | None, str]]:
        """What can be sorted by: words, the column's key, what it means."""
        raise NotImplementedError

    def _sort_stops(self) -> list[str | None]:
        """What the arrows stop at, left to right."""
        raise NotImplementedError

    def _sorted_by(self) -> SortMark:
        """The columns whose headings are marked."""
        raise NotImplementedError

    def sort_by(self, key: str | None) -> None:
        """Sorts by a column; a second time the other way round."""
        self.order_by(key, reverse=key == self.sort and not self.is_reversed)

    def sort_by_click(self, key: str) -> None:
        """Sorts by the column whose heading was clicked; a second time the other way round."""
        self.sort_by(key)

    def sort_step(self, step: int) -> None:
        """Sorts by the next column on screen."""
        stops = self._sort_stops()
        at = stops.index(self.sort) if self.sort in stops else 0
        self.order_by(stops[(at + step) % len(stops)], reverse=False)

    def reverse(self) -> None:
        """The other way round."""
        self.order_by(self.sort, reverse=not self.is_reversed)

    # Cells

    def _columns(self, width: int) -> tuple[Column[Any], ...]:
        """The columns for a table of `width` cells, 0 while that is not known."""
        raise NotImplementedError

    def _cell(self, row: Row, column: Column[Any]) -> Piece:
        raise NotImplementedError

    def _note(self, row: Row) -> str:
        return ""
