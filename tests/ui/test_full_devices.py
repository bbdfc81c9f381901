"""The full-screen device panel: every field of a device can be seen, whatever the terminal's size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iodash.columns import DEVICE_COLUMNS
from iodash.model.settings import Settings
from iodash.ui.themes import THEMES
from tests.ui.frames import MIB, NOW, device, frame
from tests.ui.scripted import Stage, stage

SIZES = [(200, 60), (120, 40), (80, 24)]

TWO = frame(
    devices=(
        device("vda", util_percent=60.0, state="ok", discards_per_s=11.0, discard_size_bytes=3 * MIB),
        device("vdb", util_percent=1.0, state="ok", discards_per_s=22.0),
    )
)


async def open_full(it: Stage) -> None:
    await it.give(TWO)
    await it.press("shift+tab", "e")


def value_of(it: Stage, heading: str) -> str:
    words = it.text().split()
    return words[words.index(heading) + 1]


@pytest.mark.parametrize("size", SIZES)
async def test_every_field_of_the_first_device_is_on_the_screen(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        await open_full(it)
        words = f" {' '.join(it.text().split())} "
        missing = [column.heading for column in DEVICE_COLUMNS if f" {column.heading} " not in words]
        assert missing == []
        assert "hidden" not in it.text()
        assert it.line_with(" vda ─")
        assert value_of(it, "d/s") == "11"
        assert value_of(it, "dareq-sz") == "3.00M"
        assert it.screen()[-1].startswith(" q quit")


async def test_the_fields_follow_the_cursor_and_the_frames() -> None:
    async with stage() as it:
        await open_full(it)
        await it.press("down", "down")
        assert it.line_with(" vdb ─")
        assert value_of(it, "d/s") == "22"
        assert "vdb   %util" in it.text()
        await it.give(replace(TWO, time=NOW + 1, devices=(TWO.devices[0], device("vdb", discards_per_s=33.0))))
        assert value_of(it, "d/s") == "33"
        await it.give(replace(TWO, time=NOW + 2, devices=TWO.devices[:1]))
        assert it.line_with(" vda ─")
        assert value_of(it, "d/s") == "11"


async def test_the_plots_have_the_lines_that_the_fields_leave() -> None:
    async with stage(size=(120, 40)) as it:
        await open_full(it)
        fields, plots = it.app.screen.query_one("DeviceFields").region, it.app.screen.query_one("HistoryPlots").region
        assert it.screen()[fields.y - 1].startswith(" vdb")
        assert plots.y == fields.bottom
        assert plots.bottom == 39
        many = tuple(device(f"sd{letter}", mounts=()) for letter in "abcdefgh")
        await it.pilot.resize_terminal(80, 24)
        await it.give(replace(TWO, devices=many))
        assert not it.app.screen.query_one("HistoryPlots").display
        assert "hidden" not in it.text()
        assert " d/s " in it.text()
        assert all(row.name in it.text() for row in many)


@pytest.mark.parametrize("size", [(60, 16), (40, 10)])
async def test_where_even_the_fields_have_no_room_the_rest_is_counted(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        await open_full(it)
        seen = sum(f" {column.heading} " in f" {' '.join(it.text().split())} " for column in DEVICE_COLUMNS)
        assert f"{len(DEVICE_COLUMNS) - seen} columns hidden" in it.line_with("DEVICES")
        assert "vdb" in it.text()
        await it.press("enter")
        assert "shown already" not in it.text()


async def test_no_block_stands_where_every_column_fits_or_the_panel_is_not_full() -> None:
    async with stage(size=(420, 50)) as it:
        await open_full(it)
        assert not it.app.screen.query_one("DeviceFields").display
        await it.pilot.resize_terminal(120, 40)
        await it.pilot.pause()
        assert it.line_with(" vda ─")
        await it.press("escape")
        assert not it.app.screen.query_one("DeviceFields").display
        assert " vda ─" not in it.text()
        assert "PROCESSES" in it.text()


async def test_what_enter_says_of_the_devices_is_true() -> None:
    async with stage(size=(120, 40)) as it:
        await it.give(TWO)
        await it.press("shift+tab", "enter")
        assert "e shows every field of the devices" in it.screen()[-1]
        await it.press("e", "enter")
        assert "every field of the device is shown already" in it.screen()[-1]


async def test_a_host_without_devices_says_so_full_screen_too() -> None:
    async with stage() as it:
        await it.give(frame(devices=()))
        await it.press("shift+tab", "e")
        assert "No block device can be seen" in it.text()


@pytest.mark.parametrize("size", [*SIZES, (60, 16)])
async def test_ascii_keeps_to_ascii(size: tuple[int, int]) -> None:
    async with stage(Settings(ascii=True), size=size) as it:
        await open_full(it)
        assert it.line_with(" vda -")
        assert it.text().isascii()


@pytest.mark.parametrize("theme", THEMES)
async def test_names_are_quieter_than_values_in_every_theme(theme: str) -> None:
    async with stage(Settings(theme=theme)) as it:
        await open_full(it)
        strips = it.app.screen._compositor.render_strips()
        parts = {part.text.strip(): part.style for strip in strips for part in strip}
        assert parts["d/s"] == parts["DISC/s"]
        assert parts["d/s"] != parts["11"]
