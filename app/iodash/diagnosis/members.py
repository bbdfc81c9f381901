"""A job's account: what its members did together, its totals, and who lags behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from iodash.diagnosis.signals import mean, total
from iodash.model.frame import JobRow
from iodash.model.missing import Missing, known

if TYPE_CHECKING:
    from iodash.diagnosis.jobs import Job, Rank
    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.missing import Number
    from iodash.model.sample import ProcessKey

_SMOOTHING_S = 8.0
_FEWEST_SIBLINGS = 3
_LAGGING_UTIL = 15.0


def _or_missing(value: float | None) -> Number:
    return Missing.NOT_MEASURED if value is None else value


@dataclass(slots=True)
class _Pace:
    """A member's smoothed pace."""

    blocked: float = 0.0
    read: float = 0.0
    seconds: float = 0.0

    def add(self, blocked: float, read: float, seconds: float) -> None:
        part = min(1.0, seconds / _SMOOTHING_S) if self.seconds else 1.0
        self.blocked += part * (blocked - self.blocked)
        self.read += part * (read - self.read)
        self.seconds += seconds


@dataclass(slots=True)
class JobAccount:
    """Keeps a job's totals, which survive workers that come and go each epoch."""

    read_total: float = 0.0
    write_total: float = 0.0
    paces: dict[ProcessKey, _Pace] = field(default_factory=dict)

    def row(self, frame: Frame, job: Job) -> JobRow:
        """The job in this frame; adds the frame's bytes to the totals."""
        rows = job.rows
        read = total(rows, lambda row: row.read_bytes_per_s)
        write = total(rows, lambda row: row.write_bytes_per_s)
        self.read_total += (read or 0.0) * frame.interval_s
        self.write_total += (write or 0.0) * frame.interval_s
        members = frame.readings.members
        workers = job.workers
        return JobRow(
            name=job.name,
            label=job.label,
            ranks=tuple(rank.row.key for rank in job.ranks),
            workers=tuple(row.key for row in workers),
            others=tuple(row.key for row in job.others),
            gpus=job.gpus,
            read_bytes_per_s=_or_missing(read),
            write_bytes_per_s=_or_missing(write),
            logical_read_bytes_per_s=_or_missing(total(rows, lambda row: row.logical_read_bytes_per_s)),
            cpu_percent=_or_missing(total(rows, lambda row: row.cpu_percent)),
            worker_cpu_percent=_or_missing(mean(known(row.cpu_percent) for row in workers)),
            worker_blocked_percent=_or_missing(
                mean(known(members[row.key].blocked_percent) for row in workers if row.key in members)
            ),
            read_bytes_total=Missing.NO_PERMISSION if read is None and not self.read_total else round(self.read_total),
            write_bytes_total=Missing.NO_PERMISSION
            if write is None and not self.write_total
            else round(self.write_total),
            stragglers=self._stragglers(frame, job),
            root=next((row.key for row in rows if row.key.pid == job.root), None),
        )

    def _stragglers(self, frame: Frame, job: Job) -> tuple[ProcessKey, ...]:
        alive = {row.key for row in job.rows}
        self.paces = {key: pace for key, pace in self.paces.items() if key in alive}
        found: list[ProcessKey] = []
        for rank in job.ranks:
            self._follow(frame, rank.workers)
            found.extend(self._lagging_workers(rank))
        found.extend(_lagging_ranks(frame, job))
        return tuple(found)

    def _follow(self, frame: Frame, workers: tuple[ProcessRow, ...]) -> None:
        for row in workers:
            member = frame.readings.members.get(row.key)
            blocked = known(member.blocked_percent) if member is not None else None
            if blocked is None:
                blocked = 100.0 if row.state == "D" else 0.0
            pace = self.paces.setdefault(row.key, _Pace())
            pace.add(blocked, known(row.logical_read_bytes_per_s) or 0.0, frame.interval_s)

    def _lagging_workers(self, rank: Rank) -> list[ProcessKey]:
        """Workers that are stuck waiting, or read next to nothing, while their siblings work."""
        paces = {row.key: self.paces[row.key] for row in rank.workers}
        if len(paces) < _FEWEST_SIBLINGS or min(pace.seconds for pace in paces.values()) < _SMOOTHING_S / 2:
            return []
        blocked = median(pace.blocked for pace in paces.values())
        read = median(pace.read for pace in paces.values())
        return [
            key
            for key, pace in paces.items()
            if (pace.blocked > 60 and blocked < 25) or (read > 1 << 20 and pace.read < 0.1 * read)
        ]


def rank_utils(frame: Frame, job: Job) -> dict[ProcessKey, float]:
    """Utilisation of the GPUs of each rank, in percent, as far as it is known."""
    utils: dict[ProcessKey, float] = {}
    for rank in job.ranks:
        gpus = () if isinstance(rank.row.gpus, Missing) else rank.row.gpus
        util = mean(known(gpu.util_percent) for gpu in frame.gpus if gpu.concerns(gpus, (rank.row.key.pid,)))
        if util is not None:
            utils[rank.row.key] = util
    return utils


def _lagging_ranks(frame: Frame, job: Job) -> list[ProcessKey]:
    """Ranks whose GPU is used clearly less than those of the others, which wait for it in collectives."""
    utils = rank_utils(frame, job)
    if len(utils) < 2:
        return []
    usual = median(utils.values())
    return [key for key, util in utils.items() if util < usual - _LAGGING_UTIL]
