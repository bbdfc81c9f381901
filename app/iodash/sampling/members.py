"""What the members of a job did in an interval, and what their control group allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.model.members import CgroupRow, JobReadings, JobRows, MemberRow
from iodash.model.missing import Missing
from iodash.sampling.counters import delta, per_second, rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.model.members import CgroupCounters, IoLimit, MemberCounters, QuotaPeriods, WaitKind
    from iodash.model.missing import Number


def job_rows(old: JobReadings, new: JobReadings, seconds: float, page_bytes: int) -> JobRows:
    """Rows for every member and cgroup that both readings hold, and the facts of the newer one."""
    if not new.members and not new.cgroups:
        return JobRows(facts=new.facts)
    return JobRows(
        members={
            key: _member_row(old.members[key], member) for key, member in new.members.items() if key in old.members
        },
        facts=new.facts,
        cgroups={
            path: _cgroup_row(old.cgroups[path], cgroup, seconds, page_bytes)
            for path, cgroup in new.cgroups.items()
            if path in old.cgroups
        },
    )


def _member_row(old: MemberCounters, new: MemberCounters) -> MemberRow:
    seconds = new.read_at - old.read_at
    looks = new.looks - old.looks
    waits: dict[WaitKind, float] = {}
    for kind, seen in new.waits.items():
        found = seen - old.waits.get(kind, 0)
        if found and looks:
            waits[kind] = 100 * found / looks
    return MemberRow(
        key=new.key,
        main_thread_cpu_percent=per_second(100 * (new.main_thread_cpu_s - old.main_thread_cpu_s), seconds),
        run_delay_percent=per_second(delta(old.run_delay_ns, new.run_delay_ns) / 1e7, seconds),
        looks=looks,
        running_percent=_share(new.running - old.running, looks),
        blocked_percent=_share(new.blocked - old.blocked, looks),
        waits=waits,
        waits_readable=new.waits_readable,
        name=new.name,
        logical_read_bytes_per_s=rate(old.logical_read_bytes, new.logical_read_bytes, seconds),
        logical_write_bytes_per_s=rate(old.logical_write_bytes, new.logical_write_bytes, seconds),
        read_bytes_per_s=rate(old.read_bytes, new.read_bytes, seconds),
    )


def _share(found: int, looks: int) -> Number:
    return 100 * found / looks if looks > 0 else Missing.NOT_MEASURED


def _cgroup_row(old: CgroupCounters, new: CgroupCounters, seconds: float, page_bytes: int) -> CgroupRow:
    return CgroupRow(
        path=new.path,
        cpu_quota=new.cpu_quota,
        cpu_throttled_percent=_throttled_percent(old.cpu_periods, new.cpu_periods),
        io_limits=tuple((limit, _against(limit, old, new, seconds)) for limit in new.io_limits),
        read_bytes_per_s=_rates(old.read_bytes, new.read_bytes, seconds),
        write_bytes_per_s=_rates(old.write_bytes, new.write_bytes, seconds),
        memory_used_bytes=new.memory_used_bytes,
        memory_limit_bytes=new.memory_limit_bytes,
        refault_bytes_per_s=rate(old.refault_pages, new.refault_pages, seconds) * page_bytes,
        pressure_cpu_some_percent=_pressure(old.pressure_cpu_some_us, new.pressure_cpu_some_us, seconds),
        pressure_io_some_percent=_pressure(old.pressure_io_some_us, new.pressure_io_some_us, seconds),
        pressure_io_full_percent=_pressure(old.pressure_io_full_us, new.pressure_io_full_us, seconds),
        pressure_memory_some_percent=_pressure(old.pressure_memory_some_us, new.pressure_memory_some_us, seconds),
        pressure_memory_full_percent=_pressure(old.pressure_memory_full_us, new.pressure_memory_full_us, seconds),
    )


def _throttled_percent(old: Mapping[str, QuotaPeriods], new: Mapping[str, QuotaPeriods]) -> Number:
    """Each group by itself; of those that both readings hold the largest share."""
    if not new:
        return Missing.UNSUPPORTED
    reason = Missing.NEW
    shares = []
    for group in old.keys() & new.keys():
        throttled = delta(old[group].throttled, new[group].throttled)
        periods = delta(old[group].periods, new[group].periods)
        if isinstance(throttled, Missing) or isinstance(periods, Missing):
            reason = Missing.RESET
        else:
            shares.append(100 * throttled / periods if periods else 0.0)
    return max(shares, default=reason)


def _pressure(old: int | Missing, new: int | Missing, seconds: float) -> Number:
    """Share of the interval in percent: a pressure `total` is in microseconds (Documentation/accounting/psi.rst)."""
    return per_second(delta(old, new) / 1e4, seconds)


def _rates(old: Mapping[str, int], new: Mapping[str, int], seconds: float) -> dict[str, Number]:
    return {device: rate(old.get(device, 0), total, seconds) for device, total in new.items()}


def _against(limit: IoLimit, old: CgroupCounters, new: CgroupCounters, seconds: float) -> Number:
    """The rate that a limit holds down, in the limit's unit."""
    name = f"{limit.direction}_{limit.unit}"
    before: Mapping[str, int] = getattr(old, name)
    after: Mapping[str, int] = getattr(new, name)
    if limit.device not in after:
        return Missing.NOT_MEASURED
    return rate(before.get(limit.device, 0), after[limit.device], seconds)
