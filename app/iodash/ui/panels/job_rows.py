"""Job rows of the process table: what a job does as a whole on one row, its members beneath it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from iodash.columns.processes import label
from iodash.model.missing import Missing
from iodash.outputs.select import order_processes, pick_processes
from iodash.sampling.sums import RATES, cache_hits, summed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from iodash.model.frame import Frame, JobRow, ProcessRow
    from iodash.model.missing import Text
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings

_SUMS = ("threads", *RATES, "io_delay_percent", "resident_bytes", "gpu_memory_bytes", "gpu_sm_percent")
"""The fields of a job row that are sums over its processes."""

_FEWEST_LISTED = 2
"""A single process needs no row above it."""

_FILLS = 1 / 2
"""Members that fill more of the table than this are hidden at first."""

_OPENS_AGAIN = 1 / 3
"""So few they must be to show again, so that a line more or less in the table opens and closes nothing."""

SEVERAL = "mixed"
"""Stands where the processes of a job differ in a text."""


@dataclass(frozen=True, slots=True)
class JobKey:
    """The identity of a job's row: that of its topmost process, but equal to no process's own."""

    root: ProcessKey


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A job with at least two listed processes.

    `total` is the whole job as if it were one process, `size` of how many; `members` are those that are listed, in
    their order. `ranks` maps the pid of a rank to its words, such as `rank 0, 8 workers`.
    """

    key: JobKey
    job: JobRow
    total: ProcessRow
    size: int
    members: tuple[ProcessRow, ...]
    ranks: Mapping[int, str]


TableRow: TypeAlias = "ProcessRow | JobGroup"
"""What stands in the process table."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of `frame` that `choice` asks for, in its order: `count` processes, those of a job in its group."""

    frame: Frame
    choice: Settings
    rows: Sequence[TableRow]
    groups: Mapping[str, JobGroup]
    count: int

    def is_of(self, frame: Frame, choice: Settings) -> bool:
        """Whether this is what is asked for."""
        return self.frame is frame and self.choice == choice


def list_processes(frame: Frame, choice: Settings) -> Listing:
    """Picks and orders the processes of a frame.

    A job stands where its sums belong, its members are in the same order among themselves. Threads stand alone.
    """
    picked = pick_processes(frame.processes, choice)
    groups = {} if frame.threads or not frame.jobs else _groups(frame, picked, choice)
    if not groups:
        return Listing(frame, choice, order_processes(picked, choice), {}, len(picked))
    rows = order_processes(_folded(picked, groups), choice)
    totals = {id(group.total): group for group in groups.values()}
    return Listing(frame, choice, [totals.get(id(row), row) for row in rows], groups, len(picked))


def _groups(frame: Frame, picked: Iterable[ProcessRow], choice: Settings) -> dict[str, JobGroup]:
    listed = _by_job(picked)
    everyone = _by_job(frame.processes)
    groups: dict[str, JobGroup] = {}
    for job in frame.jobs:
        members = listed.get(job.name, ())
        if len(members) >= _FEWEST_LISTED:
            rows = everyone[job.name]
            total = whole_job(job, rows)
            ordered = tuple(order_processes(members, choice))
            groups[job.name] = JobGroup(JobKey(total.key), job, total, len(rows), ordered, _rank_words(job, rows))
    return groups


def _by_job(rows: Iterable[ProcessRow]) -> dict[str, list[ProcessRow]]:
    found: dict[str, list[ProcessRow]] = {}
    for row in rows:
        if row.job is not None:
            found.setdefault(row.job, []).append(row)
    return found


def _folded(rows: Iterable[ProcessRow], groups: Mapping[str, JobGroup]) -> list[ProcessRow]:
    """The sums of each group in the place of the first of its members."""
    folded: list[ProcessRow] = []
    seen: set[str] = set()
    for row in rows:
        if row.job is None or row.job not in groups:
            folded.append(row)
        elif row.job not in seen:
            seen.add(row.job)
            folded.append(groups[row.job].total)
    return folded


# The sums


def whole_job(job: JobRow, rows: Sequence[ProcessRow]) -> ProcessRow:
    """A job as one process: who its topmost process is, and what all of its `rows` do together.

    A sum is over what is known of the processes, and missing only when all are. The totals are the job's own, which
    workers that ended are part of. The cache hits are worked out from the sums.
    """
    root = next((row for row in rows if row.key == job.root), rows[0])
    sums = summed(rows, _SUMS)
    states = {row.state for row in rows}
    return replace(
        root,
        name=job.label,
        role=job_words(job),
        state=next((state for state in ("D", "R") if state in states), root.state),
        cache_hit_percent=cache_hits(rows, sums),
        read_bytes_total=job.read_bytes_total,
        write_bytes_total=job.write_bytes_total,
        io_priority=_common(row.io_priority for row in rows),
        cgroup=_common(row.cgroup for row in rows),
        container=_common(row.container for row in rows),
        gpus=_gpus(rows),
        gpus_guessed=any(row.gpus_guessed for row in rows),
        **sums,
    )


def _common(values: Iterable[Any]) -> Any:
    different = set(values)
    return different.pop() if len(different) == 1 else SEVERAL


def _gpus(rows: Iterable[ProcessRow]) -> tuple[int, ...] | Missing:
    found = [row.gpus for row in rows]
    known = [gpus for gpus in found if not isinstance(gpus, Missing)]
    return tuple(sorted({index for gpus in known for index in gpus})) if known else found[0]


# The words


def job_words(job: JobRow) -> str:
    """Who belongs to a job: `2 ranks, 16 workers`."""
    parts = []
    if len(job.ranks) > 1 or not job.workers:
        parts.append(_counted(len(job.ranks), "rank"))
    if job.workers:
        parts.append(_counted(len(job.workers), "worker"))
    if job.others:
        parts.append(_counted(len(job.others), "other"))
    return ", ".join(parts)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _rank_words(job: JobRow, rows: Iterable[ProcessRow]) -> dict[int, str]:
    ranks = frozenset(job.ranks)
    return {row.pid: _without_label(row.role or "", job.label) for row in rows if row.key in ranks}


def _without_label(role: str, job_label: str) -> str:
    words = role.removeprefix(job_label).lstrip(" ,")
    return words if words.startswith("rank") else ", ".join(filter(None, ("main process", words)))


def member_words(row: ProcessRow, group: JobGroup) -> str:
    """What stands for a member beneath its job: its part, with the name where that doesn't follow from it."""
    return member_part(row, group) if row.pid in group.ranks or _loads(row) else label(row)


def _loads(row: ProcessRow) -> bool:
    return row.role is not None and row.role.startswith("loader worker")


def member_part(row: ProcessRow, group: JobGroup) -> str:
    """What a member is in its job, which stands above it: `rank 0, 8 workers`, `loader worker 3 of rank 1`."""
    if row.pid in group.ranks:
        return group.ranks[row.pid]
    parent: Text | int = row.ppid
    if row.role is None or not _loads(row):
        return row.role or ""
    if len(group.ranks) > 1 and isinstance(parent, int) and parent in group.ranks:
        return f"{row.role} of {group.ranks[parent].partition(',')[0]}"
    return row.role


def sum_words(group: JobGroup, *, is_open: bool) -> str:
    """What the footer says of a job row."""
    listed = len(group.members)
    all_of_them = f"sum of {group.size} processes" + ("" if listed == group.size else f", {listed} of them listed")
    return f"{group.job.label}: {all_of_them}; Enter {'closes' if is_open else 'opens'}"


# Open and closed


class OpenJobs:
    """Which jobs show their members.

    A job about which the user said nothing is open unless its members fill more than half of the table. What counts is
    the most that were listed at a time, so that workers who come and go each epoch change nothing.
    """

    def __init__(self) -> None:
        self._chosen: dict[JobKey, bool] = {}
        self._most: dict[JobKey, int] = {}
        self._too_many: frozenset[JobKey] = frozenset()
        self._picked_by: object = None

    def look(self, listing: Listing, room: int) -> None:
        """Looks at how many members there are for `room` rows."""
        choice = listing.choice
        picked_by = (choice.filter, choice.user, choice.pid, choice.only)
        before = self._most if picked_by == self._picked_by else {}
        self._picked_by = picked_by
        self._most = {group.key: max(before.get(group.key, 0), len(group.members)) for group in listing.groups.values()}
        self._too_many = frozenset(
            key
            for key, most in self._most.items()
            if most > (room * _OPENS_AGAIN if key in self._too_many and key in before else room * _FILLS) > 0
        )

    def is_open(self, group: JobGroup) -> bool:
        """Whether the members are shown."""
        return self._chosen.get(group.key, group.key not in self._too_many)

    def toggle(self, group: JobGroup) -> None:
        """Opens or closes a job, until the user does so again."""
        self._chosen[group.key] = not self.is_open(group)

    def laid_out(self, listing: Listing) -> Sequence[TableRow]:
        """The rows of the table, top to bottom: those of the listing, open jobs with their members beneath."""
        if not any(self.is_open(group) for group in listing.groups.values()):
            return listing.rows
        rows: list[TableRow] = []
        for row in listing.rows:
            rows.append(row)
            if isinstance(row, JobGroup) and self.is_open(row):
                rows += row.members
        return rows
