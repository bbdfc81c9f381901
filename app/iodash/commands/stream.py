"""What the printing commands share: a source, frames one after another, signals, standard output."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, TypeVar

from iodash.model.failure import Failure, Stopped
from iodash.monitor import Monitor
from iodash.sampling.frames import frame_since_boot
from iodash.sources import Demand
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from iodash.model.frame import Frame
    from iodash.sources import Source

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def open_source(procfs: Path, sysfs: Path, *, gpu: bool, wait_for_gpu: bool = False) -> Source:
    """The machine whose trees these are. With `wait_for_gpu` its first sample waits up to 1 s for the GPUs.

    Raises:
        Failure: `procfs` is no proc tree.
    """
    if not _is_proc_tree(procfs):
        raise Failure(f"{procfs} is no proc tree: --procfs needs a directory such as /proc, mounted from a host")
    from iodash.sources.local import LocalSource

    return LocalSource(procfs, sysfs, gpu=gpu, wait_for_gpu=wait_for_gpu)


def _is_proc_tree(procfs: Path) -> bool:
    try:
        if any((procfs / name).exists() for name in ("stat", "diskstats", "self")):
            return True
        return any(child.name.isdecimal() for child in procfs.iterdir())
    except OSError:
        return False


def emit(text: str) -> None:
    """Writes `text` to standard output at once.

    Raises:
        Failure: it can't be written, because the disk is full, say.
        BrokenPipeError: its reader is gone.
    """
    if sys.stdout is None:
        raise Failure("standard output is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"cannot write to standard output: {error.strerror}") from error


def emit_lines(lines: list[str]) -> None:
    """Writes whole lines to standard output at once. Nothing is written for none."""
    if lines:
        emit("\n".join(lines) + "\n")


def warn(message: str) -> None:
    """Says something in one line on standard error."""
    if sys.stderr is not None:
        print(f"iodash: {message}", file=sys.stderr, flush=True)


def prepare_output() -> None:
    """Lets standard output take every character: what its encoding has no letter for is written as an escape."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


class Stream:
    """Feeds the frames of a source to a function until enough were shown or a signal says stop.

    With `pinned` pids only their trees are judged as jobs.
    """

    def __init__(self, source: Source, delay: float, demand: Demand, pinned: frozenset[int] = frozenset()) -> None:
        self._source = source
        self._monitor = Monitor(source, delay, pinned)
        self._monitor.demand = demand
        self._showing = False
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
            Stopped: SIGINT, SIGTERM or SIGHUP came. One that is ignored from outside (nohup) stays so.
        """
        previous = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in previous.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        try:
            asyncio.run(self._run(show, limit, since_boot))
        except asyncio.CancelledError:
            if self._stopped is None:
                raise
        finally:
            self._monitor.close()
            for number, handler in previous.items():
                signal.signal(number, handler)
        if self._stopped is not None:
            raise self._stopped

    async def _run(
        self, show: Callable[[Frame], None], limit: int | None, since_boot: Callable[[Frame], bool] | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        if self._stopped is not None:
            return
        if since_boot is not None:
            sample = await self._loop.run_in_executor(DaemonExecutor("iodash-first"), self._source.sample, Demand())
            if not self._show(since_boot, frame_since_boot(sample)):
                return
        shown = 0
        async for frame in self._monitor.frames():
            self._show(show, frame)
            shown += 1
            if shown == limit:
                return

    def _show(self, function: Callable[[Frame], T], frame: Frame) -> T:
        self._showing = True
        try:
            return function(frame)
        finally:
            self._showing = False

    def _on_signal(self, number: int, at: FrameType | None) -> None:
        """Stops at once, also out of a write that blocks since nobody reads."""
        self._stopped = Stopped(number)
        if self._showing:
            raise self._stopped
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
