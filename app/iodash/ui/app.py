"""The Textual application: it holds the monitor and hands its frames to the dashboard."""

from __future__ import annotations

import asyncio
import gc
import time
from functools import partial
from signal import SIGQUIT
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.worker import WorkerFailed

from iodash.formatting.units import Units
from iodash.model.failure import Failure, UsageError
from iodash.model.settings import DELAYS
from iodash.outputs.console import warn
from iodash.ui import signals, themes
from iodash.ui.feed import Feed
from iodash.ui.screens.dashboard import Dashboard
from iodash.ui.styles import ASCII, stylesheets
from iodash.ui.terminal import TerminalDriver
from iodash.ui.view import View

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from textual.binding import BindingType
    from textual.events import Key
    from textual.screen import Screen

    from iodash.model.frame import Frame
    from iodash.model.settings import Settings
    from iodash.monitor import Monitor
    from iodash.sampling.history import History
    from iodash.sources import Source
    from iodash.ui.panels.processes import ProcessesPanel
    from iodash.ui.widgets.field import Field


_ONE_PRESS_S = 0.3
_SIGNALLED = 128
"""Exit statuses above it are those of signals."""


class DashboardApp(App[object]):
    """The dashboard over one source of samples."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+backslash", "quit_signal", "Quit", show=False, priority=True),
    ]

    def __init__(
        self,
        open_monitor: Callable[[], Monitor],
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        open_monitor: gives the frames; called in a thread once the first screen is drawn, since opening takes time.
        settings: the options.
        clock: seconds that never go back.
        """
        super().__init__(
            driver_class=TerminalDriver,
            css_path=[str(path) for path in stylesheets()],
            ansi_color=True if themes.no_colour() else None,
        )
        self.failure: Failure | None = None
        self._came_back = float("-inf")
        self._feed = Feed(open_monitor, settings, clock)
        self._dashboard = Dashboard(settings, self._feed.details)
        self._ascii = settings.ascii
        self.set_class(settings.ascii, ASCII)
        self._units = Units.KIB if settings.kilobytes else Units.IEC
        themes.register(self)
        self._begin_with(themes.first_theme(settings.theme))

    def _begin_with(self, theme: str) -> None:
        if themes.theme(theme).ansi:
            self.theme = theme
        else:  # without the watcher, which would parse every stylesheet again
            self.set_reactive(App.theme, theme)
            self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colour words of the stylesheets, for every theme."""
        return dict(themes.VARIABLES)

    def get_default_screen(self) -> Screen[None]:
        """The dashboard."""
        return self._dashboard

    def on_mount(self) -> None:
        """Sampling starts when the first screen is drawn."""
        signals.take(asyncio.get_running_loop(), partial(self.exit, None))
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        self._ageing = self.set_interval(1.0, self._show_age, pause=True)
        self.call_after_refresh(self._start)

    def on_unmount(self) -> None:
        """Ends the sampler; nobody waits for a reading that hangs."""
        try:
            self._feed.close()
        except Failure as failure:
            self.failure = self.failure or failure

    def _start(self) -> None:
        if not gc.isenabled():  # until the first screen is drawn
            gc.freeze()  # what was loaded stays, and need never be looked through
            gc.enable()
        self.run_worker(self._take_frames, name="frames", exclusive=True)  # type: ignore[arg-type]

    async def _take_frames(self) -> None:
        try:
            async for frame in self._feed.frames(self._dashboard.demand):
                if not self._feed.paused:
                    await self._dashboard.prepare(frame)
                if not self._feed.paused:
                    self._show(frame)
        except Failure as failure:
            self.failure = failure
            self.exit(return_code=1)
        else:
            if self.return_code is None:
                self.exit(return_code=0)

    # What is shown

    def _view(self, history: History) -> View:
        return View(
            history=history,
            units=self._units,
            ascii=self._ascii,
            paused_s=self._feed.age_s,
            full=self._dashboard.full,
            delay=self._feed.delay,
            trouble=self._feed.trouble,
        )

    def _show(self, frame: Frame) -> None:
        self._feed.shown()
        self._show_by_view(frame)

    def _show_again(self) -> None:
        if (frame := self._dashboard.frame) is not None:
            self._show_by_view(frame)

    def _show_by_view(self, frame: Frame) -> None:
        if (history := self._feed.history) is not None:
            self._dashboard.show_frame(frame, self._view(history))

    def _show_age(self) -> None:
        if self._feed.paused and (history := self._feed.history) is not None:
            self._dashboard.show_age(self._view(history))

    def on_processes_panel_demand_changed(self, event: ProcessesPanel.DemandChanged) -> None:
        """The next reading fetches what is looked at now."""
        event.stop()
        self._feed.look_at(self._dashboard.demand())

    # Keys

    @property
    def _field(self) -> Field | None:
        """The line that is being typed in, on a screen that has one."""
        return getattr(self.screen, "field", None)

    def on_key(self, event: Key) -> None:
        """What is typed in one go with the key that opens a field goes into that field, and does nothing else."""
        field = self._field
        if field is None or (field.has_focus and not event.is_printable):
            return
        event.prevent_default()
        if event.is_printable:
            field.take(event)
        else:
            self._press_when_ready(event.key)

    def _press_when_ready(self, key: str, patience: int = 20) -> None:
        """Presses a key such as Enter once the field is ready for it; gives up where that never comes."""
        if self._field is None or self._field.has_focus:
            self.simulate_key(key)
        elif patience:
            self.call_after_refresh(self._press_when_ready, key, patience - 1)

    def action_leave(self) -> None:
        """Quits."""
        self.exit(return_code=0)

    def action_quit_signal(self) -> None:
        """Quits as this key does elsewhere, where the terminal itself makes a signal of it."""
        self.exit(return_code=signals.exit_status(SIGQUIT))

    def action_suspend_process(self) -> None:
        """Suspends the whole process group. A key pressed twice before the first one took effect suspends once."""
        if time.monotonic() - self._came_back <= _ONE_PRESS_S:
            return
        if isinstance(self._driver, TerminalDriver) and self._driver.can_suspend:
            self._driver.stop(group=True)
            self._came_back = time.monotonic()

    def action_pause(self) -> None:
        """Freezes what is shown, or shows the newest frame. Sampling goes on."""
        if self._dashboard.frame is None:
            return
        if not self._feed.paused:
            self._feed.freeze()
            self._ageing.resume()
            self._show_age()
        else:
            self._ageing.pause()
            if (newest := self._feed.thaw()) is not None:
                self._show(newest)

    def action_slower(self) -> None:
        """The next longer interval."""
        self._set_delay(next((delay for delay in DELAYS if delay > self._feed.delay), DELAYS[-1]))

    def action_faster(self) -> None:
        """The next shorter interval."""
        self._set_delay(next((delay for delay in reversed(DELAYS) if delay < self._feed.delay), DELAYS[0]))

    def _set_delay(self, seconds: float) -> None:
        self._feed.delay = seconds
        self._show_again()

    def action_units(self) -> None:
        """The next way to write byte amounts."""
        self._units = self._units.next
        self._show_again()
        self._dashboard.hint(
            {
                Units.IEC: "units: powers of 1024",
                Units.SI: "units: powers of 1000",
                Units.BITS: "units: powers of 1024, the network in bits",
            }.get(self._units, "")
        )

    def action_next_theme(self) -> None:
        """The next theme; without colours all of them look the same."""
        if themes.no_colour():
            self._dashboard.hint("no colours: NO_COLOR is set")
            return
        self.theme = themes.next_theme(self.theme)
        self._dashboard.hint(f"theme: {self.theme}")

    def action_redraw(self) -> None:
        """Draws every cell anew, also those that Textual takes for unchanged."""
        for widget in self.screen.walk_children(with_self=True):
            widget.refresh()

    def action_snapshot(self) -> None:
        """Saves what is shown to two files and names them. Keys work on while a file system takes its time."""
        frame = self._dashboard.frame
        if frame is None:
            self._dashboard.hint("There is no frame to save yet.")
        elif self._feed.is_saving:
            self._dashboard.hint("The last snapshot is still being saved.")
        else:
            self.run_worker(self._tell_of(self._feed.save(frame)), name="snapshot")

    async def _tell_of(self, saving: Future[tuple[tuple[Path, Path], bool]]) -> None:
        try:
            files, is_new = await asyncio.wrap_future(saving)
        except Failure as failure:
            self.notify(str(failure), severity="error", markup=False)
        else:
            title = "Snapshot saved" if is_new else "This moment is already saved as"
            self.notify("\n".join(map(str, files)), title=title, markup=False)

    def _fatal_error(self) -> None:
        """An unforeseen error ends the screen; `run_dashboard` raises it, so that no traceback is printed here."""
        self._close_messages_no_wait()


def run_dashboard(open_source: Callable[[], Source], settings: Settings) -> int:
    """Shows the dashboard until the user leaves.

    `open_source` is called beside the event loop when the first screen is drawn.

    Returns:
        The exit status: 0 when the user left or `--iter` frames were shown, 128 plus its number after a signal.

    Raises:
        Failure: `open_source` raised it, or the file of `--output` can't be written.
        UsageError: there is no theme of that name.
    """

    def open_monitor() -> Monitor:
        from iodash.monitor import Monitor

        return Monitor(open_source(), settings.delay, frozenset(settings.pid))

    try:
        app = DashboardApp(open_monitor, settings)
    except ValueError as error:
        raise UsageError(str(error)) from error
    with signals.held_back():
        app.run()
    if app.failure is not None:
        if (app.return_code or 0) > _SIGNALLED:
            warn(str(app.failure))
            return app.return_code or 0
        raise app.failure
    if (reason := app._exception) is not None:
        raise reason.error if isinstance(reason, WorkerFailed) else reason
    return app.return_code or 0
