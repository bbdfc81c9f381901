"""The process table while threads are collected, while a filter is typed, and on narrow and wide terminals."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.model.sample import ProcessKey
from iodash.model.settings import Settings
from iodash.ui.panels import processes
from iodash.ui.panels.job_rows import list_processes
from tests.ui.frames import NOW, frame, gpu, process
from tests.ui.scripted import busy, crowd, stage

if TYPE_CHECKING:
    import pytest

    from iodash.model.frame import Frame
    from iodash.ui.panels.job_rows import Listing

FEW = frame(processes=(busy(10, 1), *crowd(5)))


async def test_until_threads_come_processes_stay_and_no_thread_id_is_made_up() -> None:
    thread = replace(process(50), key=ProcessKey(50, 500, 51))
    async with stage() as it:
        await it.give(FEW)
        await it.press("p")
        assert "TID" not in it.table()[0]
        assert "collecting threads" in it.line_with("PROCESSES")
        await it.give(frame(processes=(thread,), threads=True))
        assert "TID" in it.table()[0]
        assert "collecting" not in it.text()
        await it.press("p")
        assert it.table()[1].split()[:2] == ["50", "51"]
        assert "collecting processes" in it.line_with("THREADS")
        await it.give(FEW)
        assert "TID" not in it.table()[0]
        assert "collecting" not in it.text()


async def test_a_process_has_no_thread_id_where_somebody_sorts_by_it() -> None:
    async with stage(Settings(sort="TID")) as it:
        await it.give(FEW)
        assert "TID" in it.table()[0]
        assert " 0 " not in it.table()[1][8:30].replace("ada", "")
        assert it.table()[1].split()[-2] == "-" or " - " in it.table()[1]


async def test_a_wide_terminal_has_more_columns_at_once() -> None:
    async with stage(size=(200, 60)) as it:
        await it.give(replace(FEW, gpus=(gpu(),)))
        for heading in ("RES", "THR", "RCHAR/s", "GMEM", "CONTAINER"):
            assert heading in it.table()[0]
        assert "hidden" not in it.line_with("PROCESSES")
        await it.pilot.resize_terminal(120, 40)
        await it.pilot.pause()
        assert "RES" not in it.table()[0]
        await it.pilot.resize_terminal(200, 60)
        await it.pilot.pause()
        assert "RES" in it.table()[0]


async def test_the_arrows_reach_every_column_of_a_wide_terminal() -> None:
    async with stage(size=(200, 60)) as it:
        await it.give(FEW)
        seen = []
        for _ in it.app._dashboard._processes.table.column_keys:
            await it.press("right")
            seen.append(it.app._dashboard._processes.sort)
        assert set(it.app._dashboard._processes.table.column_keys) <= {*seen, "read_bytes_per_s"}


async def test_hidden_columns_are_counted_with_what_to_do_about_them() -> None:
    async with stage(size=(72, 24)) as it:
        await it.give(FEW)
        assert "hidden   a wider terminal shows them" in it.line_with("PROCESSES")
        await it.pilot.resize_terminal(50, 24)
        await it.pilot.pause()
        assert "columns hidden ─" in it.line_with("PROCESSES")


async def test_a_kernel_thread_keeps_its_brackets_in_both_ways_to_name_a_process() -> None:
    row = process(9, "kworker/0:1", command="kworker/0:1", kernel_thread=True)
    async with stage() as it:
        await it.give(frame(processes=(row,)))
        assert "[kworker/0:1]" in it.table()[1]
        await it.press("c")
        assert "[kworker/0:1]" in it.table()[1]
        await it.press("down", "enter")
        assert "[kworker/0:1]  pid 9" in it.text()


async def test_a_filter_that_is_no_regular_expression_says_that_it_is_literal() -> None:
    async with stage() as it:
        await it.give(frame(processes=(process(1, "a[b"), process(2, "ab"))))
        await it.press("slash", "a", "left_square_bracket")
        assert "literal filter: a[" in it.line_with("PROCESSES")
        assert it.pids() == [1]
        await it.press("b", "right_square_bracket")
        assert "literal" not in it.text()
        await it.press("left_square_bracket", "x")
        assert "no valid regular expression" in it.text()


async def test_a_pattern_that_python_warns_of_is_a_filter_like_any_other() -> None:
    async with stage() as it:
        await it.give(frame(processes=(process(1, "a[b"), process(2, "xy", user="bob"))))
        await it.press("slash", *["left_square_bracket"] * 2, "a", "right_square_bracket")
        assert it.pids() == [1]


async def test_with_many_processes_typing_waits_for_no_filter_and_the_newest_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    under_way, most = 0, 0
    gate = threading.Event()

    def slowly(shown: Frame, choice: Settings) -> Listing:
        nonlocal under_way, most
        asked.append(choice.filter)
        under_way += 1
        most = max(most, under_way)
        gate.wait(10)
        under_way -= 1
        return list_processes(shown, choice)

    shown = frame(processes=(busy(10, 1), *crowd(700)))
    async with stage() as it:
        await it.give(shown)
        monkeypatch.setattr(processes, "list_processes", slowly)
        await it.press("slash", *"idle64")
        assert "idle64" in it.screen()[-2]
        assert "filter: idle64" in it.line_with("PROCESSES")
        assert asked == ["i"]
        gate.set()
        assert await it.shows("11 of 701")
        assert it.pids() == [1064, *range(1640, 1650)]
        assert asked == ["i", "idle64"]
        assert most == 1


async def test_a_frame_that_comes_while_many_are_filtered_is_shown_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def slowly(shown: Frame, choice: Settings) -> Listing:
        gate.wait(10)
        return list_processes(shown, choice)

    async with stage() as it:
        await it.give(frame(processes=crowd(700)))
        monkeypatch.setattr(processes, "list_processes", slowly)
        await it.press("slash", *"new")
        giving = asyncio.ensure_future(it.give(frame(time=NOW + 1, processes=(process(5, "new"), *crowd(700)))))
        await it.pilot.pause()
        gate.set()
        await giving
        assert await it.shows("1 of 701")
        assert it.pids() == [5]
