"""What the rules need of the members of jobs: looks at their threads, their facts, their control groups."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.model.members import CgroupCounters, IoLimit, JobReadings, MemberFacts
from iodash.model.missing import Missing
from iodash.sources.local.beside import BesideReader
from iodash.sources.local.busy_threads import BusyThreads
from iodash.sources.local.cgroups import Cgroup, CgroupLimits, IoAmount
from iodash.sources.local.containers import limits_path
from iodash.sources.local.job_facts import member_facts
from iodash.sources.local.kept_file import read_bytes
from iodash.sources.local.looks import Looks
from iodash.sources.local.mounts import MountReader
from iodash.sources.local.topology import Blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from iodash.model.missing import Number
    from iodash.model.sample import ProcessKey
    from iodash.sources.local.cgroups import DeviceNumber

_FACTS_AGE_S = 5.0
_FACTS_AT_ONCE = 8
_FACTS_LIMIT_S = 1.0
_LIMITS_AGE_S = 5.0


class MemberReader:
    """Reads the members of jobs under judgement. With no members it costs nothing."""

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._looks = Looks(procfs)
        self._threads = BusyThreads(procfs)
        self._facts = _FactsBeside(procfs, sysfs)
        self._groups: dict[ProcessKey, str] = {}
        self._cgroups: dict[str, _Group] = {}
        self._mounts: MountReader | None = None
        self._blocks = Blocks(procfs, sysfs)
        self._watching = False

    def read(self, members: frozenset[ProcessKey], threaded: frozenset[ProcessKey] = frozenset()) -> JobReadings:
        """The counters of the members now, with the newest facts. Never waits for a process.

        Of those in `threaded` the threads beside the main one that have work are read as well.
        """
        if not members and not self._watching:
            return JobReadings()
        self._watching = bool(members)
        threads = self._threads.busy(threaded)
        self._looks.watch(members | threads, with_io=threaded | threads)
        if not members:
            self._groups.clear()
            self._cgroups.clear()
            return JobReadings()
        facts = self._facts.newest(members)
        self._follow_groups(members, facts)
        return JobReadings(
            members=self._looks.read(),
            facts=facts,
            cgroups={path: group.read() for path, group in self._cgroups.items()},
        )

    def close(self) -> None:
        """Lets go of everything at once."""
        self._looks.close()
        self._facts.close()
        if self._mounts is not None:
            self._mounts.close()

    def _follow_groups(self, members: frozenset[ProcessKey], facts: Mapping[ProcessKey, MemberFacts]) -> None:
        """Sees to the groups of all members. Who was moved to another one is noticed by its facts."""
        if self._mounts is None:
            self._mounts = MountReader(self._procfs)
        self._groups = {
            key: path
            for key, path in self._groups.items()
            if key in members and (key not in facts or facts[key].cgroup in ("", path))
        }
        for key in members - self._groups.keys():
            content = read_bytes(self._procfs / str(key.pid) / "cgroup")
            if content is None:
                continue
            path = self._groups[key] = limits_path(content)
            if path not in self._cgroups:
                self._cgroups[path] = _Group(path, Cgroup(content, self._mounts.table()), self._blocks)
        used = set(self._groups.values())
        self._cgroups = {path: group for path, group in self._cgroups.items() if path in used}


class _FactsBeside:
    """Reads facts beside the sampler, a few members at a time. Of one that hangs it tells what doesn't."""

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._blocks = Blocks(procfs, sysfs)
        self._beside = BesideReader("iodash-facts", self._read, _FACTS_LIMIT_S)
        self._facts: dict[ProcessKey, MemberFacts] = {}
        self._due: dict[ProcessKey, float] = {}

    def newest(self, members: frozenset[ProcessKey]) -> dict[ProcessKey, MemberFacts]:
        now = time.monotonic()
        for key, facts, whole in self._beside.collect():
            known = self._facts.get(key)
            self._facts[key] = facts if whole or known is None else replace(facts, environment=known.environment)
        self._facts = {key: facts for key, facts in self._facts.items() if key in members}
        self._due = {key: self._due.get(key, 0.0) for key in members}
        if not self._beside.busy:
            due = sorted((moment, key) for key, moment in self._due.items())
            chosen = [key for moment, key in due[:_FACTS_AT_ONCE] if moment <= now]
            self._due.update(dict.fromkeys(chosen, now + _FACTS_AGE_S))
            if chosen:
                self._blocks = Blocks(self._procfs, self._sysfs)
                self._beside.ask(chosen)
        return dict(self._facts)

    def close(self) -> None:
        self._beside.close()

    def _read(self, key: ProcessKey) -> Iterator[MemberFacts]:
        return member_facts(self._procfs, self._blocks, key)


class _Group:
    """One control group: its counters at every reading, its limits every few seconds."""

    def __init__(self, path: str, cgroup: Cgroup, blocks: Blocks) -> None:
        self._path = path
        self._cgroup = cgroup
        self._blocks = blocks
        self._limits = CgroupLimits()
        self._limits_due = 0.0

    def read(self) -> CgroupCounters:
        now = time.monotonic()
        if now >= self._limits_due:
            self._limits = self._cgroup.limits()
            self._limits_due = now + _LIMITS_AGE_S
        pressure = self._cgroup.pressure()
        memory_used, refaults = self._cgroup.memory()
        amounts = self._amounts()
        return CgroupCounters(
            path=self._path,
            cpu_quota=_limit(self._limits.cpus),
            cpu_periods=self._cgroup.quota_periods(),
            io_limits=self._io_limits(),
            read_bytes={name: amount.read_bytes for name, amount in amounts.items()},
            write_bytes={name: amount.written_bytes for name, amount in amounts.items()},
            read_operations={name: amount.reads for name, amount in amounts.items()},
            write_operations={name: amount.writes for name, amount in amounts.items()},
            memory_used_bytes=memory_used,
            memory_limit_bytes=_limit(
                min((m for m in (self._limits.memory_max_bytes, self._limits.memory_high_bytes) if m), default=None)
            ),
            refault_pages=refaults,
            pressure_cpu_some_us=pressure.cpu_some_us,
            pressure_io_some_us=pressure.io_some_us,
            pressure_io_full_us=pressure.io_full_us,
            pressure_memory_some_us=pressure.memory_some_us,
            pressure_memory_full_us=pressure.memory_full_us,
        )

    def _amounts(self) -> dict[str, IoAmount]:
        amounts = self._cgroup.io()
        if isinstance(amounts, Missing):
            return {}
        return {self._name(number): amount for number, amount in amounts.items()}

    def _io_limits(self) -> tuple[IoLimit, ...]:
        limits: list[IoLimit] = []
        for number, limit in self._limits.io.items():
            name = self._name(number)
            if limit.read_bytes_per_s is not None:
                limits.append(IoLimit(name, "read", "bytes", limit.read_bytes_per_s))
            if limit.write_bytes_per_s is not None:
                limits.append(IoLimit(name, "write", "bytes", limit.write_bytes_per_s))
            if limit.reads_per_s is not None:
                limits.append(IoLimit(name, "read", "operations", limit.reads_per_s))
            if limit.writes_per_s is not None:
                limits.append(IoLimit(name, "write", "operations", limit.writes_per_s))
        return tuple(limits)

    def _name(self, number: DeviceNumber) -> str:
        return self._blocks.by_number(*number) or f"{number[0]}:{number[1]}"


def _limit(value: float | None) -> Number:
    return Missing.OFF if value is None else value
