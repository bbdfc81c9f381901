"""The cadence: one thread reads the source on a monotonic grid, frames come out."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from iodash.sampling.frames import FrameBuilder
from iodash.sources import Demand
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from iodash.model.frame import Frame
    from iodash.model.sample import Sample
    from iodash.sources import Source

MINIMUM_DELAY = 0.1


class Sampler:
    """Turns a source into frames, one a delay.

    Reading and subtracting happen in one thread of its own, never in the event loop. Every frame, the first too, covers
    about one delay. Ticks that pass while a reading is late are dropped and counted in the next frame; after a late
    frame the next comes no sooner than half a delay.
    """

    def __init__(self, source: Source, delay: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._delay = max(MINIMUM_DELAY, delay)
        self._clock = clock
        self._thread = DaemonExecutor("iodash-sampler")
        self._wake = asyncio.Event()
        self._stopped = False
        self._due = 0.0
        self._since = 0.0
        self._builder = FrameBuilder()
        self.demand = Demand()

    @property
    def delay(self) -> float:
        """Seconds from one frame to the next. A change counts from the last reading."""
        return self._delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._delay = max(MINIMUM_DELAY, seconds)
        self._due = self._since + self._delay
        self._wake.set()

    def stop(self) -> None:
        """Ends `frames`. Waits for nothing: a reading that hangs is left behind."""
        self._stopped = True
        self._wake.set()
        self._thread.shutdown()

    async def frames(self) -> AsyncIterator[Frame]:
        """Frames until `stop` is called. The first one comes a delay after the first reading."""
        loop = asyncio.get_running_loop()
        previous = await loop.run_in_executor(self._thread, self._source.sample, self.demand)
        self._since = previous.monotonic
        self._due = previous.monotonic + self._delay
        while await self._wait_until_due():
            due = self._due
            current, frame = await loop.run_in_executor(self._thread, self._step, previous, due)
            self._since = current.monotonic
            self._due = max(due + (frame.own.missed_ticks + 1) * self._delay, current.monotonic + self._delay / 2)
            previous = current
            yield frame

    def _step(self, previous: Sample, due: float) -> tuple[Sample, Frame]:
        current = self._source.sample(self.demand)
        missed = max(0, int((current.monotonic - due) / self._delay))
        return current, self._builder.frame(previous, current, missed_ticks=missed)

    async def _wait_until_due(self) -> bool:
        """Waits until the moment `_due`, which may move meanwhile. False when stopped."""
        while not self._stopped:
            left = self._due - self._clock()
            if left <= 0:
                return True
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), left)
            except TimeoutError:
                continue
        return False
