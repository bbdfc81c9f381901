"""What a column is, how one is found by the name that a user types, and how rows are ordered by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from iodash.formatting.units import DASH, Units
from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Row = TypeVar("Row")


def plain(value: Any, units: Units = Units.IEC) -> str:
    """Text as it is, a list joined by commas, a dash for what is missing, None or empty."""
    if isinstance(value, Missing) or is_nothing(value):
        return DASH
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def is_nothing(value: Any) -> bool:
    """Whether a value that is known holds nothing: no GPU, no container, no mount. A number never does."""
    return value is None or value in ((), "")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One field of a row.

    `key` is its name in JSON and CSV, `heading` the one on screen, `unit` the unit of the stored value, `width` the
    cells it needs on screen (0: as much as is left). `keep` decides who stays on a narrow screen: the highest the
    longest. `value` gives the stored value, by default the row's attribute called `key`; `text` formats it. `order`
    gives the number to sort by where that differs. `is_text`: words, which stand at the left of their column.
    """

    key: str
    heading: str
    unit: str
    width: int
    text: Callable[[Any, Units], str]
    help: str
    value: Callable[[Row], Any] = None  # type: ignore[assignment]
    keep: int = 0
    is_text: bool = False
    order: Callable[[Row], Any] | None = None

    def __post_init__(self) -> None:
        if self.value is None:
            object.__setattr__(self, "value", attrgetter(self.key))

    @property
    def rises(self) -> bool:
        """Whether rows in the order of this column begin with the least: words do, numbers don't."""
        return self.is_text and self.order is None

    def in_units(self, units: Units) -> Column[Row]:
        """The column as it stands where amounts are in `units`: whole KiB have no letter, so that its heading says so.

        `READ/s` becomes `READ K/s`. Sizes with iostat's headings (`rareq-sz`), which are in KiB there too, keep them.
        """
        if units is not Units.KIB or self.unit not in _KIB_DIGITS or self.heading.endswith("-sz"):
            return self
        return _in_kib(self)

    def cell(self, row: Row, units: Units = Units.IEC) -> str:
        """The formatted value of `row`."""
        return self.text(self.value(row), units)

    def missing(self, row: Row) -> Missing | None:
        """Why the value of `row` is not known, or None when it is."""
        value = self.value(row)
        return value if isinstance(value, Missing) else None


_KIB_DIGITS = {"B": 10, "B/s": 8}
"""The digits that amounts and rates may need in KiB."""


@cache
def _in_kib(column: Column[Row]) -> Column[Row]:
    heading = f"{column.heading.removesuffix('/s')} K{column.unit[1:]}"
    return replace(column, heading=heading, width=max(column.width, _KIB_DIGITS[column.unit]))


def find_column(columns: Iterable[Column[Row]], name: str) -> Column[Row] | None:
    """The column that a user means by `name`: a field name or a heading, exact first, then without regard to case."""
    known = list(columns)
    for column in known:
        if name in (column.key, column.heading):
            return column
    folded = name.casefold()
    for column in known:
        if folded in (column.key.casefold(), column.heading.casefold()):
            return column
    return None


def sort_rows(
    rows: Sequence[Row], column: Column[Row], ties: Sequence[Column[Row]] = (), *, reverse: bool = False
) -> list[Row]:
    """Rows in the order of `column`: numbers falling, text rising, the other way with `reverse`.

    The sort is stable, so equal rows keep their place; `ties` break ties first, falling whatever `reverse` says. Rows
    whose value is missing, or empty as where a process is on no GPU, come last in either direction.
    """
    ordered = list(rows)
    for tie in reversed(ties):
        tie_value = tie.order or tie.value
        ordered.sort(key=lambda row, value=tie_value: _number_key(value(row)), reverse=True)  # type: ignore[misc]
    value = column.order or column.value
    keyed: list[tuple[Any, Row]] = []
    unknown: list[Row] = []
    for row in ordered:
        item = value(row)
        if isinstance(item, Missing) or is_nothing(item):
            unknown.append(row)
        else:
            keyed.append((item.casefold() if isinstance(item, str) else item, row))
    keyed.sort(key=lambda pair: pair[0], reverse=reverse if column.rises else not reverse)
    return [row for _, row in keyed] + unknown


def _number_key(value: Any) -> float:
    return -1.0 if isinstance(value, Missing) else value
