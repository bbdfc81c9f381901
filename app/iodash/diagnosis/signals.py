"""Signals: what one frame says of one job. Shares are in percent of time, `None` stands for what was not measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iodash.model.missing import Missing, Number, known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from iodash.diagnosis.jobs import Job
    from iodash.model.frame import DeviceRow, Frame, GpuRow, ProcessRow, SystemRow
    from iodash.model.members import CgroupRow, MemberRow, WaitKind

GAP_PERCENT = 10.0
"""A driver sample below this is a gap; SageMaker's profiler rules use the same 10 %."""

HARD_THROTTLES = frozenset({"hw_slowdown", "sw_thermal", "hw_thermal", "power_brake"})
"""Throttle words that stand for heat or power; `power_cap` at full load is normal."""

_LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.56e9}
"""What one PCIe lane carries in one direction, by generation."""


@dataclass(frozen=True, slots=True)
class Threads:
    """What a group of members (ranks, or loader workers) did: means over the group.

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
    GPU. Byte rates and calls are sums over the members, `rank_*` over the ranks alone. `devices` are the rows that
    serve its data, `cgroup` its control group.
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
    cpu: float | None
    read: float | None
    write: float | None
    logical_read: float | None
    logical_write: float | None
    read_calls: float | None
    rank_read: float | None
    rank_logical_read: float | None
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


def measure(frame: Frame, job: Job, device_names: frozenset[str], cgroup_path: str | None) -> Moment:
    """The signals of `job` in `frame`. `device_names` are the devices that serve its data."""
    gpus = [gpu for gpu in frame.gpus if gpu.index in job.gpus and gpu.status == "ok"]
    ranks = [rank.row for rank in job.ranks]
    workers = job.workers
    rows = job.rows
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
        ranks=_threads(ranks, frame),
        workers=_threads(workers, frame),
        cpu=total(rows, lambda row: row.cpu_percent),
        read=total(rows, lambda row: row.read_bytes_per_s),
        write=total(rows, lambda row: row.write_bytes_per_s),
        logical_read=total(rows, lambda row: row.logical_read_bytes_per_s),
        logical_write=total(rows, lambda row: row.logical_write_bytes_per_s),
        read_calls=total(rows, lambda row: row.read_calls_per_s),
        rank_read=total(ranks, lambda row: row.read_bytes_per_s),
        rank_logical_read=total(ranks, lambda row: row.logical_read_bytes_per_s),
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


def _threads(rows: Sequence[ProcessRow], frame: Frame) -> Threads:
    members: list[MemberRow] = [member for row in rows if (member := frame.readings.members.get(row.key)) is not None]
    waits: dict[WaitKind, float] = {}
    looked = [member for member in members if member.looks]
    for member in looked:
        for kind, share in member.waits.items():
            waits[kind] = waits.get(kind, 0.0) + share / len(looked)
    return Threads(
        count=len(rows),
        cpu=mean(known(row.cpu_percent) for row in rows),
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
