"""The screen at every size, with hostile names, and while rows come, go and change their order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.events import MouseScrollDown

from iodash.formatting.cells import cell_width
from iodash.formatting.safe_text import safe_command, safe_text
from iodash.model.frame import ProcessRow, UnattributedRow
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.model.settings import Settings
from iodash.ui.themes import THEMES
from tests.ui.frames import NOW, device, frame, gpu, process, system
from tests.ui.scripted import MIB, Stage, busy, crowd, stage

SIZES = [(200, 60), (120, 40), (80, 24), (60, 16)]

BUSY = frame(
    processes=(busy(4120, 1900, name="train.py", gpus=(0, 1), state="D"), busy(4131, 0, 12), *crowd(300)),
    devices=(
        device("vda", mounts=("/",)),
        device(state="saturated", util_percent=100.0, read_bytes_per_s=1.9e9, await_ms=5.2),
        device("nas:/ckpt", kind="nfs", util_percent=Missing.UNSUPPORTED, await_ms=4.1, state="ok"),
    ),
    gpus=(gpu(0), gpu(1)),
    unattributed=UnattributedRow(5.0 * MIB, 0.0, ("exited",)),
)


@pytest.mark.parametrize("size", SIZES)
async def test_headings_are_there_before_the_first_frame(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        for word in ("PID", "READ/s", "WRITE/s", "COMMAND", "DEVICE", "%util", "await", "collecting", "q quit"):
            assert word in it.text()


@pytest.mark.parametrize("size", SIZES)
async def test_the_last_things_to_go_are_there(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        await it.give(BUSY)
        text = it.text()
        for word in ("PID", "READ/s", "WRITE/s", "COMMAND", "DEVICE", "%util", "await", "SATURATED", "train.py"):
            assert word in text
        assert all(cell_width(line) == size[0] for line in it.screen())


async def test_the_cpus_stay_beside_the_disks_and_the_stall_in_one_line() -> None:
    async with stage(size=(60, 16)) as it:
        await it.give(replace(BUSY, system=system(cpu_user_percent=97.0, cpu_idle_percent=1.0)))
        line = it.line_with("DISK r")
        assert "CPU us  97 id   1" in line
        assert "IO stall" in line


UNCOUNTED = busy(41200, 5, name="dd", io_delay_percent=Missing.OFF)


@pytest.mark.parametrize("size", SIZES)
async def test_what_the_footer_says_of_a_row_is_not_cut(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        await it.give(frame(processes=(UNCOUNTED, *crowd(30))))
        await it.press("down")
        said = " ".join(" ".join(it.screen()[-2:]).split())
        assert "sysctl kernel.task_delayacct=1 turns it on for new processes" in said
        assert it.pids()[0] == 41200
        rows = len(it.pids())
        await it.press("down")
        assert "turns it on" not in it.text()
        assert len(it.pids()) == rows + (size[0] <= 80)


async def test_the_footer_explains_each_dash_of_a_row_that_reads() -> None:
    small_files = replace(UNCOUNTED, cache_hit_percent=Missing.NO_IO, logical_read_bytes_per_s=5e6)
    async with stage(size=(120, 30)) as it:
        await it.give(frame(processes=(small_files, *crowd(30))))
        await it.press("down")
        said = " ".join(" ".join(it.screen()[-2:]).split())
        assert "CACHE% of 41200: storage gave more than its read calls asked for" in said
        assert "turns it on for new processes" in said


async def test_a_terminal_too_low_for_two_lines_of_footer_cuts_it() -> None:
    async with stage(size=(60, 15)) as it:
        await it.give(frame(processes=(UNCOUNTED, *crowd(30))))
        await it.press("down")
        assert "sysctl kernel" in it.screen()[-1]
        assert "…" in it.screen()[-1]


async def test_processes_keep_eight_rows_at_24_lines() -> None:
    async with stage(size=(80, 24)) as it:
        await it.give(replace(BUSY, unattributed=UnattributedRow(0, 0, ())))
        assert len(it.pids()) >= 8
        assert "nas:/ckpt" in it.text()
        assert "412/700W" in it.text()


async def test_columns_go_in_their_order() -> None:
    async with stage(size=(120, 40)) as it:
        await it.give(BUSY)
        before = set(it.table()[0].split())
        gone: list[str] = []
        for width in range(120, 39, -1):
            await it.pilot.resize_terminal(width, 40)
            await it.pilot.pause()
            now = set(it.table()[0].split())
            gone += sorted(before - now)
            before = now
        assert gone == ["S", "CACHE%", "GPU", "USER", "CPU%", "IO%"]


async def test_a_resize_storm_ends_with_the_right_screen() -> None:
    async with stage(size=(120, 40)) as it:
        await it.give(BUSY)
        before = it.text()
        for width, height in [(1, 1), (300, 100), (40, 10), (2, 80), (80, 24), (5, 5), (200, 3)]:
            await it.pilot.resize_terminal(width, height)
            await it.give(replace(BUSY, time=NOW + width))
        await it.pilot.resize_terminal(120, 40)
        await it.give(BUSY)
        assert it.text() == before


@pytest.mark.parametrize("size", [(1, 1), (39, 10), (40, 9), (10, 3)])
async def test_a_terminal_that_is_too_small_gets_a_message(size: tuple[int, int]) -> None:
    async with stage(size=size) as it:
        await it.give(BUSY)
        assert "PROCESSES" not in it.text()
        await it.press("down", "slash", "e", "escape", "enter", "escape")
        if size[0] > 30:
            assert "needs 40x10" in it.text()
        await it.pilot.resize_terminal(80, 24)
        await it.pilot.pause()
        assert "PROCESSES" in it.text()


async def test_below_the_good_size_the_footer_says_what_is_needed() -> None:
    async with stage(size=(50, 14)) as it:
        await it.give(BUSY)
        assert "needs 60x16" in it.screen()[-1]


HOSTILE = [
    safe_text(b"\x1b[2J\x1b]0;owned\x07"),
    safe_text("[/x][red]evil[/]"),
    safe_text("a\nb\r\tc"),
    safe_text("\u202eelif\u202c\u2066x"),
    safe_text(b"\xff\xfe\xc3"),
    safe_text("文件服务器进程文件服务器进程文件服务器进程"),
    safe_text("e\u0301" * 40),
    safe_text("👩‍👩‍👧‍👦🏳️‍🌈"),
    safe_command(b"x\0" * 50_000),
    "",
]


@pytest.mark.parametrize("size", [(120, 40), (60, 16)])
async def test_hostile_names_break_neither_layout_nor_app(size: tuple[int, int]) -> None:
    rows = tuple(
        process(number + 1, name[:64], command=name, user=name[:32], role=name[:40], container=name[:12])
        for number, name in enumerate(HOSTILE)
    )
    devices = tuple(device(f"d{number}{name[:9]}", mounts=(name,)) for number, name in enumerate(HOSTILE))
    async with stage(size=size) as it:
        await it.give(frame(processes=rows, devices=devices))
        for keys in ([], ["c"], ["end", "enter"], ["escape", "u"], ["escape", "e"], ["escape", "slash", "x"]):
            await it.press(*keys)
            screen = it.screen()
            assert [cell_width(line) for line in screen] == [size[0]] * size[1]
            assert not any(ord(letter) < 32 or "\u202a" <= letter <= "\u2069" for line in screen for letter in line)


async def test_a_wide_name_leaves_the_columns_where_they_are() -> None:
    async with stage() as it:
        await it.give(frame(processes=(process(1, "文件" * 30, user="文件文件文件"), process(2, "x"))))
        assert [line.split()[0] for line in it.table()[1:3]] == ["1", "2"]
        cut = [cell_width(line[: line.index(" S ")]) for line in it.table()[1:3]]
        assert cut[0] == cut[1]


async def test_the_selection_stays_on_its_process() -> None:
    async with stage() as it:
        await it.give(frame(processes=(busy(10, 9), busy(11, 8), busy(12, 7))))
        await it.press("down", "down")
        table = it.app._dashboard._processes.table
        assert isinstance(table.selected, ProcessRow)
        assert table.selected.pid == 11
        await it.give(frame(processes=(busy(10, 1), busy(11, 0), busy(12, 7))))
        assert it.pids() == [12, 10, 11]
        assert isinstance(table.selected, ProcessRow)
        assert table.selected.pid == 11
        reused = replace(busy(11, 50), key=ProcessKey(11, 999))
        await it.give(frame(processes=(reused, busy(12, 7))))
        assert table.selected is None


async def test_equal_rows_keep_their_place() -> None:
    async with stage() as it:
        await it.give(frame(processes=(*crowd(20), busy(5, 1))))
        before = it.pids()
        await it.give(frame(processes=(*crowd(20), busy(5, 1))))
        assert it.pids() == before
        await it.press("right", "right", "right")
        assert it.pids() == [*range(1000, 1020), 5]


async def test_only_lines_that_changed_are_drawn_again() -> None:
    async with stage() as it:
        await it.give(frame(processes=(busy(5, 9), *crowd(20))))
        table = it.app._dashboard._processes.table
        kept = dict(table._strips)
        await it.give(frame(processes=(busy(5, 8), *crowd(20))))
        changed = [y for y, strip in table._strips.items() if kept.get(y) is not strip]
        assert changed == [1]


async def test_only_rows_in_sight_are_formatted_and_asked_for() -> None:
    async with stage() as it:
        await it.give(frame(processes=crowd(5000)))
        first = it.monitor.demand.visible
        assert 10 < len(first) < 60
        await it.press("end")
        assert it.pids()[-1] == 5999
        assert not first & it.monitor.demand.visible


async def test_the_wheel_scrolls_without_selecting() -> None:
    async with stage() as it:
        await it.give(frame(processes=crowd(100)))
        await it.pilot._post_mouse_events([MouseScrollDown], offset=(5, 30))
        await it.pilot.pause()
        assert it.pids()[0] == 1003
        assert it.app._dashboard._processes.table.selected is None


async def test_a_click_selects_a_row() -> None:
    async with stage() as it:
        await it.give(frame(processes=crowd(100)))
        y = it.screen().index(it.line_with("idle4"))
        await it.pilot.click(offset=(20, y))
        selected = it.app._dashboard._processes.table.selected
        assert isinstance(selected, ProcessRow)
        assert selected.name == "idle4"


async def test_devices_do_not_dance() -> None:
    one, two = device("nvme0n1", util_percent=40.0, state="ok"), device("nvme1n1", util_percent=42.0, state="ok")
    async with stage() as it:
        order = []
        for turn in range(6):
            if turn % 2:
                one, two = replace(one, util_percent=44.0), replace(two, util_percent=40.0)
            else:
                one, two = replace(one, util_percent=40.0), replace(two, util_percent=44.0)
            await it.give(frame(devices=(device("idle0"), one, two), time=NOW + turn))
            text = it.text()
            order.append(text.index("nvme0n1") < text.index("nvme1n1"))
            assert text.index("idle0") > text.index("nvme1n1")
        assert len(set(order)) == 1
        for _ in range(8):
            await it.give(
                frame(devices=(device("idle0"), replace(one, util_percent=1.0), replace(two, util_percent=90.0)))
            )
        assert it.text().index("nvme1n1") < it.text().index("nvme0n1")


async def test_uncommon_devices_are_shown_when_asked_for() -> None:
    devices = (device("sda"), device("sda1", kind="partition"), device("loop0", kind="loop"))
    async with stage() as it:
        await it.give(frame(devices=devices))
        assert "sda1" not in it.text()
    async with stage(Settings(all_devices=True)) as it:
        await it.give(frame(devices=devices))
        assert "sda1" in it.text()
        assert "loop0" in it.text()
    async with stage(Settings(device=("sdx",))) as it:
        await it.give(frame(devices=devices))
        assert "No device is called sdx" in it.text()


async def test_what_nobody_listed_did_stands_below_the_processes() -> None:
    async with stage() as it:
        await it.give(BUSY)
        assert "unattributed: exited" in it.table()[-1]
        assert "5.00M" in it.table()[-1]
        for turn in range(12):
            await it.give(replace(BUSY, time=NOW + turn, unattributed=UnattributedRow(0, 0, ())))
        assert "unattributed" not in it.text()


async def test_ascii_keeps_to_ascii() -> None:
    async with stage(Settings(ascii=True)) as it:
        await it.give(BUSY)
        await it.press("down")
        assert it.text().isascii()
        assert "READ/sv" in it.table()[0]


async def test_without_colour_the_selection_and_the_state_words_still_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage() as it:
        await it.give(BUSY)
        await it.press("down")
        strips = it.app.screen._compositor.render_strips()
        row = next(strip for strip in strips if "4120" in strip.text)
        assert any(segment.style is not None and segment.style.reverse for segment in row)
        assert "SATURATED" in it.text()
        for key in ("up", "T", "T"):
            await it.press(key)
            styles = [part.style for strip in it.app.screen._compositor.render_strips() for part in strip if part.style]
            colours = {colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None}
            assert all(colour.is_default for colour in colours)


async def test_every_theme_looks_the_same_at_the_start_and_after_a_change() -> None:
    def looks(it: Stage) -> list[str]:
        return [str(part.style) for strip in it.app.screen._compositor.render_strips() for part in strip]

    for theme in THEMES:
        async with stage(Settings(theme=theme)) as it:
            await it.give(BUSY)
            before = looks(it)
            await it.press(*["T"] * len(THEMES))
            it.app._dashboard._end_hint(it.app._dashboard._hint)
            await it.pilot.pause()
            assert looks(it) == before
