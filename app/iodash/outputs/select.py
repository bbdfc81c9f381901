"""Which rows of a frame are shown, and in what order: the same rules for the screen, batch text and snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from iodash.columns.column import Column, find_column, sort_rows
from iodash.columns.processes import PROCESS_COLUMNS, PROCESS_TIES, READ_PLUS_WRITE
from iodash.formatting.units import byte_amount
from iodash.model.missing import or_zero
from iodash.outputs.row_filter import row_filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from iodash.model.frame import DeviceRow, ProcessRow

UNCOMMON_KINDS = frozenset({"partition", "loop", "ram"})
"""Kinds of devices that are shown only when all are asked for: their bytes are counted elsewhere or are no I/O."""

TOTAL_READ_PLUS_WRITE: Column[ProcessRow] = Column(
    "read_write_bytes_total",
    "R+W",
    "B",
    6,
    byte_amount,
    "Bytes read and written since iodash started.",
    lambda row: row.read_bytes_total + row.write_bytes_total,
)
"""What accumulated rows are sorted by at the start."""

SORT_COLUMNS: tuple[Column[ProcessRow], ...] = (*PROCESS_COLUMNS, READ_PLUS_WRITE, TOTAL_READ_PLUS_WRITE)
"""Every column that processes can be sorted by."""


class ProcessChoice(Protocol):
    """What picks and orders processes; `Settings` has all of it."""

    @property
    def only(self) -> bool:
        """Only processes that did I/O."""

    @property
    def accumulated(self) -> bool:
        """Amounts since iodash started instead of rates."""

    @property
    def pid(self) -> tuple[int, ...]:
        """Only these processes; all when empty."""

    @property
    def user(self) -> tuple[str, ...]:
        """Only processes of these users, given as names or numbers; all when empty."""

    @property
    def filter(self) -> str:
        """A regular expression, or plain text where it is none."""

    @property
    def sort(self) -> str | None:
        """A field name or a heading; None for read and written bytes together."""

    @property
    def reverse(self) -> bool:
        """The other way round."""


class DeviceChoice(Protocol):
    """What picks devices; `Settings` has all of it."""

    @property
    def device(self) -> tuple[str, ...]:
        """Only these; those of every common kind when empty."""

    @property
    def all_devices(self) -> bool:
        """Partitions, loop and ram devices, hidden paths and unused zram too."""


def is_active(row: ProcessRow, *, accumulated: bool = False) -> bool:
    """Whether a process did I/O: bytes or delay in the interval, or any bytes so far when `accumulated`."""
    if accumulated:
        return or_zero(row.read_bytes_total) > 0 or or_zero(row.write_bytes_total) > 0
    return or_zero(row.read_bytes_per_s) > 0 or or_zero(row.write_bytes_per_s) > 0 or or_zero(row.io_delay_percent) > 0


def is_of_user(row: ProcessRow, users: Iterable[str]) -> bool:
    """Whether a process belongs to one of `users`, given as names or numbers."""
    uid = str(row.uid)
    return any(user in (row.user, uid) for user in users)


def find_sort_column(name: str | None, *, accumulated: bool = False) -> Column[ProcessRow]:
    """The column that rows are sorted by; read and written bytes together when `name` is None or no column."""
    column = find_column(SORT_COLUMNS, name) if name else None
    return column or (TOTAL_READ_PLUS_WRITE if accumulated else READ_PLUS_WRITE)


def pick_processes(rows: Iterable[ProcessRow], choice: ProcessChoice) -> list[ProcessRow]:
    """The rows that `choice` asks for, in the order they come in."""
    chosen = list(rows)
    if choice.pid:
        pids = frozenset(choice.pid)
        chosen = [row for row in chosen if row.key.pid in pids or row.key.tid in pids]
    if choice.user:
        chosen = [row for row in chosen if is_of_user(row, choice.user)]
    if choice.only:
        chosen = [row for row in chosen if is_active(row, accumulated=choice.accumulated)]
    if choice.filter:
        chosen = row_filter(choice.filter).pick(chosen)
    return chosen


def order_processes(rows: Sequence[ProcessRow], choice: ProcessChoice) -> list[ProcessRow]:
    """Rows in the order that `choice` asks for, ties by I/O delay, then CPU."""
    column = find_sort_column(choice.sort, accumulated=choice.accumulated)
    return sort_rows(rows, column, PROCESS_TIES, reverse=choice.reverse)


def select_processes(rows: Iterable[ProcessRow], choice: ProcessChoice) -> list[ProcessRow]:
    """The rows that `choice` asks for, in its order."""
    return order_processes(pick_processes(rows, choice), choice)


def is_device_called(row: DeviceRow, name: str) -> bool:
    """Whether a user can mean `row` by `name`: its name, its /dev path, its device-mapper label or a mount point."""
    bare = name.removeprefix("/dev/").removeprefix("mapper/")
    return bare in (row.name, row.label) or name in row.mounts or name == row.name


def select_devices(rows: Iterable[DeviceRow], choice: DeviceChoice) -> list[DeviceRow]:
    """The rows that `choice` asks for, in the machine's order. A device that is named is shown whatever its kind."""
    if choice.device:
        return [row for row in rows if any(is_device_called(row, name) for name in choice.device)]
    if choice.all_devices:
        return list(rows)
    return [row for row in rows if row.kind not in UNCOMMON_KINDS and not row.hidden]


def absent_pids(rows: Iterable[ProcessRow], pids: Iterable[int]) -> list[int]:
    """Which of `pids` no row has."""
    present = {row.key.pid for row in rows} | {row.key.tid for row in rows}
    return [pid for pid in dict.fromkeys(pids) if pid not in present]


def absent_devices(rows: Sequence[DeviceRow], names: Iterable[str]) -> list[str]:
    """Which of `names` mean no row."""
    return [name for name in dict.fromkeys(names) if not any(is_device_called(row, name) for row in rows)]


def absence(**kinds: Sequence[object]) -> str:
    """What is not there, by kind: `there are no processes 12, 34 and no device sdx`; empty where nothing is absent."""
    parts = []
    for noun, names in kinds.items():
        if names:
            several = noun + ("es" if noun.endswith("s") else "s")
            parts.append((len(names) > 1, f"{noun if len(names) == 1 else several} {', '.join(map(str, names))}"))
    return f"there {'are' if parts[0][0] else 'is'} no {' and no '.join(part for _, part in parts)}" if parts else ""
