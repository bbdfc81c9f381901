from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from iodash.sampling.sampler import MINIMUM_DELAY, Sampler
from iodash.sources import Demand
from tests.samples import sample
from tests.virtual_time import VirtualTime

if TYPE_CHECKING:
    from collections.abc import Callable

    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey, Sample


@dataclass
class Machine:
    """A source whose readings take as long as `costs` says, one after the other, and no time once they are used up."""

    clock: VirtualTime
    costs: list[float] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    closed: bool = False

    def sample(self, demand: Demand) -> Sample:
        self.threads.add(threading.current_thread().name)
        self.demands.append(demand)
        self.clock.advance(self.costs.pop(0) if self.costs else 0.0)
        self.stamps.append(self.clock())
        return sample(self.clock())

    def details(self, key: ProcessKey) -> None:
        return None

    def close(self) -> None:
        self.closed = True


def watch(
    machine: Machine,
    delay: float,
    count: int,
    *,
    after_each: Callable[[Sampler, int], None] = lambda sampler, number: None,
) -> list[Frame]:
    """The first `count` frames, calling `after_each` after each of them."""

    async def main() -> list[Frame]:
        sampler = Sampler(machine, delay, clock=machine.clock)
        frames: list[Frame] = []
        async with aclosing(sampler.frames()) as stream:
            async for frame in stream:
                frames.append(frame)
                after_each(sampler, len(frames))
                if len(frames) == count:
                    break
        sampler.stop()
        return frames

    return machine.clock.run(main)


@pytest.fixture
def machine() -> Machine:
    return Machine(VirtualTime())


def test_frames_come_one_a_delay_without_drift(machine: Machine) -> None:
    machine.costs = [0.0, 0.2, 0.1, 0.3, 0.0]
    frames = watch(machine, 1.0, 5)
    assert machine.stamps == pytest.approx([1000, 1001.2, 1002.1, 1003.3, 1004, 1005])
    assert [frame.interval_s for frame in frames] == pytest.approx([1.2, 0.9, 1.2, 0.7, 1.0])
    assert [frame.own.missed_ticks for frame in frames] == [0] * 5


def test_the_first_frame_covers_a_delay_however_long_the_first_reading_took(machine: Machine) -> None:
    machine.costs = [7.5]
    (frame,) = watch(machine, 1.0, 1)
    assert frame.interval_s == pytest.approx(1.0)


def test_reading_happens_outside_the_event_loop_in_one_thread(machine: Machine) -> None:
    watch(machine, 1.0, 3)
    assert machine.threads == {"iodash-sampler"}


def test_ticks_that_pass_while_a_reading_is_late_are_dropped_and_counted(machine: Machine) -> None:
    machine.costs = [0.0, 2.3]
    frames = watch(machine, 1.0, 3)
    assert [frame.own.missed_ticks for frame in frames] == [2, 0, 0]
    assert [frame.interval_s for frame in frames] == pytest.approx([3.3, 0.7, 1.0])


def test_after_a_late_frame_the_next_comes_no_sooner_than_half_a_delay(machine: Machine) -> None:
    machine.costs = [0.0, 2.9]
    frames = watch(machine, 1.0, 3)
    assert [frame.own.missed_ticks for frame in frames] == [2, 0, 0]
    assert [frame.interval_s for frame in frames] == pytest.approx([3.9, 0.5, 1.0])


def test_a_shorter_delay_counts_from_the_last_reading(machine: Machine) -> None:
    def hurry(sampler: Sampler, number: int) -> None:
        sampler.delay = 0.5 if number == 1 else sampler.delay

    frames = watch(machine, 10.0, 3, after_each=hurry)
    assert [frame.interval_s for frame in frames] == pytest.approx([10.0, 0.5, 0.5])


def test_a_change_while_waiting_takes_hold_at_once(machine: Machine) -> None:
    async def main() -> list[float]:
        sampler = Sampler(machine, 60.0, clock=machine.clock)
        asyncio.get_running_loop().call_at(machine.clock() + 2.0, setattr, sampler, "delay", 5.0)
        async with aclosing(sampler.frames()) as stream:
            first = await anext(stream)
            second = await anext(stream)
        sampler.stop()
        return [first.interval_s, second.interval_s]

    assert machine.clock.run(main) == pytest.approx([5.0, 5.0])


def test_the_delay_has_a_floor(machine: Machine) -> None:
    async def main() -> list[float]:
        sampler = Sampler(machine, 0.0)
        start = sampler.delay
        sampler.delay = 0.01
        return [start, sampler.delay]

    assert machine.clock.run(main) == [MINIMUM_DELAY, MINIMUM_DELAY]


def test_what_is_looked_at_is_asked_of_the_next_reading(machine: Machine) -> None:
    def open_threads(sampler: Sampler, number: int) -> None:
        sampler.demand = Demand(threads=True)

    watch(machine, 1.0, 2, after_each=open_threads)
    assert [demand.threads for demand in machine.demands] == [False, False, True]


def test_stopping_ends_the_frames_while_waiting_for_the_next(machine: Machine) -> None:
    frames = watch(machine, 1.0, 99, after_each=lambda sampler, number: sampler.stop())
    assert len(frames) == 1


@pytest.mark.parametrize("hangs_at", [1, 2])
def test_stopping_ends_the_frames_while_a_reading_hangs(machine: Machine, hangs_at: int) -> None:
    async def main() -> list[Frame]:
        reading, answer = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()
        plain_sample = machine.sample

        def hang(demand: Demand) -> Sample:
            if len(machine.demands) + 1 == hangs_at:
                loop.call_soon_threadsafe(reading.set)
                answer.wait(20)
            return plain_sample(demand)

        machine.sample = hang  # type: ignore[method-assign]
        sampler = Sampler(machine, 1.0, clock=machine.clock)

        async def collect() -> list[Frame]:
            return [frame async for frame in sampler.frames()]

        collecting = asyncio.create_task(collect())
        await reading.wait()
        sampler.stop()
        frames = await collecting
        answer.set()
        return frames

    assert machine.clock.run(main) == []


def test_an_error_of_the_source_reaches_whoever_wants_frames(machine: Machine) -> None:
    def fail(demand: Demand) -> Sample:
        raise NotADirectoryError("/nowhere/stat")

    machine.sample = fail  # type: ignore[method-assign]
    with pytest.raises(NotADirectoryError):
        watch(machine, 1.0, 1)
