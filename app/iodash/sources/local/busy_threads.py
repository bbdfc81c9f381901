"""Which threads of a process have work beside the main one: thread pools that load data, autograd, writers.

The kernel counts how often each thread was given a CPU (the third number of /proc/PID/task/TID/schedstat,
Documentation/scheduler/sched-stats.rst). A thread that computes, or that waits for one read after the other, is given
one again and again; the many that only exist are not.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iodash.model.sample import ProcessKey
from iodash.sources.local.kept_file import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

MOST_CHOSEN = 6
"""How many threads of one process are chosen."""

RUNS_PER_S = 2.0
"""How often a thread must be given a CPU to have work."""

_MOST_COUNTED = 512
_MOST_A_TIME = 256
_SOON_S = 0.9
_LATER_S = 4.0
_SETTLED_S = 10.0
_CPU_SHARE = 0.05
_FEW = 64
_NANOSECONDS = 1e9


@dataclass(slots=True)
class _Counted:
    """The threads of one process when they were last counted: how often each has run and for how many seconds."""

    at: float = 0.0
    due: float = 0.0
    runs: dict[int, tuple[int, float]] = field(default_factory=dict)
    chosen: frozenset[ProcessKey] = frozenset()


class BusyThreads:
    """Counts the threads of processes now and then, a bounded number at a time, and chooses those that have work."""

    def __init__(self, procfs: Path) -> None:
        self._procfs = str(procfs)
        self._processes: dict[ProcessKey, _Counted] = {}

    def busy(self, processes: frozenset[ProcessKey]) -> frozenset[ProcessKey]:
        """The chosen threads of all of them, as far as they have been counted twice."""
        self._processes = {key: self._processes.get(key) or _Counted() for key in processes}
        now = time.monotonic()
        left = _MOST_A_TIME
        for key, counted in sorted(self._processes.items(), key=lambda item: item[1].due):
            if counted.due > now or left <= 0:
                break
            left -= self._count(key, counted, now)
        return frozenset().union(*(counted.chosen for counted in self._processes.values()))

    def _count(self, key: ProcessKey, counted: _Counted, now: float) -> int:
        tasks = f"{self._procfs}/{key.pid}/task"
        try:
            names = os.listdir(tasks)
        except OSError:
            names = []
        runs: dict[int, tuple[int, float]] = {}
        for name in names[:_MOST_COUNTED]:
            fields = (read_bytes(f"{tasks}/{name}/schedstat") or b"").split()
            if len(fields) == 3 and int(name) != key.pid:
                runs[int(name)] = (int(fields[2]), int(fields[0]) / _NANOSECONDS)
        before, seconds, chosen = counted.runs, now - counted.at, counted.chosen
        counted.runs, counted.at, counted.due = runs, now, now + _SOON_S
        if before or counted.chosen:
            at_work = _most_at_work(before, runs, seconds)
            asked = list(runs) if len(runs) <= _FEW else [each.tid for each in counted.chosen]
            stuck = [tid for tid in asked if tid not in at_work and self._is_blocked(key.pid, tid)]
            tids = [*at_work, *stuck][:MOST_CHOSEN]
            counted.chosen = frozenset(ProcessKey(*key[:2], tid) for tid in tids)
            counted.due = now + (_SETTLED_S if counted.chosen == chosen else _LATER_S)
        return len(runs)

    def _is_blocked(self, pid: int, tid: int) -> bool:
        """Whether a thread is in state D: it has not run because what it waits for doesn't come."""
        stat = read_bytes(f"{self._procfs}/{pid}/task/{tid}/stat") or b""
        return stat.rpartition(b") ")[2].startswith(b"D")


def _most_at_work(before: dict[int, tuple[int, float]], now: dict[int, tuple[int, float]], seconds: float) -> list[int]:
    """The threads that were given a CPU the most, or used it the most; those of `now` that are new count from zero."""
    grown = []
    for tid, (runs, cpu_s) in now.items():
        runs_before, cpu_before = before.get(tid, (0, 0.0))
        often, long = (runs - runs_before) / seconds, (cpu_s - cpu_before) / seconds
        if often >= RUNS_PER_S or long >= _CPU_SHARE:
            grown.append((long, often, tid))
    by_cpu = sorted(grown, reverse=True)
    by_runs = sorted(grown, key=lambda each: each[1], reverse=True)
    both = [tid for pair in zip(by_cpu, by_runs, strict=True) for _, _, tid in pair]
    return list(dict.fromkeys(both))[:MOST_CHOSEN]
