"""The rows of the processes: rates over the frame, totals since iodash started."""

from __future__ import annotations

from itertools import compress, count
from operator import is_not
from typing import TYPE_CHECKING, NamedTuple

from iodash.sampling.process_row import Interval, Track

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from iodash.model.frame import GpuRow, ProcessRow
    from iodash.model.sample import ProcessCounters, Sample


class _LastFrame(NamedTuple):
    """What a frame hands on to the next one.

    `restless` are the positions of the rows that may differ in the next frame even if nothing is read anew, `used` the
    pids of the processes that use GPUs.
    """

    shared: tuple[object, ...] = ()
    processes: Mapping[int, ProcessCounters] | None = None
    numbers: Sequence[int] = ()
    counters: Sequence[ProcessCounters] = ()
    rows: Sequence[ProcessRow] = ()
    restless: Sequence[int] = ()
    used: frozenset[int] = frozenset()

    def goes_on(self, interval: Interval, shared: tuple[object, ...], numbers: list[int]) -> bool:
        """Whether a frame comes right after this one, with the same processes: then rows at rest stay as they are."""
        return (
            shared == self.shared
            and interval.old.processes is self.processes
            and numbers == self.numbers
            and interval.uses.keys() <= self.used
        )

    def moved(self, counters: Sequence[ProcessCounters]) -> list[int]:
        """The positions of the rows that are not as they were, in a frame that goes on from this one."""
        return sorted({*compress(count(), map(is_not, counters, self.counters)), *self.restless})


class ProcessRates:
    """Makes the process rows of successive frames.

    A process that did nothing costs almost nothing: its row of the frame before is given out again. While nobody comes
    or goes not even a step of the loop is taken for it.
    """

    def __init__(self) -> None:
        self._processes: dict[int, Track] = {}
        self._threads: dict[int, Track] = {}
        self._last = _LastFrame()

    @property
    def moving(self) -> Iterator[ProcessRow]:
        """Those of the last frame's rows in which anything at all happened, and a few more."""
        return (self._last.rows[position] for position in self._last.restless)

    def rows(self, old: Sample, new: Sample, seconds: float, gpus: Sequence[GpuRow]) -> tuple[ProcessRow, ...]:
        """One row for each process (or thread) of `new`, in its order.

        Byte rates are over `seconds`; CPU, delay and faults over the time between the two readings of the row's stat
        file. A process that started after `old` is measured from zero. Totals go on through frames that a process is
        not in, as while threads are shown.
        """
        interval = Interval(old, new, seconds, gpus)
        if not new.threads:
            self._threads.clear()
        tracks = self._threads if new.threads else self._processes
        numbers, counters = list(new.processes), list(new.processes.values())
        last, shared = self._last, interval.what_all_share()
        if last.goes_on(interval, shared, numbers):
            rows, moved = list(last.rows), last.moved(counters)
            for position in moved:
                rows[position] = _advance(interval, tracks, numbers[position], counters[position]).row
        else:
            alike = shared == last.shared
            moved = []
            for position, now in enumerate(counters):
                track = tracks.get(numbers[position])
                if track is None or not alike or not track.stays(now, interval):
                    _advance(interval, tracks, numbers[position], now)
                    moved.append(position)
            rows = [tracks[number].row for number in numbers]
        if len(tracks) != len(numbers):
            for number in tracks.keys() - new.processes.keys():
                del tracks[number]
        restless = [position for position in moved if not tracks[numbers[position]].quiet]
        self._last = _LastFrame(shared, new.processes, numbers, counters, rows, restless, frozenset(interval.uses))
        return tuple(rows)


def _advance(interval: Interval, tracks: dict[int, Track], number: int, new: ProcessCounters) -> Track:
    """Takes a process one frame on; one whose number was given to another begins anew."""
    old = interval.old.processes.get(number)
    if old is not None and old.key != new.key:
        old = None
    track = tracks.get(number)
    if track is None or track.key != new.key:
        track = tracks[number] = Track(old, new)
    track.advance(interval, old, new)
    return track
