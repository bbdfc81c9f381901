"""`iodash`: the full-screen dashboard."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from iodash.commands.trees import check_descriptors, check_trees, open_source
from iodash.model.failure import Failure

if TYPE_CHECKING:
    from iodash.model.settings import Settings
    from iodash.sources import Source


def run_dashboard(settings: Settings) -> int:
    """Opens the screen until it is quit.

    Raises:
        Failure: there is no terminal that can draw, or the machine can't be read.
    """
    _check_terminal()
    _read_keys_from_terminal()
    check_trees(settings.procfs, settings.sysfs)
    check_descriptors()
    gc.disable()  # what is loaded stays: looking through it for garbage costs a tenth of the time to the first frame
    try:
        from iodash.ui.app import run_dashboard as run

        return run(lambda: _open_source(settings), settings)
    finally:
        gc.enable()


def _check_terminal() -> None:
    if sys.stdout is None or not sys.stdout.isatty():
        raise Failure("standard output is no terminal: use `iodash -b` to print frames instead of drawing a screen")
    kind = os.environ.get("TERM", "")
    if kind in ("", "dumb", "unknown"):
        named = f"a terminal of the kind {kind} draws no screen" if kind else "TERM names no kind of terminal"
        raise Failure(f"{named}: use `iodash -b` to print frames, or set TERM, to xterm-256color for example")


def _open_source(settings: Settings) -> Source:
    return open_source(settings.procfs, settings.sysfs, gpu=settings.gpu)


def _read_keys_from_terminal() -> None:
    """Makes the terminal standard input where that is a file or a pipe (`find | iodash`): keys come from it."""
    if sys.stdin is not None and sys.stdin.isatty():
        return
    try:
        terminal = os.open(os.ttyname(1), os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise Failure(f"no keys can be read from the terminal: {error.strerror}; use `iodash -b`") from error
    os.dup2(terminal, 0)
    os.close(terminal)
    if sys.stdin is None:
        sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)  # type: ignore[misc]
