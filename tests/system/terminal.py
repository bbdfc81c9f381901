"""A real terminal for tests: tmux, on a server of its own, with a shell in a window of an exact size."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

IODASH = str(Path(sys.executable).with_name("iodash"))
"""The command of the environment that runs the tests."""

DEADLINE_S = 40.0
"""How long a screen may take to show what is waited for: only a broken program takes it."""

PROMPT = "ready$"

SHELL = f"exec env PS1='{PROMPT} ' bash --norc --noprofile -i"


class Terminal:
    """A shell in a terminal of `width` times `height`, which ends with its server when the block is left."""

    def __init__(self, width: int = 120, height: int = 40, env: Mapping[str, str] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="iodash-tmux-")
        self._size = f"-x {width} -y {height}"
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TMUX", "COLUMNS", "LINES"))},
            "LC_ALL": "C.UTF-8",
            "SHELL": "/bin/bash",
            **(env or {}),
        }

    def __enter__(self) -> Terminal:
        command = [*self._tmux(), *f"-f /dev/null new-session -d {self._size}".split(), SHELL]
        subprocess.run(command, env=self._environment, check=True, timeout=DEADLINE_S)
        try:
            self.wait_for(PROMPT)
        except AssertionError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server and all that runs in it."""
        self._command("kill-server")
        self._folder.cleanup()

    def run(self, *command: str) -> None:
        """Types a command line; `status` waits for its end."""
        self.type(" ".join(shlex.quote(word) for word in command) + '; echo "status=$?"')
        self.keys("Enter")

    def type(self, text: str) -> None:
        """Types text as it is."""
        self._command("send-keys", "-l", "--", text)

    def keys(self, *names: str) -> None:
        """Presses keys by tmux's names: `q` `Enter` `C-c` `F10` `Left`."""
        self._command("send-keys", "--", *names)

    def resize(self, width: int, height: int) -> None:
        """Makes the window another size, as dragging its corner does."""
        self._command("resize-window", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        """What is to be seen now, a line a row."""
        return self._command("capture-pane", "-p")

    def flag(self, name: str) -> str:
        """One of tmux's format variables of the window, such as `alternate_on`."""
        return self._command("display-message", "-p", f"#{{{name}}}").strip()

    def wait_for(self, what: str | Callable[[str], bool]) -> str:
        """The screen as soon as it holds `what`, or as soon as `what` says so.

        Raises:
            AssertionError: it did not happen before the deadline; the message holds the screen.
        """
        holds = what if callable(what) else lambda screen: what in screen
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            screen = self.screen()
            if holds(screen):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"waited in vain for {what!r}; the screen is\n{screen}")

    def status(self) -> int:
        """What the last command line of `run` ended with, when it has."""
        ended = re.compile(r"^status=(\d+)$", re.MULTILINE)
        screen = self.wait_for(lambda screen: ended.search(screen) is not None)
        return int(ended.findall(screen)[-1])

    def program(self, name: str = "iodash") -> psutil.Process:
        """The program that runs in the shell."""
        for child in psutil.Process(int(self.flag("pane_pid"))).children(recursive=True):
            if any(name in Path(word).name for word in child.cmdline()[:2]):
                return child
        raise AssertionError(f"{name} does not run")

    def is_as_before(self) -> bool:
        """Whether the terminal is as a shell wants it: main screen, a cursor, no mouse reports, echo."""
        return (self.flag("alternate_on"), self.flag("cursor_flag"), self.flag("mouse_any_flag")) == ("0", "1", "0")

    def _tmux(self) -> list[str]:
        return ["tmux", "-S", f"{self._folder.name}/socket"]

    def _command(self, *words: str) -> str:
        done = subprocess.run([*self._tmux(), *words], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stderr
        return done.stdout
