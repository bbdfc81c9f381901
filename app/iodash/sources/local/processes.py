"""The sweep over all processes, or all threads.

Its cost is what decides how often anybody may look: `/proc` is listed, the kept io descriptor of each process is read
again, and where the bytes are the same as before the same row is given out again. The stat file, which costs twice as
much, is read for rows that are new, changed, looked at or recently active, and for the idle ones in turn: sooner while
the machine computes more than those do whose stat files are read.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from iodash.model.missing import Missing
from iodash.sources.descriptors import EXHAUSTED
from iodash.sources.local.births import Births
from iodash.sources.local.fuse import FuseReaders
from iodash.sources.local.io_priority import io_priority
from iodash.sources.local.kept_io import KeptIo
from iodash.sources.local.names import Identity, Names
from iodash.sources.local.pace import Pace
from iodash.sources.local.tracked import GoneError, Tracked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from iodash.model.missing import Count
    from iodash.model.sample import Host, ProcessCounters
    from iodash.sources import Demand
    from iodash.sources.local.process_files import ProcessStat
    from iodash.sources.local.tracked import Budget
    from iodash.sources.local.users import UserNames

ACTIVE_TURNS = 8
"""A process stays active, its stat file read in every sweep, for so many sweeps after it did something."""

NAMES_WAIT_S = 0.05
NAMES_WAIT_IN_FULL_S = 0.2
_NAMES_AGE_S = 5.0
_NAMES_EVERY = 8
"""Every so many sweeps those are asked whose names may have changed without a trace; each asking wakes a thread."""

_NAMES_IN_TURN = 256


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
        self._births = Births(str(procfs)) if local and not threads else None
        self._names = Names(procfs, users)
        self._fuse = FuseReaders(procfs)
        self._known: dict[str, Tracked] = {}
        self._rows: dict[int, ProcessCounters] = {}
        self._owners: dict[str, str] = {}
        self._io = KeptIo()
        self._stale = False
        self._active: set[Tracked] = set()
        self._created: Count = Missing.NOT_MEASURED
        self._pace = Pace()
        self._turn = 0
        self._fresh: list[Tracked] = []
        self._ask: list[Tracked] = []
        self._ask_later: list[Tracked] = []
        self._in_turn: list[Tracked] = []
        self._boot_time = 0.0
        self._clock_ticks = 100

    @property
    def unreadable(self) -> tuple[int, int]:
        """Of how many programs the I/O may not be read, and then how many there are. A program is no kernel thread."""
        denied = [tracked for tracked in self._io.denied if tracked.io_state is Missing.NO_PERMISSION]
        hidden = sum(tracked.is_program for tracked in denied)
        return hidden, sum(tracked.is_program for tracked in self._known.values()) if hidden else 0

    def find(self, demand: Demand, host: Host, created: Count = Missing.NOT_MEASURED) -> int:
        """Opens the files of those who are new. How many there are in all. Raises OSError where nobody can be listed.

        Args:
            demand: whose stat files are wanted.
            host: what the units of the counters are.
            created: how many processes the machine has created so far, read just before. While that stays the same
                nobody new can be there, and `/proc` is listed only now and then.
        """
        self._turn += 1
        clock_was_set = host.boot_time != self._boot_time
        self._boot_time, self._clock_ticks = host.boot_time, host.clock_ticks
        if clock_was_set:
            for tracked in self._known.values():
                self._build(tracked)
        for name in sorted(self._find_born(created), key=int):
            self._meet(name, demand.every_field)
        self._look_at(demand)
        return len(self._known)

    def sweep(self, demand: Demand, busy_ticks: Count = Missing.NOT_MEASURED) -> Mapping[int, ProcessCounters]:
        """The rows by pid (or tid) of those who were found: all counters of bytes from nearly the same moment.

        Args:
            demand: whose stat files are wanted.
            busy_ticks: how many ticks all CPUs together have run processes so far, read just before.
        """
        self._line_up()
        self._sweep(in_full=demand.every_field)
        self._pace.set(busy_ticks, self._clock_ticks)
        self._identify(NAMES_WAIT_IN_FULL_S if demand.every_field else NAMES_WAIT_S)
        self._line_up()
        return dict(self._rows)

    def close(self) -> None:
        """Lets go of all descriptors; waits for nothing."""
        self._names.close()
        self._fuse.close()
        if self._births is not None:
            self._births.close()
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

    def _find_born(self, created: Count) -> list[str]:
        """The numbers of processes that were not there before, by a listing only where nothing cheaper can tell."""
        nobody_new = created == self._created and created != 0 and not isinstance(created, Missing)
        self._created = created
        must_list = self._turn % ACTIVE_TURNS == 0 or not self._known
        if nobody_new and not must_list:
            return []
        in_turn = None if self._births is None else self._births.since_last()
        if must_list or in_turn is None:
            return self._follow_list()
        return [name for name in in_turn if name not in self._known]

    def _look_at(self, demand: Demand) -> None:
        for key in demand.visible | demand.members:
            tracked = self._known.get(str((key.tid or key.pid) if self._threads else key.pid))
            if tracked is not None:
                self._active.add(tracked)
                if self._local:
                    self._read_priority(tracked)

    def _follow_list(self) -> list[str]:
        """Drops the processes that are no longer listed; the numbers of those that were not there before."""
        try:
            listed = set(self._list_threads() if self._threads else os.listdir(self._procfs))
        except OSError as error:
            if error.errno in EXHAUSTED:
                return []
            raise
        for name in self._known.keys() - listed:
            self._drop(name)
        return [name for name in listed.difference(self._known) if name.isdigit()]

    def _line_up(self) -> None:
        if self._stale:
            self._io.line_up(self._known.values())
            self._stale = False

    def _sweep(self, *, in_full: bool) -> None:
        born: list[str] = []
        changed = self._io.find_changed()
        busy = {*(self._io.kept[position] for position in changed), *self._active, *self._io.loose}
        self._active = set()
        for tracked in busy:
            if self._known.get(str(tracked.number)) is tracked:
                self._attempt(tracked, self._refresh, in_full, born)
        self._io.remember(changed)
        first, step = (0, 1) if in_full else (self._turn % self._pace.turns, self._pace.turns)
        for tracked in self._io.denied[first::step]:
            if tracked not in busy:
                self._attempt(tracked, self._refresh, in_full, born)
        for tracked in self._io.kept[first::step]:
            if tracked not in busy:
                self._attempt(tracked, self._glance, in_full, born)
        for name in sorted(born, key=int):
            self._meet(name, in_full)

    def _attempt(self, tracked: Tracked, read: Callable[[Tracked, bool], None], in_full: bool, born: list[str]) -> None:
        """Reads a process. One that is gone is dropped; its number may have been given to another one already."""
        descriptor, state = tracked.io_fd, tracked.io_state
        try:
            read(tracked, in_full)
        except GoneError:
            name = str(tracked.number)
            self._drop(name)
            born.append(name)
        if tracked.io_fd != descriptor or tracked.io_state is not state:
            self._stale = True

    def _meet(self, name: str, in_full: bool) -> None:
        """Begins to follow a process, if it is still there."""
        directory = f"{self._procfs}/{name}"
        pid, tid = int(name), 0
        if self._threads:
            owner = self._owners[name]
            directory = f"{self._procfs}/{owner}/task/{name}"
            pid, tid = int(owner), pid
        try:
            tracked = Tracked(directory, pid, tid, self._budget)
        except (GoneError, OSError, ValueError):
            return
        if in_full and self._local:
            self._read_priority(tracked)
        tracked.active_until = self._turn + 1
        self._pace.see(tracked.stat.counters.cpu_ticks)
        self._known[name] = tracked
        self._fresh.append(tracked)
        self._active.add(tracked)
        self._stale = True

    def _drop(self, name: str) -> None:
        tracked = self._known.pop(name)
        tracked.close()
        self._rows.pop(int(name), None)
        self._stale = True

    def _refresh(self, tracked: Tracked, in_full: bool) -> None:
        """Reads both files; one that may not be read only now and then."""
        state = tracked.io_state
        moved = False
        if state is None or time.monotonic() >= tracked.io_retry:
            raw = tracked.read_io()
            moved = raw != tracked.io_raw or tracked.io_state is not state
            if moved:
                tracked.live = None
                tracked.take_io(raw)
                tracked.reads_fuse = self._fuse.reads(tracked.key)
        self._take(tracked, tracked.update_stat(), moved, in_full)

    def _glance(self, tracked: Tracked, in_full: bool) -> None:
        """Reads the stat file of a process whose io file is as it was."""
        before = tracked.update_stat()
        if before is not None or in_full or tracked.stat_fd >= 0:
            self._take(tracked, before, False, in_full)

    def _take(self, tracked: Tracked, before: ProcessStat | None, moved: bool, in_full: bool) -> None:
        """Makes a new row if anything changed, and decides how closely the process is watched from now on."""
        if (before is not None and tracked.stat.counters.cpu_ticks != before.counters.cpu_ticks) or moved:
            tracked.active_until = self._turn + ACTIVE_TURNS
        if tracked.active_until > self._turn:
            self._active.add(tracked)
            tracked.wants_stat_fd = True
        elif not in_full and tracked.stat_fd >= 0:
            tracked.release_stat()
        if before is not None:
            self._pace.see(tracked.stat.counters.cpu_ticks - before.counters.cpu_ticks)
            self._judge_program(tracked, before.program)
        if in_full:
            tracked.wants_stat_fd = True
            if self._local:
                self._read_priority(tracked)
        if tracked.identity is None:  # the row is made when its names are known
            return
        if moved or before is not None or tracked.io_priority is not tracked.counters.io_priority:
            self._build(tracked)

    def _build(self, tracked: Tracked) -> None:
        self._rows[tracked.number] = tracked.build(self._boot_time, self._clock_ticks)

    def _judge_program(self, tracked: Tracked, before: tuple[bytes, bytes, bytes]) -> None:
        if tracked.stat.program != before:
            tracked.io_retry = 0.0
            self._ask.append(tracked)
        elif tracked.active_until > self._turn and time.monotonic() - tracked.asked_at > _NAMES_AGE_S:
            self._ask_later.append(tracked)

    def _read_priority(self, tracked: Tracked) -> None:
        found = io_priority(tracked.number, tracked.stat.nice_class)
        if found != tracked.io_priority:
            tracked.io_priority = found

    def _identify(self, wait_s: float) -> None:
        """Asks who the new and changed processes are, waits a little for the new, and completes the rows."""
        self._ask += self._fresh
        if self._turn % _NAMES_EVERY == 0:
            if not self._in_turn:
                self._in_turn = list(self._known.values())
            some = 1 + len(self._known) // _NAMES_IN_TURN
            self._ask += self._in_turn[-some:] + self._ask_later
            del self._in_turn[-some:]
            self._ask_later = []
        now = time.monotonic()
        for tracked in self._ask:
            tracked.asked_at = now
        self._names.ask(dict.fromkeys(tracked.key for tracked in self._ask))
        arrived = self._names.collect(wait_s if self._fresh else 0.0)
        for key, identity, whole in arrived:
            found = self._known.get(str(key.tid or key.pid))
            if found is None or found.key != key or identity.uid is None:
                continue
            if whole:
                found.named_program = found.stat.program
            elif found.named_program == found.stat.program and found.identity is not None:
                identity = identity._replace(command=found.identity.command)
            if identity != found.identity:
                self._name(found, identity)
        for uid, user in self._users.arrived().items():
            for tracked in self._known.values():
                if tracked.identity is not None and tracked.identity.uid == uid and tracked.identity.user != user:
                    self._name(tracked, tracked.identity._replace(user=user))
        for tracked in self._fresh:
            if tracked.identity is None:
                self._name(tracked, self._provisional(tracked))
        self._fresh = []
        self._ask = []

    def _name(self, tracked: Tracked, identity: Identity) -> None:
        tracked.identity = identity
        self._build(tracked)

    def _provisional(self, tracked: Tracked) -> Identity:
        """What the directory's owner tells, until the process itself is read: root where it hides its memory."""
        try:
            uid = os.stat(tracked.directory).st_uid
        except OSError:
            uid = 0
        return Identity(uid, self._users.name(uid), "", "", None)
