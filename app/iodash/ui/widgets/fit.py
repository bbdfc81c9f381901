"""Which columns a table has room for: they go in the order of `Column.keep`, and the flexible one takes the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from iodash.columns import Column

Row = TypeVar("Row")

FLEXIBLE_LEAST = 12
"""Fewer cells are no use for a command or a list of mounts."""


@dataclass(frozen=True, slots=True)
class Slot(Generic[Row]):
    """A column on screen: its first cell and how many it takes."""

    column: Column[Row]
    x: int
    width: int

    @property
    def flexible(self) -> bool:
        """Whether it takes what the others leave."""
        return self.column.width == 0


def least_width(column: Column[Row], flexible: int = FLEXIBLE_LEAST) -> int:
    """The cells a column needs: its values, or its heading with the mark of the sorted column."""
    return max(column.width or flexible, len(column.heading) + 1)


def fit_columns(
    columns: Sequence[Column[Row]],
    width: int,
    *,
    always: Collection[str] = (),
    flexible_least: int = FLEXIBLE_LEAST,
    gutter: int = 1,
) -> tuple[Slot[Row], ...]:
    """The columns that fit in `width` cells, with one cell between them and `gutter` cells at the left.

    Of columns with the same `keep` the rightmost goes first. The columns whose keys are in `always` go last, and at
    least one stays.
    """
    kept = list(columns)
    needed = gutter - 1 + sum(least_width(column, flexible_least) + 1 for column in kept)
    while needed > width and len(kept) > 1:
        index = min(range(len(kept)), key=lambda at: (kept[at].key in always, kept[at].keep, -at))
        needed -= least_width(kept.pop(index), flexible_least) + 1
    spare = max(0, width - needed)
    slots: list[Slot[Row]] = []
    x = gutter
    for column in kept:
        cells = least_width(column, flexible_least)
        if column.width == 0:
            cells += spare
        slots.append(Slot(column, x, cells))
        x += cells + 1
    return tuple(slots)


def widened(
    columns: Sequence[Column[Row]],
    more: Sequence[Column[Row]],
    width: int,
    *,
    comfortable: int,
    gutter: int = 1,
) -> tuple[Column[Row], ...]:
    """`columns` with the first few of `more` before the last one, as many as leave the flexible one `comfortable`."""
    spare = width - (gutter - 1 + sum(least_width(column, comfortable) + 1 for column in columns))
    added: list[Column[Row]] = []
    for column in more:
        spare -= least_width(column) + 1
        if spare < 0:
            break
        added.append(column)
    return (*columns[:-1], *added, *columns[-1:])
