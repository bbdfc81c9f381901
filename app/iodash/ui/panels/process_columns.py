"""Which columns the process table shows, and by which of them it is sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns import PROCESS_ACCUMULATED, PROCESS_COLUMNS, PROCESS_RATES, Column
from iodash.formatting.units import Units
from iodash.outputs.select import find_sort_column
from iodash.ui.widgets.fit import widened
from iodash.ui.widgets.table_lines import SortMark

if TYPE_CHECKING:
    from iodash.model.frame import ProcessRow
    from iodash.model.settings import Settings

BY_KEY: dict[str, Column[ProcessRow]] = {column.key: column for column in PROCESS_COLUMNS}

_MORE: tuple[str, ...] = (
    "resident_bytes",
    "threads",
    "logical_read_bytes_per_s",
    "logical_write_bytes_per_s",
    "major_faults_per_s",
    "gpu_memory_bytes",
    "gpu_sm_percent",
    "container",
    "read_calls_per_s",
    "write_calls_per_s",
    "cancelled_write_bytes_per_s",
    "io_priority",
    "ppid",
    "start_time",
    "read_bytes_total",
    "write_bytes_total",
    "read_bytes_per_s",
    "write_bytes_per_s",
)
"""What is shown besides where there is room, the most telling first; all of it where the panel is full-screen."""

_OF_GPUS = frozenset({"gpu_memory_bytes", "gpu_sm_percent"})

_COMFORTABLE = 60
"""Cells that further columns leave to the command."""

FROM_STAT = frozenset(
    {
        "ppid",
        "state",
        "threads",
        "cpu_percent",
        "io_delay_percent",
        "resident_bytes",
        "major_faults_per_s",
        "io_priority",
    }
)
"""What is read only for rows in sight, unless somebody sorts by it."""

_BOTH = {
    "read_write_bytes_per_s": ("read_bytes_per_s", "write_bytes_per_s"),
    "read_write_bytes_total": ("read_bytes_total", "write_bytes_total"),
}


def sorted_by(choice: Settings) -> SortMark:
    """The columns that the rows are sorted by: two where it is by reads and writes together."""
    column = find_sort_column(choice.sort, accumulated=choice.accumulated)
    return SortMark(_BOTH.get(column.key, (column.key,)), falls=column.rises == choice.reverse)


def process_columns(
    choice: Settings, *, width: int, full: bool, threads: bool, gpus: bool, units: Units = Units.IEC
) -> tuple[Column[ProcessRow], ...]:
    """The columns of the table, left to right.

    Args:
        choice: accumulated amounts have columns of their own, and the sorted column is always among them.
        width: cells of the table, 0 while that is not known.
        full: whether the panel has the whole screen: then all columns, room or not.
        threads: whether the rows are threads.
        gpus: whether there are GPUs to say something about.
        units: how amounts are written.
    """
    keys: list[str] = list(PROCESS_ACCUMULATED if choice.accumulated else PROCESS_RATES)
    if threads:
        keys.insert(1, "tid")
    more = [key for key in _MORE if key not in keys]
    if full:
        keys[-1:-1] = more
    else:
        base = tuple(BY_KEY[key].in_units(units) for key in keys)
        telling = tuple(BY_KEY[key].in_units(units) for key in more if gpus or key not in _OF_GPUS)
        keys = [column.key for column in widened(base, telling, width, comfortable=_COMFORTABLE)]
    for key in sorted_by(choice).keys:
        if key not in keys and key in BY_KEY:
            keys.insert(-1, key)
    return tuple(BY_KEY[key].in_units(units) for key in keys)


def sort_choices(choice: Settings) -> list[tuple[str, str | None, str]]:
    """What can be sorted by: words, the column's key, what it means."""
    both = find_sort_column(None, accumulated=choice.accumulated)
    return [(both.heading, None, both.help), *((column.heading, column.key, column.help) for column in PROCESS_COLUMNS)]
