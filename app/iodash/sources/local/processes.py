"""The sweep over all processes, or all threads.

Its cost is what decides how often anybody may look: `/proc` is listed, the kept io descriptor of each process is read
again, and where the bytes are the same as before the same row is given out again. The stat file, which costs twice as
much, is read for rows that are new, changed, looked at or recently active, and for the idle ones in turn.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from iodash.model.missing import Missing
from iodash.sources.local.fuse import FuseReaders
from iodash.sources.local.io_priority import io_priority
from iodash.sources.local.names import Identity, Names
from iodash.sources.local.tracked import IO_BYTES, Budget, GoneError, Tracked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from iodash.model.sample import Host, ProcessCounters
    from iodash.sources import Demand
    from iodash.sources.local.users import UserNames

IDLE_TURNS = 8
"""An idle process has its stat file read every so many sweeps; an active one stays active for as many."""

NAMES_WAIT_S = 0.05
NAMES_WAIT_IN_FULL_S = 0.2
_NAMES_AGE_S = 5.0
_NAMES_IN_TURN = 256
_FOREVER = 1 << 62


class ProcessReader:
    """Reads every process, or with `threads` every thread, of a proc tree.

    `local` says whether its numbers are those of this process's own pid namespace, so that system calls about them
    make sense.
    """

    def __init__(self, procfs: Path, users: UserNames, budget: Budget, *, local: bool, threads: bool = False) -> None:
        self._procfs = str(procfs)
        self._users = users
        self._budget = budget
        self._local = local
        self._threads = threads
        self._names = Names(procfs, users)
        self._fuse = FuseReaders(procfs)
        self._known: dict[str, Tracked] = {}
        self._rows: dict[int, ProcessCounters] = {}
        self._owners: dict[str, str] = {}
        self._turn = 0
        self._fresh: list[Tracked] = []
        self._ask: list[Tracked] = []
        self._in_turn: list[Tracked] = []
        self._boot_time = 0.0
        self._clock_ticks = 100

    @property
    def unreadable(self) -> int:
        """Of how many processes the I/O may not be read."""
        return sum(1 for tracked in self._known.values() if tracked.io_state is Missing.NO_PERMISSION)

    def read(self, demand: Demand, host: Host) -> Mapping[int, ProcessCounters]:
        """The rows by pid (or tid). Raises OSError where the tree can't be listed."""
        self._turn += 1
        self._boot_time, self._clock_ticks = host.boot_time, host.clock_ticks
        names = self._list_threads() if self._threads else os.listdir(self._procfs)
        self._look_at(demand)
        self._sweep(names, _FOREVER if demand.every_field else self._turn)
        self._identify(NAMES_WAIT_IN_FULL_S if demand.every_field else NAMES_WAIT_S)
        return dict(self._rows)

    def close(self) -> None:
        """Lets go of all descriptors; waits for nothing."""
        self._names.close()
        self._fuse.close()
        for tracked in self._known.values():
            tracked.close()
        self._known.clear()
        self._rows.clear()

    def _list_threads(self) -> list[str]:
        self._owners = owners = {}
        for name in os.listdir(self._procfs):
            if name.isdigit():
                try:
                    tasks = os.listdir(f"{self._procfs}/{name}/task")
                except OSError:
                    continue
                for task in tasks:
                    owners[task] = name
        return list(owners)

    def _look_at(self, demand: Demand) -> None:
        for key in demand.visible:
            tracked = self._known.get(str(key.tid if self._threads else key.pid))
            if tracked is not None:
                tracked.stat_due = self._turn
                tracked.active_until = max(tracked.active_until, self._turn + 1)
                if self._local:
                    self._read_priority(tracked)

    def _sweep(self, names: list[str], due: int) -> None:
        known, pread, seen = self._known, os.pread, 0
        for name in names:
            tracked = known.get(name)
            if tracked is None:
                if name.isdigit():
                    seen += self._meet(name)
                continue
            seen += 1
            try:
                if tracked.io_fd >= 0:
                    raw = pread(tracked.io_fd, IO_BYTES, 0)
                    if raw == tracked.io_raw and tracked.stat_due > due:
                        continue
                    self._refresh(name, tracked, raw, due)
                elif tracked.io_state is None or tracked.stat_due <= due:
                    self._refresh(name, tracked, self._reopen(tracked), due)
            except (GoneError, OSError):
                seen -= 1
                self._drop(name)
                seen += self._meet(name)
        if seen != len(known):
            for name in known.keys() - set(names):
                self._drop(name)

    def _reopen(self, tracked: Tracked) -> bytes:
        """The io file of a process without a kept descriptor; one that may not be read is tried only now and then."""
        if tracked.io_state is not None and time.monotonic() < tracked.io_retry:
            return tracked.io_raw
        before = tracked.io_state
        raw = tracked.read_io()
        if tracked.io_state is not before:
            tracked.io_raw = b"changed"
        return raw

    def _meet(self, name: str) -> int:
        """Begins to follow a process; 1 if there is one."""
        directory = f"{self._procfs}/{name}"
        pid, tid = int(name), 0
        if self._threads:
            owner = self._owners[name]
            directory = f"{self._procfs}/{owner}/task/{name}"
            pid, tid = int(owner), pid
        try:
            tracked = Tracked(directory, pid, tid, self._budget)
        except (GoneError, OSError, ValueError):
            return 0
        tracked.active_until = tracked.stat_due = self._turn + 1
        self._known[name] = tracked
        self._fresh.append(tracked)
        return 1

    def _drop(self, name: str) -> None:
        tracked = self._known.pop(name)
        tracked.close()
        self._rows.pop(int(name), None)

    def _refresh(self, name: str, tracked: Tracked, raw: bytes, due: int) -> None:
        moved = raw != tracked.io_raw
        if moved:
            tracked.take_io(raw)
        tracked.live = None
        before = tracked.stat
        changed = tracked.update_stat()
        if changed:
            self._judge_program(tracked, before.program)
        if moved or tracked.stat.counters.cpu_ticks != before.counters.cpu_ticks:
            tracked.active_until = self._turn + IDLE_TURNS
        active = tracked.active_until > self._turn
        tracked.stat_due = self._turn + 1 + (0 if active else (tracked.key.pid - self._turn - 1) % IDLE_TURNS)
        if active or due == _FOREVER:
            tracked.wants_stat_fd = True
        elif tracked.stat_fd >= 0:
            tracked.release_stat()
        if moved:
            changed = True
            self._read_fuse(tracked)
        if due == _FOREVER and self._local:
            self._read_priority(tracked)
        if changed or tracked.io_priority is not tracked.counters.io_priority:
            self._rows[int(name)] = tracked.build(self._boot_time, self._clock_ticks)

    def _judge_program(self, tracked: Tracked, before: tuple[bytes, bytes, bytes]) -> None:
        if tracked.stat.program != before:
            tracked.io_retry = 0.0
            self._ask.append(tracked)
        elif tracked.active_until > self._turn and time.monotonic() - tracked.asked_at > _NAMES_AGE_S:
            self._ask.append(tracked)

    def _read_priority(self, tracked: Tracked) -> None:
        found = io_priority(tracked.key.tid or tracked.key.pid, tracked.stat.nice_class)
        if found != tracked.io_priority:
            tracked.io_priority = found

    def _read_fuse(self, tracked: Tracked) -> None:
        tracked.reads_fuse = self._fuse.reads(tracked.key)

    def _identify(self, wait_s: float) -> None:
        """Asks who the new and changed processes are, waits a little for the new, and completes the rows."""
        self._ask += self._fresh
        if not self._in_turn:
            self._in_turn = list(self._known.values())
        for _ in range(1 + len(self._known) // _NAMES_IN_TURN):
            if self._in_turn:
                self._ask.append(self._in_turn.pop())
        now = time.monotonic()
        for tracked in self._ask:
            tracked.asked_at = now
        self._names.ask(dict.fromkeys(tracked.key for tracked in self._ask))
        arrived = self._names.collect(wait_s if self._fresh else 0.0)
        for key, identity in arrived:
            found = self._known.get(str(key.tid or key.pid))
            if found is not None and found.key == key and identity.uid is not None and identity != found.identity:
                self._take(found, identity)
        for uid, user in self._users.arrived().items():
            for tracked in self._known.values():
                if tracked.identity is not None and tracked.identity.uid == uid and tracked.identity.user != user:
                    self._take(tracked, tracked.identity._replace(user=user))
        for tracked in self._fresh:
            if tracked.identity is None:
                self._take(tracked, self._provisional(tracked))
        self._fresh = []
        self._ask = []

    def _take(self, tracked: Tracked, identity: Identity) -> None:
        tracked.identity = identity
        self._rows[tracked.key.tid or tracked.key.pid] = tracked.build(self._boot_time, self._clock_ticks)

    def _provisional(self, tracked: Tracked) -> Identity:
        """What the directory's owner tells, until the process itself is read: root where it hides its memory."""
        try:
            uid = os.stat(tracked.directory).st_uid
        except OSError:
            uid = 0
        return Identity(uid, self._users.name(uid), "", "", None)
