"""Frames in the shape of iotop's batch output: two lines of totals, headings, one row a process or thread.

The fields of a row stand where scripts look for them: id, PRIO, USER, read and its unit, write and its unit, SWAPIN,
IO, COMMAND. Nobody can tell SWAPIN without netlink rights, so it is a dash; where the kernel does not account for
delays at all, `?unavailable?` stands for both, as iotop prints it. A total of which some is hidden is marked with `≥`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from iodash.columns.processes import command_line
from iodash.formatting.cells import crop, left
from iodash.model.missing import Missing, sum_known
from iodash.outputs.select import select_processes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.missing import Number
    from iodash.model.settings import Settings

_UNITS = "BKMGTPE"


def amount(value: Number, *, kilobytes: bool = False) -> str:
    """Bytes as iotop writes them: `0.00 B`, `2047.00 K`, `2.00 M`; the next unit begins at twice its size."""
    if isinstance(value, Missing):
        return "- K" if kilobytes else "- B"
    if kilobytes:
        return f"{value / 1024:.2f} K"
    step = 0
    while value >= 2048 and step < len(_UNITS) - 1:
        value /= 1024
        step += 1
    return f"{value:.2f} {_UNITS[step]}"


_NARROWEST_COMMAND = 10


class IotopWriter:
    """Turns successive frames into iotop's lines, as `settings` ask. A terminal's `width` cuts command lines to fit."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._frames = 0

    def lines(self, frame: Frame, width: int | None = None) -> list[str]:
        """The lines of one frame."""
        settings = self._settings
        stamp = time.strftime("%H:%M:%S ", time.localtime(frame.time)) if settings.time else ""
        room = None if width is None else width - len(stamp)
        lines = []
        if settings.quiet < 3:
            lines += self._summary(frame)
        if settings.quiet == 0 or (settings.quiet == 1 and self._frames == 0):
            kind = "TID" if frame.threads else "PID"
            gap = " " * 4 if settings.time else ""
            lines.append(f"{gap}{kind:>5}  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND")
            if settings.time:
                lines[-1] = f"    TIME{lines[-1][4:]}"
        self._frames += 1
        lines += [self._row(row, room, threads=frame.threads) for row in select_processes(frame.processes, settings)]
        return [line if line.startswith("    TIME") else stamp + line for line in lines]

    def _summary(self, frame: Frame) -> list[str]:
        reads = self._total(row.read_bytes_per_s for row in frame.processes)
        writes = self._total(row.write_bytes_per_s for row in frame.processes)
        system = frame.system
        return [
            f"Total DISK READ:   {reads:>14} | Total DISK WRITE:   {writes:>14}",
            f"Current DISK READ: {self._rate(system.page_in_bytes_per_s):>14}"
            f" | Current DISK WRITE: {self._rate(system.page_out_bytes_per_s):>14}",
        ]

    def _row(self, row: ProcessRow, width: int | None, *, threads: bool) -> str:
        if self._settings.accumulated:
            read, written = self._amount(row.read_bytes_total), self._amount(row.write_bytes_total)
        else:
            read, written = self._rate(row.read_bytes_per_s), self._rate(row.write_bytes_per_s)
        number = row.key.tid if threads else row.key.pid
        priority = "?err" if isinstance(row.io_priority, Missing) else row.io_priority or "?"
        numbers = f"{number:>5} {priority:>4} {left(row.user, 8)} {read:>11} {written:>11} {_delays(row)}  "
        command = _command(row, threads=threads)
        return numbers + (command if width is None else crop(command, max(_NARROWEST_COMMAND, width - len(numbers))))

    def _amount(self, value: Number) -> str:
        return amount(value, kilobytes=self._settings.kilobytes)

    def _rate(self, value: Number) -> str:
        return f"{self._amount(value)}/s"

    def _total(self, values: Iterable[Number]) -> str:
        """A sum, marked where some of it is hidden: `≥3.00 M/s`."""
        parts = list(values)
        total = sum_known(parts)
        is_least = not isinstance(total, Missing) and any(isinstance(part, Missing) for part in parts)
        return f"{'≥' if is_least else ''}{self._rate(total)}"


def _delays(row: ProcessRow) -> str:
    delay = row.io_delay_percent
    if delay is Missing.OFF:
        return "?unavailable?"
    shown = "-" if isinstance(delay, Missing) else f"{delay:.2f}"
    return f"{'- %':>7} {shown + ' %':>7}"


def _command(row: ProcessRow, *, threads: bool) -> str:
    command = command_line(row)
    return f"{command} [{row.name}]" if threads and row.key.tid != row.key.pid else command
