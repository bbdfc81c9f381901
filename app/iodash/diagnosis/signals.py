"""Signals: what one frame says of one job. Shares are in percent of time, `None` stands for what was not measured."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from iodash.model.kinds import HARD_THROTTLES
from iodash.model.missing import Missing, Number, known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from iodash.diagnosis.jobs import Job
    from iodash.model.frame import DeviceRow, Frame, GpuRow, ProcessRow, SystemRow
    from iodash.model.members import CgroupRow, MemberRow, WaitKind
    from iodash.model.sample import ProcessKey

GAP_PERCENT = 10.0
"""A driver sample below this is a gap; SageMaker's profiler rules use the same 10 %."""

_LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.56e9}
"""What one PCIe lane carries in one direction, by generation."""


LOADING_PERCENT = 20.0
"""Share of its time that a thread of a rank must compute or wait for data to be one of those that load it."""

_LOADING_BYTES_PER_S = 64.0 * 1024
_PREPARING_PERCENT = 50.0

_DISPATCHING = re.compile("pt_autograd")
"""Threads that launch work for the GPU as the main thread does: PyTorch runs the backward pass in one of its own."""

_SERVING = re.compile(r"pt_(?!main_thread|data_worker)|nccl|cuda|gloo|ucx|grpc", re.IGNORECASE)
"""Threads that never load data, by the beginning of the names that frameworks give them. A thread without a name of
its own bears that of the thread that made it."""


@dataclass(frozen=True, slots=True)
class Threads:
    """What a group (ranks, loader workers, or loader threads within the ranks) did: means over the group.

    `cpu` is of the whole process, `main_cpu` of its main thread. `blocked` is the share of looks that found it in
    state D, `running` in state R; `waits` is by kind. `looks` is how many looks that rests on.
    """

    count: int
    cpu: float | None
    main_cpu: float | None
    blocked: float | None
    running: float | None
    run_delay: float | None
    waits: Mapping[WaitKind, float]
    looks: int

    def waiting(self, *kinds: WaitKind) -> float:
        """Share of time in these kinds of wait together."""
        return sum(self.waits.get(kind, 0.0) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Moment:
    """What one frame says of one job.

    `gap_share` is the share of the driver's samples below `GAP_PERCENT`; `util_lowest` is that of the job's least used
    GPU. `threads` are the threads of the ranks, beside the main ones, that load data, as far as any were
    watched. Byte rates and calls are sums
    over the members, `rank_*` over the ranks alone; `main_read` is what their main threads read by themselves.
    `devices` are the rows that serve its data, `cgroup` its control group.
    """

    time: float
    seconds: float
    util: float | None
    util_lowest: float | None
    gap_share: float | None
    power_share: float | None
    sm_active: float | None
    hard_throttled: float
    throttle_words: tuple[str, ...]
    temperature: float | None
    pcie_receive: float | None
    pcie_share: float | None
    ranks: Threads
    workers: Threads
    threads: Threads
    threads_watched: bool
    cpu: float | None
    read: float | None
    write: float | None
    logical_read: float | None
    read_calls: float | None
    rank_read: float | None
    rank_logical_read: float | None
    main_read: float | None
    rank_write: float | None
    rank_logical_write: float | None
    major_faults: float | None
    system: SystemRow
    devices: tuple[DeviceRow, ...]
    cgroup: CgroupRow | None

    def device(self, name: str) -> DeviceRow | None:
        """The row of one of the devices that serve the job."""
        for row in self.devices:
            if row.name == name:
                return row
        return None


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known, None when nothing is."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def total(rows: Sequence[ProcessRow], value: Callable[[ProcessRow], Number]) -> float | None:
    """The sum over rows whose value is known, None when it is known of none."""
    found = [number for row in rows if (number := known(value(row))) is not None]
    return sum(found) if found else None


def measure(
    frame: Frame,
    job: Job,
    device_names: frozenset[str],
    cgroup_path: str | None,
    all_rows: Sequence[ProcessRow] = (),
    dormant: frozenset[ProcessKey] = frozenset(),
) -> Moment:
    """The signals of `job` in `frame`. `device_names` are the devices that serve its data.

    `job` may be that part of a job which is looked at; bytes and CPU are those of `all_rows`. Workers in `dormant` are
    left out of the means: those of another loader, which is not asked at present.
    """
    pids = {row.key.pid for row in job.rows}
    gpus = [gpu for gpu in frame.gpus if gpu.status == "ok" and gpu.concerns(job.gpus, pids)]
    ranks = [rank.row for rank in job.ranks]
    workers = [row for row in job.workers if row.key not in dormant]
    rows = all_rows or job.rows
    mains, others = _members_of(ranks, frame), _other_threads(ranks, frame)
    words = tuple(sorted({word for gpu in gpus for word in _words(gpu)}))
    return Moment(
        time=frame.time,
        seconds=frame.interval_s,
        util=mean(known(gpu.util_percent) for gpu in gpus),
        util_lowest=min((u for gpu in gpus if (u := known(gpu.util_percent)) is not None), default=None),
        gap_share=mean(_gap_share(gpu) for gpu in gpus),
        power_share=mean(_power_share(gpu) for gpu in gpus),
        sm_active=mean(known(gpu.sm_active_percent) for gpu in gpus),
        hard_throttled=100.0 if any(word in HARD_THROTTLES for word in words) else 0.0,
        throttle_words=words,
        temperature=max((t for gpu in gpus if (t := known(gpu.temperature_celsius)) is not None), default=None),
        pcie_receive=mean(known(gpu.pcie_receive_bytes_per_s) for gpu in gpus),
        pcie_share=max((s for gpu in gpus if (s := _pcie_share(gpu)) is not None), default=None),
        ranks=_ranks(ranks, mains, others),
        workers=_processes(workers, _members_of(workers, frame)),
        threads=_loader_threads(others),
        threads_watched=bool(others),
        cpu=total(rows, lambda row: row.cpu_percent),
        read=total(rows, lambda row: row.read_bytes_per_s),
        write=total(rows, lambda row: row.write_bytes_per_s),
        logical_read=total(rows, lambda row: row.logical_read_bytes_per_s),
        read_calls=total(rows, lambda row: row.read_calls_per_s),
        rank_read=total(ranks, lambda row: row.read_bytes_per_s),
        rank_logical_read=total(ranks, lambda row: row.logical_read_bytes_per_s),
        main_read=_main_read(mains),
        rank_write=total(ranks, lambda row: row.write_bytes_per_s),
        rank_logical_write=total(ranks, lambda row: row.logical_write_bytes_per_s),
        major_faults=total(rows, lambda row: row.major_faults_per_s),
        system=frame.system,
        devices=tuple(device for device in frame.devices if device.name in device_names),
        cgroup=frame.readings.cgroups.get(cgroup_path) if cgroup_path is not None else None,
    )


def _words(gpu: GpuRow) -> tuple[str, ...]:
    return () if isinstance(gpu.throttle_reasons, Missing) else gpu.throttle_reasons


def _gap_share(gpu: GpuRow) -> float | None:
    if gpu.util_samples:
        return 100.0 * sum(percent < GAP_PERCENT for _, percent in gpu.util_samples) / len(gpu.util_samples)
    util = known(gpu.util_percent)
    return None if util is None else 100.0 if util < GAP_PERCENT else 0.0


def _power_share(gpu: GpuRow) -> float | None:
    power, limit = known(gpu.power_watts), known(gpu.power_limit_watts)
    return 100.0 * power / limit if power is not None and limit else None


def _pcie_share(gpu: GpuRow) -> float | None:
    received, generation, width = (
        known(gpu.pcie_receive_bytes_per_s),
        known(gpu.pcie_generation),
        known(gpu.pcie_width),
    )
    if received is None or generation is None or not width:
        return None
    lane = _LANE_BYTES_PER_S.get(int(generation))
    return None if lane is None else 100.0 * received / (lane * width)


def _members_of(rows: Sequence[ProcessRow], frame: Frame) -> list[MemberRow]:
    """What was read of the main threads of processes."""
    return [member for row in rows if (member := frame.readings.members.get(row.key)) is not None]


def _processes(rows: Sequence[ProcessRow], members: Sequence[MemberRow]) -> Threads:
    """Processes, by their main threads."""
    return _group(members, len(rows), mean(known(row.cpu_percent) for row in rows))


def _ranks(ranks: Sequence[ProcessRow], mains: Sequence[MemberRow], others: Sequence[MemberRow]) -> Threads:
    """The main threads; to their CPU time that of the backward pass is added, which runs while they wait for it."""
    group = _processes(ranks, mains)
    if group.main_cpu is None:
        return group
    backward = sum(known(thread.main_thread_cpu_percent) or 0.0 for thread in others if _DISPATCHING.match(thread.name))
    return replace(group, main_cpu=group.main_cpu + backward / len(ranks)) if backward else group


def _loader_threads(others: Sequence[MemberRow]) -> Threads:
    loading = [thread for thread in others if _is_loading(thread)]
    return _group(loading, len(loading), mean(known(thread.main_thread_cpu_percent) for thread in loading))


def _other_threads(ranks: Sequence[ProcessRow], frame: Frame) -> list[MemberRow]:
    pids = {row.key.pid for row in ranks}
    return [thread for key, thread in frame.readings.members.items() if key.tid and key.pid in pids]


def _is_loading(thread: MemberRow) -> bool:
    """Whether a thread spends its time on getting data, or on preparing it."""
    if _SERVING.match(thread.name):
        return False
    cpu, blocked = known(thread.main_thread_cpu_percent) or 0.0, known(thread.blocked_percent) or 0.0
    waits = thread.waits
    waiting = max(blocked, waits.get("fuse", 0.0) + waits.get("network", 0.0)) + waits.get("socket", 0.0)
    if cpu + waiting < LOADING_PERCENT:
        return False
    logical, written = known(thread.logical_read_bytes_per_s), known(thread.logical_write_bytes_per_s)
    if logical is None or written is None:
        return waiting >= LOADING_PERCENT or cpu >= _PREPARING_PERCENT
    read = max(logical, known(thread.read_bytes_per_s) or 0.0)
    if written > read:
        return False
    return read >= _LOADING_BYTES_PER_S or waiting >= LOADING_PERCENT or cpu >= _PREPARING_PERCENT


def _main_read(mains: Sequence[MemberRow]) -> float | None:
    """Bytes that the main threads read by calls or from devices, None where that is not known of a single one."""
    amounts = [
        max(logical, known(member.read_bytes_per_s) or 0.0)
        for member in mains
        if (logical := known(member.logical_read_bytes_per_s)) is not None
    ]
    return sum(amounts) if amounts else None


def _group(members: Sequence[MemberRow], count: int, cpu: float | None) -> Threads:
    waits: dict[WaitKind, float] = {}
    looked = [member for member in members if member.looks]
    for member in looked:
        for kind, share in member.waits.items():
            waits[kind] = waits.get(kind, 0.0) + share / len(looked)
    return Threads(
        count=count,
        cpu=cpu,
        main_cpu=mean(known(member.main_thread_cpu_percent) for member in members),
        blocked=mean(known(member.blocked_percent) for member in members),
        running=mean(known(member.running_percent) for member in members),
        run_delay=mean(known(member.run_delay_percent) for member in members),
        waits=waits,
        looks=sum(member.looks for member in members),
    )


def value_of(row: Any, name: str) -> float | None:
    """A field of a row as a plain number, None where it is missing."""
    return known(getattr(row, name))
