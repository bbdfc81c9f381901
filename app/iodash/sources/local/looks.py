"""Looks at threads of job members several times a second: running, or waiting, and for what."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.members import MemberCounters
from iodash.model.missing import Missing
from iodash.sources.local.kept_file import read_bytes
from iodash.sources.local.process_files import parse_io
from iodash.sources.local.tracked import IO_BYTES
from iodash.sources.local.wait_kinds import wait_kind

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.members import WaitKind
    from iodash.model.missing import Count, Number
    from iodash.model.sample import ProcessKey

LOOKS_PER_S = 10.0
"""How often a member is looked at while there are few of them."""

MOST_LOOKS_PER_S = 200.0
"""What all members together may cost: with more members each is looked at less often."""

_NANOSECONDS = 1e9


@dataclass(slots=True)
class _Watched:
    """One thread: its kept descriptors and what was seen so far. `with_io` is whether its own bytes are wanted."""

    key: ProcessKey
    name: str
    stat: int
    wchan: int
    schedstat: int
    with_io: bool = False
    io: int = -1
    looks: int = 0
    running: int = 0
    blocked: int = 0
    waits: dict[WaitKind, int] = field(default_factory=dict)
    waits_readable: bool = False
    gone: bool = False

    def close(self) -> None:
        for descriptor in (self.stat, self.wchan, self.schedstat, self.io):
            if descriptor >= 0:
                os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _pread(descriptor: int, size: int) -> bytes:
    if descriptor < 0:
        return b""
    try:
        return os.pread(descriptor, size, 0)
    except OSError:
        return b""


class Looks:
    """Counts what members' threads are found doing. The looking thread lives only while somebody is watched.

    A look is one state and one kernel function, about 15 µs. None of these files can block on the process looked at.
    """

    def __init__(self, procfs: Path) -> None:
        self._procfs = procfs
        self._lock = threading.Lock()
        self._watched: dict[ProcessKey, _Watched] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def watch(self, keys: frozenset[ProcessKey], with_io: frozenset[ProcessKey] = frozenset()) -> None:
        """Sets whom to look at from now on: main threads, or other ones where `tid` is set.

        Of those in `with_io` the thread's own bytes are read too. What could not be opened is tried again.
        """
        known = {key: one for key, one in self._watched.items() if key in keys and one.stat >= 0}
        opened = {key: self._open(key) for key in keys - known.keys()}
        wanted = known | opened
        for one in wanted.values():
            if one.with_io is not (one.key in with_io):
                self._switch_io(one)
        if not opened and len(known) == len(self._watched):
            return
        with self._lock:
            for key, one in self._watched.items():
                if key not in known:
                    one.close()
            self._watched = wanted
            if self._watched and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._look_on, name="iodash-looks", daemon=True)
                self._thread.start()

    def read(self) -> dict[ProcessKey, MemberCounters]:
        """The counters of every watched member that is still there."""
        with self._lock:
            return {key: self._counters(one) for key, one in self._watched.items() if not one.gone}

    def close(self) -> None:
        """Ends looking at once."""
        self._closed = True
        self._wake.set()
        self.watch(frozenset())

    def _open(self, key: ProcessKey) -> _Watched:
        thread = self._thread_of(key)
        name = safe_text(read_bytes(thread / "comm") or b"") if key.tid else ""
        stat = _open(thread / "stat")
        return _Watched(key, name, stat, _open(thread / "wchan"), _open(thread / "schedstat"), gone=stat < 0)

    def _switch_io(self, one: _Watched) -> None:
        """Begins or ends reading the bytes of a thread; what was seen of it so far stands."""
        if one.io >= 0:
            os.close(one.io)
        one.with_io = not one.with_io
        one.io = _open(self._thread_of(one.key) / "io") if one.with_io else -1

    def _thread_of(self, key: ProcessKey) -> Path:
        return self._procfs / str(key.pid) / "task" / str(key.tid or key.pid)

    def _counters(self, one: _Watched) -> MemberCounters:
        cpu, delay = _schedstat(_pread(one.schedstat, 128))
        logical_read, logical_write, read = _own_io(_pread(one.io, IO_BYTES))
        return MemberCounters(
            key=one.key,
            read_at=time.monotonic(),
            main_thread_cpu_s=cpu,
            run_delay_ns=delay,
            looks=one.looks,
            running=one.running,
            blocked=one.blocked,
            waits=dict(one.waits),
            waits_readable=one.waits_readable,
            name=one.name,
            logical_read_bytes=logical_read,
            logical_write_bytes=logical_write,
            read_bytes=read,
        )

    def _look_on(self) -> None:
        while not self._wake.is_set():
            with self._lock:
                if not self._watched:
                    self._thread = None
                    return
                for one in self._watched.values():
                    _look(one)
                pause = max(1 / LOOKS_PER_S, len(self._watched) / MOST_LOOKS_PER_S)
            self._wake.wait(pause)


def _look(one: _Watched) -> None:
    stat = _pread(one.stat, 256)
    at = stat.rfind(b") ")
    if at < 0:
        one.gone = True
        return
    state = stat[at + 2 : at + 3]
    one.looks += 1
    if state == b"R":
        one.running += 1
        return
    if state == b"D":
        one.blocked += 1
    kind = wait_kind(_pread(one.wchan, 64))
    if kind is not None:
        one.waits_readable = True
        one.waits[kind] = one.waits.get(kind, 0) + 1


def _own_io(content: bytes) -> tuple[Count, Count, Count]:
    """Bytes read and written by calls and read from devices, of one thread."""
    try:
        io = parse_io(content)
    except ValueError:
        return Missing.NOT_MEASURED, Missing.NOT_MEASURED, Missing.NOT_MEASURED
    return io.logical_read_bytes, io.logical_write_bytes, io.read_bytes


def _schedstat(content: bytes) -> tuple[Number, Count]:
    """CPU seconds and run delay in ns of a thread (Documentation/scheduler/sched-stats.rst)."""
    fields = content.split()
    if len(fields) < 2 or not (fields[0].isdigit() and fields[1].isdigit()):
        return Missing.UNSUPPORTED, Missing.UNSUPPORTED
    return int(fields[0]) / _NANOSECONDS, int(fields[1])
