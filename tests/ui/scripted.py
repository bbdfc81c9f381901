"""A dashboard over frames that a test hands out one by one: no machine, no clock."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from iodash.model.details import ProcessDetails
from iodash.model.missing import Missing
from iodash.model.settings import Settings
from iodash.sampling.history import History
from iodash.sources import Demand
from iodash.ui.app import DashboardApp
from tests.ui import frames as rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.pilot import Pilot

    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.sample import ProcessKey
    from iodash.monitor import Monitor


class ScriptedMonitor:
    """Stands where the monitor stands; `give` is its next frame."""

    def __init__(self) -> None:
        self.delay = 1.0
        self.demand = Demand()
        self.history = History()
        self.closed = False
        self.opened: list[ProcessKey] = []
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue()

    async def frames(self) -> AsyncIterator[Frame]:
        while (frame := await self._queue.get()) is not None:
            self.history.add(frame)
            yield frame
            self._queue.task_done()

    async def details(self, key: ProcessKey, *, timeout: float = 2.0) -> ProcessDetails | None:
        self.opened.append(key)
        return ProcessDetails(
            key=key,
            command="python3 train.py",
            io=Missing.NO_PERMISSION,
            open_files=(),
            open_files_left_out=0,
            cgroup="/job",
            cgroup_limits=(),
            limits=(),
            wait_channel="",
        )

    def close(self) -> None:
        self.closed = True
        self._queue.put_nowait(None)

    async def give(self, frame: Frame) -> None:
        """Hands out a frame and waits until the app has taken it."""
        self._queue.put_nowait(frame)
        await self._queue.join()


class Stage:
    """A running app, its pilot, and what stands on its screen."""

    def __init__(self, app: DashboardApp, monitor: ScriptedMonitor, pilot: Pilot[Any]) -> None:
        self.app, self.monitor, self.pilot = app, monitor, pilot

    async def give(self, frame: Frame) -> None:
        await self.monitor.give(frame)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def screen(self) -> list[str]:
        """The lines of the screen as text."""
        height = self.app.size.height
        strips = self.app.screen._compositor.render_strips()
        lines = ["".join(segment.text for segment in strip) for strip in strips]
        assert len(lines) == height
        return lines

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen())

    async def shows(self, text: str) -> bool:
        """Whether the text comes up within a few seconds."""
        for _ in range(200):
            if text in self.text():
                return True
            await self.pilot.pause(0.02)
        return False

    async def ends(self) -> bool:
        """Whether the app ends within a few seconds."""
        for _ in range(200):
            if self.app._exit:
                return True
            await self.pilot.pause(0.02)
        return False

    def table(self) -> list[str]:
        """The lines of the process table, its heading first."""
        region = self.app.screen.query_one("#processes LiveTable").region
        return self.screen()[region.y : region.bottom]

    def pids(self) -> list[int]:
        """The PIDs of the rows in sight, top to bottom."""
        found = []
        for line in self.table()[1:]:
            words = line.strip(" ◆*").split()
            if words and words[0].isdigit():
                found.append(int(words[0]))
        return found

    def line_with(self, text: str) -> str:
        return next(line for line in self.screen() if text in line)


@asynccontextmanager
async def stage(settings: Settings | None = None, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Stage]:
    """A running dashboard that has been given no frame yet."""
    monitor = ScriptedMonitor()
    app = DashboardApp(lambda: cast("Monitor", monitor), settings or Settings())
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield Stage(app, monitor, pilot)


MIB = rows.MIB


def busy(pid: int, read: float = 0.0, write: float = 0.0, **values: Any) -> ProcessRow:
    """A process that reads and writes MiB a second."""
    return rows.process(pid, read_bytes_per_s=read * MIB, write_bytes_per_s=write * MIB, **values)


def crowd(count: int, first: int = 1000) -> tuple[ProcessRow, ...]:
    """Idle processes."""
    return tuple(rows.process(first + number, f"idle{number}") for number in range(count))
