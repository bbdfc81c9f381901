"""The row of one process: what its counters say of the time between two samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iodash.model.frame import ProcessRow
from iodash.model.missing import Count, Missing, Number
from iodash.sampling.counters import cache_hit_percent, delta, per_second
from iodash.sampling.gpu_use import gpu_uses
from iodash.sampling.own_io import (
    NOTHING,
    Amounts,
    Lost,
    amounts,
    first_ended_faults,
    first_foreign,
    lost_children,
    own_growth,
    reaped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iodash.model.frame import GpuRow
    from iodash.model.sample import IoCounters, ProcessCounters, Sample, StatCounters
    from iodash.sampling.gpu_use import GpuUse

BIRTH_MARGIN_S = 1.1
"""How much earlier than it was a process may seem to have started: the boot time is in whole seconds."""

_READ, _WRITTEN = 4, 5


class Interval:
    """The time between two samples, as the rows of all processes need it."""

    __slots__ = ("_lost", "born_after", "new", "old", "others", "seconds", "uses")

    def __init__(self, old: Sample, new: Sample, seconds: float, gpus: Sequence[GpuRow]) -> None:
        self.old = old
        self.new = new
        self.seconds = seconds
        self.born_after = old.time - (BIRTH_MARGIN_S if old.threads == new.threads else 0.0)
        self.uses, self.others = gpu_uses(new.gpu_driver, gpus)
        self._lost: Mapping[int, Lost] | None = None

    def lost_children(self, pid: int) -> Lost:
        """What was last known of the children of `pid` that vanished meanwhile."""
        if self._lost is None:
            self._lost = lost_children(self.old, self.new)
        return self._lost.get(pid, Lost())

    def what_all_share(self) -> tuple[object, ...]:
        """Rows of quiet processes stay the same only while this does."""
        return self.others, self.new.host.delay_accounting, self.seconds > 0, self.new.threads


class Track:
    """A process from frame to frame: its newest row, and the totals since it was first seen.

    `row` may be given out again as long as the same `counters` object comes and it is `quiet`. `foreign` is how much of
    the io counters is not of the live threads, `ended_faults` how many page faults its ended threads may have had, both
    when the live threads were last read.
    """

    __slots__ = ("counters", "ended_faults", "foreign", "key", "quiet", "read_total", "row", "write_total")

    row: ProcessRow

    def __init__(self, old: ProcessCounters | None, new: ProcessCounters) -> None:
        self.key = new.key
        self.counters: ProcessCounters | None = None
        self.foreign = NOTHING if old is None else first_foreign(old)
        self.ended_faults = first_ended_faults(old)
        self.quiet = False
        self.read_total = self.write_total = 0

    def begin(self, new: ProcessCounters) -> None:
        """Counts from `new` on."""
        self.foreign, self.ended_faults = first_foreign(new), first_ended_faults(new)

    def stays(self, now: ProcessCounters, interval: Interval) -> bool:
        """Whether the row of the frame before is that of this frame too, as far as the process itself goes."""
        before = interval.old.processes.get(now.key.tid or now.key.pid)
        return self.quiet and self.counters is now and before is now and now.key.pid not in interval.uses

    def advance(self, interval: Interval, old: ProcessCounters | None, new: ProcessCounters) -> None:
        """Takes what the process did in the interval. `old` is None where the sample before doesn't have it."""
        unseen = old is None and self.counters is not None
        born = old is None and not unseen and new.start_time >= interval.born_after
        grown, known = _growth(interval, self, self.counters if unseen else old, new, born=born)
        if not isinstance(grown, Missing):
            self.read_total += grown[_READ]
            self.write_total += grown[_WRITTEN]
            if unseen:
                grown = Missing.NEW
            elif not known:
                grown = Missing.NOT_MEASURED
        use = interval.uses.get(new.key.pid, interval.others)
        self.row = _make_row(interval, self, new, grown, _timing(interval, old, new, born=born), use)
        self.counters = new
        self.quiet = use is interval.others and _is_quiet(self.row)


def _growth(
    interval: Interval, track: Track, old: ProcessCounters | None, new: ProcessCounters, *, born: bool
) -> tuple[Amounts | Missing, bool]:
    """What the process itself read and wrote in the frame; its children's part is kept out of it.

    Second, whether that is all: where its threads and its children can't be told apart it is what is sure.
    """
    if isinstance(new.io, Missing):
        return new.io, True
    before: IoCounters | None = None
    if old is not None:
        if isinstance(old.io, Missing):
            track.begin(new)
            return Missing.NEW, True
        if old.io is new.io:
            return NOTHING, True
        before = old.io
    elif not born:
        track.begin(new)
        return Missing.NEW, True
    start = NOTHING if before is None else amounts(before)
    now = amounts(new.io)
    grown = _difference(start, now)
    if grown is None:
        track.begin(new)
        return Missing.RESET, True
    if new.key.tid or reaped(old) == reaped(new):
        return grown, True
    lost = interval.lost_children(new.key.pid)
    own = own_growth(start, now, new.live_threads, track.foreign, track.ended_faults, lost, reaped(old))
    track.foreign, track.ended_faults = own.foreign, own.ended_faults
    return own.grown, own.known


def _difference(old: Amounts, new: Amounts) -> Amounts | None:
    """How much the counters grew, None if one of them fell."""
    parts = [delta(before, after) for before, after in zip(old, new, strict=True)]
    grown = [part for part in parts if not isinstance(part, Missing)]
    if len(grown) != len(parts):
        return None
    first, second, third, fourth, fifth, sixth, seventh = grown
    return first, second, third, fourth, fifth, sixth, seventh


class _Timing:
    """CPU and I/O delay in percent and major faults a second, over the row's own readings."""

    __slots__ = ("cpu", "delay", "faults")

    def __init__(self, cpu: Number, delay: Number, faults: Number) -> None:
        self.cpu = cpu
        self.delay = delay
        self.faults = faults


def _timing(interval: Interval, old: ProcessCounters | None, new: ProcessCounters, *, born: bool) -> _Timing:
    now = new.stat
    if isinstance(now, Missing):
        return _Timing(now, now, now)
    before = None if old is None else old.stat
    accounting = interval.new.host.delay_accounting
    if before is None:
        if not born:
            return _Timing(Missing.NEW, Missing.OFF if accounting is False else Missing.NEW, Missing.NEW)
        ticks, delays, faults, seconds = now.cpu_ticks, now.io_delay_ticks, now.major_faults, interval.seconds
        return _timed(interval, ticks, delays, faults, seconds, now)
    if isinstance(before, Missing):
        return _Timing(Missing.NEW, Missing.OFF if accounting is False else Missing.NEW, Missing.NEW)
    if before is now:
        return _timed(interval, 0, 0, 0, interval.seconds, now)
    return _timed(
        interval,
        delta(before.cpu_ticks, now.cpu_ticks),
        delta(before.io_delay_ticks, now.io_delay_ticks),
        delta(before.major_faults, now.major_faults),
        now.read_at - max(before.read_at, now.previous_read_at),
        now,
    )


def _timed(
    interval: Interval, ticks: Count, delays: Count, faults: Count, seconds: float, now: StatCounters
) -> _Timing:
    host = interval.new.host
    to_percent = 100 / host.clock_ticks
    delay: Number
    if host.delay_accounting is False:
        delay = Missing.OFF
    elif host.delay_accounting is None and now.io_delay_ticks == 0:
        delay = Missing.NOT_MEASURED
    else:
        delay = per_second(delays * to_percent, seconds)
    return _Timing(per_second(ticks * to_percent, seconds), delay, per_second(faults, seconds))


def _cache_hits(new: ProcessCounters, grown: Amounts | Missing) -> Number:
    """Share of the bytes read by calls that storage did not deliver, in percent."""
    if isinstance(grown, Missing):
        return grown
    if new.reads_fuse:
        return Missing.UNSUPPORTED
    return cache_hit_percent(grown[0], grown[_READ])


def _rates(grown: Amounts | Missing, seconds: float) -> tuple[Number, ...]:
    if isinstance(grown, Missing):
        return (grown,) * len(NOTHING)
    if grown is NOTHING and seconds > 0:
        return (0.0,) * len(NOTHING)
    return tuple(per_second(amount, seconds) for amount in grown)


def _make_row(
    interval: Interval, track: Track, new: ProcessCounters, grown: Amounts | Missing, timing: _Timing, use: GpuUse
) -> ProcessRow:
    rates = _rates(grown, interval.seconds)
    stat: Any = new.stat
    known = not isinstance(stat, Missing)
    hidden = new.io if isinstance(new.io, Missing) else None
    return ProcessRow(
        key=new.key,
        ppid=stat.ppid if known else stat,
        name=new.name,
        command=new.command,
        user=new.user,
        uid=new.uid,
        state=stat.state if known else stat,
        threads=stat.threads if known else stat,
        start_time=new.start_time,
        read_bytes_per_s=rates[_READ],
        write_bytes_per_s=rates[_WRITTEN],
        cancelled_write_bytes_per_s=rates[6],
        logical_read_bytes_per_s=rates[0],
        logical_write_bytes_per_s=rates[1],
        read_calls_per_s=rates[2],
        write_calls_per_s=rates[3],
        cache_hit_percent=_cache_hits(new, grown),
        io_delay_percent=timing.delay,
        cpu_percent=timing.cpu,
        resident_bytes=stat.resident_pages * interval.new.host.page_bytes if known else stat,
        read_bytes_total=track.read_total if hidden is None else hidden,
        write_bytes_total=track.write_total if hidden is None else hidden,
        major_faults_per_s=timing.faults,
        io_priority=new.io_priority,
        cgroup=new.cgroup,
        container=new.container,
        gpus=use.gpus,
        gpu_memory_bytes=use.memory_bytes,
        gpu_sm_percent=use.sm_percent,
        role=new.role,
        kernel_thread=new.kernel_thread,
        gpus_guessed=use.guessed,
    )


_PASSING = (Missing.NEW, Missing.RESET, Missing.NOT_MEASURED)


def _is_quiet(row: ProcessRow) -> bool:
    """Whether the row would be the same if nothing happened in another frame."""
    return not any(
        value in _PASSING if isinstance(value, Missing) else value
        for value in (
            row.logical_read_bytes_per_s,
            row.logical_write_bytes_per_s,
            row.read_calls_per_s,
            row.write_calls_per_s,
            row.read_bytes_per_s,
            row.write_bytes_per_s,
            row.cancelled_write_bytes_per_s,
            row.cpu_percent,
            row.io_delay_percent if row.io_delay_percent is not Missing.NOT_MEASURED else 0,
            row.major_faults_per_s,
        )
    )
