"""Somebody who chooses another order or other rows sees them from the top, but for a row that is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from iodash.model.frame import ProcessRow
from iodash.model.settings import Settings
from tests.ui.frames import device, frame
from tests.ui.scripted import busy, stage

if TYPE_CHECKING:
    from tests.ui.scripted import Stage

MANY = frame(processes=tuple(busy(1000 + number, 300 - number, cpu_percent=float(number)) for number in range(200)))
LEAST = 1000
"""Does least of the CPU and reads most; the last one the other way round."""

NEW_ORDERS: dict[str, tuple[tuple[str, ...], int]] = {
    "chosen from the list": (("f6", *"CPU%", "enter"), 1199),
    "arrow": (("right",), LEAST),
    "reversed": (("r",), 1199),
    "amounts": (("a",), 1199),
    "filter": (("slash", *"100", "enter"), LEAST),
    "only active": (("o",), LEAST),
}


def selected(it: Stage) -> int | None:
    row = it.app._dashboard._processes.table.selected
    return row.pid if isinstance(row, ProcessRow) else None


@pytest.mark.parametrize("keys", NEW_ORDERS.values(), ids=NEW_ORDERS)
async def test_a_new_order_shows_from_its_top_and_keeps_the_selection(keys: tuple[tuple[str, ...], int]) -> None:
    pressed, top = keys
    async with stage() as it:
        await it.give(MANY)
        await it.press("end", *pressed)
        is_listed = "slash" not in pressed
        assert (it.pids()[0], selected(it)) == (top, 1199 if is_listed else None)
        await it.press("up", "down")
        assert not is_listed or 1199 in it.pids()


async def test_a_click_on_a_heading_shows_its_order_from_the_top() -> None:
    async with stage() as it:
        await it.give(MANY)
        table = it.app._dashboard._processes.table
        table.scroll_rows(100)
        await it.pilot.click(table, offset=(it.table()[0].index("CPU%") + 1, 0))
        await it.pilot.pause()
        assert it.pids()[0] == 1199
        assert table.selected is None


async def test_a_followed_row_stays_in_sight_in_a_new_order() -> None:
    async with stage() as it:
        await it.give(MANY)
        await it.press("end", "F", "f6", *"CPU%", "enter", "r")
        assert selected(it) == 1199
        assert it.pids()[-1] == 1199


async def test_what_is_listed_stays_in_sight_while_nobody_chooses_anything_else() -> None:
    async with stage() as it:
        await it.give(MANY)
        await it.press("end", "c", "b", "p", "p")
        await it.give(MANY)
        assert selected(it) == 1199
        assert it.pids()[-1] == 1199


async def test_devices_in_a_new_order_show_from_the_top() -> None:
    disks = tuple(device(f"sd{number:02}", reads_per_s=float(number)) for number in range(60))
    async with stage(Settings(), size=(120, 24)) as it:
        await it.give(frame(devices=disks))
        it.app._dashboard._devices.table.focus()
        await it.press("end", "f6", *"r/s", "enter")
        table = it.app._dashboard._devices.table
        assert table.selected is not None
        assert (table.rows_in_sight[0].name, table.selected.name) == ("sd59", "sd59")
        await it.press("r")
        assert (table.rows_in_sight[0].name, table.selected.name) == ("sd00", "sd59")
