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
        """Opens the file.

        Raises:
            Failure: it can't be opened for appending.
        """
        self._choice = choice
        self._devices: tuple[str, ...] = ()
        self._gpus: tuple[str, ...] = ()
        self._started = False
        self._file: AppendedFile | None = None
        if isinstance(target, Path):
            self._file = AppendedFile(target)
            self._put: Callable[[str], object] = self._file.write
        else:
            self._put = target

    def write(self, frame: Frame) -> None:
        """Writes the row of `frame`, before the first one the header.

        Raises:
            Failure: the file has another header, or can't be written (the disk is full, say).
            BrokenPipeError: nobody reads any more.
        """
        text = ""
        if not self._started:
            text = self._start(frame)
            self._started = True
        self._put(text + _line(self._row(frame)))

    def close(self) -> None:
        """Closes the file. Raises Failure where what was written could not be kept."""
        if self._file is not None:
            self._file.close()

    def _start(self, frame: Frame) -> str:
        """Settles the columns. The text that has to stand before the first row."""
        self._devices = tuple(dict.fromkeys(row.name for row in select_devices(frame.devices, self._choice)))
        self._gpus = tuple(dict.fromkeys(row.number for row in frame.gpus))
        header = self._header()
        first = None if self._file is None else self._file.first_line()
        if self._file is None or first is None:
            return _line(header)
        try:
            present = next(csv.reader([first]), [])
        except csv.Error as error:
            raise Failure(f"cannot append to {self._file.path}: {error}") from error
        if present != header:
            raise Failure(f"cannot append to {self._file.path}: {_difference(present, header)}; name another file")
        return "" if self._file.ends_with_newline() else "\r\n"

    def _header(self) -> list[str]:
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


def _line(cells: Sequence[str]) -> str:
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
