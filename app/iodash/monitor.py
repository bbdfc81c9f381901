"""Joins the sampler and the rules: everybody above subscribes here and gets finished frames."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.diagnosis import Diagnosis
from iodash.sampling.history import History
from iodash.sampling.sampler import Sampler
from iodash.sources import Demand
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey
    from iodash.sources import Source


class Monitor:
    """Finished frames from a source, their history, and details of single processes.

    One consumer iterates `frames`; what it wants to see it sets as `demand`, which the next reading obeys. With
    `pinned` pids only their trees are judged as jobs.
    """

    def __init__(
        self,
        source: Source,
        delay: float,
        pinned: frozenset[int] = frozenset(),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._sampler = Sampler(source, delay, clock=clock)
        self._diagnosis = Diagnosis(pinned)
        self._demand = Demand()
        self._beside = DaemonExecutor("iodash-details")
        self.history = History()

    @property
    def delay(self) -> float:
        """Seconds from one frame to the next."""
        return self._sampler.delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._sampler.delay = seconds

    @property
    def demand(self) -> Demand:
        """What is looked at. To it the monitor adds the members of the jobs that it judges."""
        return self._demand

    @demand.setter
    def demand(self, demand: Demand) -> None:
        self._demand = demand
        self._sampler.demand = replace(demand, members=self._diagnosis.wanted, threaded=self._diagnosis.wanted_threads)

    async def frames(self) -> AsyncGenerator[Frame, None]:
        """Frames with device states and verdicts, until `close`."""
        async for frame in self._sampler.frames():
            finished = self._diagnosis.complete(frame)
            self.demand = self._demand
            self.history.add(finished)
            yield finished

    async def details(self, key: ProcessKey, *, timeout: float = 2.0) -> ProcessDetails | None:
        """What only an opened row shows; None when the process is gone.

        Raises:
            TimeoutError: the kernel did not answer in `timeout` seconds. The next call starts afresh.
        """
        future = asyncio.get_running_loop().run_in_executor(self._beside, self._source.details, key)
        try:
            return await asyncio.wait_for(future, timeout)
        except TimeoutError:
            self._beside.shutdown()
            self._beside = DaemonExecutor("iodash-details")
            raise

    def close(self) -> None:
        """Ends `frames` and lets go of the source. Waits for nothing."""
        self._sampler.stop()
        self._beside.shutdown()
        self._source.close()
