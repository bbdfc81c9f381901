"""Frames and rows made by hand: everything known and at rest, until a test says otherwise."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from iodash.model.frame import DeviceRow, Frame, GpuRow, OwnCost, ProcessRow, SystemRow, UnattributedRow
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver, GpuProcess, Host, ProcessKey
from iodash.sampling.history import History
from iodash.ui.view import View

NOW = 1_790_000_000.0

GIB = 2**30
MIB = 2**20


def _at_rest(row_type: type, **values: Any) -> Any:
    """A row whose numbers are all 0 but for `values`."""
    for field in fields(row_type):
        if field.name not in values and str(field.type) in ("Number", "Count", "float", "int"):
            values[field.name] = 0
    return row_type(**values)


def system(**values: Any) -> SystemRow:
    row = _at_rest(
        SystemRow,
        disk_devices=("vda",),
        cpu_count=16,
        cpu_idle_percent=100.0,
        memory_total_bytes=125 * GIB,
        memory_used_bytes=61 * GIB,
        memory_available_bytes=64 * GIB,
    )
    assert isinstance(row, SystemRow)
    return replace(row, **values)


def device(name: str = "nvme0n1", **values: Any) -> DeviceRow:
    row = _at_rest(
        DeviceRow, name=name, kind="disk", mounts=("/data",), backed_by=(), state="idle", state_reason="", major=259
    )
    assert isinstance(row, DeviceRow)
    return replace(row, **values)


def process(pid: int, name: str = "python3", **values: Any) -> ProcessRow:
    row = _at_rest(
        ProcessRow,
        key=ProcessKey(pid, pid * 10),
        name=name,
        command=name,
        user="ada",
        state="S",
        io_priority="be/4",
        cgroup="/",
        container=None,
        gpus=(),
        start_time=NOW - 60,
    )
    assert isinstance(row, ProcessRow)
    return replace(row, **values)


def gpu(index: int = 0, **values: Any) -> GpuRow:
    row = _at_rest(
        GpuRow,
        index=index,
        uuid=f"GPU-{index}",
        name="NVIDIA H200",
        status="ok",
        util_samples=(),
        throttle_reasons=(),
        mig="",
        vendor="nvidia",
        processes=(),
        util_percent=31.0,
        memory_used_bytes=64 * GIB,
        memory_total_bytes=141 * GIB,
        power_watts=412.0,
        power_limit_watts=700.0,
        temperature_celsius=62.0,
        sm_active_percent=80.0,
        pcie_receive_bytes_per_s=1.2 * GIB,
    )
    assert isinstance(row, GpuRow)
    return replace(row, **values)


def divided_gpu(*users: int) -> tuple[GpuRow, ...]:
    """GPU 0 in MIG mode with an instance for the process of each of `users`, as the driver reports them."""
    unread: dict[str, Any] = {"util_percent": Missing.UNSUPPORTED, "sm_active_percent": Missing.UNSUPPORTED}
    whole = gpu(0, mig="enabled", processes_note="its processes are those of its instances", **unread)
    instances = (
        gpu(
            0,
            **unread
            | {
                "uuid": f"MIG-{number}",
                "name": "NVIDIA H200 MIG 1g.18gb",
                "mig": "1g.18gb",
                "instance": number,
                "memory_used_bytes": (number + 1) * GIB,
                "memory_total_bytes": 18 * GIB,
                "sm_active_percent": 90.0 / (number + 1),
                "power_watts": Missing.UNSUPPORTED,
                "temperature_celsius": Missing.UNSUPPORTED,
                "processes": (gpu_process(pid),),
            },
        )
        for number, pid in enumerate(users)
    )
    return whole, *instances


def gpu_process(pid: int, **values: Any) -> GpuProcess:
    return replace(GpuProcess(pid, 2 * GIB, 20.0), **values)


def frame(**values: Any) -> Frame:
    """A quiet frame of a host in Docker, with one disk and no GPU driver."""
    return replace(
        Frame(
            time=NOW,
            interval_s=1.0,
            host=Host(name="gpu-node-07", kernel="6.18.0", container="docker", cpu_count=16),
            system=system(),
            devices=(device(),),
            processes=(process(4120, "train.py"),),
            unattributed=UnattributedRow(0, 0, ()),
            gpu_driver=GpuDriver("no_library", None, "no NVIDIA library: start the container with --gpus all"),
            gpus=(),
            own=OwnCost(2.1, 44 * MIB, 12.0, 400, 0),
        ),
        **values,
    )


def view(*frames: Frame, **values: Any) -> View:
    """A view whose history holds `frames`."""
    history = History()
    for one in frames:
        history.add(one)
    return replace(View(history=history), **values)
