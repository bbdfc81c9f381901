"""Jobs in the process table: one row for the whole, its members beneath, opened and closed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from iodash.model.frame import Verdict
from iodash.model.settings import Settings
from iodash.ui.panels.job_rows import JobGroup
from iodash.ui.screens.details import DetailsScreen
from tests.ui.frames import MIB, NOW, frame, process
from tests.ui.jobs import FIRST_RANK, FIRST_WORKER, LAUNCHER, job_of, members
from tests.ui.scripted import busy, crowd, stage

if TYPE_CHECKING:
    from typing import Any

    from iodash.model.frame import Frame, ProcessRow
    from tests.ui.scripted import Stage


def scene(*others: ProcessRow, second: int = 0, rows: tuple[ProcessRow, ...] = members(), **job: Any) -> Frame:
    return frame(time=NOW + second, processes=(*rows, *others, *crowd(5)), jobs=(job_of(rows, **job),))


def job_line(it: Stage) -> str:
    return next(line for line in it.table() if "2 ranks" in line)


def large(second: int = 0) -> Frame:
    return scene(second=second, rows=members(workers=30))


async def test_a_job_is_one_row_with_its_sums_and_its_members_beneath() -> None:
    async with stage() as it:
        await it.give(scene(busy(7, 99)))
        assert it.pids()[:2] == [7, LAUNCHER]
        assert "▾ train.py  2 ranks, 6 workers, 1 other" in job_line(it)
        assert "21.0M" in job_line(it)
        assert " 200 " in job_line(it)
        assert "0,1" in job_line(it)
        assert "│ rank 0, 3 workers" in it.text()
        assert "│ loader worker 2 of rank 1" in it.table()[3]
        assert it.pids()[2:8] == [4302, 4301, 4300, 4202, 4201, 4200]
        assert "15" in it.line_with("PROCESSES").split()


async def test_enter_closes_and_opens_and_the_choice_lasts_while_workers_come_and_go() -> None:
    async with stage() as it:
        await it.give(scene())
        await it.press("down", "enter")
        assert "▸ train.py" in job_line(it)
        assert "│" not in "".join(it.table())
        assert "Enter opens" in it.screen()[-1]
        for second in range(1, 4):
            await it.give(scene(second=second, rows=members(generation=second, workers=second)))
            assert it.pids()[0] == LAUNCHER
            assert it.pids()[1] == 1000
        await it.press("enter")
        assert "▾ train.py" in job_line(it)
        assert "Enter closes" in it.screen()[-1]
        assert len(it.pids()) == 1 + 9 + 5
        assert not isinstance(it.app.screen, DetailsScreen)


async def test_enter_on_a_member_opens_its_details() -> None:
    async with stage() as it:
        await it.give(scene())
        await it.press("down", "down", "enter")
        assert isinstance(it.app.screen, DetailsScreen)
        assert it.monitor.opened[0].pid == 4302


async def test_many_members_are_hidden_until_they_are_asked_for() -> None:
    async with stage() as it:
        await it.give(large())
        await it.give(large(1))
        assert "▸ train.py  2 ranks, 60 workers, 1 other" in job_line(it)
        assert it.pids() == [LAUNCHER, *range(1000, 1005)]
        await it.press("down", "enter")
        await it.give(large(2))
        assert "▾" in job_line(it)
        assert len(it.pids()) > 10


async def test_members_that_a_filter_leaves_are_shown_beneath_the_whole_job() -> None:
    async with stage() as it:
        await it.give(large())
        await it.give(large(1))
        await it.press("slash", *"worker")
        await it.press("backspace", *["backspace"] * 5, *"^420")
        assert it.pids()[0] == LAUNCHER
        assert "10 of 68" in it.text()
        assert "63 processes, 10 of them listed" in it.text() or "▾" in job_line(it)
        assert len(it.pids()) == 11
        await it.press("backspace", *"2", "backspace", *["backspace"] * 3, *"^4200$")
        assert it.pids() == [FIRST_WORKER]


async def test_the_totals_are_those_of_the_job_and_survive_its_workers() -> None:
    async with stage(Settings(accumulated=True)) as it:
        await it.give(scene(read_bytes_total=700 * MIB))
        assert "700M" in job_line(it)
        await it.give(scene(second=1, rows=members(generation=1), read_bytes_total=701 * MIB))
        assert "701M" in job_line(it)


async def test_every_process_of_a_job_in_sight_is_read_in_full() -> None:
    async with stage() as it:
        await it.give(large())
        await it.give(large(1))
        assert "▸" in job_line(it)
        wanted = {key.pid for key in it.monitor.demand.visible}
        assert {row.pid for row in members(workers=30)} <= wanted


async def test_the_job_and_its_root_are_two_rows() -> None:
    async with stage() as it:
        await it.give(scene())
        await it.press("down")
        table = it.app._dashboard._processes.table
        assert isinstance(table.selected, JobGroup)
        await it.give(scene(busy(7, 99), second=1))
        assert isinstance(table.selected, JobGroup)
        root = it.pids().index(LAUNCHER, 2)
        await it.press("home", *["down"] * root)
        assert not isinstance(table.selected, JobGroup)
        assert table.selected is not None
        assert table.selected.pid == LAUNCHER
        await it.press("enter")
        assert it.monitor.opened[0].pid == LAUNCHER


async def test_follow_works_on_a_job_and_on_a_member() -> None:
    above = tuple(busy(5000 + number, 999) for number in range(60))
    for steps, pid in ((1, LAUNCHER), (2, 4302)):
        async with stage() as it:
            await it.give(scene())
            await it.press(*["down"] * steps, "F")
            await it.give(scene(*above, second=1))
            assert pid in it.pids()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_click_on_the_mark_or_a_double_click_elsewhere_closes(times: int) -> None:
    async with stage() as it:
        await it.give(scene())
        line = job_line(it)
        x = line.index("▾") if times == 1 else line.index("train.py")
        await it.pilot.click(offset=(x, it.screen().index(line)), times=times)
        await it.pilot.pause()
        assert "▸" in job_line(it)
        await it.pilot.click(offset=(line.index("READ") if "READ" in line else 3, it.screen().index(job_line(it))))
        await it.pilot.pause()
        assert "▸" in job_line(it)


async def test_closing_a_job_leaves_the_selection_on_it() -> None:
    async with stage() as it:
        await it.give(scene())
        await it.press("down", "down", "down")
        line = job_line(it)
        await it.pilot.click(offset=(line.index("▾"), it.screen().index(line)))
        await it.pilot.pause()
        assert isinstance(it.app._dashboard._processes.table.selected, JobGroup)


async def test_a_selected_member_that_is_hidden_hands_the_selection_to_its_job() -> None:
    async with stage() as it:
        await it.give(scene())
        await it.press("down", "down")
        await it.give(replace(large(1), processes=(*members(), *members(workers=30)[6:], *crowd(5))))
        assert "▸" in job_line(it)
        assert isinstance(it.app._dashboard._processes.table.selected, JobGroup)


async def test_a_closed_job_is_marked_when_the_verdict_names_a_member_and_says_who_lags() -> None:
    rows = members()
    worker = next(row.key for row in rows if row.pid == FIRST_WORKER + 1)
    verdict = Verdict("small_reads", "high", "many small reads", (), "", 30.0, processes=(worker,))
    shown = replace(scene(rows=rows, stragglers=(worker,)), verdict=verdict)
    async with stage() as it:
        await it.give(shown)
        assert it.line_with("4201 ").startswith("◆")
        assert it.line_with("4201 ").rstrip().endswith("lags")
        assert not job_line(it).startswith("◆")
        await it.press("down", "enter")
        await it.give(replace(shown, time=NOW + 1))
        assert job_line(it).startswith("◆")
        assert job_line(it).rstrip().endswith("1 lags")


async def test_the_sort_order_puts_the_job_in_its_place() -> None:
    async with stage() as it:
        await it.give(scene(busy(7, 20), busy(8, 22)))
        assert it.pids()[:2] == [8, LAUNCHER]
        await it.press("F", "f6", *"CPU", "enter")
        assert it.pids()[0] == LAUNCHER
        assert it.pids()[1] == FIRST_RANK
        await it.press("r")
        assert it.pids()[-1] == FIRST_RANK + 1 or it.pids()[-2] == FIRST_RANK
        assert it.pids()[0] in (7, 8, 1000)


async def test_threads_stand_alone() -> None:
    async with stage(Settings(threads=True)) as it:
        await it.give(replace(scene(), threads=True))
        assert "2 ranks" not in it.text()


async def test_full_command_lines_stand_behind_the_part_in_the_job() -> None:
    async with stage(size=(160, 40)) as it:
        await it.give(scene(process(7, "pt_data_worker", command="python3 eval.py", role="loader worker 4")))
        await it.press("c")
        assert "▾ 2 ranks, 6 workers, 1 other  torchrun train.py" in it.text()
        assert "│ launcher  torchrun train.py" in it.text()
        assert "│ rank 0, 3 workers  python3 train.py --lr 3e-4" in it.text()
        assert "│ loader worker 2 of rank 1  pt_data_worker" in it.text()
        assert "loader worker 4  python3 eval.py" in it.text()
        await it.press("slash", *"lr 3", "enter")
        assert "▾ 2 ranks, 6 workers, 1 other  torchrun train.py" in it.text()


async def test_ascii() -> None:
    async with stage(Settings(ascii=True)) as it:
        await it.give(scene())
        await it.press("down")
        assert "v train.py" in job_line(it)
        assert "| loader worker" in it.text()
        await it.press("enter")
        assert "> train.py" in job_line(it)
        assert it.text().isascii()


async def test_a_process_of_no_job_stays_as_it_was() -> None:
    async with stage() as it:
        await it.give(scene(process(7, "solo", role="helper")))
        assert "│" not in it.line_with("solo  helper")


async def test_sorted_by_gpus_those_that_hold_one_come_first_in_either_direction() -> None:
    async with stage(Settings(sort="gpus")) as it:
        await it.give(scene(busy(7, 99)))
        assert it.pids()[0] == LAUNCHER
        await it.press("r")
        assert it.pids()[0] == LAUNCHER
