"""One process (or thread) between two sweeps: its kept descriptors, what they said last, and the row made of it."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing, Text
from iodash.model.sample import IoCounters, LiveThreads, ProcessCounters, ProcessKey
from iodash.sources.descriptors import EXHAUSTED
from iodash.sources.local.process_files import live_threads, open_file, page_faults, parse_io, parse_stat

if TYPE_CHECKING:
    from iodash.sources.local.names import Identity
    from iodash.sources.local.process_files import ProcessStat

IO_BYTES = 256
"""More than seven numbers of 64 bits need, and little enough for the allocator's small blocks."""

STAT_BYTES = 2048
_CHILDLESS = (0, 0, 0, 0)


class GoneError(Exception):
    """The process is no more, or its number belongs to another one by now."""


@dataclass(slots=True)
class Budget:
    """How many descriptors the sweep may still keep."""

    left: int

    def take(self) -> bool:
        """Whether one more may be kept; it is counted if so."""
        if self.left <= 0:
            return False
        self.left -= 1
        return True


class Tracked:
    """What is kept of one process or thread from sweep to sweep.

    `io_fd` is the kept descriptor of its io file, -1 while there is none: then `io_state` is None where the file is
    opened anew each time, else why it is not read. `io_raw` are the bytes that `io` was made of. A kept descriptor
    follows its process: after a reuse of the number it fails with ESRCH. Without one the start time tells. The command
    line in `identity` is that of `named_program`.
    """

    __slots__ = (
        "active_until",
        "asked_at",
        "budget",
        "counters",
        "directory",
        "identity",
        "io",
        "io_fd",
        "io_priority",
        "io_raw",
        "io_retry",
        "io_state",
        "key",
        "live",
        "named_program",
        "number",
        "reads_fuse",
        "stat",
        "stat_fd",
        "stat_raw",
        "stat_read_at",
        "wants_stat_fd",
    )

    key: ProcessKey
    counters: ProcessCounters
    stat: ProcessStat

    def __init__(self, directory: str, pid: int, tid: int, budget: Budget) -> None:
        """Reads everything once. Raises GoneError, and OSError where even the stat file can't be read."""
        self.directory = directory
        self.number = tid or pid
        self.budget = budget
        self.io_fd = self.stat_fd = -1
        self.io_raw = self.stat_raw = b""
        self.io: IoCounters | Missing = Missing.NO_PERMISSION
        self.io_state: Missing | None = None
        self.io_retry = 0.0
        self.identity: Identity | None = None
        self.named_program: tuple[bytes, bytes, bytes] | None = None
        self.io_priority: Text = Missing.NOT_MEASURED
        self.reads_fuse = False
        self.live: LiveThreads | None = None
        self.active_until = 0
        self.stat_read_at = self.asked_at = 0.0
        self.wants_stat_fd = False
        try:
            self.take_io(self.read_io())
            self.stat_raw = self._read_stat()
            self.stat_read_at = time.monotonic()
            self.stat = parse_stat(self.stat_raw, self.stat_read_at)
            self.key = ProcessKey(pid, self.stat.start_ticks, tid)
            if tid == 0 and self.stat.counters.reaped != _CHILDLESS:
                self._read_live()
        except (OSError, ValueError):
            self.close()
            raise

    @property
    def is_program(self) -> bool:
        """Whether it is a process, or the first thread of one, that the kernel does not run for itself."""
        return not self.stat.kernel_thread and self.key.tid in (0, self.key.pid)

    def read_io(self) -> bytes:
        """The io file as it is now; empty, with `io_state` set, where it can't be read. Raises GoneError."""
        try:
            if self.io_fd >= 0:
                return os.pread(self.io_fd, IO_BYTES, 0)
            descriptor = open_file(f"{self.directory}/io")
            try:
                raw = os.pread(descriptor, IO_BYTES, 0)
            except OSError:
                os.close(descriptor)
                raise
            if self.budget.take():
                self.io_fd = descriptor
            else:
                os.close(descriptor)
            self.io_state = None
            return raw
        except OSError as error:
            return self._io_failed(error)

    def _io_failed(self, error: OSError) -> bytes:
        self._close_io()
        if error.errno == errno.ESRCH:
            raise GoneError from None
        if error.errno in EXHAUSTED:
            self.budget.left = 0
            self.io_state = Missing.NOT_MEASURED
            self.io_retry = 0.0
        else:
            # Without a process there is no stat file either; where there is one, the kernel has no io files.
            self.io_state = Missing.UNSUPPORTED if error.errno == errno.ENOENT else Missing.NO_PERMISSION
            self.io_retry = time.monotonic() + 10
        return b""

    def take_io(self, raw: bytes) -> None:
        """Keeps a reading of the io file."""
        self.io_raw = raw
        if self.io_state is not None:
            self.io = self.io_state
            return
        try:
            self.io = parse_io(raw)
        except ValueError:
            self.io = Missing.UNSUPPORTED

    def update_stat(self) -> ProcessStat | None:
        """Reads the stat file again. The reading before it if anything changed, else None. Raises GoneError."""
        try:
            raw = self._read_stat()
        except OSError as error:
            if error.errno in EXHAUSTED:
                return None
            raise GoneError from None
        now = time.monotonic()
        if raw == self.stat_raw:
            self.stat_read_at = now
            return None
        try:
            stat = parse_stat(raw, now, self.stat_read_at)
        except ValueError:
            raise GoneError from None
        if stat.start_ticks != self.key.start_ticks:
            raise GoneError
        before = self.stat
        self.stat_raw, self.stat, self.stat_read_at = raw, stat, now
        self.live = None
        if stat.counters.reaped != before.counters.reaped and self.key.tid == 0:
            self._read_live()
        return before

    def _read_live(self) -> None:
        """Reads the live threads, then the whole again, so that a child whose end the stat file told is in it.

        Another child may have ended meanwhile: what all in the whole have used, the stat file tells when read last.
        """
        if not isinstance(self.io, IoCounters):
            return
        threads, before = live_threads(self.directory), self.stat.counters
        self.take_io(self.read_io())
        if threads is None:
            return
        try:
            after = parse_stat(self._read_stat(), 0.0).counters
        except (OSError, ValueError):
            after = before  # it is gone, as the next sweep will find
        io, faults = threads
        self.live = LiveThreads(io, page_faults(before) - faults, page_faults(after) - faults, after.reaped)

    def _read_stat(self) -> bytes:
        if self.stat_fd >= 0:
            return os.pread(self.stat_fd, STAT_BYTES, 0)
        descriptor = open_file(f"{self.directory}/stat")
        try:
            return os.pread(descriptor, STAT_BYTES, 0)
        finally:
            if self.wants_stat_fd and self.budget.take():
                self.stat_fd = descriptor
            else:
                os.close(descriptor)

    def build(self, boot_time: float, clock_ticks: int) -> ProcessCounters:
        """Makes the row of what is known now."""
        stat, identity = self.stat, self.identity
        name = safe_text(stat.name)
        self.counters = ProcessCounters(
            key=self.key,
            name=name,
            command=(identity.command if identity is not None else "") or name,
            user="" if identity is None else identity.user,
            uid=0 if identity is None or identity.uid is None else identity.uid,
            kernel_thread=stat.kernel_thread,
            start_time=boot_time + stat.start_ticks / clock_ticks,
            io=self.io,
            stat=stat.counters,
            live_threads=self.live,
            cgroup="" if identity is None else identity.cgroup,
            container=None if identity is None else identity.container,
            io_priority=self.io_priority,
            reads_fuse=self.reads_fuse,
        )
        return self.counters

    def release_stat(self) -> None:
        """Lets go of the kept stat file of a process that has become quiet."""
        self.wants_stat_fd = False
        if self.stat_fd >= 0:
            os.close(self.stat_fd)
            self.stat_fd = -1
            self.budget.left += 1

    def _close_io(self) -> None:
        if self.io_fd >= 0:
            os.close(self.io_fd)
            self.io_fd = -1
            self.budget.left += 1

    def close(self) -> None:
        """Lets go of its descriptors."""
        self._close_io()
        self.release_stat()
