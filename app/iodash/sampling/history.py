"""A bounded past of single values, on one time axis. Never of whole frames."""

from __future__ import annotations

from array import array
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from iodash.model.missing import Missing, Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame, JobRow


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
JOB_SERIES: tuple[str, ...] = ("blocked_percent", "cpu_percent", "read_bytes_per_s", "write_bytes_per_s")
"""Of a training job. `blocked_percent` is the mean share of time that its loaders (the workers where there are any,
else the ranks) spent in state D."""


SAMPLES_PER_TICK = 6
"""How many of a GPU's own utilisation samples are kept for each frame, as the driver takes about six a second."""

_REASONS = tuple(Missing)
_CODES: dict[Missing, float] = {reason: -1.0 - number for number, reason in enumerate(_REASONS)}

_system_values = attrgetter(*SYSTEM_SERIES)
_device_values = attrgetter(*DEVICE_SERIES)
_gpu_values = attrgetter(*GPU_SERIES)


class _Ring:
    """The values of one subject at successive ticks, packed: 8 bytes a value, the oldest overwritten.

    Every series is an amount, so a negative number is free to stand for each reason why there is none. Ticks at which
    the subject was not there read as `GONE`.
    """

    __slots__ = ("_values", "_width", "first", "last", "length")

    def __init__(self, width: int, length: int, tick: int) -> None:
        self._width = width
        self._values = array("d")
        self.length = length
        self.first = tick
        self.last = tick - 1

    def put(self, tick: int, values: Sequence[Number]) -> None:
        """Stores the values of `tick`, less than `length` ticks after the last."""
        gone = [_CODES[Missing.GONE]] * self._width
        for skipped in range(self.last + 1, tick):
            self._write(skipped, gone)
        self._write(tick, [_CODES[value] if isinstance(value, Missing) else value for value in values])
        self.last = tick

    def get(self, tick: int, column: int) -> Number:
        """The value of `column` at a tick that is still held."""
        value = self._values[(tick - self.first) % self.length * self._width + column]
        return value if value >= 0 else _REASONS[int(-1 - value)]

    def copy(self) -> _Ring:
        other = _Ring(self._width, self.length, self.first)
        other.last = self.last
        other._values = self._values[:]
        return other

    def _write(self, tick: int, row: list[float]) -> None:
        start = (tick - self.first) % self.length * self._width
        self._values[start : start + self._width] = array("d", row)


def job_subject(name: str) -> str:
    """The subject of a job's series: no device is called so."""
    return f"job {name}"


def _job_values(frame: Frame, job: JobRow) -> tuple[Number, ...]:
    blocked = job.worker_blocked_percent
    if not job.workers:
        blocked = _most_blocked(frame, job)
    return blocked, job.cpu_percent, job.read_bytes_per_s, job.write_bytes_per_s


def _most_blocked(frame: Frame, job: JobRow) -> Number:
    """Of each rank the share of its most blocked thread, the mean over the ranks: without workers threads load."""
    most: dict[int, float] = {}
    ranks = {key.pid for key in job.ranks}
    for key, member in frame.readings.members.items():
        share = member.blocked_percent
        if key.pid in ranks and not isinstance(share, Missing):
            most[key.pid] = max(share, most.get(key.pid, 0.0))
    return sum(most.values()) / len(most) if most else Missing.NOT_MEASURED


class History:
    """The last `length` values of each series. A series is named by its subject and field.

    Subjects are `""` for the system, a device's name, a GPU's uuid, and `job_subject` of a job's name. A GPU's
    utilisation also keeps the driver's own samples in the series `util_samples`.
    """

    def __init__(self, length: int = 600) -> None:
        self.length = length
        self._tick = -1
        self._axis: deque[tuple[float, float]] = deque(maxlen=length)
        self._rings: dict[str, tuple[tuple[str, ...], _Ring]] = {}
        self._samples: dict[str, deque[Point]] = {}

    def add(self, frame: Frame) -> None:
        """Takes the values of a frame; subjects that are gone for `length` frames are forgotten."""
        self._tick += 1
        self._axis.append((frame.time, frame.interval_s))
        self._put("", SYSTEM_SERIES, _system_values(frame.system))
        for device in frame.devices:
            self._put(device.name, DEVICE_SERIES, _device_values(device))
        for gpu in frame.gpus:
            self._put(gpu.uuid, GPU_SERIES, _gpu_values(gpu))
            self._put_samples(frame, gpu.uuid, gpu.util_samples)
        for job in frame.jobs:
            self._put(job_subject(job.name), JOB_SERIES, _job_values(frame, job))
        self._forget()

    def series(self, subject: str, name: str) -> tuple[Point, ...]:
        """The points of one series, oldest first; empty when nothing is known."""
        return self.last(subject, name, self.length * SAMPLES_PER_TICK)

    def last(self, subject: str, name: str, count: int) -> tuple[Point, ...]:
        """The newest `count` points of one series, oldest first; empty when nothing is known."""
        if name == "util_samples":
            samples = self._samples.get(subject, ())
            return tuple(samples)[-count:] if count > 0 else ()
        names, ring = self._rings.get(subject, ((), None))
        if ring is None or name not in names:
            return ()
        column = names.index(name)
        oldest = self._tick - len(self._axis) + 1
        points = tuple(
            Point(*self._axis[tick - oldest], ring.get(tick, column))
            for tick in range(max(oldest, ring.first, ring.last + 1 - count), ring.last + 1)
        )
        return points if any(not isinstance(point.value, Missing) for point in points) else ()

    def copy(self) -> History:
        """The same past, which later frames don't change: what a paused screen shows."""
        other = History(self.length)
        other._tick = self._tick
        other._axis = self._axis.copy()
        other._rings = {subject: (names, ring.copy()) for subject, (names, ring) in self._rings.items()}
        other._samples = {subject: points.copy() for subject, points in self._samples.items()}
        return other

    def _put(self, subject: str, names: tuple[str, ...], values: Sequence[Number]) -> None:
        known = self._rings.get(subject)
        if known is None:
            known = self._rings[subject] = (names, _Ring(len(names), self.length, self._tick))
        known[1].put(self._tick, values)

    def _put_samples(self, frame: Frame, uuid: str, samples: Sequence[tuple[float, float]]) -> None:
        points = self._samples.setdefault(uuid, deque(maxlen=self.length * SAMPLES_PER_TICK))
        previous = frame.time - frame.interval_s
        for seconds_ago, percent in samples:
            moment = frame.time - seconds_ago
            points.append(Point(moment, max(0.0, moment - previous), percent))
            previous = moment

    def _forget(self) -> None:
        for subject in [subject for subject, (_, ring) in self._rings.items() if ring.last <= self._tick - self.length]:
            del self._rings[subject]
            self._samples.pop(subject, None)
