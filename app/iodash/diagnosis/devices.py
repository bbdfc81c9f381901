"""A word for each device: how it does, measured against itself. No single percentage can say that."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from iodash.formatting.units import byte_rate_in_words, count, decimal, duration, milliseconds, percent
from iodash.model.missing import Missing, Number, known, or_zero

if TYPE_CHECKING:
    from iodash.model.frame import DeviceRow, DeviceState, Frame
    from iodash.model.members import IoLimit

STALL_S = 1.0
"""Seconds with requests in flight and no completion that make a stall."""

_STALL_SLACK = 0.98
"""The kernel measures busy time in clock ticks, so that a second shows as a little less."""

_QUEUE_FULL = 0.9
_BUSY_PERCENT = 90.0
_BUSY_LEAVE_PERCENT = 80.0

_LIGHT_QUEUE = 1.0
_LIGHT_AWAITS = 240
_LIGHT_NEEDED = 5
_LOW_PERCENTILE = 0.1

_AT_LIMIT = 0.95
_AT_LIMIT_LEAVE = 0.85
_KNEE_WAIT = 2.5
_KNEE_WAIT_LEAVE = 2.0
_KNEE_QUEUE = 2.0

_SLOW_WAIT = 5.0
_SLOW_WAIT_LEAVE = 3.0
_SLOW_MS = 1.0
_SLOW_THROUGHPUT = 0.5
_SLOW_COMPLETIONS = 3

_UNCOMPARED_WAIT_MS = 10.0
_UNCOMPARED_QUEUE = 4.0

_LIMIT_REACHED = 0.9
_LIMIT_LEFT = 0.8
"""Share of a control group's limit from which it is what holds the requests back, and below which it no longer is."""

_STEADY_INTERVALS = 2
"""Intervals in a row that a device must look saturated, slow or throttled before it is called so."""

_SIZE_CLASSES = (32 << 10, 256 << 10)

_MISSING_REASONS: dict[Missing, str] = {
    Missing.NEW: "seen for the first time",
    Missing.RESET: "its counters started again",
    Missing.OFF: "the kernel keeps no statistics of it (queue/iostats is 0)",
    Missing.UNSUPPORTED: "its driver counts nothing",
}

Judgement: TypeAlias = "tuple[DeviceState | Missing, str]"


class _Wait(NamedTuple):
    """How long the requests of one direction waited, against what is usual for their size."""

    direction: str
    milliseconds: float
    usual: float | None
    completions: float

    @property
    def times(self) -> float | None:
        """How many times the usual wait."""
        return self.milliseconds / self.usual if self.usual else None

    @property
    def text(self) -> str:
        usual = f", usually {milliseconds(self.usual)}" if self.usual is not None else ""
        return f"{self.direction} wait {milliseconds(self.milliseconds)} ms{usual}"


class _Limited(NamedTuple):
    """A control group's limit on a device, and how much of it is used, 1 being all."""

    limit: IoLimit
    used: float


@dataclass(slots=True)
class _Past:
    """What has been learnt of a device: its waits at light load by direction and size, and the best it has done."""

    light: dict[tuple[str, int], deque[float]] = field(default_factory=dict)
    best_operations: float = 0.0
    best_bytes: float = 0.0
    stalled_s: float = 0.0
    suspect: str = ""
    suspect_intervals: int = 0
    state: DeviceState | Missing = Missing.NOT_MEASURED

    def usual(self, direction: str, size: float) -> float | None:
        """A low percentile of the waits at light load, None before there are enough of them."""
        waits = self.light.get((direction, _size_class(size)))
        if waits is None or len(waits) < _LIGHT_NEEDED:
            return None
        return sorted(waits)[int(len(waits) * _LOW_PERCENTILE)]

    def learn(self, direction: str, size: float, wait: float) -> None:
        """Takes in a wait at light load."""
        key = (direction, _size_class(size))
        if key not in self.light:
            self.light[key] = deque(maxlen=_LIGHT_AWAITS)
        self.light[key].append(wait)

    def share_of_best(self, operations: float, amount: float) -> float:
        """How near to the best seen in this run: the nearer of operations and bytes, 0 to 1."""
        self.best_operations = max(self.best_operations, operations)
        self.best_bytes = max(self.best_bytes, amount)
        return max(
            operations / self.best_operations if self.best_operations else 0.0,
            amount / self.best_bytes if self.best_bytes else 0.0,
        )

    def steady(self, suspect: str) -> bool:
        """Whether the same suspicion has lasted long enough, or is the state already. To be told of every interval."""
        self.suspect_intervals = self.suspect_intervals + 1 if suspect == self.suspect else 1
        self.suspect = suspect
        return self.state == suspect or self.suspect_intervals >= _STEADY_INTERVALS


def _size_class(size: float) -> int:
    return sum(size > limit for limit in _SIZE_CLASSES)


class DeviceStates:
    """Judges the devices of successive frames. It remembers a bounded past of each device that is still there."""

    def __init__(self) -> None:
        self._past: dict[tuple[str, int, int], _Past] = {}

    def judge(self, frame: Frame) -> tuple[DeviceRow, ...]:
        """The frame's devices, each with its state and one short sentence of why.

        `stalled`: requests are in flight and none has completed for a second. `queued`: (nearly) all of the device's
        slots are taken. `saturated`: at the best throughput seen, with requests that wait far longer than usual.
        `slow`: they wait far longer though throughput is low. `busy`: in use nearly all the time, which on a device
        that serves many requests at once is no limit. `throttled`: it would take more, but a job's control group is at
        a limit that is set for this device; the kernel holds such requests back before the device counts them. The
        state is the reason itself where its rates are missing.
        """
        past: dict[tuple[str, int, int], _Past] = {}
        limits = _closest_limits(frame)
        rows = []
        for row in frame.devices:
            key = (row.name, row.major, row.minor)
            remembered = past[key] = self._past.get(key) or _Past()
            state, reason = _judge(row, remembered, limits.get(row.name), frame.interval_s)
            remembered.state = state
            rows.append(replace(row, state=state, state_reason=reason, stalled_s=remembered.stalled_s))
        self._past = past
        return tuple(rows)


def _judge(row: DeviceRow, past: _Past, limit: _Limited | None, seconds: float) -> Judgement:
    operations = _operations(row)
    if isinstance(operations, Missing):
        past.stalled_s = 0.0
        past.steady("")
        if isinstance(row.in_flight, int) and row.in_flight > 0 and operations is Missing.UNSUPPORTED:
            return "busy", f"{row.in_flight} waiting for an answer; it counts nothing else"
        return operations, _MISSING_REASONS.get(operations, operations.words)
    stalled = _stalled(row, operations, past, seconds)
    if stalled is not None:
        past.steady("stalled")
        return stalled
    if not operations and not or_zero(row.in_flight) and not or_zero(row.util_percent):
        past.steady("")
        return "idle", ""
    waits = _waits(row, past, seconds)
    share = past.share_of_best(operations, or_zero(row.read_bytes_per_s) + or_zero(row.write_bytes_per_s))
    found = _queued(row) or _saturated(row, past, waits, share) or _throttled(past, limit) or _slow(past, waits, share)
    lasting = past.steady("" if found is None else str(found[0]))
    if found is not None and (lasting or found[0] == "queued"):
        return found
    _learn(row, past)
    util = or_zero(row.util_percent)
    if util >= (_BUSY_LEAVE_PERCENT if past.state == "busy" else _BUSY_PERCENT):
        return "busy", f"in use {percent(util)} % of the time, at {percent(100 * share)} % of the best seen"
    return "ok", ""


def _operations(row: DeviceRow) -> Number:
    """Completions a second, of whichever kind; the reason where even reads and writes are not known."""
    if not isinstance(row.operations_per_s, Missing):
        return row.operations_per_s
    both = row.reads_per_s + row.writes_per_s
    return both if isinstance(both, Missing) else both + or_zero(row.discards_per_s) + or_zero(row.flushes_per_s)


def _stalled(row: DeviceRow, operations: float, past: _Past, seconds: float) -> Judgement | None:
    in_flight = or_zero(row.in_flight)
    if operations or not in_flight:
        past.stalled_s = 0.0
        return None
    util = known(row.util_percent)
    past.stalled_s += seconds if util is None else seconds * min(1.0, util / 100)
    if past.stalled_s < STALL_S * _STALL_SLACK:
        return None
    return "stalled", f"{in_flight:.0f} in flight, nothing completed for {duration(past.stalled_s + 0.05)}"


def _queued(row: DeviceRow) -> Judgement | None:
    queue = or_zero(row.queue_length)
    if not row.slots:
        return None
    full = _QUEUE_FULL * row.slots
    if queue >= full or (or_zero(row.in_flight) >= full and queue >= full / 2):
        return "queued", f"{decimal(queue)} requests queued or in service, {row.slots} fit at once"
    return None


def _waits(row: DeviceRow, past: _Past, seconds: float) -> list[_Wait]:
    """The waits of reads and of writes as far as there were any, the one farthest from its usual first."""
    waits = []
    for direction, wait, size, rate in _directions(row):
        if wait is not None:
            waits.append(_Wait(direction, wait, past.usual(direction, size), rate * seconds))
    return sorted(waits, key=lambda each: (each.times or 0.0, each.milliseconds), reverse=True)


def _directions(row: DeviceRow) -> tuple[tuple[str, float | None, float, float], ...]:
    return (
        ("reads", known(row.read_await_ms), or_zero(row.read_size_bytes), or_zero(row.reads_per_s)),
        ("writes", known(row.write_await_ms), or_zero(row.write_size_bytes), or_zero(row.writes_per_s)),
    )


def _saturated(row: DeviceRow, past: _Past, waits: list[_Wait], share: float) -> Judgement | None:
    queue = or_zero(row.queue_length)
    was = past.state == "saturated"
    if not waits or queue < _KNEE_QUEUE or share < (_AT_LIMIT_LEAVE if was else _AT_LIMIT):
        return None
    worst = waits[0]
    if worst.times is None:
        if worst.milliseconds < _UNCOMPARED_WAIT_MS or queue < _UNCOMPARED_QUEUE:
            return None
    elif worst.times < (_KNEE_WAIT_LEAVE if was else _KNEE_WAIT):
        return None
    best = f"{count(past.best_operations)}/s or {byte_rate_in_words(past.best_bytes)}"
    return "saturated", f"{worst.text}; at {percent(100 * share)} % of the best seen ({best}), queue {decimal(queue)}"


def _closest_limits(frame: Frame) -> dict[str, _Limited]:
    """By device the limit of a job's control group that is nearest to being reached."""
    closest: dict[str, _Limited] = {}
    for group in frame.readings.cgroups.values():
        for limit, rate in group.io_limits:
            used = or_zero(rate) / limit.per_s if limit.per_s else 0.0
            if limit.device not in closest or used > closest[limit.device].used:
                closest[limit.device] = _Limited(limit, used)
    return closest


def _throttled(past: _Past, limited: _Limited | None) -> Judgement | None:
    if limited is None or limited.used < (_LIMIT_LEFT if past.state == "throttled" else _LIMIT_REACHED):
        return None
    limit = limited.limit
    amount = byte_rate_in_words(limit.per_s) if limit.unit == "bytes" else f"{count(limit.per_s)} operations/s"
    share = f"{percent(100 * limited.used)} % of it is used"
    return "throttled", f"a control group's limit of {amount} holds {limit.direction}s back, {share}"


def _slow(past: _Past, waits: list[_Wait], share: float) -> Judgement | None:
    if not waits or share > _SLOW_THROUGHPUT:
        return None
    worst = waits[0]
    least = _SLOW_WAIT_LEAVE if past.state == "slow" else _SLOW_WAIT
    if worst.times is None or worst.times < least or worst.milliseconds < _SLOW_MS:
        return None
    if worst.completions < _SLOW_COMPLETIONS:
        return None
    return "slow", f"{worst.text}, at {percent(100 * share)} % of the best throughput seen"


def _learn(row: DeviceRow, past: _Past) -> None:
    """Takes in the waits of an interval with little load."""
    queue = known(row.queue_length)
    if queue is None or queue > _LIGHT_QUEUE:
        return
    for direction, wait, size, _ in _directions(row):
        if wait is not None:
            past.learn(direction, size, wait)
