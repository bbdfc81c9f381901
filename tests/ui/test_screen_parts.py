"""The parts of the screen in a running app: panels, plots and popups."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.app import App, ComposeResult
from textual.widgets import OptionList

from iodash.model.frame import InterfaceRow
from iodash.model.sample import GpuDriver, ProcessKey
from iodash.ui import styles, themes
from iodash.ui.looks import LookScreen, look
from iodash.ui.panels.gpus import GpuPanel
from iodash.ui.panels.header import Header
from iodash.ui.panels.lines import Line, Lines, plain_text
from iodash.ui.panels.strip import StripPanel
from iodash.ui.panels.verdict import VerdictPanel
from iodash.ui.plots import plots_of
from iodash.ui.screens.choose import Choice, ChooseScreen, matching
from iodash.ui.screens.details import DetailsScreen
from iodash.ui.screens.help import HelpScreen
from iodash.ui.screens.history import HistoryPlots
from iodash.ui.screens.too_small import TooSmall
from iodash.ui.widgets.page import Page
from tests.ui.frames import NOW, device, frame, gpu, gpu_process, process, system, view
from tests.unit.ui.test_page_lines import DETAILS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget

    from iodash.model.details import ProcessDetails

HOSTILE = "[/x][red]漢字\\x1b[2J" * 20


class Parts(App[None]):
    """Some widgets under the real styles."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, make: Callable[[], list[Widget]], theme: str = "dark", ansi_color: bool | None = None) -> None:
        super().__init__(css_path=[str(path) for path in styles.stylesheets()], ansi_color=ansi_color)
        self._make = make
        themes.register(self)  # type: ignore[arg-type]
        self.theme = theme

    def get_default_screen(self) -> LookScreen:
        return LookScreen()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(themes.VARIABLES)

    def compose(self) -> ComposeResult:
        yield from self._make()

    def action_leave(self) -> None:
        self.exit()


def lines_panels() -> list[Widget]:
    return [Header(), VerdictPanel(), StripPanel(), GpuPanel()]


def screen_text(app: App[None]) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


BUSY = frame(
    gpus=tuple(gpu(index, processes=(gpu_process(5),)) for index in range(3)),
    gpu_driver=GpuDriver("ok", "570.86", ""),
    processes=(process(5, HOSTILE),),
    devices=(device(name=HOSTILE, state="stalled", state_reason=HOSTILE),),
)


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16), (7, 3), (1, 1)])
@pytest.mark.parametrize("ascii", [False, True])
async def test_panels_show_frames_at_any_size(size: tuple[int, int], ascii: bool) -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=size) as pilot:
        for one in (BUSY, frame(), BUSY):
            for panel in app.query(Lines):
                panel.show_frame(one, view(one, ascii=ascii))
            await pilot.pause()
        text = screen_text(app)
        assert len(text) == size[1]
        if size[0] >= 60:
            assert text[0].startswith(" iodash  gpu-node-07")
            assert "[/x][red]漢字" in "\n".join(text)
            assert any(line.startswith(" GPU ") for line in text)
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert any("driver 570.86" in line for line in screen_text(app))


@pytest.mark.parametrize("theme", themes.THEMES)
async def test_every_theme_paints_the_words(theme: str) -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=(120, 20)) as pilot:
        for panel in app.query(Lines):
            panel.show_frame(BUSY, view(BUSY))
        await pilot.pause()
        before = look(app.query_one(GpuPanel), "read")
        app.theme = theme
        await pilot.pause()
        after = look(app.query_one(GpuPanel), "read")
        write = look(app.query_one(GpuPanel), "write")
        assert after.color != write.color
        assert (after == before) is (theme == "dark")
        strip = app.query_one(GpuPanel).render_line(1)
        assert after.color in {segment.style.color for segment in strip if segment.style}


async def test_without_colours_what_matters_still_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Parts(lines_panels, theme=themes.first_theme("dark"), ansi_color=True)
    async with app.run_test(size=(120, 20)) as pilot:
        for panel in app.query(Lines):
            panel.show_frame(BUSY, view(BUSY, paused_s=5.0))
        await pilot.pause()
        styled = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
        assert all(
            segment.style is None or segment.style.color is None or segment.style.color.is_default for segment in styled
        )
        banner = next(segment for segment in styled if "PAUSED" in segment.text)
        assert banner.style is not None
        assert banner.style.reverse
        loud = next(segment for segment in styled if "STALLED" in segment.text)
        assert loud.style is not None
        assert loud.style.bold or loud.style.reverse


async def test_only_lines_that_changed_are_drawn_again() -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=(120, 30)) as pilot:
        shown = view(BUSY)
        panel = app.query_one(GpuPanel)
        panel.show_frame(BUSY, shown)
        await pilot.pause()
        before = [panel.render_line(y) for y in range(4)]
        changed = replace(BUSY, gpus=(BUSY.gpus[0], replace(BUSY.gpus[1], util_percent=99.0), BUSY.gpus[2]))
        panel.show_frame(changed, shown)
        await pilot.pause()
        after = [panel.render_line(y) for y in range(4)]
        assert [old is new for old, new in zip(before[1:], after[1:], strict=True)] == [True, False, True]


@pytest.mark.parametrize("panel_type", [Header, VerdictPanel, StripPanel, GpuPanel])
async def test_a_frame_is_laid_out_once(panel_type: type[Lines], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int | None]] = []
    make = panel_type.lines

    def lines(self: Lines, width: int, height: int | None) -> list[Line]:
        asked.append((width, height))
        return make(self, width, height)

    app = Parts(lambda: [panel_type()])
    async with app.run_test(size=(120, 50)) as pilot:
        panel = app.query_one(panel_type)
        panel.show_frame(BUSY, view(BUSY))
        await pilot.pause()
        monkeypatch.setattr(panel_type, "lines", lines)
        panel.show_frame(replace(BUSY, time=NOW + 1, gpus=BUSY.gpus[:2]), view(BUSY))
        panel.get_content_height(app.size, app.size, panel.size.width)
        await pilot.pause()
        assert len(asked) == 1


async def test_a_panel_is_as_high_as_its_lines() -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=(120, 40)) as pilot:
        for one, height in ((frame(), 1), (BUSY, 1 + 3 + 2), (frame(), 1)):
            app.query_one(GpuPanel).show_frame(one, view(one))
            await pilot.pause()
            assert app.query_one(GpuPanel).size.height == height


async def test_a_tall_screen_without_gpus_has_a_chart_of_the_disks() -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=(120, 50)) as pilot:
        frames = [frame(time=NOW + tick, system=system(disk_read_bytes_per_s=1e9)) for tick in range(5)]
        app.query_one(StripPanel).show_frame(frames[-1], view(*frames))
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "⣿⣿⣿" in text
        assert "DISKS read  954M up  write     0 down   each half to 1.00G/s   56 s to now" in text
        app.query_one(StripPanel).show_frame(replace(frames[-1], gpus=(gpu(),)), view(*frames))
        await pilot.pause()
        assert "⣿⣿⣿" not in "\n".join(screen_text(app))


async def test_history_plots_follow_frames_sizes_and_themes() -> None:
    app = Parts(lambda: [HistoryPlots()])
    async with app.run_test(size=(100, 24)) as pilot:
        plots = app.query_one(HistoryPlots)
        frames = [frame(time=NOW + tick, system=system(cpu_user_percent=20.0)) for tick in range(30)]
        plots.show([("", "cpu_user_percent", "%")], frames[-1], view(*frames))
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "CPU   usr   20%" in text
        assert "100%┤" in text
        assert "now" in text
        drawn = plots.render_line(2)
        await pilot.pause()
        assert plots.render_line(2) is drawn
        app.theme = "light"
        await pilot.pause()
        colours = {
            segment.style.color.get_truecolor().hex
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.color
        }
        assert themes.theme("light").variables["read"] in colours
        for size in ((30, 8), (20, 3), (1, 1), (160, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "100%┤" in "\n".join(screen_text(app))
        plots.show([("", "cpu_user_percent", "%")], frames[-1], view(*frames, ascii=True))
        await pilot.pause()
        assert "\n".join(screen_text(app)).isascii()
        plots.show([], frames[-1], view())
        await pilot.pause()
        assert not any(screen_text(app))
        plots.show([("nowhere", "cpu_user_percent", "%")], frames[-1], view())
        await pilot.pause()
        assert "no history of this panel yet" in screen_text(app)[0]


async def test_the_help_scrolls_and_closes() -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(HelpScreen())
        await pilot.pause()
        assert "Quit." in "\n".join(screen_text(app))
        await pilot.press("G")
        await pilot.pause()
        assert "Size of /dev/shm." in "\n".join(screen_text(app))
        await pilot.press("g", "j", "pagedown")
        await pilot.pause()
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, HelpScreen)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16)])
async def test_the_scroll_bar_of_a_page_covers_no_letter(size: tuple[int, int]) -> None:
    app = Parts(lines_panels)
    async with app.run_test(size=size) as pilot:
        app.push_screen(HelpScreen())
        await pilot.pause()
        page = app.screen.query_one(Page)
        assert page.show_vertical_scrollbar
        shown = [page.render_line(y).text[: page.scrollable_content_region.width].rstrip() for y in range(8)]
        assert shown == [plain_text(line) for line in page._lines[:8]]


async def test_details_are_read_again_and_say_when_nothing_answers() -> None:
    answers: list[ProcessDetails | BaseException | None] = [
        TimeoutError(),
        DETAILS,
        replace(DETAILS, wait_channel="second"),
        None,
    ]
    texts: list[str] = []
    goes_on = asyncio.Event()

    async def read(key: ProcessKey) -> ProcessDetails | None:
        await goes_on.wait()
        goes_on.clear()
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    app = Parts(lines_panels)
    async with app.run_test(size=(100, 60)) as pilot:
        app.push_screen(DetailsScreen(read, DETAILS.key, f"{HOSTILE} pid 4120", rest_s=0.0))
        await pilot.pause()
        texts.append("\n".join(screen_text(app)))
        while answers:
            goes_on.set()
            await pilot.pause()
            await pilot.pause()
            texts.append("\n".join(screen_text(app)))
        assert "reading" in texts[0]
        assert "[/x][red]漢字" in texts[0]
        assert "the kernel did not answer in time" in texts[1]
        assert "123,456,789" in texts[2]
        assert "did not answer" not in texts[2]
        assert "second" in texts[3]
        assert "the process is gone; this was its last state" in texts[4]
        assert "second" in texts[4]
        await pilot.press("escape")
        await pilot.pause()
        assert not app.query(Page)


CHOICES = [Choice("", "READ/s", "both"), Choice("cpu_percent", "CPU%", "100 is one CPU"), Choice("pid", "PID")]


def test_what_begins_with_the_typed_text_comes_first() -> None:
    assert [choice.label for choice in matching(CHOICES, " cpu ")] == ["CPU%"]
    assert [choice.label for choice in matching(CHOICES, "p")] == ["PID", "CPU%"]
    assert [choice.label for choice in matching(CHOICES, "one cpu")] == ["CPU%"]
    assert matching(CHOICES, "[") == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["enter"], "cpu_percent"),
        (["up", "enter"], ""),
        (["down", "enter"], "pid"),
        (["p", "i", "enter"], "pid"),
        (["left_square_bracket", "slash", "enter", "escape"], None),
        (["pagedown", "pageup", "enter"], ""),
        (["escape"], None),
    ],
)
async def test_choosing_by_arrows_and_by_typing(keys: list[str], expected: str | None) -> None:
    app = Parts(lines_panels)
    chosen: list[str | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(ChooseScreen("Sort by", CHOICES, "cpu_percent"), chosen.append)
        await pilot.pause()
        assert "CPU%" in "\n".join(screen_text(app))
        await pilot.press(*keys)
        await pilot.pause()
    assert chosen == [expected]


async def test_a_click_chooses_and_hostile_names_are_only_text() -> None:
    app = Parts(lines_panels)
    chosen: list[str | None] = []
    async with app.run_test(size=(60, 16)) as pilot:
        app.push_screen(ChooseScreen("Processes of", [Choice("a", HOSTILE), Choice("b", "[/]")]), chosen.append)
        await pilot.pause()
        assert "[/]" in "\n".join(screen_text(app))
        await pilot.click(OptionList, offset=(2, 1))
        await pilot.pause()
    assert chosen == ["b"]


@pytest.mark.parametrize("size", [(38, 8), (5, 2), (1, 1)])
async def test_a_small_terminal_is_told_what_is_needed(size: tuple[int, int]) -> None:
    app = Parts(lambda: [TooSmall()])
    async with app.run_test(size=size):
        text = screen_text(app)
        assert len(text) == size[1]
        assert text[0] == f"iodash: {size[0]}x{size[1]}, needs 40x10"[: size[0]] or size[0] < 38


async def test_the_full_screen_strip_shows_every_group_and_interface_and_has_a_history() -> None:
    app = Parts(lines_panels)
    one = frame(interfaces=(InterfaceRow("eth0", 5, 5, True), InterfaceRow("lo", 0, 0, False)))
    async with app.run_test(size=(60, 40)) as pilot:
        panel = app.query_one(StripPanel)
        panel.show_frame(one, view(one))
        await pilot.pause()
        assert "LOAD" not in "\n".join(screen_text(app))
        panel.show_frame(one, view(one, full="strip"))
        await pilot.pause()
        text = "\n".join(screen_text(app))
        for words in ("LOAD", "NET r", "csw", "eth0 r", "lo r"):
            assert words in text
    assert plots_of(panel.series(one), one, view(one).history)[0].title == "disk"


def test_the_gpus_history_begins_with_their_utilisation() -> None:
    first, second, *_ = plots_of(GpuPanel().series(BUSY), BUSY, view(BUSY).history)
    assert (first.title, [trace.label for trace in first.traces]) == ("UTIL%", ["GPU 0", "GPU 1", "GPU 2"])
    assert second.title == "MEM"
