"""The whole machine over one interval: shares of CPU time, paging, network, pressure, and the disks summed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from iodash.model.frame import CpuRow, InterfaceRow, SystemRow
from iodash.model.missing import Missing, Number, sum_known
from iodash.sampling.counters import delta, per_second

if TYPE_CHECKING:
    from iodash.model.frame import DeviceRow
    from iodash.model.sample import CpuTicks, InterfaceCounters, Sample, SystemCounters

_Shares: TypeAlias = tuple[float, float, float, float, float, float]

_KIB = 1024
_MICROSECONDS = 1_000_000
_NO_TICKS = (0, 0, 0, 0, 0, 0, 0, 0)


def system_row(old: Sample, new: Sample, seconds: float, devices: tuple[DeviceRow, ...]) -> SystemRow:
    """The machine between two samples.

    Args:
        old: the earlier sample.
        new: the later one; gauges such as memory are its.
        seconds: the measured time between them.
        devices: the rows of the same interval, of which those marked `total` make the disks' sum.
    """
    return _row(old.system, new, seconds, devices)


def system_row_since_boot(sample: Sample, devices: tuple[DeviceRow, ...]) -> SystemRow:
    """The machine's means since boot, over its uptime."""
    return _row(None, sample, sample.system.uptime_s, devices)


def cpu_rows(old: Sample | None, new: Sample) -> tuple[CpuRow, ...]:
    """Every CPU's shares between two samples, or since boot without an `old` one.

    A CPU that went online meanwhile, or that counted no tick, has no row.
    """
    rows = []
    for cpu, ticks in new.system.cpus.items():
        before = None if old is None else old.system.cpus.get(cpu)
        if old is not None and before is None:
            continue
        shares = _shares(before, ticks)
        if not isinstance(shares, Missing):
            rows.append(CpuRow(cpu, *shares[:5]))
    return tuple(rows)


def interface_rows(old: Sample | None, new: Sample, seconds: Number) -> tuple[InterfaceRow, ...]:
    """Every network interface between two samples, or since boot without an `old` one."""
    return _interfaces(None if old is None else old.system, new.system, seconds)


def _row(old: SystemCounters | None, sample: Sample, seconds: Number, devices: tuple[DeviceRow, ...]) -> SystemRow:
    new = sample.system
    page = sample.host.page_bytes

    def rate(name: str) -> Number:
        return _spread(delta(0 if old is None else getattr(old, name), getattr(new, name)), seconds)

    def stall(name: str) -> Number:
        share = 100 * rate(name) / _MICROSECONDS
        return share if isinstance(share, Missing) else min(100.0, share)

    if isinstance(new.cpu, Missing) or (old is not None and isinstance(old.cpu, Missing)):
        shares: _Shares | Missing = new.cpu if isinstance(new.cpu, Missing) else Missing.NEW
    else:
        shares = _shares(None if old is None else old.cpu, new.cpu)  # type: ignore[arg-type]
    user, system, idle, iowait, steal, nice = (shares,) * 6 if isinstance(shares, Missing) else shares
    interfaces = _interfaces(old, new, seconds)
    counted = [row for row in interfaces if row.physical]
    disks = [row for row in devices if row.total]
    no_list = sample.devices if isinstance(sample.devices, Missing) else None
    no_network = new.interfaces if isinstance(new.interfaces, Missing) else None
    return SystemRow(
        cpu_user_percent=user,
        cpu_system_percent=system,
        cpu_idle_percent=idle,
        cpu_iowait_percent=iowait,
        cpu_steal_percent=steal,
        cpu_count=new.cpu_count,
        memory_total_bytes=new.memory_total_bytes,
        memory_used_bytes=new.memory_total_bytes - new.memory_available_bytes,
        memory_available_bytes=new.memory_available_bytes,
        memory_cached_bytes=new.memory_cached_bytes,
        memory_buffers_bytes=new.memory_buffers_bytes,
        memory_dirty_bytes=new.memory_dirty_bytes,
        memory_writeback_bytes=new.memory_writeback_bytes,
        swap_total_bytes=new.swap_total_bytes,
        swap_used_bytes=new.swap_total_bytes - new.swap_free_bytes,
        swap_in_bytes_per_s=rate("swap_in_pages") * page,
        swap_out_bytes_per_s=rate("swap_out_pages") * page,
        page_in_bytes_per_s=rate("page_in_kib") * _KIB,
        page_out_bytes_per_s=rate("page_out_kib") * _KIB,
        major_faults_per_s=rate("major_faults"),
        refault_bytes_per_s=rate("refault_pages") * page,
        disk_read_bytes_per_s=no_list or sum_known(row.read_bytes_per_s for row in disks),
        disk_write_bytes_per_s=no_list or sum_known(row.write_bytes_per_s for row in disks),
        disk_devices=tuple(row.name for row in disks if not isinstance(row.read_bytes_per_s, Missing)),
        network_receive_bytes_per_s=no_network or sum_known(row.receive_bytes_per_s for row in counted),
        network_transmit_bytes_per_s=no_network or sum_known(row.transmit_bytes_per_s for row in counted),
        interrupts_per_s=rate("interrupts"),
        context_switches_per_s=rate("context_switches"),
        processes_running=new.processes_running,
        processes_blocked=new.processes_blocked,
        processes_created_per_s=rate("processes_created"),
        load_1=new.load_1,
        load_5=new.load_5,
        load_15=new.load_15,
        pressure_cpu_some_percent=stall("pressure_cpu_some_us"),
        pressure_io_some_percent=stall("pressure_io_some_us"),
        pressure_io_full_percent=stall("pressure_io_full_us"),
        pressure_memory_some_percent=stall("pressure_memory_some_us"),
        pressure_memory_full_percent=stall("pressure_memory_full_us"),
        memory_free_bytes=new.memory_free_bytes,
        shared_memory_used_bytes=new.shared_memory_used_bytes,
        shared_memory_total_bytes=new.shared_memory_total_bytes,
        memory_shmem_bytes=new.memory_shmem_bytes,
        memory_reclaimable_bytes=new.memory_reclaimable_bytes,
        cpu_nice_percent=nice,
    )


def _spread(amount: Number, seconds: Number) -> Number:
    if isinstance(seconds, Missing):
        return seconds
    return per_second(amount, seconds)


def _shares(old: CpuTicks | None, new: CpuTicks) -> _Shares | Missing:
    """User, system, idle, iowait and steal in percent, together 100, and nice, which is part of user.

    The kernel's idle and iowait may step back (Documentation/filesystems/proc.rst); such a step counts as 0.
    """
    user, nice, system, idle, iowait, irq, softirq, steal = (
        max(0, after - before)
        for before, after in zip(_NO_TICKS if old is None else _ticks(old), _ticks(new), strict=True)
    )
    total = user + nice + system + idle + iowait + irq + softirq + steal
    if not total:
        return Missing.NOT_MEASURED
    percent = 100 / total
    return (
        (user + nice) * percent,
        (system + irq + softirq) * percent,
        idle * percent,
        iowait * percent,
        steal * percent,
        nice * percent,
    )


def _ticks(cpu: CpuTicks) -> tuple[int, ...]:
    return cpu.user, cpu.nice, cpu.system, cpu.idle, cpu.iowait, cpu.irq, cpu.softirq, cpu.steal


def _interfaces(old: SystemCounters | None, new: SystemCounters, seconds: Number) -> tuple[InterfaceRow, ...]:
    if isinstance(new.interfaces, Missing):
        return ()
    known: dict[str, InterfaceCounters] = {}
    if old is not None and not isinstance(old.interfaces, Missing):
        known = {interface.name: interface for interface in old.interfaces}
    rows = []
    for interface in new.interfaces:
        before = known.get(interface.name)
        received: Number
        sent: Number
        if old is not None and before is None:
            received = sent = Missing.NEW
        else:
            received = delta(0 if before is None else before.receive_bytes, interface.receive_bytes)
            sent = delta(0 if before is None else before.transmit_bytes, interface.transmit_bytes)
        rows.append(
            InterfaceRow(interface.name, _spread(received, seconds), _spread(sent, seconds), interface.physical)
        )
    return tuple(rows)
