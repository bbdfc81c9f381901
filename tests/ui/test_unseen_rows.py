"""Keys act on rows that can be seen, and the footer speaks of those only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iodash.model.missing import Missing
from tests.ui.frames import device, frame, gpu, process
from tests.ui.scripted import Stage, crowd, stage

REFUSED = process(5, read_bytes_per_s=Missing.NO_PERMISSION, write_bytes_per_s=Missing.NO_PERMISSION)
SHOWN = frame(processes=(REFUSED, *crowd(3)), gpus=(gpu(),))


async def focus(it: Stage, key: str) -> None:
    while it.app._dashboard.focused_panel.key != key:
        await it.press("tab")


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("panel", ["gpus", "strip"])
async def test_arrows_on_a_panel_without_rows_select_no_process(panel: str, full: bool) -> None:
    async with stage() as it:
        await it.give(SHOWN)
        await focus(it, panel)
        if full:
            await it.press("e")
            assert it.app._dashboard.full == panel
        await it.press("down", "j", "pagedown", "end", "home")
        assert it.app._dashboard._processes.table.selected is None


@pytest.mark.parametrize("panel", ["gpus", "strip"])
async def test_enter_on_a_panel_without_rows_does_what_e_does(panel: str) -> None:
    async with stage() as it:
        await it.give(SHOWN)
        await focus(it, panel)
        await it.press("enter")
        assert it.app._dashboard.full == panel
        await it.press("enter")
        assert it.app._dashboard.full is None
        assert it.monitor.opened == []


async def test_the_footer_speaks_of_no_process_while_the_keys_go_elsewhere() -> None:
    async with stage(size=(160, 40)) as it:
        await it.give(SHOWN)
        await it.press("end")
        assert "SYS_PTRACE" in it.screen()[-1]
        await focus(it, "gpus")
        assert "SYS_PTRACE" not in it.screen()[-1]
        await it.press("e")
        assert "SYS_PTRACE" not in it.screen()[-1]


async def test_order_and_following_need_the_processes_on_the_screen() -> None:
    async with stage() as it:
        await it.give(SHOWN)
        await focus(it, "gpus")
        await it.press("e")
        for key in ("r", "right", "f6", "F"):
            before = it.app._dashboard._processes.choice
            await it.press(key)
            assert it.app._dashboard._processes.choice == before
        assert "not on the screen" in it.screen()[-1]
        assert it.app._dashboard._processes.followed is None


async def test_with_every_panel_hidden_the_footer_says_how_to_get_one_back() -> None:
    async with stage() as it:
        await it.give(SHOWN)
        await it.press("1", "2", "3", "4", "5")
        assert "1-5 show panels" in it.text()
        await it.press("down", "enter", "e")
        assert it.monitor.opened == []
        assert it.app._dashboard.full is None
        await it.press("4")
        assert "1-5 show panels" not in it.text()


async def test_a_long_filter_is_cut_so_that_the_other_parts_of_the_rule_stay() -> None:
    async with stage(size=(80, 24)) as it:
        await it.give(frame(processes=(process(4120, "a" * 300),)))
        await it.press("slash")
        it.app.screen.query_one("Input").value = "a" * 300  # type: ignore[attr-defined]
        await it.press("enter", "down", "F")
        rule = it.line_with("PROCESSES")
        assert "1   filter: aaaaaa" in rule
        assert "a…" in rule
        assert "following 4120" in rule


async def test_no_colours_means_no_themes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage() as it:
        await it.give(replace(SHOWN, devices=(device(),)))
        before = it.app.theme
        await it.press("T")
        assert it.app.theme == before
        assert "no colours: NO_COLOR is set" in it.screen()[-1]
