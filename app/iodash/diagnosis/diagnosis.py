"""The judge of successive frames: finds the jobs, keeps a window of signals for each, and lets the rules speak."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

from iodash.diagnosis.busy_trees import BusyTrees
from iodash.diagnosis.devices import DeviceStates
from iodash.diagnosis.jobs import find_jobs, role_of
from iodash.diagnosis.members import JobAccount, rank_utils
from iodash.diagnosis.processes import Processes
from iodash.diagnosis.scene import SETTLED_S, WINDOW_S, Scene
from iodash.diagnosis.sight import OutOfSight
from iodash.diagnosis.signals import measure
from iodash.diagnosis.verdicts import Line, judge, no_job, worst
from iodash.model.frame import ProcessRow
from iodash.model.missing import Missing, known

if TYPE_CHECKING:
    from iodash.diagnosis.jobs import Job, Rank
    from iodash.diagnosis.signals import Moment
    from iodash.model.frame import DeviceRow, Frame, JobRow, Verdict
    from iodash.model.members import DataPlace, MemberFacts
    from iodash.model.sample import ProcessKey

_NAMES = [each.name for each in fields(ProcessRow)]
_BEFORE = attrgetter(*_NAMES[: _NAMES.index("job")])
_AFTER = attrgetter(*_NAMES[_NAMES.index("role") + 1 :])

_REMEMBER_PLACES_S = 60.0
_WANTED_MEMBERS = 128
_WANTED_RANKS = 16
_AT_WORK_PERCENT = 2.0
_SMOOTHING_S = 5.0
_LATE_PERCENT = 30.0
_AT_WORK_WITH_OTHERS = 60.0
_FEWEST_MOMENTS = 2


_Judged: TypeAlias = "tuple[tuple[JobRow, ...], Verdict | None, tuple[Verdict, ...]]"
"""The jobs, the worst verdict and all verdicts of a frame."""


@dataclass(slots=True)
class _Case:
    """What is remembered of one job from frame to frame."""

    moments: deque[Moment] = field(default_factory=deque)
    places: dict[str, tuple[float, DataPlace]] = field(default_factory=dict)
    line: Line = field(default_factory=Line)
    account: JobAccount = field(default_factory=JobAccount)
    worked: dict[ProcessKey, float] = field(default_factory=dict)
    used: dict[ProcessKey, float] = field(default_factory=dict)
    late: ProcessKey | None = None


class Diagnosis:
    """Judges frames one after the other. With `pinned` pids only their trees are jobs.

    `wanted` are the members of the jobs seen: whoever reads the next sample should read more of them, for the rules;
    of those in `wanted_threads`, the ranks, also what their other threads do.
    """

    def __init__(self, pinned: frozenset[int] = frozenset()) -> None:
        self._pinned = pinned
        self._devices = DeviceStates()
        self._cases: dict[str, _Case] = {}
        self._nobody = Line()
        self._busy = BusyTrees()
        self._out_of_sight = OutOfSight()
        self._processes = Processes()
        self._annotated: dict[ProcessKey, tuple[ProcessRow, str, str, ProcessRow]] = {}
        self._judged: _Judged = ((), None, ())
        self.wanted: frozenset[ProcessKey] = frozenset()
        self.wanted_threads: frozenset[ProcessKey] = frozenset()

    def complete(self, frame: Frame) -> Frame:
        """The frame with device states, jobs, the members' part in them, and verdicts.

        A frame in which nothing is measured of its processes says nothing of jobs: what was found before it stands.
        """
        frame = replace(frame, devices=self._devices.judge(frame))
        if frame.switched:
            jobs, verdict, verdicts = self._judged
            return replace(frame, jobs=tuple(map(_unmeasured, jobs)), verdict=verdict, verdicts=verdicts)
        frame = self._judge_jobs(frame, replace(frame, processes=self._processes.of(frame), threads=False))
        self._judged = frame.jobs, frame.verdict, frame.verdicts
        return frame

    def _judge_jobs(self, shown: Frame, frame: Frame) -> Frame:
        """The shown frame as it is completed. `frame` is the same with a row for each process."""
        self._out_of_sight.look(frame)
        jobs = find_jobs(frame, frame.readings.facts, self._pinned, self._busy)
        self.wanted = frozenset([row.key for job in jobs for row in job.rows][:_WANTED_MEMBERS])
        self.wanted_threads = frozenset([rank.row.key for job in jobs for rank in job.ranks][:_WANTED_RANKS])
        if not jobs:
            self._cases.clear()
            self._annotated.clear()
            verdict = self._without_jobs(frame)
            return replace(shown, verdict=verdict, verdicts=() if verdict is None else (verdict,))
        self._nobody = Line()
        cases = {job.name: self._cases.get(job.name) or _Case() for job in jobs}
        self._cases = cases
        verdicts = tuple(self._judge(frame, job, cases[job.name]) for job in jobs)
        return replace(
            shown,
            processes=self._with_roles(shown, jobs),
            jobs=tuple(cases[job.name].account.row(frame, job) for job in jobs),
            verdict=worst(verdicts),
            verdicts=verdicts,
        )

    def _without_jobs(self, frame: Frame) -> Verdict | None:
        if frame.gpu_driver.status == "starting":
            return None
        return self._nobody.take(no_job(frame, self._pinned, self._out_of_sight.bytes_per_s))

    def _judge(self, frame: Frame, job: Job, case: _Case) -> Verdict:
        facts = [known_facts for row in job.rows if (known_facts := frame.readings.facts.get(row.key)) is not None]
        _remember_places(case, frame, facts)
        places = tuple(place for _, place in case.places.values())
        cgroup = facts[0].cgroup if facts else None
        late = _late_rank(case, frame, job)
        focus = job if late is None else replace(job, ranks=(late,), others=())
        dormant = _dormant(case, frame, job)
        case.moments.append(measure(frame, focus, _device_names(frame, job, places), cgroup, job.rows, dormant))
        while case.moments and case.moments[0].time < frame.time - SETTLED_S:
            case.moments.popleft()
        scene = Scene(
            job=focus,
            late=late,
            rows=job.rows,
            frame=frame,
            moments=_window(case.moments),
            settled=tuple(case.moments),
            places=places,
            remote_sockets=_sockets(facts),
            shared_memory=_shared_memory(frame, facts),
            cpus_allowed=max((n for fact in facts if (n := known(fact.cpus_allowed)) is not None), default=None),
        )
        return case.line.take(judge(scene))

    def _with_roles(self, frame: Frame, jobs: tuple[Job, ...]) -> tuple[ProcessRow, ...]:
        """The rows of a frame with the jobs that they belong to. A thread has the part of its process."""
        roles: dict[int, tuple[str, str]] = {}
        for job in jobs:
            for rank in job.ranks:
                roles[rank.row.pid] = (job.name, role_of(rank, job.label))
                for number, worker in enumerate(rank.workers):
                    roles[worker.pid] = (job.name, f"loader worker {number}")
            for row in job.others:
                roles[row.pid] = (job.name, "launcher" if row.key.pid == job.root else "helper")
        annotated: dict[ProcessKey, tuple[ProcessRow, str, str, ProcessRow]] = {}
        rows: list[ProcessRow] = []
        for row in frame.processes:
            found = roles.get(row.key.pid)
            if found is None:
                rows.append(row)
                continue
            name, role = found
            before = self._annotated.get(row.key)
            if before is not None and before[0] is row and before[1:3] == (name, role):
                annotated[row.key] = before
            else:
                annotated[row.key] = (row, name, role, _in_job(row, name, role))
            rows.append(annotated[row.key][3])
        self._annotated = annotated
        return tuple(rows)


def _unmeasured(job: JobRow) -> JobRow:
    return replace(
        job,
        read_bytes_per_s=Missing.NOT_MEASURED,
        write_bytes_per_s=Missing.NOT_MEASURED,
        logical_read_bytes_per_s=Missing.NOT_MEASURED,
        cpu_percent=Missing.NOT_MEASURED,
        worker_cpu_percent=Missing.NOT_MEASURED,
        worker_blocked_percent=Missing.NOT_MEASURED,
    )


def _in_job(row: ProcessRow, job: str, role: str) -> ProcessRow:
    """The row with its part in a job; `dataclasses.replace` takes twice as long."""
    values: tuple[Any, ...] = (*_BEFORE(row), job, role, *_AFTER(row))
    return ProcessRow(*values)


def _window(moments: deque[Moment]) -> tuple[Moment, ...]:
    """The newest moments that cover the window, at least two of them where there are two."""
    chosen: list[Moment] = []
    covered = 0.0
    for moment in reversed(moments):
        if covered >= WINDOW_S and len(chosen) >= _FEWEST_MOMENTS:
            break
        chosen.append(moment)
        covered += moment.seconds
    return tuple(reversed(chosen))


def _late_rank(case: _Case, frame: Frame, job: Job) -> Rank | None:
    """The rank that the others wait for in collectives, whose kernels keep their GPUs busy meanwhile: its GPU is used
    clearly less than theirs. What holds it up holds all up.
    """
    now = rank_utils(frame, job)
    part = min(1.0, frame.interval_s / _SMOOTHING_S)
    case.used = {key: (before := case.used.get(key, used)) + part * (used - before) for key, used in now.items()}
    ranks = {rank.row.key: rank for rank in job.ranks}
    late = min(case.used, key=lambda key: case.used[key], default=None)
    if late is None or len(case.used) < 2:
        case.late = None
        return None
    usual = median(used for key, used in case.used.items() if key != late)
    behind = _LATE_PERCENT if case.late != late else _LATE_PERCENT / 2
    case.late = late if usual >= _AT_WORK_WITH_OTHERS and usual - case.used[late] >= behind else None
    return None if case.late is None else ranks[case.late]


def _dormant(case: _Case, frame: Frame, job: Job) -> frozenset[ProcessKey]:
    """Workers that have done nothing for a whole window while others work: a validation loader keeps them waiting."""
    now = frame.time
    worked: dict[ProcessKey, float] = {}
    for row in job.workers:
        member = frame.readings.members.get(row.key)
        blocked = None if member is None else known(member.blocked_percent)
        at_work = (known(row.cpu_percent) or 0.0) >= _AT_WORK_PERCENT or (blocked or 0.0) >= _AT_WORK_PERCENT
        worked[row.key] = now if at_work or row.state == "D" else case.worked.get(row.key, now)
    case.worked = worked
    dormant = frozenset(key for key, since in worked.items() if now - since >= WINDOW_S)
    return dormant if len(dormant) < len(worked) else frozenset()


def _remember_places(case: _Case, frame: Frame, facts: list[MemberFacts]) -> None:
    """Files are open for a moment only, so a mount counts for a while after it was seen."""
    for fact in facts:
        if not isinstance(fact.places, Missing):
            for place in fact.places:
                case.places[place.mount_point] = (frame.time, place)
    old = [point for point, (seen, _) in case.places.items() if seen < frame.time - _REMEMBER_PLACES_S]
    for point in old:
        del case.places[point]


def _device_names(frame: Frame, job: Job, places: tuple[DataPlace, ...]) -> frozenset[str]:
    """The devices that serve the job's data; every physical disk while that is not known or not all of it."""
    names = {device for place in places for device in place.devices}
    reads = sum(known(row.read_bytes_per_s) or 0.0 for row in job.rows)
    if reads <= 0.5 * sum(_read(device) for device in frame.devices if device.name in names and device.total):
        return frozenset(names)
    return frozenset(names | {device.name for device in frame.devices if device.total})


def _read(device: DeviceRow) -> float:
    return known(device.read_bytes_per_s) or 0.0


def _sockets(facts: list[MemberFacts]) -> int | None:
    counts = [fact.remote_sockets for fact in facts if not isinstance(fact.remote_sockets, Missing)]
    return sum(counts) if counts else None


def _shared_memory(frame: Frame, facts: list[MemberFacts]) -> float | None:
    """Fill of /dev/shm in percent, as the job sees it where that can be read, else as iodash does."""
    for fact in facts:
        used, size = known(fact.shared_memory_used_bytes), known(fact.shared_memory_total_bytes)
        if used is not None and size:
            return 100 * used / size
    used, size = known(frame.system.shared_memory_used_bytes), known(frame.system.shared_memory_total_bytes)
    return 100 * used / size if used is not None and size else None
