"""The dashboard while a file hangs that it writes: the screen goes on, keys work, and no row is lost without a word."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from iodash.model.failure import Failure
from iodash.model.settings import Settings
from iodash.outputs.snapshot import default_name, write_snapshot
from tests.ui.frames import frame
from tests.ui.scripted import busy, stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from iodash.model.frame import Frame
    from iodash.outputs.appended_file import AppendedFile

THREE = frame(processes=(busy(10, 1), busy(11, 5, 2), busy(12, 3, 9)))


@pytest.fixture
def unread(tmp_path: Path) -> Iterator[Path]:
    """A named pipe that nobody reads, which stands for every file that hangs."""
    path = tmp_path / "report.csv"
    os.mkfifo(path)
    yield path
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


async def test_output_that_hangs_holds_up_no_frame_and_is_told(unread: Path) -> None:
    async with stage(Settings(output=unread)) as it:
        await asyncio.wait_for(it.give(THREE), 20)
        assert it.pids()
        assert "CSV" not in it.text()
        await asyncio.wait_for(it.give(frame(processes=(busy(99, 50),))), 20)
        assert it.pids() == [99]
        assert "CSV waits, 2 rows behind" in it.text()
        reading = os.open(unread, os.O_RDONLY | os.O_NONBLOCK)
        for _ in range(200):
            await it.give(THREE)
            if "CSV" not in it.text():
                break
            await it.pilot.pause(0.02)
            with suppress(BlockingIOError):
                os.read(reading, 1 << 20)
        os.close(reading)
        assert "CSV" not in it.text()


async def test_output_that_hangs_does_not_hold_up_quitting_and_the_end_says_what_is_lost(unread: Path) -> None:
    async with stage(Settings(output=unread)) as it:
        for _ in range(3):
            await asyncio.wait_for(it.give(THREE), 20)
        started = time.monotonic()
        await it.press("q")
        assert await it.ends()
    assert time.monotonic() - started < 15
    assert it.monitor.closed
    assert str(it.app.failure).endswith("report.csv took no more rows in time: 3 rows could not be written")


async def test_output_that_can_not_be_closed_is_told_and_the_monitor_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: AppendedFile) -> None:
        file._stream.close()
        raise Failure("cannot write report.csv: Stale file handle")

    monkeypatch.setattr("iodash.outputs.appended_file.AppendedFile.close", fail)
    async with stage(Settings(output=tmp_path / "report.csv")) as it:
        await it.give(THREE)
    assert it.monitor.closed
    assert "Stale file handle" in str(it.app.failure)


async def test_a_snapshot_that_hangs_holds_up_neither_keys_nor_quitting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = threading.Event()
    monkeypatch.setattr("iodash.outputs.snapshot.write_snapshot", lambda shown: answer.wait(60))
    try:
        async with stage(Settings(output=tmp_path / "report.csv")) as it:
            await it.give(THREE)
            await asyncio.wait_for(it.press("w", "w"), 20)
            assert "still being saved" in it.text()
            await it.press("space")
            assert "PAUSED" in it.text()
            await it.give(THREE)
            await it.press("q")
            assert await it.ends()
        assert not answer.is_set()
        assert "the snapshot could not be finished" in str(it.app.failure)
    finally:
        answer.set()
    assert len((tmp_path / "report.csv").read_text().splitlines()) == 3


async def test_a_snapshot_that_is_nearly_done_is_finished_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_late(shown: Frame) -> tuple[Path, Path]:
        time.sleep(0.3)
        return write_snapshot(shown, tmp_path)

    monkeypatch.setattr("iodash.outputs.snapshot.write_snapshot", write_late)
    async with stage() as it:
        await it.give(THREE)
        await it.press("w", "q")
        assert await it.ends()
    assert it.app.failure is None
    assert [name for name in os.listdir(tmp_path) if name.endswith(".json")] == [f"{default_name(THREE)}.json"]
