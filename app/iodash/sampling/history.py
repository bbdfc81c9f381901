"""A bounded past of single values, on one time axis. Never of whole frames."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from iodash.model.missing import Missing, Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iodash.model.frame import Frame


class Point(NamedTuple):
    """A value over the interval that ended at `time` (Unix seconds) and took `span` seconds."""

    time: float
    span: float
    value: Number


SYSTEM_SERIES: tuple[str, ...] = (
    "cpu_user_percent",
    "cpu_system_percent",
    "cpu_iowait_percent",
    "memory_used_bytes",
    "memory_dirty_bytes",
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "network_receive_bytes_per_s",
    "network_transmit_bytes_per_s",
    "pressure_io_some_percent",
    "pressure_io_full_percent",
)
DEVICE_SERIES: tuple[str, ...] = (
    "util_percent",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "await_ms",
    "queue_length",
    "reads_per_s",
    "writes_per_s",
)
GPU_SERIES: tuple[str, ...] = (
    "util_percent",
    "memory_used_bytes",
    "power_watts",
    "pcie_receive_bytes_per_s",
    "pcie_transmit_bytes_per_s",
)


class History:
    """The last `length` values of each series. A series is named by its subject and field.

    Subjects are `""` for the system, a device's name, and a GPU's uuid. A GPU's utilisation also keeps the driver's own
    samples in the series `util_samples`.
    """

    def __init__(self, length: int = 600) -> None:
        self.length = length
        self._series: dict[tuple[str, str], deque[Point]] = {}

    def add(self, frame: Frame) -> None:
        """Takes the values of a frame; subjects that are gone for `length` frames are forgotten."""
        for name in SYSTEM_SERIES:
            self._append(frame, "", name, getattr(frame.system, name))
        for device in frame.devices:
            for name in DEVICE_SERIES:
                self._append(frame, device.name, name, getattr(device, name))
        for gpu in frame.gpus:
            for name in GPU_SERIES:
                self._append(frame, gpu.uuid, name, getattr(gpu, name))
            samples = self._deque(gpu.uuid, "util_samples", self.length * 6)
            previous = frame.time - frame.interval_s
            for seconds_ago, percent in gpu.util_samples:
                moment = frame.time - seconds_ago
                samples.append(Point(moment, max(0.0, moment - previous), percent))
                previous = moment
        self._forget(frame.time - self.length * max(frame.interval_s, 0.1))

    def series(self, subject: str, name: str) -> tuple[Point, ...]:
        """The points of one series, oldest first; empty when nothing is known."""
        return tuple(self._series.get((subject, name), ()))

    def last(self, subject: str, name: str, count: int) -> tuple[Point, ...]:
        """The newest `count` points of one series, oldest first."""
        points = self._series.get((subject, name))
        if points is None:
            return ()
        start = max(0, len(points) - count)
        return tuple(points[index] for index in range(start, len(points)))

    def subjects(self) -> Iterator[str]:
        """Every subject that has a series."""
        return iter({subject for subject, _ in self._series})

    def clear(self) -> None:
        """Forgets everything, as after a jump in recorded time."""
        self._series.clear()

    def _deque(self, subject: str, name: str, length: int) -> deque[Point]:
        key = (subject, name)
        points = self._series.get(key)
        if points is None:
            points = self._series[key] = deque(maxlen=length)
        return points

    def _append(self, frame: Frame, subject: str, name: str, value: Number) -> None:
        if isinstance(value, Missing) and (subject, name) not in self._series:
            return
        self._deque(subject, name, self.length).append(Point(frame.time, frame.interval_s, value))

    def _forget(self, before: float) -> None:
        old = [key for key, points in self._series.items() if points and points[-1].time < before]
        for key in old:
            del self._series[key]
