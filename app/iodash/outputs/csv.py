"""Frames as CSV (RFC 4180): one header row of names with units, a fixed set of columns, an empty cell for unknown."""

from __future__ import annotations

import csv
import io
import os
import stat
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from iodash.model.failure import Failure
from iodash.model.frame import DeviceRow, GpuRow, SystemRow
from iodash.model.missing import Missing
from iodash.outputs.json import utc_time
from iodash.outputs.select import select_devices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame
    from iodash.outputs.select import DeviceChoice

_NOT_IN_CSV = frozenset(
    {
        *("name", "kind", "major", "minor", "mounts", "backed_by", "state_reason", "label", "total", "hidden", "slots"),
        *("index", "uuid", "util_samples", "vendor", "processes", "message", "processes_note"),
    }
)
"""What describes a device or GPU rather than measuring it."""

_LONGEST_HEADER = 1 << 24


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
    """Writes one row a frame, flushed, to a file or an open stream.

    The columns are those of the devices (as `choice` picks them) and GPUs of the first frame, for good: what comes
    later has no column, what goes leaves empty cells. A file that exists is appended to when its header is the same.
    """

    def __init__(self, target: Path | str | IO[str], choice: DeviceChoice) -> None:
        """Opens the file.

        Raises:
            Failure: it can't be opened for appending.
        """
        self._choice = choice
        self._devices: tuple[str, ...] = ()
        self._gpus: tuple[int, ...] = ()
        self._started = False
        self._owns = isinstance(target, Path | str)
        if isinstance(target, Path | str):
            self._name = str(target)
            try:
                self._stream: IO[str] = Path(target).open("a+", encoding="utf-8", newline="")  # noqa: SIM115
            except (OSError, ValueError) as error:
                raise Failure(f"cannot write {self._name}: {_reason(error)}") from error
        else:
            self._name = "to standard output"
            self._stream = target

    def write(self, frame: Frame) -> None:
        """Writes the row of `frame`, before the first one the header.

        Raises:
            Failure: the file has another header, or can't be written (the disk is full, say).
            BrokenPipeError: the stream's reader is gone.
        """
        text = ""
        if not self._started:
            text = self._start(frame)
            self._started = True
        self._put(text + _line(self._row(frame)))

    def close(self) -> None:
        """Closes the file; leaves a stream open that was given."""
        if self._owns:
            try:
                self._stream.close()
            except OSError as error:
                raise Failure(f"cannot write {self._name}: {_reason(error)}") from error

    def _start(self, frame: Frame) -> str:
        """Settles the columns. The text that has to stand before the first row."""
        self._devices = tuple(dict.fromkeys(row.name for row in select_devices(frame.devices, self._choice)))
        self._gpus = tuple(row.index for row in frame.gpus)
        header = self._header()
        if not self._owns:
            return _line(header)
        try:
            present, ends_with_newline = self._present_header()
        except (OSError, csv.Error, UnicodeDecodeError) as error:
            raise Failure(f"cannot append to {self._name}: {_reason(error)}") from error
        if present is None:
            return _line(header)
        if present != header:
            raise Failure(f"cannot append to {self._name}: {_difference(present, header)}; name another file")
        return "" if ends_with_newline else "\r\n"

    def _present_header(self) -> tuple[list[str] | None, bool]:
        """The header of the file, None when it is empty, and whether its last line is complete."""
        if not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
            return None, True
        self._stream.seek(0)
        first = self._stream.readline(_LONGEST_HEADER)
        if not first:
            return None, True
        size = self._stream.seek(0, io.SEEK_END)
        with Path(self._name).open("rb") as file:
            file.seek(size - 1)
            return next(csv.reader([first])), file.read(1) == b"\n"

    def _header(self) -> list[str]:
        names = ["time", "epoch_s", "interval_s", *SYSTEM_FIELDS]
        names += [f"{device}.{name}" for device in self._devices for name in DEVICE_FIELDS]
        names += [f"gpu{index}.{name}" for index in self._gpus for name in GPU_FIELDS]
        return names

    def _row(self, frame: Frame) -> list[str]:
        cells = [utc_time(frame.time), f"{frame.time:.3f}", cell(frame.interval_s)]
        cells += [cell(getattr(frame.system, name)) for name in SYSTEM_FIELDS]
        devices = {row.name: row for row in frame.devices}
        for device in self._devices:
            cells += _cells(devices.get(device), DEVICE_FIELDS)
        gpus = {row.index: row for row in frame.gpus}
        for index in self._gpus:
            cells += _cells(gpus.get(index), GPU_FIELDS)
        return cells

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            raise Failure(f"cannot write {self._name}: {_reason(error)}") from error


def _cells(row: object | None, names: Sequence[str]) -> list[str]:
    return [""] * len(names) if row is None else [cell(getattr(row, name)) for name in names]


def _line(cells: Sequence[str]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


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
