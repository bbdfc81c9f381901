"""Plain tables for batch output and snapshots: columns as wide as their contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.cells import cell_width

if TYPE_CHECKING:
    from collections.abc import Sequence


def plain_table(headings: Sequence[str], rows: Sequence[Sequence[str]], right_aligned: Sequence[bool]) -> list[str]:
    """The lines of a table: headings, then rows, two spaces between columns, no trailing blanks.

    Args:
        headings: one a column.
        rows: cells of safe text, as many a row as there are headings.
        right_aligned: for each column whether it is right-aligned, as numbers are.
    """
    widths = [cell_width(heading) for heading in headings]
    for row in rows:
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], cell_width(cell))
    lines = []
    for row in (headings, *rows):
        cells = []
        for cell, width, is_right in zip(row, widths, right_aligned, strict=True):
            padding = " " * (width - cell_width(cell))
            cells.append(padding + cell if is_right else cell + padding)
        lines.append("  ".join(cells).rstrip())
    return lines
