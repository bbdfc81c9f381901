"""The panels on the screen: how they share it, which of them is hidden or full-screen, and which one the keys go to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.ui.layout import EVERYTHING, share_lines
from iodash.ui.panels.footer import Footer
from iodash.ui.panels.gpus import GpuPanel
from iodash.ui.panels.header import Header
from iodash.ui.panels.lines import Lines
from iodash.ui.panels.strip import StripPanel
from iodash.ui.panels.verdict import VerdictPanel
from iodash.ui.screens.row_keys import RowKeys
from iodash.ui.screens.too_small import TooSmall, too_small

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.widget import Widget

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.ui.panels.panel import Panel
    from iodash.ui.screens.history import HistoryPlots
    from iodash.ui.view import View

_PLOT_SHARE = 0.45
"""How much of a full-screen table's height the plots beneath take."""

_LEAST_PLOT = 9


class PanelKeys(RowKeys, inherit_bindings=False):
    """The part of the dashboard that acts on whole panels. `full` is the key of the panel that has the whole screen."""

    def __init__(
        self, settings: Settings, read_details: Callable[[ProcessKey], Awaitable[ProcessDetails | None]]
    ) -> None:
        super().__init__(settings, read_details)
        self._header = Header(id="header")
        self._verdict = VerdictPanel(id="verdict")
        self._strip = StripPanel(id="strip")
        self._gpus = GpuPanel(id="gpus")
        self._footer = Footer()
        self._too_small = TooSmall()
        self._footer_lines = 1
        self._plots: HistoryPlots | None = None
        self._hidden: set[str] = set()
        self._shown: tuple[Frame, View] | None = None
        self.full: str | None = "processes" if settings.processes_only else None

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The panels that keys show and hide, from top to bottom."""
        return (self._verdict, self._strip, self._gpus, self._devices, self._processes)

    @property
    def shown(self) -> tuple[Frame, View] | None:
        """The frame on the screen, and how it is shown."""
        return self._shown

    @property
    def is_bare(self) -> bool:
        """Whether every panel is hidden."""
        return self.full is None and len(self._hidden) == len(self.panels)

    # What the other part provides

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows a frame in every panel in sight, in one update of the screen."""
        raise NotImplementedError

    # Layout

    def on_resize(self) -> None:
        """Shares the new size out."""
        self._arrange()
        if self._shown is not None:
            self.show_again()

    def _arrange(self) -> None:
        width, height = self.app.size
        small = too_small(width, height)
        self._too_small.display = small
        for widget in (self._header, self._footer):
            widget.display = not small
        typing = 1 if self._filter is not None else 0
        self._footer_lines = self._lines_of(self._footer, width)
        lines = height - 1 - self._footer_lines - typing
        given = dict.fromkeys((panel.key for panel in self.panels), 0)
        plot_lines = 0
        if not small and self.full is not None:
            plot_lines = self._plot_lines(lines)
            given[self.full] = lines - plot_lines
        elif not small:
            given = share_lines(lines, {panel.key: self._wanted(panel, width) for panel in self.panels})
        for panel in self.panels:
            _give(panel, given[panel.key])
            panel.take_lines(given[panel.key], width)
        if self._plots is not None:
            _give(self._plots, plot_lines)

    def _wanted(self, panel: Panel, width: int) -> int:
        if panel.key in self._hidden:
            return 0
        if isinstance(panel, Lines):
            return self._lines_of(panel, width)
        if panel is self._processes:
            return EVERYTHING
        return panel.wanted_lines(self._shown[0], width) if self._shown else 4

    def _lines_of(self, panel: Lines, width: int) -> int:
        """How many lines a panel fills where it is asked for what it says and not given room."""
        return panel.get_content_height(self.size, self.size, width - panel.gutter.width)

    def _plot_lines(self, lines: int) -> int:
        if self._plots is None:
            return 0
        panel = self._panel(self.full)
        if isinstance(panel, Lines):
            own = panel.get_content_height(self.size, self.size, self.size.width)
            return max(0, lines - own)
        if self._shown is None:
            share = int(lines * _PLOT_SHARE)
        else:
            frame, width = self._shown[0], self.app.size.width
            left = lines - panel.kept_lines(frame, width)
            share = max(int(left * _PLOT_SHARE), lines - panel.wanted_lines(frame, width))
        return share if share >= _LEAST_PLOT else 0

    def _panel(self, key: str | None) -> Panel:
        return next((panel for panel in self.panels if panel.key == key), self._processes)

    # Keys: panels

    @property
    def focused_panel(self) -> Panel:
        """The panel that keys go to."""
        widget: Widget | None = self.focused
        for panel in self.panels:
            if widget is panel or (widget is not None and panel in widget.ancestors):
                return panel
        return self._processes

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
        self.show_again()
        if key in self._hidden and self.focused_panel.key in self._hidden:
            self.focus_next()

    def action_full(self) -> None:
        """Gives the focused panel the whole screen with its history beneath, or takes it back.

        For the verdict that is what speaks for it.
        """
        if self.full is not None:
            self._leave_full()
        elif self.focused is self._verdict:
            self.action_details()
        elif self.focused_panel.key not in self._hidden:
            self._enter_full(self.focused_panel.key)

    def _enter_full(self, key: str) -> None:
        from iodash.ui.screens.history import HistoryPlots

        self.full = key
        self._plots = HistoryPlots(id="plots")
        self.mount(self._plots, before=self._footer)
        self.show_again()

    def _leave_full(self) -> None:
        self.full = None
        if self._plots is not None:
            self._plots.remove()
            self._plots = None
        self.show_again()

    def _show_plots(self) -> None:
        if self._plots is not None and self._shown is not None:
            frame, view = self._shown
            self._plots.show(self._panel(self.full).series(frame), frame, view)

    def show_again(self) -> None:
        """Shows the shown frame anew, as after a change of the layout."""
        if self._shown is not None:
            frame, view = self._shown
            self.show_frame(frame, replace(view, full=self.full))
        else:
            self._arrange()


def _give(widget: Widget, lines: int) -> None:
    """Gives a widget its lines; none hide it."""
    widget.display = lines > 0
    if lines <= 0:
        return
    if isinstance(widget, Lines):
        widget.styles.max_height = lines
    else:
        widget.styles.height = lines
