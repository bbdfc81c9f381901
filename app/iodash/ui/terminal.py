"""The terminal that the screen is drawn on: standard output, also where it goes away or standard error is a file."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, cast

from textual.drivers.linux_driver import LinuxDriver

from iodash.outputs.write_whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, TextIO

HUNG_UP = 129
"""The exit status where the terminal is gone, as a hang-up signal has it."""


class ScreenFile:
    """Standard output for Textual's writer thread, which would end at the first error and block the program's end."""

    def __init__(self, output: TextIO, on_lost: Callable[[], None]) -> None:
        """`on_lost` is called once, in the writing thread, when nothing can be written any more."""
        self._stream = cast("BinaryIO", getattr(output.buffer, "raw", output.buffer))
        self._encoding = output.encoding
        self._on_lost = on_lost
        self._waiting: list[str] = []
        self._lost = False

    def write(self, text: str) -> None:
        """Keeps `text` for the next `flush`."""
        self._waiting.append(text)

    def flush(self) -> None:
        """Writes what was kept."""
        text = "".join(self._waiting)
        self._waiting.clear()
        if self._lost:
            return
        try:
            write_whole(self._stream, text.encode(self._encoding, "replace"))
        except OSError:
            self._lost = True
            self._on_lost()

    def fileno(self) -> int:
        """The descriptor."""
        return self._stream.fileno()


class TerminalDriver(LinuxDriver):
    """Draws on standard output, so that standard error can go to a file, and ends the app where the terminal is gone.

    The terminal is taken over again only after it was given back: SIGCONT also comes to who was not stopped.
    """

    _suspended = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        assert sys.__stdout__ is not None
        self._file = cast("Any", ScreenFile(sys.__stdout__, self._end))

    def start_application_mode(self) -> None:
        """Takes the terminal over, unless another program is in its foreground."""
        before = self._writer_thread
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._suspended = self._writer_thread is before

    def suspend_application_mode(self) -> None:
        """Gives the terminal back until `resume_application_mode`."""
        self._suspended = True
        super().suspend_application_mode()

    def _sigcont_application(self, *_: object) -> None:
        if self._suspended:
            super()._sigcont_application()

    def _end(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the program is ending already
            self._loop.call_soon_threadsafe(self._app.exit, None, HUNG_UP)
