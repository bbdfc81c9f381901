"""A file that is only ever added to."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from iodash.model.failure import Failure
from iodash.outputs.write_errors import with_remedy
from iodash.outputs.write_whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LONGEST_LINE = 1 << 24
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


class AppendedFile:
    """A file, or a device or pipe in its place, to whose end text is written. What was there stays as it is."""

    def __init__(self, path: Path, say: Callable[[str], object] | None = None) -> None:
        """Opens the file; it is made where there is none. A named pipe waits for its reader, as `say` is told then.

        Raises:
            Failure: it can't be opened for appending.
        """
        self.path = path
        try:
            descriptor = _open(path, say)
        except (OSError, ValueError) as error:
            raise Failure(f"cannot write {path}: {with_remedy(error)}") from error
        self._stream = os.fdopen(descriptor, "wb", buffering=0)

    def first_line(self) -> str | None:
        """The first line of what the file holds already, without its end; None when it holds nothing.

        Raises:
            Failure: it can't be read, or its first line is no UTF-8.
        """
        if not self._holds_something():
            return None
        try:
            with self.path.open("rb") as file:
                return file.readline(_LONGEST_LINE).decode().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"cannot append to {self.path}: {with_remedy(error)}") from error

    def ends_with_newline(self) -> bool:
        """Whether the last line is complete. An empty file has none that is not.

        Raises:
            Failure: it can't be read.
        """
        if not self._holds_something():
            return True
        try:
            with self.path.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                return file.read(1) == b"\n"
        except OSError as error:
            raise Failure(f"cannot append to {self.path}: {with_remedy(error)}") from error

    def write(self, text: str) -> None:
        """Writes `text` at once.

        Raises:
            Failure: it can't be written (the disk is full, say).
            BrokenPipeError: it is a pipe whose reader is gone.
        """
        try:
            write_whole(self._stream, text.encode(errors="backslashreplace"))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Failure(f"cannot write {self.path}: {with_remedy(error)}") from error

    def close(self) -> None:
        """Closes the file.

        Raises:
            Failure: what was written could not be kept, as a server may say only now.
        """
        try:
            self._stream.close()
        except OSError as error:
            raise Failure(f"cannot write {self.path}: {with_remedy(error)}") from error

    def _holds_something(self) -> bool:
        status = os.fstat(self._stream.fileno())
        return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _open(path: Path, say: Callable[[str], object] | None) -> int:
    """Opens for appending. Raises OSError, and ValueError for what can be no path."""
    if say is not None and path.is_fifo():
        try:
            descriptor = os.open(path, _FLAGS | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            say(f"{path} is a pipe that nobody reads yet: waiting for a reader")
        else:
            os.set_blocking(descriptor, True)
            return descriptor
    return os.open(path, _FLAGS, 0o666)
