"""Time to the first frame beside an empty Textual app, and of `--version`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from bench.common import IODASH, Program, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.common import Effort

EMPTY_APP = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("COMMAND")
Empty().run()
"""
SIZE = (120, 40)
LAST_HEADING = b"COMMAND"


def run(effort: Effort) -> Iterator[Result]:
    ours, empty, version = [], [], []
    for _ in range(2 * effort.rounds + 1):
        ours.append(first_frame([IODASH]))
        empty.append(first_frame([sys.executable, "-c", EMPTY_APP]))
        start = time.monotonic()
        subprocess.run([IODASH, "--version"], stdout=subprocess.DEVNULL, check=True)
        version.append(time.monotonic() - start)
    yield Result("iodash: first frame", 1000 * statistics.median(ours), None, "ms")
    yield Result("empty Textual app: first frame", 1000 * statistics.median(empty), None, "ms")
    yield Result("iodash --version", 1000 * statistics.median(version), None, "ms")
    yield Result("first frame, iodash / empty app", statistics.median(ours) / statistics.median(empty), 1.3)
    yield Result(
        "--version / first frame of the empty app", statistics.median(version) / statistics.median(empty), 0.15
    )


def first_frame(command: list[str]) -> float:
    """Seconds until the last heading of the first frame was written."""
    with Program(command, size=SIZE) as program:
        return program.wait_for_output(LAST_HEADING)
