"""The details of a process that is gone, and on a narrow terminal."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.model.missing import Missing
from tests.ui.frames import MIB, NOW, frame
from tests.ui.jobs import job_of, members
from tests.ui.scripted import busy, crowd, stage

if TYPE_CHECKING:
    import pytest

    from iodash.model.details import ProcessDetails
    from iodash.model.sample import ProcessKey
    from tests.ui.scripted import Stage

SHORT_LIVED = busy(
    4120, 3, name="cp", command="cp -a /data/set /scratch", read_bytes_total=700 * MIB, gpus=Missing.NO_DRIVER
)


def at(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))


def says_gone(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(key: ProcessKey, *, timeout: float = 2.0) -> ProcessDetails | None:
        return None

    monkeypatch.setattr(it.monitor, "details", gone)


async def test_of_a_process_that_is_gone_its_last_row_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(size=(100, 40)) as it:
        says_gone(it, monkeypatch)
        await it.give(frame(processes=(SHORT_LIVED, *crowd(5))))
        await it.press("down", "enter")
        assert await it.shows("the process is gone; this was its last state")
        text = it.text()
        for known in (f"Last seen  {at(NOW)}", "cp -a /data/set /scratch", "ada", "700M", "3.00M"):
            assert known in text
        await it.give(frame(time=NOW + 9, processes=crowd(5)))
        assert f"Last seen  {at(NOW)}" in it.text()


async def test_the_last_row_is_that_of_the_last_frame_that_had_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(size=(100, 60)) as it:
        await it.give(frame(processes=(SHORT_LIVED, *crowd(5))))
        await it.press("down", "enter")
        assert await it.shows("no permission")
        assert "Last seen" not in it.text()
        await it.give(frame(time=NOW + 5, processes=(replace(SHORT_LIVED, write_bytes_total=55 * MIB), *crowd(5))))
        says_gone(it, monkeypatch)
        assert await it.shows("the process is gone; this was its last state")
        assert f"Last seen  {at(NOW + 5)}" in it.text()
        assert "55.0M" in it.text()
        assert it.text().count("Command") == 1


async def test_the_details_say_how_to_close_them() -> None:
    async with stage(size=(60, 16)) as it:
        await it.give(frame(processes=(SHORT_LIVED, *crowd(5))))
        await it.press("down", "enter")
        assert "Esc closes" in it.line_with("cp  pid 4120")
        await it.press("escape", "f6")
        assert "Esc closes" in it.line_with("Sort by")


async def test_the_totals_of_a_job_are_not_cut_on_a_narrow_terminal() -> None:
    rows = members(ranks=1, launcher=False)
    async with stage(size=(60, 30)) as it:
        await it.give(frame(processes=rows, jobs=(job_of(rows, read_bytes_total=7 * MIB, write_bytes_total=9 * MIB),)))
        await it.press("down", "down", "enter")
        assert await it.shows("written 9.00M")
        assert "ended workers included" in it.text()
