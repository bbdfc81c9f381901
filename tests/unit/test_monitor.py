from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from iodash.model.details import ProcessDetails
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey, Sample
from iodash.monitor import Monitor
from iodash.sources import Demand
from tests.samples import device_counters, sample
from tests.virtual_time import VirtualTime

KEY = ProcessKey(7, 70)


@dataclass
class Machine:
    """A disk that reads 8 KiB a reading, and details that come when `answer` is set."""

    clock: VirtualTime
    answer: threading.Event = field(default_factory=threading.Event)
    demands: list[Demand] = field(default_factory=list)
    closed: bool = False

    def sample(self, demand: Demand) -> Sample:
        self.demands.append(demand)
        reads = len(self.demands)
        return sample(self.clock(), devices=(device_counters("vda", reads=reads, sectors_read=16 * reads),))

    def details(self, key: ProcessKey) -> ProcessDetails | None:
        self.answer.wait(20)
        return None if key != KEY else ProcessDetails(key, "sleep 1", Missing.GONE, (), 0, "/", (), (), "")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def machine() -> Machine:
    return Machine(VirtualTime())


def test_frames_are_finished_and_remembered(machine: Machine) -> None:
    async def main() -> None:
        monitor = Monitor(machine, 2.0, clock=machine.clock)
        async with aclosing(monitor.frames()) as stream:
            frame = await anext(stream)
        assert frame.devices[0].read_bytes_per_s == 8192 / frame.interval_s
        assert frame.devices[0].state in ("idle", "ok", "busy")
        (point,) = monitor.history.series("vda", "read_bytes_per_s")
        assert (point.time, point.value) == (frame.time, frame.devices[0].read_bytes_per_s)
        monitor.close()

    machine.clock.run(main)
    assert machine.closed


def test_delay_and_demand_are_the_samplers(machine: Machine) -> None:
    async def main() -> None:
        monitor = Monitor(machine, 2.0, clock=machine.clock)
        assert monitor.delay == 2.0
        monitor.delay = 0.5
        monitor.demand = Demand(threads=True)
        assert monitor.demand.threads
        async with aclosing(monitor.frames()) as stream:
            frame = await anext(stream)
        assert frame.interval_s == pytest.approx(0.5)
        monitor.close()

    machine.clock.run(main)
    assert machine.demands[0].threads


async def test_details_come_from_beside_the_sampler(machine: Machine) -> None:
    monitor = Monitor(machine, 1.0)
    machine.answer.set()
    details = await monitor.details(KEY)
    assert details is not None
    assert details.command == "sleep 1"
    assert await monitor.details(ProcessKey(8, 80)) is None
    monitor.close()


async def test_details_that_hang_are_left_behind_and_the_next_call_starts_afresh(machine: Machine) -> None:
    monitor = Monitor(machine, 1.0)
    with pytest.raises(TimeoutError):
        await monitor.details(KEY, timeout=0.01)
    machine.answer.set()
    assert await monitor.details(KEY, timeout=5) is not None
    monitor.close()


async def test_closing_waits_for_nothing(machine: Machine) -> None:
    monitor = Monitor(machine, 1.0)
    hanging = asyncio.create_task(monitor.details(KEY))
    await asyncio.sleep(0)
    monitor.close()
    assert machine.closed
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    machine.answer.set()


def test_closing_ends_the_frames(machine: Machine) -> None:
    async def main() -> int:
        monitor = Monitor(machine, 1.0, clock=machine.clock)
        count = 0
        async for _ in monitor.frames():
            count += 1
            monitor.close()
        return count

    assert machine.clock.run(main) == 1
