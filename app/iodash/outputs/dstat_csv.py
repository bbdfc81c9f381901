"""dstat's CSV: four rows about the run, two header rows, then data; amounts in bytes whatever the screen shows."""

from __future__ import annotations

import csv
import getpass
import io
import os
import re
import time
from typing import TYPE_CHECKING

from iodash import __version__
from iodash.model.failure import Failure
from iodash.model.missing import Missing
from iodash.outputs.appended_file import AppendedFile
from iodash.outputs.console import warn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from iodash.model.frame import Frame
    from iodash.outputs.dstat_columns import Block, Value


_OWN = re.compile(r'"?Dstat \S+ CSV output\b.*')
"""The first line of a file that dstat or iodash has written. dstat's heirs write other units under the same names."""


class DstatCsv:
    """dstat's CSV file. As with dstat, a run is appended to the runs that it holds; any other file is refused."""

    def __init__(self, path: Path, command_line: str) -> None:
        """Opens the file; `command_line` is what dstat would have been called with.

        Raises:
            Failure: it can't be opened for appending, or it is no CSV file of dstat's.
        """
        self._file = AppendedFile(path, warn)
        self._command_line = command_line
        self._groups: Sequence[Sequence[Block]] = ()
        first = self._file.first_line()
        self._is_new = first is None
        if first is not None and not _OWN.fullmatch(first):
            self._file.close()
            raise Failure(f"cannot append to {path}: it is no CSV file of dstat's; name another file")

    def begin(self, groups: Sequence[Sequence[Block]], frame: Frame) -> None:
        """Writes what stands above the data. Raises Failure where it can't be written."""
        self._groups = groups
        self._file.write(
            preamble(frame.host.name, _user(), self._command_line, frame.time, version=__version__, new=self._is_new)
            + headers(groups)
        )

    def write(self, frame: Frame) -> None:
        """Writes the row of `frame`. Raises Failure where it can't be written."""
        self._file.write(row(self._groups, frame))

    def close(self) -> None:
        """Closes the file. Raises Failure where what was written could not be kept."""
        self._file.close()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


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
