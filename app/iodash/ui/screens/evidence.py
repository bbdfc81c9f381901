"""What speaks for the verdict: opened from its line, it goes on with each frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from iodash.ui.popup import Popup
from iodash.ui.screens.evidence_lines import evidence_lines
from iodash.ui.styles import screen_stylesheet
from iodash.ui.widgets.page import Page

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from iodash.model.frame import Frame
    from iodash.ui.panels.lines import Line
    from iodash.ui.view import View


class EvidenceScreen(Popup):
    """Per job its verdict, the measured facts behind it, what to try, and plots on one time axis."""

    CSS_PATH = screen_stylesheet("evidence")
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,enter,q,e", "leave", "Leave"),
        ("f10", "app.leave", "Quit"),
        ("space", "app.pause", "Pause"),
        ("w", "app.snapshot", "Snapshot"),
    ]

    def __init__(self, frame: Frame, view: View) -> None:
        super().__init__()
        self._shown = (frame, view)

    def compose(self) -> ComposeResult:
        """A title over the page."""
        with Vertical(id="evidence"):
            yield Static(Content(self._title()), id="evidence-title")
            yield Page(self._lines, id="evidence-page")

    def on_mount(self) -> None:
        """The arrows scroll."""
        self.query_one(Page).focus()

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows the verdicts of `frame`, whose past `view` holds."""
        self._shown = (frame, view)
        if self.is_mounted:
            self.query_one("#evidence-title", Static).update(Content(self._title()))
            self.query_one(Page).content_changed()

    def action_leave(self) -> None:
        """Closes the evidence."""
        self.dismiss(None)

    def _title(self) -> str:
        frame, view = self._shown
        count = len(frame.verdicts)
        jobs = f"{count} jobs" if count > 1 else "what holds the GPUs back"
        paused = "   PAUSED" if view.paused_s is not None else ""
        return f"Evidence: {jobs}{paused}     Esc closes"

    def _lines(self, width: int) -> list[Line]:
        return evidence_lines(*self._shown, width, self.app.size.height)
