"""The dashboard: the panels, how they share the screen, and what the keys do to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from iodash.ui.keys import bindings
from iodash.ui.layout import EVERYTHING, GOOD_HEIGHT, GOOD_WIDTH, share_lines
from iodash.ui.looks import LookScreen
from iodash.ui.panels.devices import DevicesPanel
from iodash.ui.panels.footer import Footer
from iodash.ui.panels.gpus import GpuPanel
from iodash.ui.panels.header import Header
from iodash.ui.panels.lines import Lines
from iodash.ui.panels.processes import ProcessesPanel
from iodash.ui.panels.strip import StripPanel
from iodash.ui.panels.verdict import VerdictPanel
from iodash.ui.screens.too_small import TooSmall, too_small

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.sources import Demand
    from iodash.ui.panels.panel import Panel
    from iodash.ui.screens.history import HistoryPlots
    from iodash.ui.view import View
    from iodash.ui.widgets.filter_line import FilterLine
    from iodash.ui.widgets.table import LiveTable

HINT_SECONDS = 4.0

ONLY_LOOKS = "iodash only looks: it sends no signal and changes no priority. Use kill, renice or ionice."

_PLOT_SHARE = 0.45
"""How much of a full-screen table's height the plots beneath take."""

_LEAST_PLOT = 9


class Dashboard(LookScreen, inherit_bindings=False):
    """All panels on one screen. Shows the frames it is given; it never reads or waits."""

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    AUTO_FOCUS: ClassVar[str | None] = ""
    ALLOW_SELECT = False

    def __init__(
        self, settings: Settings, read_details: Callable[[ProcessKey], Awaitable[ProcessDetails | None]]
    ) -> None:
        super().__init__()
        self._read_details = read_details
        self._header = Header(id="header")
        self._verdict = VerdictPanel(id="verdict")
        self._strip = StripPanel(id="strip")
        self._gpus = GpuPanel(id="gpus")
        self._devices = DevicesPanel(settings)
        self._processes = ProcessesPanel(settings)
        self._footer = Footer()
        self._too_small = TooSmall()
        self._plots: HistoryPlots | None = None
        self._filter: FilterLine | None = None
        self._hidden: set[str] = set()
        self._hint = ""
        self._shown: tuple[Frame, View] | None = None
        self.full: str | None = "processes" if settings.processes_only else None

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The panels that keys show and hide, from top to bottom."""
        return (self._verdict, self._strip, self._gpus, self._devices, self._processes)

    def compose(self) -> ComposeResult:
        """Every panel from top to bottom, with its lines, so that the first layout is the last."""
        self._arrange()
        yield self._header
        yield from self.panels
        yield self._footer
        yield self._too_small

    def on_mount(self) -> None:
        """The keys go to the processes first."""
        self._processes.table.focus()

    # Frames

    async def prepare(self, frame: Frame) -> None:
        """Works out beside the event loop what takes long."""
        await self._processes.prepare(frame)

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows a frame in every panel in sight, in one update of the screen."""
        self._shown = (frame, view)
        with self.app.batch_update():
            self._header.show_frame(frame, view)
            for panel in self.panels:
                if panel.key not in self._hidden and (self.full is None or self.full == panel.key):
                    panel.show_frame(frame, view)
            self._arrange()
            self._show_plots()
            self._say()

    def show_age(self, view: View) -> None:
        """Says how old the shown frame is."""
        if self._shown is not None:
            self._shown = (self._shown[0], view)
            self._header.show_frame(*self._shown)

    @property
    def frame(self) -> Frame | None:
        """What is shown."""
        return self._shown[0] if self._shown else None

    def demand(self) -> Demand:
        """What is looked at."""
        return self._processes.demand()

    # Layout

    def on_resize(self) -> None:
        """Shares the new size out."""
        self._arrange()
        if self._shown is not None:
            self._again()

    def _arrange(self) -> None:
        width, height = self.app.size
        small = too_small(width, height)
        self._too_small.display = small
        for widget in (self._header, self._footer):
            widget.display = not small
        typing = 1 if self._filter is not None else 0
        lines = height - 2 - typing
        given = dict.fromkeys((panel.key for panel in self.panels), 0)
        plot_lines = 0
        if not small and self.full is not None:
            plot_lines = self._plot_lines(lines)
            given[self.full] = lines - plot_lines
        elif not small:
            given = share_lines(lines, {panel.key: self._wanted(panel, width) for panel in self.panels})
        for panel in self.panels:
            _give(panel, given[panel.key])
        if self._plots is not None:
            _give(self._plots, plot_lines)

    def _wanted(self, panel: Panel, width: int) -> int:
        if panel.key in self._hidden:
            return 0
        if isinstance(panel, Lines):
            return panel.get_content_height(self.size, self.size, width - panel.gutter.width)
        if panel is self._processes:
            return EVERYTHING
        return panel.wanted_lines(self._shown[0], width) if self._shown else 4

    def _plot_lines(self, lines: int) -> int:
        if self._plots is None:
            return 0
        panel = self._panel(self.full)
        if isinstance(panel, Lines):
            own = panel.get_content_height(self.size, self.size, self.size.width)
            return max(0, lines - own)
        share = int(lines * _PLOT_SHARE)
        if self._shown is not None:
            share = max(share, lines - panel.wanted_lines(self._shown[0], self.size.width))
        return share if share >= _LEAST_PLOT else 0

    def _panel(self, key: str | None) -> Panel:
        return next((panel for panel in self.panels if panel.key == key), self._processes)

    # What is said in the footer

    def hint(self, text: str) -> None:
        """Says something for a moment."""
        self._hint = text
        self._say()
        self.set_timer(HINT_SECONDS, lambda: self._end_hint(text))

    def _end_hint(self, text: str) -> None:
        if self._hint == text:
            self._hint = ""
            self._say()

    def _say(self) -> None:
        focused = self._devices if self._devices.table.has_focus else self._processes
        sentence = focused.reason if self._filter is None else "Enter keeps the filter, Esc clears it"
        width, height = self.app.size
        if not sentence and (width < GOOD_WIDTH or height < GOOD_HEIGHT):
            sentence = f"{width}x{height}, needs {GOOD_WIDTH}x{GOOD_HEIGHT} to show all"
        self._footer.say(sentence, hint=self._hint, ascii=self._shown is not None and self._shown[1].ascii)

    def on_live_table_moved(self, event: LiveTable.Moved) -> None:
        """The footer and the sampler follow the selection."""
        event.stop()
        self._devices.show_info()
        self._processes.show_info()
        self._say()
        self.post_message(ProcessesPanel.DemandChanged())

    def on_live_table_heading_clicked(self, event: LiveTable.HeadingClicked) -> None:
        """A click on a heading sorts by it."""
        event.stop()
        panel = self._devices if event.table is self._devices.table else self._processes
        panel.sort_by(event.key)

    def on_descendant_focus(self) -> None:
        """The footer speaks of the focused panel's selection, its title shows that the keys go there."""
        self._devices.show_info()
        self._processes.show_info()
        self._say()

    def on_descendant_blur(self) -> None:
        """The title shows that the keys go elsewhere."""
        self._devices.show_info()
        self._processes.show_info()

    # Keys: panels

    @property
    def focused_panel(self) -> Panel:
        """The panel that keys go to."""
        widget: Widget | None = self.focused
        for panel in self.panels:
            if widget is panel or (widget is not None and panel in widget.ancestors):
                return panel
        return self._processes

    @property
    def _table_panel(self) -> DevicesPanel | ProcessesPanel:
        return self._devices if self.focused_panel is self._devices else self._processes

    def action_next_panel(self) -> None:
        """Focuses the next panel."""
        self.focus_next()

    def action_previous_panel(self) -> None:
        """Focuses the previous panel."""
        self.focus_previous()

    def action_show_or_hide(self, key: str) -> None:
        """Shows or hides a panel."""
        if self.full is not None:
            return
        self._hidden ^= {key}
        self._again()
        if key in self._hidden and self.focused_panel.key in self._hidden:
            self.focus_next()

    def action_full(self) -> None:
        """Gives the focused panel the whole screen with its history beneath, or takes it back."""
        if self.full is not None:
            self._leave_full()
        else:
            self._enter_full(self.focused_panel.key)

    def _enter_full(self, key: str) -> None:
        from iodash.ui.screens.history import HistoryPlots

        self.full = key
        self._plots = HistoryPlots(id="plots")
        self.mount(self._plots, before=self._footer)
        self._again()

    def _leave_full(self) -> None:
        self.full = None
        if self._plots is not None:
            self._plots.remove()
            self._plots = None
        self._again()

    def _show_plots(self) -> None:
        if self._plots is not None and self._shown is not None:
            frame, view = self._shown
            self._plots.show(self._panel(self.full).series(frame), frame, view)

    def _again(self) -> None:
        """Shows the shown frame anew, as after a change of the layout."""
        if self._shown is not None:
            frame, view = self._shown
            self.show_frame(frame, replace(view, full=self.full))
        else:
            self._arrange()

    def action_back(self) -> None:
        """Clears the filter, then leaves the full panel."""
        if self._filter is not None:
            self._stop_typing(keep=False)
        elif self._processes.choice.filter:
            self._choose(replace(self._processes.choice, filter=""))
        elif self.full is not None:
            self._leave_full()

    def action_help(self) -> None:
        """Opens the help."""
        from iodash.ui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(ascii=self._shown is not None and self._shown[1].ascii))

    def action_only_looks(self) -> None:
        """Says that iodash changes nothing."""
        self.hint(ONLY_LOOKS)

    # Keys: rows

    def action_move(self, rows: int) -> None:
        """Moves the selection."""
        self._table_panel.table.move(rows)

    def action_move_page(self, pages: int) -> None:
        """Moves the selection by a page."""
        self._table_panel.table.move_page(pages)

    def action_move_to_first(self) -> None:
        """Selects the first row."""
        self._table_panel.table.move_to(0)

    def action_move_to_last(self) -> None:
        """Selects the last row."""
        self._table_panel.table.move_to_last()

    def action_follow(self) -> None:
        """Keeps the selected process in sight, or no longer."""
        table = self._processes.table
        if not table.follow and table.selected is None:
            table.move(0)
        table.follow = not table.follow
        self._processes.show_again()
        self.hint("following the selected process" if table.follow else "no longer following")

    def action_details(self) -> None:
        """Opens the details of the selected process."""
        from iodash.ui.screens.details import DetailsScreen

        if self._table_panel is self._devices:
            self.hint("Details are of processes; e shows every column of the devices.")
            return
        table = self._processes.table
        if table.selected is None:
            table.move(0)
        row = table.selected
        if row is not None:
            heading = f"{row.name}  pid {row.pid}" + (f"  tid {row.tid}" if row.tid else "")
            ascii = self._shown is not None and self._shown[1].ascii
            self.app.push_screen(DetailsScreen(self._read_details, row.key, heading, ascii=ascii))

    # Keys: order

    def action_sort_column(self, step: int) -> None:
        """Sorts by the next column."""
        self._table_panel.sort_step(step)

    def action_reverse(self) -> None:
        """Reverses the order."""
        self._table_panel.reverse()

    def action_choose_sort(self) -> None:
        """Asks which column to sort by."""
        from iodash.ui.screens.choose import Choice, ChooseScreen

        panel = self._table_panel

        def chosen(value: str | None) -> None:
            if value is not None:
                panel.sort_by(value or None)

        choices = [Choice(key or "", heading, help) for heading, key, help in panel.sort_choices()]
        self.app.push_screen(ChooseScreen("Sort by", choices, panel.sort or ""), chosen)

    # Keys: what is listed

    def _choose(self, choice: Settings) -> None:
        self._processes.choose(choice)
        self._say()

    def action_only(self) -> None:
        """Lists only processes that do I/O."""
        self._choose(replace(self._processes.choice, only=not self._processes.choice.only))

    def action_threads(self) -> None:
        """Lists threads or processes, from the next frame on."""
        self._choose(replace(self._processes.choice, threads=not self._processes.choice.threads))

    def action_accumulated(self) -> None:
        """Shows rates or amounts."""
        self._processes.accumulate()

    def action_full_command(self) -> None:
        """Shows names or command lines."""
        self._processes.full_command = not self._processes.full_command
        self._processes.show_again()

    def action_choose_user(self) -> None:
        """Asks whose processes to list."""
        from iodash.ui.screens.choose import Choice, ChooseScreen

        current = self._processes.choice.user

        def chosen(value: str | None) -> None:
            if value is not None:
                self._choose(replace(self._processes.choice, user=(value,) if value else ()))

        choices = [Choice("", "everybody"), *(Choice(user, user) for user in self._processes.users())]
        self.app.push_screen(ChooseScreen("Processes of", choices, current[0] if current else ""), chosen)

    # The filter

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        from iodash.ui.widgets.filter_line import FilterLine

        if self._filter is None and not self._too_small.display:
            self._filter = FilterLine(self._processes.choice.filter)
            self.mount(self._filter, before=self._footer)
            self._again()

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Every letter counts."""
        event.stop()
        self._choose(replace(self._processes.choice, filter=event.text))

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Typing is over."""
        event.stop()
        self._stop_typing(keep=event.keep)

    def _stop_typing(self, *, keep: bool) -> None:
        if self._filter is not None:
            self._filter.remove()
            self._filter = None
        if not keep:
            self._choose(replace(self._processes.choice, filter=""))
        self._processes.table.focus()
        self._again()


def _give(widget: Widget, lines: int) -> None:
    """Gives a widget its lines; none hide it."""
    widget.display = lines > 0
    if lines <= 0:
        return
    if isinstance(widget, Lines):
        widget.styles.max_height = lines
    else:
        widget.styles.height = lines
