"""A frame as readable text: a system line, GPUs, the device table and the process table."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from iodash.columns import (
    DEVICE_COLUMNS,
    DEVICE_SHORT,
    GPU_COLUMNS,
    PROCESS_ACCUMULATED,
    PROCESS_COLUMNS,
    PROCESS_RATES,
)
from iodash.columns.processes import command_text
from iodash.formatting.tables import plain_table
from iodash.formatting.units import Units, byte_amount, decimal, percent
from iodash.model.frame import GpuRow, ProcessRow
from iodash.outputs.select import select_devices, select_processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.columns import Column
    from iodash.model.frame import Frame, SystemRow
    from iodash.model.settings import Settings

_GPU_SHORT = (
    "index",
    "util_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "power_watts",
    "power_limit_watts",
    "temperature_celsius",
    "pcie_receive_bytes_per_s",
    "pcie_transmit_bytes_per_s",
    "status",
    "name",
)
_PROCESS_BY_KEY = {column.key: column for column in PROCESS_COLUMNS}
_DEVICES = tuple(column for key in DEVICE_SHORT for column in DEVICE_COLUMNS if column.key == key)
_GPUS = tuple(column for key in _GPU_SHORT for column in GPU_COLUMNS if column.key == key)

Row = TypeVar("Row")


class TextWriter:
    """Turns successive frames into text, as `settings` ask. It remembers what need not be said twice.

    A line is as long as what it says; given the `width` of a terminal, command lines and mount points are cut to fit.
    A process line begins with its PID (after the time of day with `time`). `quiet` works as iotop's: 1 prints headings
    once, 2 never, 3 nothing but process lines.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._units = Units.KIB if settings.kilobytes else Units.IEC
        self._frames = 0
        self._said: set[str] = set()
        self._width: int | None = None

    def lines(self, frame: Frame, width: int | None = None) -> list[str]:
        """The lines of one frame, an empty one last unless only process lines are wanted."""
        quiet = self._settings.quiet
        headings = quiet == 0 or (quiet == 1 and self._frames == 0)
        self._frames += 1
        stamp = time.strftime("%H:%M:%S ", time.localtime(frame.time)) if self._settings.time else ""
        self._width = None if width is None else width - len(stamp)
        blocks = [self._process_table(frame, headings and quiet < 3)]
        if quiet < 3:
            if not self._settings.accumulated:
                blocks[0].append(unattributed_line(frame, self._units))
            blocks.insert(0, self._table(_DEVICES, select_devices(frame.devices, self._settings), headings))
            if frame.gpus:
                blocks.insert(0, self._table(_GPUS, frame.gpus, headings))
            blocks.insert(0, [system_line(frame.system, self._units), *self._remarks(frame)])
            for block in blocks:
                block.append("")
        lines = [line for block in blocks for line in block]
        return [stamp + line if line else line for line in lines]

    def _remarks(self, frame: Frame) -> list[str]:
        remarks = []
        if frame.verdict is not None:
            remarks.append(f"VERDICT {frame.verdict.cause} ({frame.verdict.confidence}): {frame.verdict.summary}")
        if frame.own.missed_ticks:
            remarks.append(f"MISSED {frame.own.missed_ticks} ticks")
        notes = [f"NOTE {note}" for note in frame.notes]
        if self._settings.gpu and not frame.gpus and frame.gpu_driver.message:
            notes.append(f"NOTE GPU: {frame.gpu_driver.message}")
        remarks += [note for note in notes if note not in self._said]
        self._said.update(notes)
        return remarks

    def _process_table(self, frame: Frame, headings: bool) -> list[str]:
        keys = list(PROCESS_ACCUMULATED if self._settings.accumulated else PROCESS_RATES)
        if frame.threads:
            keys.insert(1, "tid")
        rows = select_processes(frame.processes, self._settings)
        return self._table([_PROCESS_BY_KEY[key] for key in keys], rows, headings)

    def _table(self, columns: Sequence[Column[Row]], rows: Sequence[Row], headings: bool) -> list[str]:
        names = [column.in_units(self._units).heading for column in columns]
        cells = [[_cell(column, row, self._units) for column in columns] for row in rows]
        is_number = [position > 0 and not column.is_text for position, column in enumerate(columns)]
        lines = plain_table(names, cells, is_number, self._width)
        return lines if headings else lines[1:]


def _cell(column: Column[Row], row: Row, units: Units) -> str:
    if isinstance(row, ProcessRow) and column.key == "command":
        return command_text(row)
    if isinstance(row, GpuRow) and column.key == "index":
        return f"gpu{row.number}"
    return column.cell(row, units)


def system_line(row: SystemRow, units: Units = Units.IEC) -> str:
    """The whole machine on one line."""
    amount = partial(byte_amount, units=units)
    return "  ".join(
        (
            f"CPU us {percent(row.cpu_user_percent)} sy {percent(row.cpu_system_percent)}"
            f" wa {percent(row.cpu_iowait_percent)} st {percent(row.cpu_steal_percent)}"
            f" id {percent(row.cpu_idle_percent)}",
            f"LOAD {decimal(row.load_1)}",
            f"MEM {amount(row.memory_used_bytes)}/{amount(row.memory_total_bytes)}"
            f" dirty {amount(row.memory_dirty_bytes)}",
            f"SWAP {amount(row.swap_used_bytes)}",
            f"DISK r {amount(row.disk_read_bytes_per_s)} w {amount(row.disk_write_bytes_per_s)}",
            f"NET r {amount(row.network_receive_bytes_per_s)} s {amount(row.network_transmit_bytes_per_s)}",
            f"IO stall {percent(row.pressure_io_some_percent)}",
        )
    )


def unattributed_line(frame: Frame, units: Units = Units.IEC) -> str:
    """What the devices did a second beyond the processes, with the reasons. It has no place beneath amounts."""
    row = frame.unattributed
    reasons = ", ".join(reason.replace("_", " ") for reason in row.reasons)
    line = f"UNATTRIBUTED r {byte_amount(row.read_bytes_per_s, units)} w {byte_amount(row.write_bytes_per_s, units)}"
    return f"{line}  ({reasons})" if reasons else line
