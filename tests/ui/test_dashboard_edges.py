"""Sorting devices, empty tables, and how the program ends."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from iodash.model.failure import Failure, UsageError
from iodash.model.missing import Missing
from iodash.model.settings import Settings
from iodash.ui.app import DashboardApp, run_dashboard
from tests.ui.frames import device, frame, process
from tests.ui.scripted import crowd, stage

if TYPE_CHECKING:
    from iodash.sources import Source
    from tests.ui.scripted import Stage

DISKS = frame(
    devices=(
        device("sda", util_percent=90.0, state="busy", read_bytes_per_s=5e6),
        device("sdb", util_percent=10.0, state="ok", read_bytes_per_s=9e6),
        device("sdc", state=Missing.OFF, util_percent=Missing.OFF),
    )
)


def disks(it: Stage) -> list[str]:
    region = it.app.screen.query_one("#devices LiveTable").region
    return [line.split()[0] for line in it.screen()[region.y + 1 : region.bottom] if line.strip()]


async def test_devices_can_be_sorted_too() -> None:
    async with stage() as it:
        await it.give(DISKS)
        await it.press("shift+tab")
        assert disks(it) == ["sda", "sdb", "sdc"]
        await it.press("right")
        assert "DEVICE▲" in it.text()
        await it.press("r")
        assert disks(it) == ["sdc", "sdb", "sda"]
        await it.press("f6", *"READ", "enter")
        assert "READ/s▼" in it.line_with("DEVICE ")
        assert disks(it) == ["sdb", "sda", "sdc"]
        await it.press("O", *"busiest", "enter")
        assert disks(it) == ["sda", "sdb", "sdc"]
        await it.press("r")
        assert "%util▲" in it.text()
        assert disks(it) == ["sdb", "sda", "sdc"]


async def test_a_click_on_a_heading_of_the_devices_sorts_them_before_the_first_frame_too() -> None:
    async with stage() as it:
        for mark in "▼▲":
            line = it.line_with("DEVICE ")
            await it.pilot.click(offset=(line.index("WRITE/s"), it.screen().index(line)))
            await it.pilot.pause()
            assert f"WRITE/s{mark}" in it.text()
            await it.give(DISKS)


async def test_a_device_without_a_state_says_why_and_details_are_of_processes() -> None:
    async with stage() as it:
        await it.give(DISKS)
        await it.press("shift+tab", "end")
        assert "sdc: switched off in the kernel" in it.screen()[-1]
        await it.press("enter")
        assert "Details are of processes" in it.screen()[-1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(only=True), "No process does I/O now."),
        (Settings(only=True, accumulated=True), "No process has done I/O"),
        (Settings(user=("nobody",)), "No process belongs to nobody."),
        (Settings(pid=(1000,), filter="zzz"), "Nothing matches the filter zzz"),
    ],
)
async def test_why_no_process_is_listed(settings: Settings, words: str) -> None:
    async with stage(settings) as it:
        await it.give(frame(processes=crowd(3)))
        assert words in it.text()


async def test_without_any_process_or_device_the_way_to_see_them_is_named() -> None:
    async with stage() as it:
        await it.give(frame(processes=(), devices=()))
        assert "--pid=host" in it.text()
        assert "No block device can be seen" in it.text()
        await it.give(frame(devices=(device("loop0", kind="loop"),)))
        assert "--all-devices" in it.text()


async def test_a_selected_process_that_ends_leaves_nothing_selected() -> None:
    async with stage() as it:
        await it.give(frame(processes=(process(1), process(2))))
        await it.press("end", "F")
        await it.give(frame(processes=(process(1),)))
        assert it.app._dashboard._processes.table.selected is None
        await it.press("down", "enter")
        assert it.monitor.opened[0].pid == 1


async def test_the_choice_of_processes_is_asked_for_with_their_rows() -> None:
    async with stage(Settings(sort="CPU%")) as it:
        await it.give(frame(processes=crowd(3)))
        assert it.monitor.demand.every_field
        await it.press("left")
        assert "IO%▼" in it.table()[0]
        await it.press(*["left"] * 3)
        assert not it.monitor.demand.every_field


def _no_source() -> Source:
    raise AssertionError("nothing is opened before the screen is drawn")


def test_an_unknown_theme_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no theme 'nope'; the themes are dark"):
        run_dashboard(_no_source, Settings(theme="nope"))


@pytest.mark.parametrize("status", [0, 129, 143])
def test_the_exit_status_is_that_of_the_app(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DashboardApp, "run", lambda app: setattr(app, "_return_code", status))
    assert run_dashboard(_no_source, Settings()) == status


def test_what_ended_the_screen_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DashboardApp, "run", lambda app: setattr(app, "failure", Failure("the disk is full")))
    with pytest.raises(Failure, match="the disk is full"):
        run_dashboard(_no_source, Settings())
    monkeypatch.setattr(DashboardApp, "run", lambda app: setattr(app, "_exception", KeyError("x")))
    with pytest.raises(KeyError):
        run_dashboard(_no_source, Settings())


async def test_switches_before_the_first_frame_harm_nothing() -> None:
    async with stage() as it:
        await it.press("space", "w", "plus", "b", "T", "e", "e", "r", "right", "a", "p", "o", "c", "down", "enter", "u")
        await it.press("escape", "slash", "x", "enter", "1", "2", "3", "3")
        await it.give(replace(DISKS, processes=(process(1, "x", read_bytes_total=5),)))
        assert it.monitor.delay == 2.0
        assert it.monitor.demand.threads
        assert it.pids() == [1]


async def test_garbage_is_collected_again_once_the_first_screen_is_drawn() -> None:
    gc.disable()
    try:
        async with stage() as it:
            await it.give(frame())
            assert gc.isenabled()
            assert gc.get_freeze_count() > 10_000
    finally:
        gc.enable()
        gc.unfreeze()
