"""What the screen gets from the monitor: frames one after another, their past, and a frozen past while paused."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from iodash.model.failure import Failure
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Future
    from pathlib import Path

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.monitor import Monitor
    from iodash.outputs.csv_sink import CsvSink
    from iodash.sampling.history import History
    from iodash.sources import Demand

T = TypeVar("T")

_AT_ONCE_S = 0.1
"""How long a frame may be held up for its row in the file of `--output`: what fails, usually fails at once."""

_FINISHING_S = 1.0
"""How long a snapshot that is being written may still take when the program ends."""


class Feed:
    """The one consumer of a monitor, which it opens late: opening takes time that the first screen doesn't have.

    Files are opened and written in threads that nobody waits for: a file system that hangs holds up neither the screen
    nor quitting, nor does the file of `--output` hold up a snapshot.
    """

    def __init__(self, open_monitor: Callable[[], Monitor], settings: Settings, clock: Callable[[], float]) -> None:
        self._open_monitor = open_monitor
        self._settings = settings
        self._clock = clock
        self._monitor: Monitor | None = None
        self._delay = settings.delay
        self._newest: Frame | None = None
        self._shown_at = 0.0
        self._frozen: History | None = None
        self._csv: CsvSink | None = None
        self._saving: Future[tuple[tuple[Path, Path], bool]] | None = None
        self._files = DaemonExecutor("iodash-files")

    async def frames(self, demand: Callable[[], Demand]) -> AsyncIterator[Frame]:
        """Frames, until `--iter` of them have come. What `demand` says is looked at from the first reading on.

        Raises:
            Failure: the monitor can't be opened, or the file of `--output` can't be written.
        """
        if self._settings.output is not None:  # one that can't be written is told before anything is measured
            self._csv = await self._open_csv(self._settings.output)
        self._monitor = monitor = await self._beside_the_loop(self._open_monitor)
        monitor.delay = self._delay
        monitor.demand = demand()
        left = self._settings.iter
        async for frame in monitor.frames():
            self._newest = frame
            if self._csv is not None:
                await self._write_csv(self._csv, frame)
            yield frame
            if left is not None and (left := left - 1) <= 0:
                return

    @property
    def history(self) -> History | None:
        """The past of what is shown; None before there is any."""
        return self._frozen or (self._monitor.history if self._monitor is not None else None)

    @property
    def delay(self) -> float:
        """Seconds from one frame to the next."""
        return self._delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._delay = seconds
        if self._monitor is not None:
            self._monitor.delay = seconds

    @property
    def trouble(self) -> str:
        """What is wrong with the file of `--output`, in a few words; empty while nothing is."""
        return "" if self._csv is None else self._csv.trouble

    def look_at(self, demand: Demand) -> None:
        """Asks the next reading for what is looked at."""
        if self._monitor is not None:
            self._monitor.demand = demand

    # Pause

    @property
    def paused(self) -> bool:
        """Whether the screen is frozen."""
        return self._frozen is not None

    @property
    def age_s(self) -> float | None:
        """How old what is shown is, while it is frozen."""
        return None if self._frozen is None else self._clock() - self._shown_at

    def shown(self) -> None:
        """Says that the newest frame is shown now."""
        self._shown_at = self._clock()

    def freeze(self) -> None:
        """Keeps the past as it is. Sampling goes on."""
        if self._monitor is not None:
            self._frozen = self._monitor.history.copy()

    def thaw(self) -> Frame | None:
        """Goes on with the newest frame."""
        self._frozen = None
        return self._newest

    # Beside the event loop

    async def details(self, key: ProcessKey) -> ProcessDetails | None:
        """What only an opened row shows; None when the process is gone."""
        return None if self._monitor is None else await self._monitor.details(key)

    def save(self, frame: Frame) -> Future[tuple[tuple[Path, Path], bool]]:
        """Writes a snapshot. Its files, and whether they are new; they are not where `frame` is saved already.

        What it raises is a Failure: it can't be written.
        """
        self._saving = self._files.submit(_save, frame)
        return self._saving

    @property
    def is_saving(self) -> bool:
        """Whether a snapshot is being written."""
        return self._saving is not None and not self._saving.done()

    def close(self) -> None:
        """Ends the frames. Waits for nothing but, for a second each, a snapshot and rows that are being written.

        Raises:
            Failure: rows are lost, or the snapshot is.
        """
        if self._monitor is not None:
            self._monitor.close()
        try:
            if self._saving is not None and self.is_saving:
                self._saving.result(_FINISHING_S)
        except TimeoutError:
            raise Failure("the snapshot could not be finished in time") from None
        finally:
            self._files.shutdown()
            if self._csv is not None:
                self._csv.close()

    def _beside_the_loop(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._files, call)

    async def _open_csv(self, file: Path) -> CsvSink:
        from iodash.outputs.csv_sink import CsvSink

        sink = CsvSink(file, self._settings)
        await _for_a_moment(sink.open())
        sink.check()
        return sink

    async def _write_csv(self, sink: CsvSink, frame: Frame) -> None:
        row = sink.put(frame)
        if row is not None and not sink.is_behind:
            await _for_a_moment(row)
            sink.check()


async def _for_a_moment(work: Future[Any]) -> None:
    """Waits until something is done or could not be, but not for long."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    work.add_done_callback(tell)
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), _AT_ONCE_S)


def _save(frame: Frame) -> tuple[tuple[Path, Path], bool]:
    from iodash.outputs.snapshot import NameTakenError, write_snapshot

    try:
        return write_snapshot(frame), True
    except NameTakenError as taken:
        return taken.files, False
