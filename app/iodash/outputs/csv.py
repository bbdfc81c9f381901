"""Frames as CSV (RFC 4180): one header row of names with units, a fixed set of columns, an empty cell for unknown."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iodash.model.failure import Failure
from iodash.model.frame import DeviceRow, GpuRow, SystemRow
from iodash.model.missing import Missing
from iodash.outputs.appended_file import AppendedFile
from iodash.outputs.console import warn
from iodash.outputs.json import utc_time
from iodash.outputs.select import select_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iodash.model.frame import Frame
    from iodash.outputs.select import DeviceChoice

_NOT_IN_CSV = frozenset(
    {
        *("name", "kind", "major", "minor", "mounts", "backed_by", "state_reason", "label", "total", "hidden", "slots"),
        *("index", "instance", "uuid", "util_samples", "vendor", "processes", "message", "processes_note"),
    }
)
"""What describes a device or GPU rather than measuring it."""


def _measured(row_type: type[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(row_type) if item.name not in _NOT_IN_CSV)


SYSTEM_FIELDS = tuple(item.name for item in fields(SystemRow))
DEVICE_FIELDS = _measured(DeviceRow)
GPU_FIELDS = _measured(GpuRow)


def cell(value: object) -> str:
    """One value: empty when it is not known, at most six decimals, a list joined by blanks."""
    if value is None or isinstance(value, Missing):
        return ""
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".") if value else "0"
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return str(value)


class CsvWriter:
    """Writes one row a frame, at once, to a file or through a function that takes text.

    The columns are those of the devices (as `choice` picks them) and GPUs of the first frame, for good: what comes
    later has no column, what goes leaves empty cells. A file that exists is appended to when its header is the same.
    """

    def __init__(self, target: Path | Callable[[str], object], choice: DeviceChoice) -> None:
        """Opens the file. That a named pipe has no reader yet is said, and one waited for.

        Raises:
            Failure: it can't be opened for appending.
        """
        self._lines = CsvLines(choice)
        self._file = CsvFile(target, warn) if isinstance(target, Path) else None
        self._put = target if callable(target) else None
        self._started = False

    def write(self, frame: Frame) -> None:
        """Writes the row of `frame`, before the first one the header.

        Raises:
            Failure: the file has another header, or can't be written (the disk is full, say).
            BrokenPipeError: nobody reads any more.
        """
        line = self._lines.line(frame)
        if self._file is not None:
            self._file.write(self._lines.header, line)
        elif self._put is not None:
            self._put(line if self._started else csv_line(self._lines.header) + line)
            self._started = True

    def close(self) -> None:
        """Closes the file. Raises Failure where what was written could not be kept."""
        if self._file is not None:
            self._file.close()


class CsvFile:
    """A file of rows under one header, to whose end rows are written."""

    def __init__(self, path: Path, say: Callable[[str], object] | None = None) -> None:
        """Opens the file; `say` is told that a named pipe has no reader yet.

        Raises:
            Failure: it can't be opened for appending.
        """
        self._file = AppendedFile(path, say)
        self._started = False

    def write(self, header: Sequence[str], line: str) -> None:
        """Writes a row at once, before the first one what has to stand above it.

        Raises:
            Failure: the file has another header, or can't be written (the disk is full, say).
            BrokenPipeError: it is a pipe whose reader is gone.
        """
        above = "" if self._started else self._above(header)
        self._started = True
        self._file.write(above + line)

    def close(self) -> None:
        """Closes the file. Raises Failure where what was written could not be kept."""
        self._file.close()

    def _above(self, header: Sequence[str]) -> str:
        first = self._file.first_line()
        if first is None:
            return csv_line(header)
        try:
            present = next(csv.reader([first]), [])
        except csv.Error as error:
            raise Failure(f"cannot append to {self._file.path}: {error}; name another file") from error
        if present != header:
            raise Failure(f"cannot append to {self._file.path}: {_difference(present, header)}; name another file")
        return "" if self._file.ends_with_newline() else "\r\n"


class CsvLines:
    """Frames as rows under one header, which the first frame settles."""

    def __init__(self, choice: DeviceChoice) -> None:
        self._choice = choice
        self._devices: tuple[str, ...] = ()
        self._gpus: tuple[str, ...] = ()
        self.header: Sequence[str] = ()

    def line(self, frame: Frame) -> str:
        """The row of `frame` with its end."""
        if not self.header:
            self._devices = tuple(dict.fromkeys(row.name for row in select_devices(frame.devices, self._choice)))
            self._gpus = tuple(dict.fromkeys(row.number for row in frame.gpus))
            self.header = self._names()
        return csv_line(self._row(frame))

    def _names(self) -> list[str]:
        names = ["time", "epoch_s", "interval_s", *SYSTEM_FIELDS]
        names += [f"{device}.{name}" for device in self._devices for name in DEVICE_FIELDS]
        names += [f"gpu{gpu}.{name}" for gpu in self._gpus for name in GPU_FIELDS]
        return names

    def _row(self, frame: Frame) -> list[str]:
        cells = [utc_time(frame.time), f"{frame.time:.3f}", cell(frame.interval_s)]
        cells += [cell(getattr(frame.system, name)) for name in SYSTEM_FIELDS]
        devices = {row.name: row for row in frame.devices}
        for device in self._devices:
            cells += _cells(devices.get(device), DEVICE_FIELDS)
        gpus = {row.number: row for row in frame.gpus}
        for gpu in self._gpus:
            cells += _cells(gpus.get(gpu), GPU_FIELDS)
        return cells


def _cells(row: object | None, names: Sequence[str]) -> list[str]:
    return [""] * len(names) if row is None else [cell(getattr(row, name)) for name in names]


def csv_line(cells: Sequence[str]) -> str:
    """Cells as a row with its end."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _difference(present: Sequence[str], wanted: Sequence[str]) -> str:
    """What tells two headers apart, in a few words."""
    absent = [name for name in wanted if name not in set(present)]
    extra = [name for name in present if name not in set(wanted)]
    parts = []
    if absent:
        parts.append("it has no " + _few(absent))
    if extra:
        parts.append("it has " + _few(extra) + " besides")
    return "its header differs: " + (" and ".join(parts) or "the columns stand in another order")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
