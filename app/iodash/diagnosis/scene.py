"""A scene: the window of moments that the rules judge, with the questions they ask of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from iodash.diagnosis.signals import value_of
from iodash.diagnosis.tree import bytes_moved
from iodash.model.kinds import REMOTE_KINDS
from iodash.model.missing import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from iodash.diagnosis.jobs import Job, Rank
    from iodash.diagnosis.signals import Moment
    from iodash.model.frame import DeviceRow, Frame, ProcessRow
    from iodash.model.members import DataPlace, WaitKind

WINDOW_S = 10.0
"""What a verdict is judged over: a new steady condition fills it within the 12 s in which it must show."""

_NOTHING_RAN = 99.5
_FEWEST_MOMENTS = 2
_SOME_CPU_PERCENT = 10.0
_READING_BYTES_PER_S = 256.0 * 1024

SETTLED_S = 60.0
"""How far back recurring gaps, such as those of checkpoints, are looked for."""

Group = Literal["ranks", "workers", "threads"]


@dataclass(frozen=True, slots=True)
class Scene:
    """What the rules see of one job.

    `job` is that part of it which tells: all of it, or only the rank that the others wait for (`late`); `rows` are
    all of its processes. `moments` is the window, `settled` the longer past that ends with it. `places` are the
    mounts its files lie on, `remote_sockets` its connections to other hosts, `shared_memory` the fill of /dev/shm in
    percent, `cpus_allowed` on how many CPUs it may run.
    """

    job: Job
    frame: Frame
    moments: tuple[Moment, ...]
    settled: tuple[Moment, ...]
    places: tuple[DataPlace, ...]
    remote_sockets: int | None
    shared_memory: float | None
    cpus_allowed: float | None = None
    late: Rank | None = None
    rows: tuple[ProcessRow, ...] = ()
    idle: float | None = field(init=False)
    """Idle share of the job's GPUs in percent, None where none is readable."""

    loaders: Group = field(init=False)
    """Who loads the data: worker processes where there are any, else threads of the ranks, else their main threads."""

    def __post_init__(self) -> None:
        util = self.mean(lambda moment: moment.util)
        object.__setattr__(self, "idle", None if util is None else 100.0 - util)
        object.__setattr__(self, "loaders", self._find_loaders())
        object.__setattr__(self, "rows", self.rows or self.job.rows)

    def _find_loaders(self) -> Group:
        if self.job.workers:
            return "workers"
        watched = [moment for moment in self.moments if moment.threads_watched]
        loading = sum(1 for moment in watched if moment.threads.count)
        if loading < max(_FEWEST_MOMENTS, len(watched) / 2):
            return "ranks"
        main = self.mean(lambda moment: moment.main_read) or 0.0
        whole = self.mean(lambda moment: moment.rank_logical_read) or 0.0
        return "ranks" if main > max(whole / 2, _READING_BYTES_PER_S) else "threads"

    @property
    def never_ran(self) -> bool:
        """Whether the GPUs have done nothing at all in the window, as while a job starts or evaluates elsewhere."""
        return self.idle is not None and self.idle >= _NOTHING_RAN

    @property
    def window_s(self) -> float:
        """How much time the window covers."""
        return sum(moment.seconds for moment in self.moments)

    @property
    def has_gpu(self) -> bool:
        """Whether the job's GPUs can be read."""
        return self.idle is not None

    def mean(self, value: Callable[[Moment], float | None]) -> float | None:
        """The mean over the window, each moment weighed by its length; None when nothing was measured."""
        return weighted(self.moments, value)

    def of(self, group: Group, name: str) -> float | None:
        """The mean of a number of `Threads` over the window."""
        return self.mean(lambda moment: getattr(getattr(moment, group), name))

    def waiting(self, group: Group, *kinds: WaitKind) -> float:
        """Mean share of time that a group spent in these kinds of wait."""
        return self.mean(lambda moment: getattr(moment, group).waiting(*kinds)) or 0.0

    def system(self, name: str) -> float | None:
        """The mean of a field of the system row."""
        return self.mean(lambda moment: value_of(moment.system, name))

    def cgroup(self, name: str) -> float | None:
        """The mean of a field of the job's control group."""
        return self.mean(lambda moment: None if moment.cgroup is None else value_of(moment.cgroup, name))

    def device(self, device: str, name: str) -> float | None:
        """The mean of a field of one of the job's devices."""
        return self.mean(lambda moment: None if (row := moment.device(device)) is None else value_of(row, name))

    def device_states(self, device: str) -> dict[str, float]:
        """Share of the window that a device spent in each state, in percent."""
        shares: dict[str, float] = {}
        part = 100 / (self.window_s or 1)
        for moment in self.moments:
            row = moment.device(device)
            if row is not None and isinstance(row.state, str):
                shares[row.state] = shares.get(row.state, 0.0) + part * moment.seconds
        return shares

    @property
    def disks(self) -> tuple[DeviceRow, ...]:
        """The newest rows of the block devices that serve the job."""
        newest = self.moments[-1].devices if self.moments else ()
        return tuple(row for row in newest if row.kind not in REMOTE_KINDS)

    def busiest_neighbour(self) -> ProcessRow | None:
        """The process outside of the job that moves the most bytes, None where none moves any.

        Kernel threads only carry out what processes have asked for.
        """
        return self._busiest(lambda row: 0.0 if row.kernel_thread else bytes_moved(row))[0]

    def busiest_by_cpu(self) -> tuple[ProcessRow, float] | None:
        """The process outside of the job that uses the most CPU, with how much; None where none uses a tenth of one."""
        row, used = self._busiest(lambda row: known(row.cpu_percent) or 0.0)
        return (row, used) if row is not None and used >= _SOME_CPU_PERCENT else None

    def _busiest(self, value: Callable[[ProcessRow], float]) -> tuple[ProcessRow | None, float]:
        """The process outside of the job with the largest value, with that; None where none has any."""
        mine = {row.key for row in self.rows}
        others = [(amount, row) for row in self.frame.processes if (amount := value(row)) and row.key not in mine]
        amount, row = max(others, key=itemgetter(0), default=(0.0, None))
        return row, amount


def weighted(moments: tuple[Moment, ...], value: Callable[[Moment], float | None]) -> float | None:
    """The mean over moments by their length; None when nothing was measured."""
    amount = seconds = 0.0
    for moment in moments:
        number = value(moment)
        if number is not None:
            amount += number * moment.seconds
            seconds += moment.seconds
    return amount / seconds if seconds else None
