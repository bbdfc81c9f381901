"""Which process is on which GPU, where the driver's pids and this host's may belong to different namespaces.

What the driver does depends on its version, as its open kernel modules show: before 535.113.01 every list holds the
host's pids; from there on lists are translated to the caller's namespace; the utilisation samples are translated only
from 570.86.15 on, and keep the host's pid where there is no translation. So a sample is joined only to a pid that is
in the same GPU's list.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iodash.formatting.units import bytes_in_words
from iodash.model.missing import Missing
from iodash.model.sample import GpuProcess
from iodash.sources.local.kept_file import read_bytes

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from iodash.model.missing import Count, Number

TRANSLATED_LISTS = (535, 113, 1)
"""The first driver whose process lists hold pids of the caller's namespace."""

UNACCOUNTED_BYTES = 256 << 20
"""Less than this is the driver's own, and not worth a sentence."""

_TICKS = os.sysconf("SC_CLK_TCK")

SEE_THE_REST = "start the container with --pid=host to see the others"


def version_of(driver: str | None) -> tuple[int, ...]:
    """A driver's version as numbers that compare; empty when it is none."""
    try:
        return tuple(int(part) for part in (driver or "").split("."))
    except ValueError:
        return ()


@dataclass(frozen=True, slots=True)
class Joined:
    """The processes of one GPU, with a sentence on what is not among them."""

    processes: tuple[GpuProcess, ...] | Missing
    note: str


class ProcessJoin:
    """Joins the driver's lists with this host's processes.

    `apart`: other processes of the machine are out of sight, so that a pid of the driver may be somebody else's.
    """

    def __init__(self, procfs: Path, *, apart: bool) -> None:
        self._procfs = procfs
        self._apart = apart
        self._first_seen: dict[tuple[str, int], float] = {}

    def join(
        self, gpu: dict[str, Any], driver: str | None, visible: Collection[int], holders: Collection[int]
    ) -> Joined:
        """The processes of one GPU as the worker reported it; `holders` have its device file open."""
        listed: list[tuple[int, int | None]] | None = gpu["processes"]
        if listed is None:
            return Joined(Missing(_why(gpu["missing"])), gpu["processes_note"])
        here = self._in_sight(gpu["uuid"], [pid for pid, _ in listed], version_of(driver), visible)
        usage, note = self._usage(gpu["process_samples"], [pid for pid, _ in listed])
        processes = [
            GpuProcess(
                pid=pid,
                memory_bytes=Missing.UNSUPPORTED if memory is None else memory,
                sm_percent=usage[pid],
                visible=pid in here,
            )
            for pid, memory in listed
        ]
        notes = [gpu["processes_note"], note, _unaccounted(gpu.get("memory_used_bytes"), listed)]
        if self._apart:
            if not listed:
                processes = [_guess(pid) for pid in sorted(holders) if pid in visible]
                if processes:
                    notes.append("these hold its device file: a guess, since the driver lists no process here")
            if (not listed and notes[2]) or len(here) < len(listed):
                notes.append(SEE_THE_REST)
        return Joined(tuple(processes), "; ".join(part for part in notes if part))

    def forget_all_but(self, present: Collection[tuple[str, int]]) -> None:
        """Drops what was remembered of processes that no GPU lists any more."""
        self._first_seen = {key: seen for key, seen in self._first_seen.items() if key in present}

    def _in_sight(
        self, uuid: str, pids: list[int], driver: tuple[int, ...], visible: Collection[int]
    ) -> frozenset[int]:
        """The listed pids that are processes of this host, and not merely the same number."""
        if not self._apart:
            return frozenset(pid for pid in pids if pid in visible)
        if driver and driver < TRANSLATED_LISTS:
            return frozenset()
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        return frozenset(
            pid
            for pid in pids
            if (seen := self._first_seen.setdefault((uuid, pid), now)) and pid in visible and self._born(pid) <= seen
        )

    def _born(self, pid: int) -> float:
        """Seconds since boot at which the process started (/proc/PID/stat, field 22); endless when it is gone."""
        stat = read_bytes(self._procfs / str(pid) / "stat")
        if stat is None:
            return float("inf")
        return int(stat.rpartition(b")")[2].split()[19]) / _TICKS

    def _usage(self, samples: list[tuple[int, int]] | None, listed: list[int]) -> tuple[dict[int, Number], str]:
        """SM share of each listed pid. The driver leaves out processes that did nothing."""
        if samples is None:
            return dict.fromkeys(listed, Missing.UNSUPPORTED), ""
        by_pid: dict[int, list[int]] = {}
        for pid, percent in samples:
            by_pid.setdefault(pid, []).append(percent)
        foreign = by_pid.keys() - set(listed)
        if self._apart and len(listed) == 1 and len(by_pid) == 1 and foreign:
            (percents,) = by_pid.values()
            return {listed[0]: sum(percents) / len(percents)}, "SM % is of the only process that the driver measured"
        idle: Number = Missing.NOT_IN_CONTAINER if self._apart and foreign else 0
        usage = dict.fromkeys(listed, idle)
        for pid in listed:
            percents = by_pid.get(pid, [])
            if len(percents) > 1 and self._apart:
                usage[pid] = Missing.NOT_IN_CONTAINER
            elif percents:
                usage[pid] = sum(percents) / len(percents)
        return usage, ""


def _why(missing: dict[str, str]) -> str:
    return missing.get("processes") or missing.get("*") or "not_measured"


def _guess(pid: int) -> GpuProcess:
    return GpuProcess(pid, Missing.NOT_IN_CONTAINER, Missing.NOT_IN_CONTAINER, visible=True, guess=True)


def _unaccounted(used: int | None, listed: list[tuple[int, int | None]]) -> str:
    """A sentence on memory that no listed process holds: a dead process, or one out of sight."""
    amounts: list[Count] = [Missing.UNSUPPORTED if memory is None else memory for _, memory in listed]
    if used is None or any(isinstance(amount, Missing) for amount in amounts):
        return ""
    rest = used - sum(amount for amount in amounts if not isinstance(amount, Missing))
    if rest < UNACCOUNTED_BYTES:
        return ""
    return f"{bytes_in_words(rest)} are held by no process that is listed"
