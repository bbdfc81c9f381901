from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.model.failure import Failure, Stopped
from iodash.sources import Demand
from tests.samples import process_counters, sample

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey, Sample


class Script:
    """A source that has a process and remembers what it was asked."""

    def __init__(self) -> None:
        self.demands: list[Demand] = []
        self.closed = False
        self.clock = 0.0
        self.hangs = threading.Event()
        self.hang_at: int | None = None

    def sample(self, demand: Demand) -> Sample:
        self.demands.append(demand)
        if self.hang_at == len(self.demands):
            self.hangs.wait(30)
        self.clock += 0.1
        return sample(self.clock, process_counters(10))

    def details(self, key: ProcessKey) -> ProcessDetails | None:
        return None

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script()


def test_as_many_frames_as_wanted_are_shown_and_the_source_is_closed(script: Script) -> None:
    shown: list[Frame] = []
    demand = Demand(every_field=True)
    Stream(script, 0.1, demand).run(shown.append, 2)
    assert len(shown) == 2
    assert set(script.demands) == {demand}
    assert script.closed


def test_the_means_since_boot_come_first_and_may_be_all(script: Script) -> None:
    order: list[str] = []

    def since_boot(frame: Frame) -> bool:
        order.append("boot")
        return len(order) > 1

    Stream(script, 0.1, Demand()).run(lambda frame: order.append("frame"), 1, since_boot=since_boot)
    assert order == ["boot"]
    Stream(script, 0.1, Demand()).run(lambda frame: order.append("frame"), 1, since_boot=since_boot)
    assert order == ["boot", "boot", "frame"]


def test_what_showing_raises_ends_the_stream(script: Script) -> None:
    def fail(frame: Frame) -> None:
        raise Failure("no room")

    with pytest.raises(Failure, match="no room"):
        Stream(script, 0.1, Demand()).run(fail)
    assert script.closed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_it_and_handlers_are_as_before(script: Script, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as stopped:
        Stream(script, 0.1, Demand()).run(lambda frame: os.kill(os.getpid(), number))
    assert stopped.value.number == number
    assert signal.getsignal(number) is before
    assert script.closed


def test_what_is_being_shown_may_end_but_not_take_for_ever(script: Script) -> None:
    ended = []

    def show(frame: Frame) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        ended.append(True)

    with pytest.raises(Stopped):
        Stream(script, 0.1, Demand()).run(show)
    assert ended == [True]

    def hang(frame: Frame) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        script.hangs.wait(30)

    with pytest.raises(Stopped) as stopped:
        Stream(script, 0.1, Demand()).run(hang)
    assert stopped.value.number == signal.SIGTERM
    assert not script.hangs.is_set()


def test_a_reader_that_ends_with_the_same_signal_changes_no_status(script: Script) -> None:
    def show(frame: Frame) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise BrokenPipeError

    with pytest.raises(Stopped):
        Stream(script, 0.1, Demand()).run(show)


def test_a_reading_that_hangs_does_not_hold_up_a_signal(script: Script) -> None:
    script.hang_at = 2
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    try:
        with pytest.raises(Stopped):
            Stream(script, 0.1, Demand()).run(lambda frame: pytest.fail("a frame"))
    finally:
        script.hangs.set()


def test_a_signal_that_is_ignored_stays_ignored(script: Script) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        Stream(script, 0.1, Demand()).run(lambda frame: os.kill(os.getpid(), signal.SIGHUP), 2)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("names", [[], ["etc"], ["file.txt"]])
def test_what_is_no_proc_tree_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    with pytest.raises(Failure, match="is no proc tree"):
        open_source(tmp_path, tmp_path, gpu=False)


def test_a_sys_tree_that_is_not_there_is_refused_and_an_empty_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "stat").touch()
    (tmp_path / "sys").mkdir()
    for sysfs in (tmp_path / "nope", tmp_path / "stat"):
        with pytest.raises(Failure, match=f"{sysfs} is no directory: --sysfs needs"):
            open_source(tmp_path, sysfs, gpu=False)
    open_source(tmp_path, tmp_path / "sys", gpu=False).close()


@pytest.mark.parametrize("name", ["stat", "1", "self"])
def test_what_is_left_of_a_hidden_proc_tree_will_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    open_source(tmp_path, tmp_path, gpu=False).close()
