"""dstat's CSV: four rows about the run, two header rows, then data; amounts in bytes whatever the screen shows."""

from __future__ import annotations

import csv
import io
import time
from typing import TYPE_CHECKING

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame
    from iodash.outputs.dstat import Block, Value


def preamble(host: str, user: str, command_line: str, moment: float, *, version: str, new: bool) -> str:
    """What stands above dstat's header rows: four rows in a new file, two empty lines and two rows in one with data."""
    date = time.strftime("%d %b %Y %H:%M:%S %Z", time.localtime(moment))
    rows: list[list[str]] = [
        ["Host:", host, "", "", "", "User:", user],
        ["Cmdline:", command_line, "", "", "", "Date:", date],
    ]
    if new:
        rows[:0] = [[f"Dstat 0.8.0 CSV output, by iodash {version}"], ["Author:", "iodash", "", "", "", "URL:", ""]]
    return ("" if new else "\n\n") + "".join(_quoted(row) for row in rows)


def headers(groups: Sequence[Sequence[Block]]) -> str:
    """The row of group names, each over its first column, and the row of column names."""
    titles: list[str] = []
    names: list[str] = []
    for group in groups:
        for block in group:
            titles += [block.title, *[""] * (len(block.names) - 1)]
            names += [f"{block.title}:{name}" if len(group) > 1 else name for name in block.names]
    return _quoted(titles) + _quoted(names)


def row(groups: Sequence[Sequence[Block]], frame: Frame) -> str:
    """One row of data: whole numbers as they are, others with three decimals, empty where nothing is known."""
    buffer = io.StringIO()
    cells = [_csv_cell(value) for group in groups for block in group for value in block.values(frame)]
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _csv_cell(value: Value) -> str:
    if isinstance(value, Missing):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _quoted(cells: Sequence[str]) -> str:
    """A row of quoted text; empty cells stay bare, as dstat has them."""
    return ",".join('"' + cell.replace('"', '""') + '"' if cell else "" for cell in cells) + "\n"
