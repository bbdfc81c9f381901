"""The fields of one device that its full-screen table has no room for, in a grid of names and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.cells import ELLIPSIS, cell_width, crop, left, right
from iodash.ui.panels.lines import Line, Lines, Piece, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iodash.columns import Column
    from iodash.model.frame import DeviceRow

_NAME_CELLS = 8
_VALUE_CELLS = 7
_GAP = 4

_SHORT_WORD_CELLS = 12
"""Words of a column that is no wider stand beside each other; longer ones end their line."""

LEAST_LINES = 2
"""A heading and a line of fields."""


class DeviceFields(Lines):
    """The block beneath the table: a heading with the device's name, then what the table does not show of it.

    Words come first, on lines of their own, then the numbers in columns that are read downwards. Which fields there are
    and the width settle where each of them stands; no value moves another one.
    """

    DEFAULT_CSS = "DeviceFields { padding: 0; }"
    can_focus = False

    def __init__(
        self,
        columns: Callable[[int], Sequence[Column[DeviceRow]]],
        cell: Callable[[DeviceRow, Column[DeviceRow]], Piece],
    ) -> None:
        """Args:
        columns: those that the table has no room for in so many cells.
        cell: text and look of a value.
        """
        super().__init__()
        self._columns = columns
        self._cell = cell
        self._row: DeviceRow | None = None
        self._ascii = False

    def show(self, row: DeviceRow | None, *, ascii: bool) -> None:
        """Shows the fields of `row`; nothing for None."""
        self._row, self._ascii = row, ascii
        self.content_changed()

    def lines_at(self, width: int) -> int:
        """How many lines it takes in `width` cells if it can have them all."""
        return len(self.lines(width, None))

    def left_out(self, width: int, height: int) -> int:
        """How many columns stand neither in the table nor here, in `width` cells and `height` lines."""
        columns = self._columns(width)
        return len(columns) - (0 if self._row is None else len(_that_fit(columns, width, height)))

    def lines(self, width: int, height: int | None) -> list[Line]:
        """Heading and fields, of which the last are left out where they have no room."""
        if self._row is None:
            return []
        columns = _that_fit(self._columns(width), width, height)
        if not columns:
            return []
        ellipsis = "~" if self._ascii else ELLIPSIS
        fields = [(column, self._cell(self._row, column)) for column in columns]
        words = [field for field in fields if field[0].is_text]
        numbers = [field for field in fields if not field[0].is_text]
        return [
            self._heading(self._row.name, width, ellipsis),
            *(fitted(line, width, ellipsis) for line in _word_lines(words, ellipsis)),
            *_number_lines(numbers, width, ellipsis),
        ]

    def _heading(self, name: str, width: int, ellipsis: str) -> Line:
        title = f" {crop(name, max(0, width - 2), ellipsis)} "
        return [(title, "title"), (("-" if self._ascii else "─") * (width - cell_width(title)), "rule")]


def _that_fit(columns: Sequence[Column[DeviceRow]], width: int, height: int | None) -> list[Column[DeviceRow]]:
    """The columns that have room beneath a heading; where there is little, numbers say more than words."""
    if height is None:
        return list(columns)
    words = [column for column in columns if column.is_text]
    room = height - 1 - _count_lines(words)
    if room < 1:
        words, room = [], height - 1
    numbers = [column for column in columns if not column.is_text]
    return words + numbers[: max(0, room) * _beside(width)]


def _ends_line(column: Column[DeviceRow]) -> bool:
    return not 0 < column.width <= _SHORT_WORD_CELLS


def _count_lines(words: Sequence[Column[DeviceRow]]) -> int:
    return sum(map(_ends_line, words)) + bool(words and not _ends_line(words[-1]))


def _beside(width: int) -> int:
    """How many names with their values stand beside each other in `width` cells."""
    return max(1, (width - 1 + _GAP) // (_NAME_CELLS + 1 + _VALUE_CELLS + _GAP))


def _word_lines(words: Sequence[tuple[Column[DeviceRow], Piece]], ellipsis: str) -> list[Line]:
    lines: list[Line] = []
    line: Line = []
    for column, (text, look) in words:
        line += [(" " * (_GAP if line else 1), ""), (f"{column.heading} ", "quiet")]
        if _ends_line(column):
            lines.append([*line, (text, look)])
            line = []
        else:
            line.append((left(text, column.width, ellipsis), look))
    return [*lines, line] if line else lines


def _number_lines(numbers: Sequence[tuple[Column[DeviceRow], Piece]], width: int, ellipsis: str) -> list[Line]:
    lines: list[Line] = []
    high = -(-len(numbers) // _beside(width))
    for y in range(high):
        line: Line = []
        for column, (text, look) in numbers[y::high]:
            line += [
                (" " * (_GAP if line else 1), ""),
                (left(column.heading, _NAME_CELLS, ellipsis) + " ", "quiet"),
                (right(text, _VALUE_CELLS, ellipsis), look),
            ]
        lines.append(line)
    return lines
