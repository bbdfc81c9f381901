"""What the cells of the process table hold: text, and the word for its look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.processes import command_text, label
from iodash.formatting.cells import crop
from iodash.formatting.units import DASH, byte_amount
from iodash.ui.panels.job_rows import member_part, member_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.columns import Column
    from iodash.formatting.units import Units
    from iodash.model.frame import ProcessRow, UnattributedRow
    from iodash.ui.panels.job_rows import JobGroup
    from iodash.ui.widgets.table_lines import Piece

_READS = frozenset({"read_bytes_per_s", "read_bytes_total", "logical_read_bytes_per_s"})
_WRITES = frozenset({"write_bytes_per_s", "write_bytes_total", "logical_write_bytes_per_s"})
_NUMBERS_OF = frozenset({"pid", "tid", "uid"})

_FOOT_CELLS = 200


def value_cell(row: ProcessRow, column: Column[ProcessRow], units: Units) -> Piece:
    """One value. What is not known or nothing is quiet."""
    key = column.key
    value = column.value(row)
    text = column.text(value, units)
    if text == DASH:
        return text, "quiet"
    if key == "gpus" and row.gpus_guessed:
        return text + "?", "quiet"
    if text == "0" and not column.is_text and key not in _NUMBERS_OF:
        return text, "quiet"
    if key in _READS:
        return text, "read"
    if key in _WRITES:
        return text, "write"
    if key == "state" and value == "D":
        return text, "warn"
    return text, ""


def command_cell(row: ProcessRow, group: JobGroup | None, *, full: bool, ascii: bool) -> Piece:
    """What a process is, by itself or beneath its job: its name and part, or with `full` its part and command line."""
    if group is None:
        return command_text(row) if full else label(row), ""
    words = command_text(row, member_part(row, group)) if full else member_words(row, group)
    return f"{'|' if ascii else '│'} {words}", ""


def job_cell(group: JobGroup, *, is_open: bool, full: bool, ascii: bool) -> Piece:
    """What a job is, after the mark that says whether its members are shown: with `full` also how it was started."""
    mark = ("v" if is_open else ">") if ascii else ("▾" if is_open else "▸")
    return f"{mark} {command_text(group.total) if full else label(group.total)}", "strong"


def unattributed_cells(rest: UnattributedRow, units: Units) -> Mapping[str, Piece]:
    """What the devices did beyond the listed processes, by column."""
    words = ", ".join(reason.replace("_", " ") for reason in rest.reasons)
    return {
        "pid": ("-", "foot"),
        "user": ("others", "foot"),
        "read_bytes_per_s": (byte_amount(rest.read_bytes_per_s, units), "foot"),
        "write_bytes_per_s": (byte_amount(rest.write_bytes_per_s, units), "foot"),
        "command": (crop(f"unattributed: {words}" if words else "unattributed", _FOOT_CELLS), "foot"),
    }
