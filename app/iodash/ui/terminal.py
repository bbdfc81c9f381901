"""The terminal: the screen goes to standard output, keys come from standard input, and either may go away."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, cast

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from iodash.formatting.cells import cell_width
from iodash.outputs.write_whole import write_whole
from iodash.ui.styles import ASCII

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, TextIO

HUNG_UP = 129
"""The exit status where the terminal is gone, as a hang-up signal has it."""

_UNSURE_S = 1.0
"""For how long after a key it may turn out that an escape was the Esc key and not the beginning of a sequence."""

_TICK_MS = 50
_KEYS_BYTES = 4096


def _question_marks(error: UnicodeError) -> tuple[str, int]:
    """As many question marks as the letters that can't be written take cells, so that what follows stays in place."""
    assert isinstance(error, UnicodeEncodeError)
    return "?" * cell_width(error.object[error.start : error.end]), error.end


codecs.register_error("iodash.cells", _question_marks)


class ScreenFile:
    """Standard output for Textual's writer thread, which would end at the first error and block the program's end."""

    def __init__(self, output: TextIO, on_lost: Callable[[], None], *, ascii: bool = False) -> None:
        """Writes to `output` in its encoding or, with `ascii`, nothing but ASCII.

        `on_lost` is called once, in the writing thread, when nothing can be written any more.
        """
        self._stream = cast("BinaryIO", getattr(output.buffer, "raw", output.buffer))
        self._encoding = "ascii" if ascii else output.encoding
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
            write_whole(self._stream, text.encode(self._encoding, "iodash.cells"))
        except OSError:
            self._lost = True
            self._on_lost()

    def fileno(self) -> int:
        """The descriptor."""
        return self._stream.fileno()


class TerminalDriver(LinuxDriver):
    """Draws on standard output, so that standard error can go to a file, and ends the app where the terminal is gone.

    While no key comes, nobody is woken up to look for one, which the driver beneath does ten times a second. The
    terminal is taken over again only after it was given back: SIGCONT also comes to who was not stopped.
    """

    _suspended = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._may_stop = signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN
        super().__init__(*arguments, **options)
        if not self._may_stop:
            signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        assert sys.__stdout__ is not None
        self._file = cast("Any", ScreenFile(sys.__stdout__, self._end, ascii=self._app.has_class(ASCII)))
        self._stop_waiting = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    @property
    def can_suspend(self) -> bool:
        """Whether it may be stopped: not where who started it ignores that signal, and so would not notice."""
        return self._may_stop

    def stop(self, group: bool) -> None:
        """Gives the terminal back and stops until SIGCONT, with `group` together with the whole process group.

        Who waits for iodash in the same group, such as `sh -c`, would else keep the terminal from the shell that could
        continue both. It is the signal's own action that stops, which the kernel leaves out where nobody could do that
        (signal(7), setpgid(2): orphaned process groups); then the terminal is taken over again at once.
        """
        self.suspend_application_mode()
        self._must_signal_resume = True
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0 if group else os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self._sigcont_application()

    def start_application_mode(self) -> None:
        """Takes the terminal over, unless another program is in its foreground."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._stop_waiting)
        before = self._writer_thread
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._suspended = self._writer_thread is before

    def suspend_application_mode(self) -> None:
        """Gives the terminal back until `resume_application_mode`."""
        self._suspended = True
        super().suspend_application_mode()

    def disable_input(self) -> None:
        """Reads no more keys."""
        os.eventfd_write(self._stop_waiting, 1)
        super().disable_input()

    def run_input_thread(self) -> None:
        """Hands on what is typed until input is disabled or the terminal is gone."""
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        waiting = select.poll()
        waiting.register(self.fileno, select.POLLIN)
        waiting.register(self._stop_waiting, select.POLLIN)
        unsure_until = 0.0
        while not self.exit_event.is_set():
            ready = dict(waiting.poll(_TICK_MS if time.monotonic() < unsure_until else None))
            if self._stop_waiting in ready:
                unsure_until = float("inf")  # the event that ends this thread is set right after this
                waiting.unregister(self._stop_waiting)
            if self.fileno in ready:
                typed = self._read_keys()
                if not typed:
                    self._end()
                    return
                for message in parser.feed(decode(typed)):
                    self.process_message(message)
                unsure_until = max(unsure_until, time.monotonic() + _UNSURE_S)
            for message in parser.tick():
                self.process_message(message)

    def _read_keys(self) -> bytes:
        """What was typed; nothing where the terminal is gone."""
        try:
            return os.read(self.fileno, _KEYS_BYTES)
        except OSError:
            return b""

    def _sigtstp_application(self, *_: object) -> None:
        self.stop(group=False)

    def _sigcont_application(self, *_: object) -> None:
        if self._suspended:
            super()._sigcont_application()

    def _end(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the program is ending already
            self._loop.call_soon_threadsafe(self._app.exit, None, HUNG_UP)
