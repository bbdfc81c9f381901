"""What a process read and wrote itself.

/proc/PID/io holds the live threads, the exited threads and every child that the process has waited for, so that a
launcher seems to do all the I/O of its child's life in the moment when it waits for it. What is a child's own is taken
out here. Of threads that have ended and of children that were never seen the kernel keeps one sum; what is known of
both decides whose it was (`own_growth`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.model.sample import IoCounters, LiveThreads, ProcessCounters, Sample

Amounts: TypeAlias = tuple[int, int, int, int, int, int, int]
"""The seven counters of `IoCounters` in its order."""

NOTHING: Amounts = (0, 0, 0, 0, 0, 0, 0)
CHILDLESS = (0, 0, 0, 0)

_BYTES = (0, 1, 4, 5, 6)
_FEW_FAULTS = 256
"""Page faults of a few small programs: each needs 50 to 100 to start, and more for every buffer of some size."""

_FEW_TICKS = 1
"""Ticks of CPU that starting them may add to the children's, of which the kernel shows whole ones."""

_SLACK_BYTES = 1 << 16
_SLACK_SHARE = 0.1
"""Bounds that differ by less are as good as one number."""


class Lost(NamedTuple):
    """What was last known of the children of a process that vanished, summed, with what they had waited for."""

    io: Amounts = NOTHING
    minor_faults: int = 0
    major_faults: int = 0
    cpu_ticks: int = 0


class Own(NamedTuple):
    """What a process did itself.

    `known` is false where it may have been far more. `foreign` is how much of its counters is not of its live threads,
    `ended_faults` how many page faults its ended threads may have had at most.
    """

    grown: Amounts
    foreign: Amounts | None
    ended_faults: int
    known: bool = True


def amounts(io: IoCounters) -> Amounts:
    """The counters as a tuple."""
    return (
        io.logical_read_bytes,
        io.logical_write_bytes,
        io.read_calls,
        io.write_calls,
        io.read_bytes,
        io.write_bytes,
        io.cancelled_write_bytes,
    )


def _each(values: list[int]) -> Amounts:
    first, second, third, fourth, fifth, sixth, seventh = values
    return first, second, third, fourth, fifth, sixth, seventh


def reaped(process: ProcessCounters | None) -> tuple[int, int, int, int]:
    """What changes with every child that the process waits for."""
    if process is None or isinstance(process.stat, Missing):
        return CHILDLESS
    return process.stat.reaped


def first_foreign(process: ProcessCounters) -> Amounts | None:
    """How much of a process's counters is not of its live threads, None when that was never read."""
    if isinstance(process.io, Missing):
        return None
    if process.live_threads is not None:
        return _minus(amounts(process.io), amounts(process.live_threads.io))
    return NOTHING if reaped(process) == CHILDLESS else None


def first_ended_faults(process: ProcessCounters | None) -> int:
    """How many page faults its ended threads may have had, 0 when nothing is known of them."""
    return process.live_threads.ended_faults_most if process is not None and process.live_threads is not None else 0


def own_growth(
    old: Amounts,
    now: Amounts,
    live: LiveThreads | None,
    foreign: Amounts | None,
    ended_faults: int,
    lost: Lost,
    reaped_before: tuple[int, int, int, int],
) -> Own:
    """What a process that has waited for children did itself since `old`.

    At least it is what its live threads show, at most the growth less the last counters of the children that vanished.
    Between the two lies what threads did that have ended, what children did that were never seen, and what seen ones
    did after they were last seen:

    - No thread has ended since the live threads were last read: then these tell it all, and the rest is the children's.
      An ended thread is known by the page faults that the process has and its live threads lack.
    - A thread has ended, and beyond what was seen of them the children have used next to nothing (no major fault, a
      few hundred minor ones, no more CPU than programs need to start): then all of the rest is its own. The little that
      such children read counts too, as does more where one reads without buffers of its own.
    - Both may have done it: then the live threads' part alone is sure, and it is the answer only where the bounds lie
      close together.

    A thread that ended without a single page fault is taken for a child.

    Args:
        old: the counters before.
        now: the counters now.
        live: its live threads, None when they could not be read.
        foreign: how much of `old` is not of its live threads, None when unknown.
        ended_faults: how many page faults its ended threads may have had when last read.
        lost: the last known counters of its children that vanished.
        reaped_before: what all children that it had waited for before had used.
    """
    growth = _minus(now, old)
    most = _minus(growth, lost.io)
    if live is None:
        return Own(most, None if foreign is None else _plus(foreign, _minus(growth, most)), ended_faults)
    left = _minus(now, amounts(live.io))
    if foreign is None:
        return Own(most, left, live.ended_faults_most)
    grown = _minus(amounts(live.io), _minus(old, foreign))
    least = _each([min(pair) for pair in zip(grown, most, strict=True)])
    if live.ended_faults_least <= ended_faults:
        return Own(least, left, live.ended_faults_most)
    if _next_to_nothing(reaped_before, live.reaped, lost):
        return Own(most, left, live.ended_faults_most)
    known = all(most[each] - least[each] <= max(_SLACK_BYTES, _SLACK_SHARE * most[each]) for each in _BYTES)
    return Own(least, left, live.ended_faults_most, known)


def _next_to_nothing(before: tuple[int, int, int, int], now: tuple[int, int, int, int], seen: Lost) -> bool:
    """Whether children that have ended meanwhile can have read or written hardly anything that was not seen of them."""
    minor, major, user, system = (after - first for first, after in zip(before, now, strict=True))
    return (
        minor - seen.minor_faults <= _FEW_FAULTS
        and major <= seen.major_faults
        and user + system - seen.cpu_ticks <= _FEW_TICKS
    )


def lost_children(old: Sample, new: Sample) -> Mapping[int, Lost]:
    """The last known counters of the processes that vanished, summed by the pid of their parents."""
    found: dict[int, Lost] = {}
    for pid, process in old.processes.items():
        now = new.processes.get(pid)
        if now is process or (now is not None and now.key == process.key):
            continue
        stat = process.stat
        if not isinstance(process.io, Missing) and not isinstance(stat, Missing):
            others = found.get(stat.ppid, Lost())
            minor, major, user, system = stat.reaped
            found[stat.ppid] = Lost(
                _plus(others.io, amounts(process.io)),
                others.minor_faults + stat.minor_faults + minor,
                others.major_faults + stat.major_faults + major,
                others.cpu_ticks + stat.cpu_ticks + user + system,
            )
    return found


def _plus(left: Amounts, right: Amounts) -> Amounts:
    return _each([a + b for a, b in zip(left, right, strict=True)])


def _minus(left: Amounts, right: Amounts) -> Amounts:
    """The difference, 0 where the right side is larger."""
    return _each([max(0, a - b) for a, b in zip(left, right, strict=True)])
