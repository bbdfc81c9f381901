"""Standard output and standard error: the one door through which everything is printed.

What is written goes past Python's buffers, so that nothing is left in them that could fail when the program ends.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from iodash.model.failure import Failure
from iodash.outputs.write_errors import with_remedy
from iodash.outputs.write_whole import write_whole

if TYPE_CHECKING:
    from typing import TextIO


def emit(text: str) -> None:
    """Writes `text` to standard output at once. What its encoding has no letter for is written as an escape.

    Raises:
        Failure: it can't be written, because the disk is full, say.
        BrokenPipeError: its reader is gone.
    """
    if sys.stdout is None:
        raise Failure("cannot write to standard output: it is closed; redirect it to a file or /dev/null")
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"cannot write to standard output: {with_remedy(error)}") from error


def emit_lines(lines: list[str]) -> None:
    """Writes whole lines to standard output at once. Nothing is written for none."""
    if lines:
        emit("\n".join(lines) + "\n")


def warn(message: str) -> None:
    """Says something in one line on standard error."""
    _tell(f"iodash: {' '.join(message.split())}\n")


def show_progress(text: str) -> None:
    """One line on standard error that the next one is written over, an empty one at the end; only on a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        _tell(f"\r\x1b[K{text}")


def terminal_width() -> int | None:
    """How many cells a line of standard output has; None where it is no terminal or one that doesn't tell."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    import shutil  # brings archive formats along, which printing the version need not wait for

    return shutil.get_terminal_size((0, 0)).columns or None


def _tell(text: str) -> None:
    """Writes to standard error. Where nobody can listen it is lost, and nothing fails for it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            _write(sys.stderr, text)


def _write(stream: TextIO, text: str) -> None:
    write_whole(getattr(stream.buffer, "raw", stream.buffer), text.encode(stream.encoding, "backslashreplace"))
