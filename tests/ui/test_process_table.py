"""The process table while threads are collected, while a filter is typed, and on narrow and wide terminals."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iodash.columns import PROCESS_COLUMNS, Column
from iodash.model.frame import ProcessRow, UnattributedRow
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.model.settings import Settings
from iodash.ui.panels import processes
from iodash.ui.panels.job_rows import list_processes
from tests.ui.frames import MIB, NOW, frame, gpu, process
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


async def test_rows_of_the_other_kind_are_shown_from_their_first_rates_on() -> None:
    unmeasured: dict[str, Any] = dict.fromkeys(("read_bytes_per_s", "write_bytes_per_s", "cpu_percent"), Missing.NEW)
    threads = [replace(busy(50, rate), key=ProcessKey(50, 500, 51)) for rate in (7, 8)]
    first: dict[str, Any] = {"processes": (replace(threads[0], **unmeasured),), "threads": True, "switched": True}
    blamed = UnattributedRow(Missing.NOT_MEASURED, Missing.NOT_MEASURED, ())
    async with stage() as it:
        await it.give(FEW)
        before = it.table()
        await it.press("p")
        await it.give(frame(time=NOW + 1, unattributed=blamed, **first))
        assert it.table() == before
        assert "collecting threads" in it.line_with("PROCESSES")
        await it.press("a", "a", "T", "r", "r")
        assert it.table() == before
        await it.give(frame(time=NOW + 2, processes=(threads[1],), threads=True))
        assert it.table()[1].split()[:2] == ["50", "51"]
        assert "8.00M" in it.table()[1]
        assert "collecting" not in it.text()
        before = it.table()
        await it.press("p")
        await it.give(frame(time=NOW + 3, processes=(process(10, **unmeasured),), unattributed=blamed, switched=True))
        assert it.table() == before
        assert "collecting processes" in it.line_with("THREADS")
        await it.give(replace(FEW, time=NOW + 4))
        assert it.pids()[0] == 10
        assert "collecting" not in it.text()


async def test_a_change_of_mind_while_threads_are_collected_is_still_waited_for() -> None:
    thread = replace(process(50), key=ProcessKey(50, 500, 51))
    async with stage() as it:
        await it.give(FEW)
        await it.press("p")
        await it.give(frame(processes=(thread,), threads=True, switched=True))
        await it.press("p")
        assert "collecting processes" in it.line_with("PROCESSES")
        await it.give(replace(FEW, switched=True))
        assert it.pids()[0] == 10
        await it.give(FEW)
        assert "collecting" not in it.text()


async def test_threads_asked_for_before_anything_is_measured_come_with_their_rates() -> None:
    thread = replace(busy(50, 7), key=ProcessKey(50, 500, 51))
    async with stage() as it:
        await it.press("p")
        unmeasured = replace(thread, read_bytes_per_s=Missing.NEW)
        await it.give(frame(processes=(unmeasured,), threads=True, switched=True))
        assert "collecting the first sample" in it.table()[1]
        await it.give(frame(processes=(thread,), threads=True))
        assert "7.00M" in it.table()[1]


async def test_many_rows_wait_for_their_first_rates_too() -> None:
    threads = tuple(replace(process(50), key=ProcessKey(50, 500, 5000 + number)) for number in range(700))
    async with stage() as it:
        await it.give(frame(processes=(busy(10, 1), *crowd(700))))
        await it.press("p")
        await it.give(frame(processes=threads, threads=True, switched=True))
        assert it.pids()[0] == 10
        assert await it.shows("collecting threads")
        await it.give(frame(processes=threads, threads=True))
        assert await it.shows("THREADS")
        assert it.pids()[0] == 50


async def test_both_columns_of_the_default_order_are_marked_and_each_alone_can_be() -> None:
    shown = frame(
        processes=(
            busy(1, 5, 1, read_bytes_total=5, write_bytes_total=1),
            busy(2, 1, 9, read_bytes_total=1, write_bytes_total=9),
        )
    )
    async with stage() as it:
        await it.give(shown)

        def marked() -> list[str]:
            return [word for word in it.table()[0].split() if word[-1] in "▼▲"]

        def places() -> list[int]:
            return [it.table()[0].index(word) for word in ("CACHE%", "IO%", "COMMAND")]

        width = places()
        assert (marked(), it.pids()) == (["READ/s▼", "WRITE/s▼"], [2, 1])
        await it.press("greater_than_sign")
        assert (marked(), it.pids()) == (["READ/s▼"], [1, 2])
        await it.press("greater_than_sign")
        assert (marked(), it.pids()) == (["WRITE/s▼"], [2, 1])
        await it.press("less_than_sign", "less_than_sign")
        assert (marked(), it.pids()) == (["READ/s▼", "WRITE/s▼"], [2, 1])
        await it.press("r")
        assert (marked(), it.pids()) == (["READ/s▲", "WRITE/s▲"], [1, 2])
        await it.press("f6", *"READ/s", "enter")
        assert (marked(), it.pids()) == (["READ/s▼"], [1, 2])
        await it.press("f6", *"R+W", "enter")
        assert (marked(), it.pids()) == (["READ/s▼", "WRITE/s▼"], [2, 1])
        for heading, first in (("READ", 1), ("WRITE", 2)):
            found = []
            for _ in range(3):
                line = it.table()[0]
                await it.pilot.click(offset=(line.index(f"{heading}/s"), it.screen().index(line)))
                await it.pilot.pause()
                found.append((marked(), it.pids()[0]))
            assert found == [
                ([f"{heading}/s▼"], first),
                ([f"{heading}/s▲"], 3 - first),
                (["READ/s▼", "WRITE/s▼"], 2),
            ]
            assert places() == width
        await it.press("a")
        assert marked() == ["READ▼", "WRITE▼"]
        await it.press("right")
        assert (marked(), it.pids()) == (["READ▼"], [1, 2])


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


async def test_next_to_nothing_reads_as_0_and_is_as_quiet() -> None:
    async with stage() as it:
        little = frame(processes=(process(7, "drip", read_bytes_per_s=0.04, gpus=(0,)),))
        await it.give(replace(little, unattributed=UnattributedRow(0.01, 5.0 * MIB, ("exited",))))
        assert "0.0B" not in it.text()
        assert it.line_with("others").split()[1:4] == ["others", "0", "5.00M"]
        panel = it.app._dashboard._processes
        (row,) = panel.table.rows_in_sight
        assert panel._cell(row, find("read_bytes_per_s")) == ("0", "quiet")
        assert panel._cell(row, find("gpus")) == ("0", "")


def find(key: str) -> Column[ProcessRow]:
    return next(column for column in PROCESS_COLUMNS if column.key == key)
