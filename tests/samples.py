"""Samples made by hand: a quiet machine with one disk, until a test says otherwise."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from iodash.model.sample import (
    CpuTicks,
    DeviceCounters,
    GpuDriver,
    Host,
    IoCounters,
    OwnCounters,
    ProcessCounters,
    ProcessKey,
    Sample,
    StatCounters,
    SystemCounters,
)

BOOT = 1_790_000_000.0


def _zeros(row_type: type, **values: Any) -> Any:
    """A row whose numbers are all 0 but for `values`."""
    for field in fields(row_type):
        if field.name not in values and str(field.type) in ("Number", "Count", "float", "int"):
            values[field.name] = 0
    return row_type(**values)


def system_counters(**values: Any) -> SystemCounters:
    row = _zeros(SystemCounters, cpu=CpuTicks(0, 0, 0, 0, 0, 0, 0, 0), cpus={}, interfaces=(), cpu_count=2)
    assert isinstance(row, SystemCounters)
    return replace(row, **values)


def device_counters(name: str = "vda", **values: Any) -> DeviceCounters:
    row = _zeros(DeviceCounters, name=name, major=254, kind="disk", total=True)
    assert isinstance(row, DeviceCounters)
    return replace(row, **values)


def process_counters(pid: int, **values: Any) -> ProcessCounters:
    made = ProcessCounters(
        key=ProcessKey(pid, pid * 10),
        name="python3",
        command="python3 train.py",
        user="ada",
        uid=1000,
        kernel_thread=False,
        start_time=BOOT + pid,
        io=IoCounters(0, 0, 0, 0, 0, 0, 0),
        stat=StatCounters(0.0, "S", 1, 1, 0, 0, 100, 0, (0, 0, 0, 0)),
    )
    return replace(made, **values)


def sample(monotonic: float, *processes: ProcessCounters, **values: Any) -> Sample:
    """Everything known and at rest at `monotonic` seconds after boot."""
    made = Sample(
        time=BOOT + monotonic,
        monotonic=monotonic,
        host=Host(name="gpu-node-07", kernel="6.18.0", cpu_count=2, boot_time=BOOT),
        system=system_counters(uptime_s=monotonic),
        devices=(device_counters(),),
        mounts=(),
        processes={process.key.tid or process.key.pid: process for process in processes},
        gpu_driver=GpuDriver("no_library"),
        gpus=(),
        own=OwnCounters(0.0, 40 << 20),
    )
    return replace(made, **values)
