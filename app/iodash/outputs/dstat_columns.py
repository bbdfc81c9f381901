"""dstat's groups of columns: their headings, and where in a frame their values are."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from iodash.model.kinds import NETWORK_KINDS
from iodash.model.missing import Missing, sum_known
from iodash.outputs.select import UNCOMMON_KINDS, absence, is_device_called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from iodash.model.frame import Frame

GROUPS = "cdgilmnprstTy"
"""The letters of the groups, as dstat's options."""

TOTAL = "total"
ALL = "all"
_KIB_WIDTH = 11

Value = float | int | str | Missing
"""What a column holds; text is written as it is."""


@dataclass(frozen=True, slots=True)
class Block:
    """One titled group of columns. `base` is 1024 for bytes, 1000 for counts, 0 for plain numbers without a letter."""

    title: str
    names: tuple[str, ...]
    width: int
    base: int
    decimals: bool
    values: Callable[[Frame], tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a line shows; the names are those of dstat's options.

    `groups` are letters of `GROUPS` in the order they were given. `cpus`, `disks` and `interfaces` are names, `total`
    among them for the sum; None for the sum alone. `full` expands what isn't named to every member.
    """

    groups: str = "cdngy"
    cpus: tuple[str, ...] | None = None
    disks: tuple[str, ...] | None = None
    interfaces: tuple[str, ...] | None = None
    full: bool = False
    bits: bool = False
    kilobytes: bool = False
    numbers: Literal["as usual", "float", "integer"] = "as usual"


def blocks_of(layout: Layout, frame: Frame) -> list[list[Block]]:
    """The blocks of each group. Which members `full` and `all` stand for is settled by `frame`."""
    makers: dict[str, Callable[[Layout, Frame], list[Block]]] = {
        "c": _cpu,
        "d": _disks,
        "r": _requests,
        "n": _network,
        "g": _paging,
        "i": _interrupts,
        "l": _load,
        "m": _memory,
        "p": _processes,
        "s": _swap,
        "t": _time,
        "T": _epoch,
        "y": _system,
    }
    return [[_styled(block, layout) for block in makers[letter](layout, frame)] for letter in layout.groups]


def _styled(block: Block, layout: Layout) -> Block:
    """A block in the units and with the decimals that the options force."""
    decimals = block.decimals if layout.numbers == "as usual" else layout.numbers == "float"
    width = _KIB_WIDTH if layout.kilobytes and block.base == 1024 else block.width
    return Block(block.title, block.names, width, block.base, decimals, block.values)


def _shares(row: object) -> tuple[Value, ...]:
    names = ("user", "system", "idle", "iowait", "steal")
    prefix = "cpu_" if hasattr(row, "cpu_user_percent") else ""
    return tuple(getattr(row, f"{prefix}{name}_percent") for name in names)


def _cpu(layout: Layout, frame: Frame) -> list[Block]:
    wanted = layout.cpus or ((ALL,) if layout.full else (TOTAL,))
    names = [name for item in wanted for name in ([str(row.cpu) for row in frame.cpus] if item == ALL else [item])]
    columns = ("usr", "sys", "idl", "wai", "stl")

    def of_one(name: str, frame: Frame) -> tuple[Value, ...]:
        row = next((row for row in frame.cpus if str(row.cpu) == name), None)
        return (Missing.GONE,) * 5 if row is None else _shares(row)

    return [
        Block("total cpu usage", columns, 3, 0, False, lambda frame: _shares(frame.system))
        if name == TOTAL
        else Block(f"cpu{name} usage", columns, 3, 0, False, partial(of_one, name))
        for name in names
    ]


def _disk_names(layout: Layout, frame: Frame) -> list[str]:
    every = [
        row.name
        for row in frame.devices
        if row.kind not in UNCOMMON_KINDS and row.kind not in NETWORK_KINDS and not row.hidden
    ]
    wanted = layout.disks or ((ALL,) if layout.full else (TOTAL,))
    return [name for item in wanted for name in (every if item == ALL else [item])]


def _of_disk(name: str, fields: tuple[str, str], frame: Frame) -> tuple[Value, ...]:
    row = next((row for row in frame.devices if is_device_called(row, name)), None)
    return (Missing.GONE, Missing.GONE) if row is None else tuple(getattr(row, item) for item in fields)


def _short(name: str) -> str:
    return name.removeprefix("/dev/").removeprefix("mapper/")


def _disks(layout: Layout, frame: Frame) -> list[Block]:
    fields = ("read_bytes_per_s", "write_bytes_per_s")
    return [
        Block(
            f"dsk/{_short(name)}",
            ("read", "writ"),
            5,
            1024,
            False,
            (lambda frame: (frame.system.disk_read_bytes_per_s, frame.system.disk_write_bytes_per_s))
            if name == TOTAL
            else partial(_of_disk, name, fields),
        )
        for name in _disk_names(layout, frame)
    ]


def _requests(layout: Layout, frame: Frame) -> list[Block]:
    fields = ("reads_per_s", "writes_per_s")

    def of_all(frame: Frame) -> tuple[Value, ...]:
        rows = [row for row in frame.devices if row.total]
        return tuple(sum_known(getattr(row, item) for row in rows) for item in fields)

    return [
        Block(
            f"io/{_short(name)}",
            ("read", "writ"),
            5,
            1000,
            True,
            of_all if name == TOTAL else partial(_of_disk, name, fields),
        )
        for name in _disk_names(layout, frame)
    ]


def _network(layout: Layout, frame: Frame) -> list[Block]:
    wanted = layout.interfaces or ((ALL,) if layout.full else (TOTAL,))
    every = [row.name for row in frame.interfaces if row.physical] or [TOTAL]

    def of_one(name: str, frame: Frame) -> tuple[Value, ...]:
        row = next((row for row in frame.interfaces if row.name == name), None)
        return (Missing.GONE,) * 2 if row is None else (row.receive_bytes_per_s, row.transmit_bytes_per_s)

    def of_all(frame: Frame) -> tuple[Value, ...]:
        return frame.system.network_receive_bytes_per_s, frame.system.network_transmit_bytes_per_s

    return [
        Block(f"net/{name}", ("recv", "send"), 5, 1024, False, of_all if name == TOTAL else partial(of_one, name))
        for item in wanted
        for name in (every if item == ALL else [item])
    ]


def _paging(layout: Layout, frame: Frame) -> list[Block]:
    def values(frame: Frame) -> tuple[Value, ...]:
        return frame.system.swap_in_bytes_per_s, frame.system.swap_out_bytes_per_s

    return [Block("paging", ("in", "out"), 5, 1024, False, values)]


def _system(layout: Layout, frame: Frame) -> list[Block]:
    def values(frame: Frame) -> tuple[Value, ...]:
        return frame.system.interrupts_per_s, frame.system.context_switches_per_s

    return [Block("system", ("int", "csw"), 5, 1000, False, values)]


def _interrupts(layout: Layout, frame: Frame) -> list[Block]:
    return [Block("interrupts", (TOTAL,), 10, 1000, False, lambda frame: (frame.system.interrupts_per_s,))]


def _load(layout: Layout, frame: Frame) -> list[Block]:
    def values(frame: Frame) -> tuple[Value, ...]:
        return frame.system.load_1, frame.system.load_5, frame.system.load_15

    return [Block("load avg", ("1m", "5m", "15m"), 4, 0, True, values)]


def _memory(layout: Layout, frame: Frame) -> list[Block]:
    def values(frame: Frame) -> tuple[Value, ...]:
        row = frame.system
        free, buffers, cached = row.memory_free_bytes, row.memory_buffers_bytes, row.memory_cached_bytes
        used = row.memory_total_bytes - free - buffers - cached - row.memory_reclaimable_bytes + row.memory_shmem_bytes
        return used, free, buffers, cached

    return [Block("memory usage", ("used", "free", "buff", "cach"), 5, 1024, True, values)]


def _processes(layout: Layout, frame: Frame) -> list[Block]:
    def values(frame: Frame) -> tuple[Value, ...]:
        row = frame.system
        return row.processes_running, row.processes_blocked, row.processes_created_per_s

    return [Block("procs", ("run", "blk", "new"), 3, 0, True, values)]


def _swap(layout: Layout, frame: Frame) -> list[Block]:
    def values(frame: Frame) -> tuple[Value, ...]:
        row = frame.system
        return row.swap_used_bytes, row.swap_total_bytes - row.swap_used_bytes

    return [Block("swap", ("used", "free"), 5, 1024, True, values)]


def _time(layout: Layout, frame: Frame) -> list[Block]:
    style = os.environ.get("DSTAT_TIMEFMT", "%d-%m %H:%M:%S")

    def text(frame: Frame) -> tuple[Value, ...]:
        return (time.strftime(style, time.localtime(frame.time)),)

    return [Block("system", ("time",), len(str(text(frame)[0])), 0, False, text)]


def _epoch(layout: Layout, frame: Frame) -> list[Block]:
    return [Block("epoch", ("epoch",), 10, 0, False, lambda frame: (frame.time,))]


def absent_members(layout: Layout, frame: Frame) -> str:
    """The disks, interfaces and CPUs that were asked for and are not there, in one sentence; empty if all are there."""
    interfaces = {row.name for row in frame.interfaces}
    cpus = {str(row.cpu) for row in frame.cpus}

    def named(names: Iterable[str] | None, is_there: Callable[[str], bool]) -> list[str]:
        return [name for name in dict.fromkeys(names or ()) if name not in (TOTAL, ALL) and not is_there(name)]

    return absence(
        device=named(layout.disks, lambda name: any(is_device_called(row, name) for row in frame.devices)),
        interface=named(layout.interfaces, interfaces.__contains__),
        CPU=named(layout.cpus, cpus.__contains__),
    )
