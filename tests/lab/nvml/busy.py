"""The shared file in which live processes post when they keep a simulated GPU busy. The library computes the rest.

Layout (little endian): 64 bytes of head with the magic, then 64 posters of 8256 bytes: GPU and pid (two 32-bit
numbers), GPU memory, number of intervals posted, bytes copied to the GPU (64 bits each), padding up to 64 bytes, then a
ring of 512 intervals, each the monotonic start and end in seconds; an end of 0 is still running.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"IODBUSY1"
HEAD = 64
POSTERS = 64
INTERVALS = 512
POSTER = 64 + INTERVALS * 16
SIZE = HEAD + POSTERS * POSTER


class BusyFile:
    """One process's place in the file: who it is, what it holds, when it computes."""

    def __init__(self, path: Path, gpu: int, memory_bytes: int) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_size < SIZE:
                os.ftruncate(descriptor, SIZE)
            self._map = mmap.mmap(descriptor, SIZE)
            self._map[: len(MAGIC)] = MAGIC
            self._at = self._free_place()
            self._map[self._at : self._at + POSTER] = bytes(POSTER)
            struct.pack_into("<iiQQQ", self._map, self._at, gpu, os.getpid(), memory_bytes, 0, 0)
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # the map keeps a copy of the descriptor, and with it the lock
            os.close(descriptor)
        self._posted = 0
        self._received = 0

    @contextmanager
    def busy(self, seconds: float | None = None) -> Iterator[None]:
        """The GPU is busy while the block runs, or for so long, however late this process wakes up."""
        at = self._at + 64 + (self._posted % INTERVALS) * 16
        start = time.monotonic()
        struct.pack_into("<dd", self._map, at, start, 0.0 if seconds is None else start + seconds)
        self._posted += 1
        struct.pack_into("<Q", self._map, self._at + 16, self._posted)
        try:
            yield
        finally:
            if seconds is None:
                struct.pack_into("<d", self._map, at + 8, time.monotonic())

    def copy(self, size: int) -> None:
        """Counts bytes that went to the GPU."""
        self._received += size
        struct.pack_into("<Q", self._map, self._at + 24, self._received)

    def close(self) -> None:
        """Leaves: the GPU no longer lists this process."""
        struct.pack_into("<ii", self._map, self._at, 0, 0)
        self._map.close()

    def _free_place(self) -> int:
        """A place that nobody has, or whose process is dead."""
        for number in range(POSTERS):
            at = HEAD + number * POSTER
            (pid,) = struct.unpack_from("<i", self._map, at + 4)
            if pid == 0 or not _alive(pid):
                return at
        raise RuntimeError(f"all {POSTERS} places are taken")


def create(path: Path) -> Path:
    """An empty file, for a scenario that starts before its trainers do."""
    path.write_bytes(MAGIC.ljust(SIZE, b"\0"))
    return path


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
