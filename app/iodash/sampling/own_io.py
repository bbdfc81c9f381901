"""What a process read and wrote itself.

/proc/PID/io holds the live threads, the exited threads and every child that the process has waited for, so that a
launcher seems to do all the I/O of its child's life in the moment when it waits for it. What is a child's own is taken
out here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.model.sample import IoCounters, ProcessCounters, Sample

Amounts: TypeAlias = tuple[int, int, int, int, int, int, int]
"""The seven counters of `IoCounters` in its order."""

NOTHING: Amounts = (0, 0, 0, 0, 0, 0, 0)
CHILDLESS = (0, 0, 0, 0)


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
    if process.live_threads_io is not None:
        return _minus(amounts(process.io), amounts(process.live_threads_io))
    return NOTHING if reaped(process) == CHILDLESS else None


def own_growth(
    old: Amounts, now: Amounts, live: IoCounters | None, foreign: Amounts | None, lost: Amounts
) -> tuple[Amounts, Amounts | None]:
    """What a process that has waited for children did itself since `old`, and its new foreign part.

    Its own part lies between what its live threads show and the growth less the last counters of the children that
    vanished: a thread that ended meanwhile is in neither, a child that was never seen only in the growth.

    Args:
        old: the counters before.
        now: the counters now.
        live: those of its live threads alone, None when they could not be read.
        foreign: how much of `old` is not of its live threads, None when unknown.
        lost: the last known counters of its children that vanished.
    """
    most = _minus(_minus(now, old), lost)
    if live is None:
        return most, None if foreign is None else _plus(foreign, _minus(_minus(now, old), most))
    left = _minus(now, amounts(live))
    if foreign is None:
        return most, left
    before = _minus(old, foreign)
    grown = _minus(amounts(live), before)
    return _each([min(pair) for pair in zip(grown, most, strict=True)]), left


def lost_children(old: Sample, new: Sample) -> Mapping[int, Amounts]:
    """The last known counters of the processes that vanished, summed by the pid of their parents."""
    found: dict[int, Amounts] = {}
    for pid, process in old.processes.items():
        now = new.processes.get(pid)
        if now is process or (now is not None and now.key == process.key):
            continue
        if not isinstance(process.io, Missing) and not isinstance(process.stat, Missing):
            parent = process.stat.ppid
            found[parent] = _plus(found.get(parent, NOTHING), amounts(process.io))
    return found


def _plus(left: Amounts, right: Amounts) -> Amounts:
    return _each([a + b for a, b in zip(left, right, strict=True)])


def _minus(left: Amounts, right: Amounts) -> Amounts:
    """The difference, 0 where the right side is larger."""
    return _each([max(0, a - b) for a, b in zip(left, right, strict=True)])
