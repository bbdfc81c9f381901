"""Every key of the dashboard does what the contract says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from iodash.formatting.units import Units
from iodash.model.frame import ProcessRow
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.model.settings import Settings
from iodash.ui.keys import KEYS
from iodash.ui.screens.choose import ChooseScreen
from iodash.ui.screens.details import DetailsScreen
from iodash.ui.screens.help import HelpScreen
from tests.ui.frames import NOW, device, frame, gpu, process
from tests.ui.scripted import MIB, busy, crowd, stage

if TYPE_CHECKING:
    from pathlib import Path


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


THREE = frame(processes=(busy(10, 1, user="root"), busy(11, 5, 2), busy(12, 3, 9), *crowd(5)))


def test_no_key_has_two_meanings() -> None:
    names = [name for key in KEYS for name in key.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("key", ["q", "f10", "ctrl+c"])
async def test_quit(key: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press(key)
        assert it.app.return_code == 0
        assert not it.app.is_running or it.app._exit


@pytest.mark.parametrize("before", ["question_mark", "slash", "f6", "enter"])
async def test_ctrl_c_quits_from_everywhere(before: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("down", before, "ctrl+c")
        assert it.app._exit


async def test_escape_never_quits() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("escape", "escape", "escape")
        assert not it.app._exit


@pytest.mark.parametrize("key", ["question_mark", "h", "f1"])
async def test_help(key: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press(key)
        assert isinstance(it.app.screen, HelpScreen)
        await it.press("escape")
        assert not isinstance(it.app.screen, HelpScreen)


async def test_the_screen_starts_sorted_by_reads_and_writes_together() -> None:
    async with stage() as it:
        await it.give(THREE)
        assert it.pids()[:4] == [12, 11, 10, 1000]
        assert "READ/s▼" in it.table()[0]


@pytest.mark.parametrize(
    ("keys", "heading", "first"),
    [
        (["right"], "READ/s▼", [11, 12, 10]),
        (["greater_than_sign", "greater_than_sign"], "WRITE/s▼", [12, 11]),
        (["right", "right", "left"], "READ/s▼", [11, 12, 10]),
        (["less_than_sign"], " S▲", [10, 11, 12]),
        (["left", "left"], "USER▲", [11, 12]),
        (["right", "r"], "READ/s▲", [1000, 1001]),
        (["right", "right", "I", "R"], "WRITE/s▼", [12, 11]),
    ],
)
async def test_sorting(keys: list[str], heading: str, first: list[int]) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press(*keys)
        assert heading in it.table()[0]
        assert it.pids()[: len(first)] == first


@pytest.mark.parametrize("key", ["f6", "O"])
async def test_a_sort_column_can_be_chosen_that_is_not_on_screen(key: str) -> None:
    async with stage() as it:
        await it.give(frame(processes=(process(1, resident_bytes=5), process(2, resident_bytes=9 * MIB))))
        await it.press(key)
        assert isinstance(it.app.screen, ChooseScreen)
        await it.press(*"RES", "enter")
        assert "RES▼" in it.table()[0]
        assert it.pids() == [2, 1]
        assert it.monitor.demand.every_field


@pytest.mark.parametrize("chosen", [[], [*"WRITE/s"]])
async def test_choosing_the_sorted_column_again_changes_nothing(chosen: list[str]) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("f6", *chosen, "enter")
        shown = it.table()
        assert "▼" in shown[0]
        await it.press("f6", "enter")
        assert it.table() == shown
        await it.press("r", "f6", "enter")
        assert "▲" in it.table()[0]


async def test_a_click_on_a_heading_sorts_and_a_second_one_reverses() -> None:
    async with stage() as it:
        await it.give(THREE)
        x, y = it.table()[0].index("WRITE/s"), it.screen().index(it.table()[0])
        await it.pilot.click(offset=(x, y))
        await it.pilot.pause()
        assert "WRITE/s▼" in it.table()[0]
        assert it.pids()[:2] == [12, 11]
        await it.pilot.click(offset=(x, y))
        await it.pilot.pause()
        assert "WRITE/s▲" in it.table()[0]


@pytest.mark.parametrize("key", ["slash", "f", "f4"])
async def test_filter_is_live_and_counts(key: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press(key, *"idle[12]")
        assert it.pids() == [1001, 1002]
        assert "2 of 8" in it.text()
        assert "filter: idle[12]" in it.line_with("PROCESSES")
        await it.press("enter", "down")
        assert it.pids() == [1001, 1002]
        await it.press("escape")
        assert len(it.pids()) == 8


async def test_a_filter_that_is_no_regular_expression_is_searched_literally() -> None:
    async with stage() as it:
        await it.give(frame(processes=(process(1, "a[b"), process(2, "ab"))))
        await it.press("slash", "a", "left_square_bracket", "b")
        assert it.pids() == [1]


@pytest.mark.parametrize(("typed", "found"), [("ROOT", [10]), ("^1001$", [1001]), ("docker7", [5])])
async def test_filter_looks_at_user_pid_and_container(typed: str, found: list[int]) -> None:
    keys = {"^": "circumflex_accent", "$": "dollar_sign"}
    async with stage() as it:
        await it.give(replace(THREE, processes=(*THREE.processes, process(5, container="docker7"))))
        await it.press("slash", *(keys.get(letter, letter) for letter in typed))
        assert it.pids() == found


async def test_escape_while_typing_drops_the_filter() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("slash", "x", "x", "escape")
        assert len(it.pids()) == 8


async def test_an_empty_table_says_what_to_type() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("slash", "x", "x", "x", "enter")
        assert "Nothing matches the filter xxx" in it.text()
        assert "Esc clears it" in it.text()


async def test_only_active_counts_bytes_and_delay() -> None:
    async with stage() as it:
        await it.give(replace(THREE, processes=(*THREE.processes, process(7, io_delay_percent=3.0))))
        await it.press("o")
        assert sorted(it.pids()) == [7, 10, 11, 12]
        assert it.monitor.demand.every_field
        await it.press("o")
        assert len(it.pids()) == 9


async def test_accumulated_shows_totals_and_keeps_the_sort_column() -> None:
    shown = frame(processes=(busy(1, 9), process(2, read_bytes_total=7 * MIB), process(3)))
    async with stage() as it:
        await it.give(shown)
        assert it.pids() == [1, 2, 3]
        await it.press("a")
        assert it.pids()[0] == 2
        assert "READ▼" in it.table()[0]
        assert "7.00M" in it.table()[1]
        await it.press("o")
        assert it.pids() == [2]
        await it.press("o", "a", "right", "a")
        assert "READ▼" in it.table()[0]


async def test_threads_are_asked_for_and_shown_with_their_ids() -> None:
    async with stage() as it:
        await it.give(THREE)
        assert not it.monitor.demand.threads
        await it.press("p")
        assert it.monitor.demand.threads
        thread = replace(process(50), key=ProcessKey(50, 500, 51))
        await it.give(frame(processes=(thread,), threads=True))
        assert "THREADS" in it.text()
        assert "TID" in it.table()[0]
        assert it.table()[1].split()[:2] == ["50", "51"]


async def test_full_command_line() -> None:
    row = process(1, "python3", command="python3 train.py --lr 3e-4", role="rank 0")
    async with stage() as it:
        await it.give(frame(processes=(row,)))
        assert "python3  rank 0" in it.table()[1]
        await it.press("c")
        assert "python3 train.py --lr 3e-4" in it.table()[1]


async def test_filter_by_user() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("u")
        assert isinstance(it.app.screen, ChooseScreen)
        await it.press(*"root", "enter")
        assert it.pids() == [10]
        await it.press("u", *"every", "enter")
        assert len(it.pids()) == 8


async def test_escape_takes_back_the_filter_then_the_user_then_the_full_panel() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("e", "u", *"ada", "enter", "slash", *"idle1", "enter")
        assert it.pids() == [1001]
        await it.press("escape")
        assert (len(it.pids()), it.app._dashboard.full) == (7, "processes")
        assert "user: ada" in it.text()
        await it.press("escape")
        assert (len(it.pids()), it.app._dashboard.full) == (8, "processes")
        assert "user: ada" not in it.text()
        await it.press("escape")
        assert it.app._dashboard.full is None


async def test_a_table_that_a_user_leaves_empty_says_how_to_see_everybody() -> None:
    async with stage(Settings(user=("nobody",))) as it:
        await it.give(THREE)
        assert "Esc shows everybody's" in it.text()
        await it.press("escape")
        assert len(it.pids()) == 8


async def test_units() -> None:
    async with stage() as it:
        await it.give(frame(processes=(busy(1, 100),)))
        assert "100M" in it.table()[1]
        await it.press("b")
        assert "105M" in it.table()[1]
        assert it.app._units is Units.SI
        await it.press("b", "b")
        assert "100M" in it.table()[1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_whole_kib_stand_under_headings_that_say_so(size: tuple[int, int]) -> None:
    rows = (
        process(1, write_bytes_per_s=8151.0, read_bytes_per_s=float(3 * 2**30), resident_bytes=200 * 2**30),
        process(2, write_bytes_per_s=12.0),
    )
    disk = device("vda", read_bytes_per_s=float(3 * 2**30), write_bytes_per_s=4106.0)
    async with stage(Settings(kilobytes=True, device=("vda",)), size) as it:
        assert "WRITE K/s" in it.table()[0]
        await it.give(frame(processes=rows, devices=(disk,)))
        heading = it.table()[0]
        assert "READ K/s▼ WRITE K/s▼" in heading
        assert " 3145728 8 " in " ".join(it.table()[1].split())
        assert " 0 <1 " in " ".join(it.table()[2].split())
        assert {"3145728", "4"} <= set(it.line_with("vda ").split())
        assert "READ/s" not in it.text()
        if "RES K" in heading:
            assert "209715200" in it.table()[1]
        await it.press("b")
        assert "READ/s▼ WRITE/s▼" in it.table()[0]
        assert "K/s" not in it.text()


async def test_interval_steps() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("plus")
        assert it.monitor.delay == 2.0
        assert "every 2 s" in it.text()
        await it.press("plus", "plus", "plus", "plus")
        assert it.monitor.delay == 10.0
        await it.press(*["minus"] * 7)
        assert it.monitor.delay == 0.5


@pytest.mark.parametrize("key", ["space", "Z", "z"])
async def test_pause_freezes_what_is_shown_while_sampling_goes_on(key: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press(key)
        assert "PAUSED" in it.text()
        await it.give(frame(time=NOW + 1, processes=(busy(99, 50),)))
        assert 99 not in it.pids()
        assert 12 in it.pids()
        assert len(it.monitor.history.series("", "disk_read_bytes_per_s")) == 2
        assert it.app._feed._frozen is not None
        assert len(it.app._feed._frozen.series("", "disk_read_bytes_per_s")) == 1
        await it.press(key)
        assert it.pids() == [99]
        assert "PAUSED" not in it.text()


async def test_the_banner_says_how_old_the_frame_is() -> None:
    now = 100.0
    async with stage() as it:
        it.app._feed._clock = lambda: now
        await it.give(THREE)
        await it.press("space")
        now = 175.0
        it.app._show_age()
        await it.pilot.pause()
        assert "PAUSED 1 min 15 s old" in it.text()


@pytest.mark.parametrize("key", ["w", "S"])
async def test_snapshot_saves_the_frozen_frame_and_names_the_file(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with stage() as it:
        await it.give(THREE)
        await it.press("space")
        await it.give(frame(time=NOW + 60))
        await it.press(key)
        assert await it.shows("Snapshot saved")
        assert "iodash-gpu-node-07" in it.text()
    assert [len(json.loads(file.read_text())["processes"]) for file in files(tmp_path)] == [8]


async def test_a_moment_that_is_saved_already_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with stage() as it:
        await it.give(THREE)
        await it.press("space", "w")
        assert await it.shows("Snapshot saved")
        await it.press("w")
        assert await it.shows("This moment is already saved as")
        assert it.text().count("iodash-gpu-node-07") == 4
        assert {note.severity for note in it.app._notifications} == {"information"}
        assert "choose another name" not in it.text()
    assert len(files(tmp_path)) == 1


async def test_snapshot_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from iodash.outputs.snapshot import SnapshotError

    def fail(shown: object) -> None:
        raise SnapshotError("cannot write [/x] the snapshot: No space left on device")

    monkeypatch.setattr("iodash.outputs.snapshot.write_snapshot", fail)
    async with stage() as it:
        await it.give(THREE)
        await it.press("w")
        assert await it.shows("No space left")
        assert "[/x]" in it.text()


@pytest.mark.parametrize(
    ("key", "words"),
    [("1", "DISK r"), ("2", "no NVIDIA library"), ("3", "DEVICES"), ("4", "PROCESSES")],
)
async def test_panels_can_be_hidden(key: str, words: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        assert words in it.text()
        await it.press(key)
        assert words not in it.text()
        await it.press(key)
        assert words in it.text()


async def test_the_process_table_says_that_others_are_hidden() -> None:
    async with stage() as it:
        await it.give(replace(THREE, host=replace(THREE.host, hidepid="2")))
        assert await it.shows("other users' are hidden (hidepid=2)")


async def test_where_proc_shows_processes_alone_strip_and_devices_say_so() -> None:
    async with stage(size=(200, 50)) as it:
        await it.give(replace(THREE, devices=(), host=replace(THREE.host, only_processes=True)))
        assert await it.shows("SYSTEM  /proc shows processes only (subset=pid): mount -t proc proc /proc")
        assert it.text().count("shows processes only") == 2


async def test_the_device_table_says_that_disks_are_told_by_name() -> None:
    async with stage() as it:
        await it.give(replace(THREE, host=replace(THREE.host, sysfs_hidden=True)))
        assert await it.shows("disks told by name: /sys is hidden")
        await it.give(THREE)
        assert "/sys is hidden" not in it.text()


async def test_the_verdict_can_be_hidden() -> None:
    loud = frame(devices=(device(state="saturated", state_reason="reads wait", util_percent=100.0),))
    async with stage() as it:
        await it.give(loud)
        assert "reads wait" in it.text()
        await it.press("5")
        assert "reads wait" not in it.text()


async def test_all_panels_hidden_harms_nothing() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("1", "2", "3", "4", "5", "down", "r", "tab", "enter", "escape")
        assert "q quit" in it.text()
        await it.press("4")
        assert "PROCESSES" in it.text()


async def test_tab_goes_through_the_panels() -> None:
    async with stage() as it:
        await it.give(frame(gpus=(gpu(),)))
        seen = [it.app._dashboard.focused_panel.key]
        for _ in range(4):
            await it.press("tab")
            seen.append(it.app._dashboard.focused_panel.key)
        assert sorted(seen) == ["devices", "gpus", "processes", "strip", "verdict"]
        await it.press("shift+tab")
        assert it.app._dashboard.focused_panel.key == seen[-2]


async def test_full_screen_shows_more_columns_and_plots() -> None:
    async with stage(size=(200, 60)) as it:
        await it.give(THREE)
        await it.give(replace(THREE, time=NOW + 1))
        await it.press("shift+tab", "e")
        await it.give(replace(THREE, time=NOW + 2))
        assert "rareq-sz" in it.text()
        assert "PROCESSES" not in it.text()
        assert it.app.screen.query("HistoryPlots")
        assert "┤" in it.text()
        await it.press("escape")
        assert "PROCESSES" in it.text()
        assert not it.app.screen.query("HistoryPlots")


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16), (40, 10)])
async def test_every_panel_can_be_full_screen_at_every_size(size: tuple[int, int]) -> None:
    seen: set[str | None] = set()
    async with stage(size=size) as it:
        for turn in range(5):
            if it.app._dashboard.focused_panel.key == "verdict":  # has no plots: e opens what speaks for it
                await it.press("tab")
                continue
            await it.press("e")
            await it.give(replace(THREE, time=NOW + turn, gpus=(gpu(0), gpu(1))))
            assert it.app._dashboard.full == it.app._dashboard.focused_panel.key
            seen.add(it.app._dashboard.full)
            await it.press("e", "tab")
            assert it.app._dashboard.full is None
        assert {"processes", "devices"} <= seen


async def test_details_of_the_selected_row() -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("down", "down", "enter")
        assert isinstance(it.app.screen, DetailsScreen)
        await it.pilot.pause()
        assert it.monitor.opened == [ProcessKey(11, 110)]
        await it.press("escape")
        assert it.pids()


async def test_moving() -> None:
    many = frame(processes=crowd(200))
    async with stage() as it:
        await it.give(many)
        table = it.app._dashboard._processes.table

        async def after(*keys: str) -> int:
            await it.press(*keys)
            assert isinstance(table.selected, ProcessRow)
            return table.selected.pid - 1000

        assert table.selected is None
        assert await after("down") == 0
        assert await after("j", "j", "k") == 1
        assert await after("end") == 199
        assert await after("up") == 198
        assert await after("g") == 0
        page = await after("pagedown")
        assert 5 < page < 40
        assert await after("pageup") == 0
        assert await after("G") == 199
        assert await after("home") == 0


@pytest.mark.parametrize("key", ["i", "s", "d", "t", "f9"])
async def test_keys_of_other_tools_say_that_iodash_only_looks(key: str) -> None:
    async with stage() as it:
        await it.give(THREE)
        await it.press("down", key)
        assert "iodash only looks" in it.screen()[-1]


async def test_follow_keeps_the_selected_process_in_sight() -> None:
    async with stage() as it:
        await it.give(frame(processes=(busy(10, 9), *crowd(200))))
        await it.press("down", "F")
        await it.give(frame(processes=(*(busy(1000 + number, 5) for number in range(200)), process(10))))
        assert 10 in it.pids()
        await it.press("F")
        assert "following" not in it.line_with("PROCESSES")


async def test_themes_go_round() -> None:
    async with stage() as it:
        await it.give(THREE)
        first = it.app.theme
        seen = []
        for _ in range(5):
            await it.press("T")
            seen.append(it.app.theme)
        assert seen[-1] == first
        assert len(set(seen)) == 5


async def test_redraw() -> None:
    async with stage() as it:
        await it.give(THREE)
        before = it.text()
        await it.press("ctrl+l")
        assert it.text() == before


async def test_the_footer_says_why_a_number_of_the_selected_row_is_missing() -> None:
    row = process(1, read_bytes_per_s=Missing.NO_PERMISSION, write_bytes_per_s=Missing.NO_PERMISSION)
    async with stage(size=(160, 40)) as it:
        await it.give(frame(processes=(row,)))
        assert it.table()[1].rstrip().endswith("no permission")
        await it.press("down")
        assert "--user root --cap-add SYS_PTRACE" in it.screen()[-1]


async def test_the_footer_says_why_the_selected_device_is_in_its_state() -> None:
    async with stage() as it:
        await it.give(frame(devices=(device(state="slow", state_reason="answers in 90 ms, usually 2"),)))
        await it.press("shift+tab", "down")
        assert "nvme0n1 SLOW: answers in 90 ms, usually 2" in it.screen()[-1]


async def test_iterations_end_the_app() -> None:
    async with stage(Settings(iter=2)) as it:
        await it.give(THREE)
        assert not it.app._exit
        it.monitor._queue.put_nowait(THREE)
        assert await it.ends()
        assert it.app.return_code == 0


async def test_options_choose_pids_users_and_a_filter() -> None:
    async with stage(Settings(pid=(11, 12))) as it:
        await it.give(THREE)
        assert it.pids() == [12, 11]
    async with stage(Settings(user=("root",))) as it:
        await it.give(THREE)
        assert it.pids() == [10]
    async with stage(Settings(filter="idle3", sort="WRITE/s", reverse=True)) as it:
        await it.give(THREE)
        assert it.pids() == [1003]
        assert "WRITE/s▲" in it.table()[0]


async def test_a_pid_that_is_not_there_is_named() -> None:
    async with stage(Settings(pid=(4242,))) as it:
        await it.give(THREE)
        assert "No process has PID 4242" in it.text()


async def test_output_writes_csv_beside_the_screen(tmp_path: Path) -> None:
    file = tmp_path / "report.csv"
    async with stage(Settings(output=file)) as it:
        await it.give(THREE)
        await it.give(THREE)
    assert len(file.read_text().splitlines()) == 3


async def test_output_that_cannot_be_written_ends_with_a_reason_before_the_first_frame(tmp_path: Path) -> None:
    async with stage(Settings(output=tmp_path / "no" / "such" / "file.csv")) as it:
        assert await it.ends()
        assert it.app.return_code == 1
        assert "no/such/file.csv" in str(it.app.failure)
