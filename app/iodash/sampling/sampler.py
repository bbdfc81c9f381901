"""The cadence: one thread reads the source on a monotonic grid, frames come out."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from iodash.sampling.frames import FrameBuilder
from iodash.sources import Demand
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from iodash.model.frame import Frame
    from iodash.model.sample import Sample
    from iodash.sources import Source

P = ParamSpec("P")
T = TypeVar("T")

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
        self._stopped = asyncio.Event()
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
        self._stopped.set()
        self._wake.set()
        self._thread.shutdown()

    async def frames(self) -> AsyncGenerator[Frame, None]:
        """Frames until `stop` is called. The first one comes a delay after the first reading."""
        previous = await self._unless_stopped(self._source.sample, self.demand)
        if previous is None:
            return
        self._since = previous.monotonic
        self._due = previous.monotonic + self._delay
        while await self._wait_until_due():
            due = self._due
            step = await self._unless_stopped(self._step, previous, due)
            if step is None:
                return
            previous, frame = step
            self._since = previous.monotonic
            self._due = max(due + (frame.own.missed_ticks + 1) * self._delay, previous.monotonic + self._delay / 2)
            yield frame

    async def _unless_stopped(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What `call` returns in the sampler's thread, or None as soon as `stop` is called."""
        reading = asyncio.wrap_future(self._thread.submit(call, *args, **kwargs))
        stopped = asyncio.ensure_future(self._stopped.wait())
        either: set[asyncio.Future[Any]] = {reading, stopped}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return None if self._stopped.is_set() else reading.result()
        finally:
            reading.cancel()
            stopped.cancel()

    def _step(self, previous: Sample, due: float) -> tuple[Sample, Frame]:
        current = self._source.sample(self.demand)
        missed = max(0, int((current.monotonic - due) / self._delay))
        return current, self._builder.frame(previous, current, missed_ticks=missed)

    async def _wait_until_due(self) -> bool:
        """Waits until the moment `_due`, which may move meanwhile. False when stopped."""
        while not self._stopped.is_set():
            left = self._due - self._clock()
            if left <= 0:
                return True
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), left)
            except TimeoutError:
                continue
        return False
