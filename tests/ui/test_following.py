"""A followed process stays the followed one until it ends, and then the screen says so."""

from __future__ import annotations

from dataclasses import replace

from iodash.model.sample import ProcessKey
from tests.ui.frames import NOW, frame, process
from tests.ui.scripted import busy, crowd, stage

TWO = frame(processes=(busy(4120, 9), busy(7, 1)))
MAIN = busy(4120, 1)
THREADS = frame(
    time=NOW + 1,
    threads=True,
    processes=(
        replace(busy(4120, 8), key=ProcessKey(4120, MAIN.key[1] + 3, 4125)),
        replace(MAIN, key=MAIN.key._replace(tid=4120)),
    ),
)


async def test_the_heading_names_what_it_follows() -> None:
    async with stage() as it:
        await it.give(TWO)
        await it.press("down", "F")
        assert "following 4120" in it.line_with("PROCESSES")
        await it.press("down")
        assert "following 7" in it.line_with("PROCESSES")
        await it.press("F")
        assert "following" not in it.line_with("PROCESSES")


async def test_a_followed_process_is_its_main_thread_among_threads_and_itself_again_after() -> None:
    async with stage() as it:
        await it.give(TWO)
        await it.press("down", "F", "p")
        await it.give(THREADS)
        table = it.app._dashboard._processes.table
        assert table.selected is not None
        assert table.selected.key == MAIN.key._replace(tid=4120)
        assert "following 4120" in it.line_with("THREADS")
        await it.press("up", "p")
        assert "following thread 4125" in it.line_with("THREADS")
        await it.give(replace(TWO, time=NOW + 2))
        assert table.selected is not None
        assert table.selected.key == MAIN.key
        assert "following 4120" in it.line_with("PROCESSES")


async def test_a_followed_process_that_ends_is_let_go_with_a_word() -> None:
    async with stage() as it:
        await it.give(TWO)
        await it.press("down", "F")
        await it.give(frame(time=NOW + 1, processes=(busy(7, 1),)))
        assert "PID 4120 has ended; no longer following" in it.screen()[-1]
        assert "following" not in it.line_with("PROCESSES")
        assert it.app._dashboard._processes.table.selected is None
        it.app._dashboard._end_hint("PID 4120 has ended; no longer following")
        await it.give(frame(time=NOW + 2, processes=(busy(7, 1),)))
        assert "has ended" not in it.text()


async def test_a_followed_process_that_is_not_listed_for_a_while_is_followed_again() -> None:
    async with stage() as it:
        await it.give(TWO)
        await it.press("down", "F", "o")
        idle = (process(4120), busy(7, 1), *crowd(3))
        await it.give(frame(time=NOW + 1, processes=idle))
        assert "following 4120 (not listed)" in it.line_with("PROCESSES")
        await it.give(replace(TWO, time=NOW + 2))
        selected = it.app._dashboard._processes.table.selected
        assert selected is not None
        assert selected.key == MAIN.key


async def test_where_there_is_no_process_none_is_followed() -> None:
    async with stage() as it:
        await it.give(frame(processes=()))
        await it.press("F")
        assert "following" not in it.line_with("PROCESSES")
