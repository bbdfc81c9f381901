"""`iodash`: the full-screen dashboard."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from iodash.model.failure import Failure, UsageError

if TYPE_CHECKING:
    from iodash.model.settings import Settings
    from iodash.sources import Source


def run_dashboard(settings: Settings) -> int:
    """Opens the screen until it is quit.

    Raises:
        UsageError: there is no such theme.
        Failure: there is no terminal, or the machine can't be read.
    """
    if sys.stdout is None or not sys.stdout.isatty():
        raise Failure("standard output is no terminal: use `iodash -b` to print frames instead of drawing a screen")
    _read_keys_from_terminal()
    from iodash.ui.app import run_dashboard as run
    from iodash.ui.themes import first_theme

    try:
        first_theme(settings.theme)
    except ValueError as error:
        raise UsageError(f"--theme: {error}") from error
    return run(lambda: _open_source(settings), settings)


def _open_source(settings: Settings) -> Source:
    from iodash.commands.stream import open_source

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
