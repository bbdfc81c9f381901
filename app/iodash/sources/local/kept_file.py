"""Small files of /proc and /sys: opened once and read again from the start, or read whole once."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from iodash.model.missing import Missing
from iodash.sources.descriptors import may_keep

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK = 65536
_WHOLE = 3072
"""A reading shorter than this is the whole file: the kernel fills a page of 4096 bytes before it stops at a record."""


def reason(error: OSError, absent: Missing = Missing.NOT_IN_CONTAINER) -> Missing:
    """Why a file can't be read. `absent` is the reason of one that is not there."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return Missing.NO_PERMISSION
    if error.errno in (errno.EOPNOTSUPP, errno.ENOTSUP):
        return Missing.OFF
    return absent


class KeptFile:
    """A file of /proc or /sys whose descriptor is kept, so that reading it again costs one `pread` or two.

    A file that is not there, or that a container runtime covered with a device, is `absent`. What fails is tried afresh
    at the next reading. Where few descriptors are left none is kept.
    """

    __slots__ = ("_absent", "_fd", "path")

    def __init__(self, path: Path, absent: Missing = Missing.NOT_IN_CONTAINER) -> None:
        self.path = path
        self._absent = absent
        self._fd = -1

    def read(self) -> bytes | Missing:
        """The whole contents as they are now."""
        keep = True
        try:
            if self._fd < 0:
                self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
                if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                    self.close()
                    return self._absent
                keep = may_keep(self._fd)
            content = os.pread(self._fd, _BLOCK, 0)
            while len(content) >= _WHOLE:
                more = os.pread(self._fd, _BLOCK, len(content))
                if not more:
                    break
                content += more
        except OSError as error:
            self.close()
            return reason(error, self._absent)
        if not keep:
            self.close()
        return content

    def fileno(self) -> int:
        """The kept descriptor, -1 where none is kept: before the first reading and after a failed one, say."""
        return self._fd

    def close(self) -> None:
        """Lets go of the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read_bytes(path: Path | str) -> bytes | None:
    """The contents without the final newline, None when they can't be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(fd, _BLOCK).rstrip(b"\n")
    except OSError:
        return None
    finally:
        os.close(fd)


def read_int(path: Path | str) -> int | None:
    """A file that holds one whole number, None when it can't be read or holds something else."""
    content = read_bytes(path)
    try:
        return None if content is None else int(content)
    except ValueError:
        return None


def list_names(path: Path | str) -> list[str]:
    """The names in a directory in order, none when it can't be read."""
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []
