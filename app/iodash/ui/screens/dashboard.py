"""The dashboard: frames go to the panels, and the footer says what there is to say of the selected row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from iodash.ui.keys import bindings
from iodash.ui.layout import GOOD_HEIGHT, GOOD_WIDTH
from iodash.ui.panels.processes import ProcessesPanel
from iodash.ui.popup import Popup
from iodash.ui.screens.panel_keys import PanelKeys

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.sources import Demand
    from iodash.ui.view import View
    from iodash.ui.widgets.table import LiveTable

HINT_SECONDS = 4.0


class Dashboard(PanelKeys, inherit_bindings=False):
    """All panels on one screen. Shows the frames it is given; it never reads or waits."""

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    AUTO_FOCUS: ClassVar[str | None] = ""
    ALLOW_SELECT = False

    def __init__(
        self, settings: Settings, read_details: Callable[[ProcessKey], Awaitable[ProcessDetails | None]]
    ) -> None:
        super().__init__(settings, read_details)
        self._hint = ""

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
            self.say()
            for screen in self.app.screen_stack:
                if isinstance(screen, Popup):
                    screen.show_frame(frame, view)

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

    def action_details(self) -> None:
        """Opens the evidence of the verdict, or the details of the selected process."""
        if self.focused is self._verdict:
            if self._shown is not None:
                from iodash.ui.screens.evidence import EvidenceScreen

                self.app.push_screen(EvidenceScreen(*self._shown))
        else:
            super().action_details()

    # What is said in the footer

    @property
    def in_ascii(self) -> bool:
        """Whether the screen keeps to ASCII."""
        return self._shown is not None and self._shown[1].ascii

    def hint(self, text: str) -> None:
        """Says something for a moment."""
        self._hint = text
        self.say()
        self.set_timer(HINT_SECONDS, lambda: self._end_hint(text))

    def _end_hint(self, text: str) -> None:
        if self._hint == text:
            self._hint = ""
            self.say()

    def say(self) -> None:
        """Says why something on the selected row is as it is, else the keys."""
        panel = self.table_with_keys
        sentence = "" if panel is None else panel.reason
        if self._filter is not None:
            sentence = "Enter keeps the filter, Esc clears it"
        elif self.is_bare:
            sentence = "1-5 show panels"
        elif self.focused is self._verdict:
            sentence = "Enter shows what speaks for it"
        width, height = self.app.size
        if not sentence and (width < GOOD_WIDTH or height < GOOD_HEIGHT):
            sentence = f"{width}x{height}, needs {GOOD_WIDTH}x{GOOD_HEIGHT} to show all"
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        """Says it in the footer, which gets another line of the screen where it needs one."""
        self._footer.say(sentence, hint=self._hint, ascii=self.in_ascii)
        if self._lines_of(self._footer, self.app.size.width) != self._footer_lines:
            self._arrange()

    def on_live_table_moved(self, event: LiveTable.Moved) -> None:
        """The footer, the plots and the sampler follow the selection."""
        event.stop()
        self._show_plots()
        self._devices.show_info()
        self._processes.show_info()
        self.say()
        self.post_message(ProcessesPanel.DemandChanged())

    def on_live_table_heading_clicked(self, event: LiveTable.HeadingClicked) -> None:
        """A click on a heading sorts by it."""
        event.stop()
        panel = self._devices if event.table is self._devices.table else self._processes
        panel.sort_by_click(event.key)

    def on_live_table_row_clicked(self, event: LiveTable.RowClicked) -> None:
        """A double click does what Enter does; one on the mark of a job opens or closes it."""
        event.stop()
        if event.table is self._processes.table and (
            event.times == 2 or self._processes.is_job_mark(event.key, event.x)
        ):
            self.action_details()

    def on_descendant_focus(self) -> None:
        """The footer speaks of the focused panel's selection, its title shows that the keys go there."""
        self._devices.show_info()
        self._processes.show_info()
        self.say()

    def on_descendant_blur(self) -> None:
        """The title shows that the keys go elsewhere."""
        self._devices.show_info()
        self._processes.show_info()

    def action_back(self) -> None:
        """Clears the filter, then the choice of a user, then leaves the full panel."""
        if self._filter is not None:
            self._stop_typing(keep=False)
        elif self._processes.choice.filter:
            self._choose(replace(self._processes.choice, filter=""))
        elif self._processes.choice.user:
            self._choose(replace(self._processes.choice, user=()))
        elif self.full is not None:
            self._leave_full()
