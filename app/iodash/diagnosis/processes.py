"""Processes as wholes, whether the rows of a frame are processes or threads."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter, is_
from typing import TYPE_CHECKING

from iodash.model.frame import ProcessRow
from iodash.sampling.sums import RATES, cache_hits, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame

_NAMES = [each.name for each in fields(ProcessRow)]
_all = attrgetter(*_NAMES)

_SUMS = (*RATES, "read_bytes_total", "write_bytes_total")
"""What each thread does for itself. /proc/PID tells the rest of the process, or of its main thread alone: state, I/O
delay, I/O priority."""


class Processes:
    """Makes the processes of successive frames. One whose threads did nothing is not made again."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[list[ProcessRow], ProcessRow]] = {}

    def of(self, frame: Frame) -> tuple[ProcessRow, ...]:
        """One row for each process of `frame`, with the key and the meaning that it has while processes are shown.

        Of threads the sum is taken: of live threads, so that what a thread did between the last reading and its end is
        not in it, and totals are what the live threads did since they were first seen. A sum is over what is known, and
        missing only where nothing is. What threads share, such as memory and GPUs, is that of the main thread. A
        process whose main thread is not listed is left out, since its threads don't tell which one it is.
        """
        if not frame.threads:
            self._made.clear()
            return frame.processes
        threads: dict[int, list[ProcessRow]] = {}
        for row in frame.processes:
            pid = row.key.pid
            if pid in threads:
                threads[pid].append(row)
            else:
                threads[pid] = [row]
        before, self._made = self._made, {}
        for pid, rows in threads.items():
            made = before.get(pid)
            if made is None or not _are_same(made[0], rows):
                main = next((row for row in rows if row.key.tid in (0, pid)), None)
                if main is None:
                    continue
                made = rows, _whole(main, rows)
            self._made[pid] = made
        return tuple(whole for _, whole in self._made.values())


def processes_of(frame: Frame) -> tuple[ProcessRow, ...]:
    """The processes of a single frame, as `Processes` makes them."""
    return Processes().of(frame)


def _are_same(before: Sequence[ProcessRow], now: Sequence[ProcessRow]) -> bool:
    return len(before) == len(now) and all(map(is_, before, now))


def _whole(main: ProcessRow, threads: Sequence[ProcessRow]) -> ProcessRow:
    values = dict(zip(_NAMES, _all(main), strict=True))  # `dataclasses.replace` takes twice as long
    values["key"] = main.key._replace(tid=0)
    if len(threads) > 1:
        values |= summed(threads, _SUMS)
        values["cache_hit_percent"] = cache_hits(threads, values)
    return ProcessRow(**values)
