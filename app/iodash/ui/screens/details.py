"""Everything about one process, read while the screen is open and no longer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from iodash.ui.popup import Popup
from iodash.ui.screens.details_lines import details_lines, last_lines
from iodash.ui.screens.job_lines import job_lines
from iodash.ui.styles import screen_stylesheet
from iodash.ui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.sample import ProcessKey
    from iodash.ui.panels.lines import Line
    from iodash.ui.view import View


class DetailsScreen(Popup):
    """The members of a process's job with each frame, then its own details, read anew each second while it lives."""

    CSS_PATH = screen_stylesheet("details")
    BINDINGS: ClassVar[list[BindingType]] = [("escape,enter", "leave", "Leave"), ("q,f10", "app.leave", "Quit")]

    def __init__(
        self,
        read: Callable[[ProcessKey], Awaitable[ProcessDetails | None]],
        key: ProcessKey,
        heading: str,
        *,
        ascii: bool = False,
        rest_s: float = 1.0,
        shown: tuple[Frame, View] | None = None,
        row: ProcessRow | None = None,
    ) -> None:
        """Args:
        read: gives the details, None when the process is gone; raises TimeoutError when the kernel doesn't answer.
        key: whose.
        heading: name and pid, as safe text.
        ascii: whether to keep to ASCII.
        rest_s: seconds between two readings.
        shown: the frame on the dashboard, in which the members of its job are looked for.
        row: what that frame lists of it, which is shown when the process is gone.
        """
        super().__init__()
        self._read = read
        self._key = key
        self._heading = heading
        self._ascii = ascii
        self._rest_s = rest_s
        self._details: ProcessDetails | None = None
        self._message = "reading"
        self._shown = shown
        self._seen = (row, shown[0].time) if row is not None and shown is not None else None
        self._is_gone = False

    def compose(self) -> ComposeResult:
        """A heading, what is going on, the page."""
        with Vertical(id="details"):
            yield Static(Content(f"{self._heading}     Esc closes"), id="details-title")
            yield Static(Content(self._message), id="details-message")
            yield Page(self._lines, id="details-page")

    def on_mount(self) -> None:
        """Begins to read."""
        self.query_one(Page).focus()
        self.run_worker(self._keep_reading, exclusive=True)  # type: ignore[arg-type]

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows what the members of the job did in `frame`."""
        self._shown = (frame, view)
        if (row := next((row for row in frame.processes if row.key == self._key), None)) is not None:
            self._seen = (row, frame.time)
        if self.is_mounted:
            self.query_one(Page).content_changed()

    def action_leave(self) -> None:
        """Closes the details."""
        self.dismiss(None)

    async def _keep_reading(self) -> None:
        while True:
            try:
                details = await self._read(self._key)
            except TimeoutError:
                self._say("the kernel did not answer in time, as happens with a hanging network mount; trying again")
            else:
                if details is None:
                    self._is_gone = True
                    is_known = self._details is not None or self._seen is not None
                    self._say("the process is gone" + ("; this was its last state" if is_known else ""))
                    self.query_one(Page).content_changed()
                    return
                self._details = details
                self._say("")
                self.query_one(Page).content_changed()
            await asyncio.sleep(self._rest_s)

    def _say(self, message: str) -> None:
        if message != self._message:
            self._message = message
            line = self.query_one("#details-message", Static)
            line.update(Content(message))
            line.display = bool(message)

    def _lines(self, width: int) -> list[Line]:
        lines = job_lines(*self._shown, self._key, width) if self._shown else []
        if self._is_gone and self._seen is not None:
            lines += [[]] if lines else []
            lines += last_lines(*self._seen, width, ascii=self._ascii, command=self._details is None)
        if self._details is not None:
            lines += [[]] if lines else []
            lines += details_lines(self._details, width, ascii=self._ascii)
        return lines
