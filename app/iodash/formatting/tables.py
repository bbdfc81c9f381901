"""Plain tables for batch output and snapshots: columns as wide as their contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.cells import cell_width, crop

if TYPE_CHECKING:
    from collections.abc import Sequence


_NARROWEST_LAST = 10


def plain_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right_aligned: Sequence[bool], width: int | None = None
) -> list[str]:
    """The lines of a table: headings, then rows, two spaces between columns, no trailing blanks.

    Args:
        headings: one a column.
        rows: cells of safe text, as many a row as there are headings.
        right_aligned: for each column whether it is right-aligned, as numbers are.
        width: how many cells a line has. The last column is cut to it, but never below ten cells, the others never.
    """
    widths = [cell_width(heading) for heading in headings]
    for row in rows:
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], cell_width(cell))
    lines = []
    for row in (headings, *rows):
        cells = []
        for cell, room, is_right in zip(row, widths, right_aligned, strict=True):
            padding = " " * (room - cell_width(cell))
            cells.append(padding + cell if is_right else cell + padding)
        lines.append("  ".join(cells).rstrip())
    if width is None:
        return lines
    room = max(width, sum(widths[:-1]) + 2 * (len(widths) - 1) + _NARROWEST_LAST)
    return [crop(line, room) for line in lines]
