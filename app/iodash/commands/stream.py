"""What the printing commands share: frames of a source one after another, until a signal says stop."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, TypeVar

from iodash.model.failure import Stopped
from iodash.monitor import Monitor
from iodash.sampling.frames import frame_since_boot
from iodash.sources import Demand
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from iodash.model.frame import Frame
    from iodash.sources import Source

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM)
_GRACE_S = 1.0
"""How long a line that is being written may take to end after a signal, if somebody reads it."""


class Stream:
    """Feeds the frames of a source to a function until enough were shown or a signal says stop.

    With `pinned` pids only their trees are judged as jobs.
    """

    def __init__(self, source: Source, delay: float, demand: Demand, pinned: frozenset[int] = frozenset()) -> None:
        self._source = source
        self._monitor = Monitor(source, delay, pinned)
        self._monitor.demand = demand
        self._showing = False
        self._is_enough = False
        self._stopped: Stopped | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(
        self,
        show: Callable[[Frame], None],
        limit: int | None = None,
        *,
        since_boot: Callable[[Frame], bool] | None = None,
    ) -> None:
        """Calls `show` with each frame, `limit` times, or for ever.

        Args:
            show: takes a frame; what it raises ends the stream.
            limit: how many frames.
            since_boot: takes the frame of the means since boot first, and says whether more is wanted.

        Raises:
            Stopped: a signal that ends came. One that is ignored from outside (nohup) stays so.
        """
        previous = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in previous.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        try:
            asyncio.run(self._run(show, limit, since_boot))
        except (asyncio.CancelledError, BrokenPipeError):  # Ctrl-C ends the reader of the pipe as well
            if self._stopped is None:
                raise
        finally:
            self._monitor.close()
            for number, handler in previous.items():
                signal.signal(number, handler)
        if self._stopped is not None:
            raise self._stopped

    def enough(self) -> None:
        """The frame that is being shown is the last one."""
        self._is_enough = True

    async def _run(
        self, show: Callable[[Frame], None], limit: int | None, since_boot: Callable[[Frame], bool] | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        if self._stopped is not None:
            return
        if since_boot is not None:
            sample = await self._loop.run_in_executor(DaemonExecutor("iodash-first"), self._source.sample, Demand())
            if not self._show(since_boot, frame_since_boot(sample)) or self._stopped is not None:
                return
        shown = 0
        async for frame in self._monitor.frames():
            self._show(show, frame)
            shown += 1
            if shown == limit or self._is_enough or self._stopped is not None:
                return

    def _show(self, function: Callable[[Frame], T], frame: Frame) -> T:
        self._showing = True
        try:
            return function(frame)
        finally:
            self._showing = False
            if self._stopped is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_signal(self, number: int, at: FrameType | None) -> None:
        """Stops at once; only what is being printed may end, unless it takes too long or a second signal comes."""
        is_first = self._stopped is None
        if self._stopped is None:
            self._stopped = Stopped(number)
        if self._showing:
            if not is_first:
                raise self._stopped
            signal.setitimer(signal.ITIMER_REAL, _GRACE_S)
        elif self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
