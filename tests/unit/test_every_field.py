"""No field of a row is forgotten on its way: what samples hold shows in frames, and each field says what it is."""

from __future__ import annotations

import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from iodash.columns import DEVICE_COLUMNS, GPU_COLUMNS, PROCESS_COLUMNS, SYSTEM_COLUMNS
from iodash.diagnosis.diagnosis import Diagnosis
from iodash.model.frame import DeviceRow, Frame, GpuRow, ProcessRow, SystemRow
from iodash.model.missing import Missing
from iodash.model.sample import (
    CpuTicks,
    DeviceCounters,
    GpuCounters,
    GpuDriver,
    GpuProcess,
    InterfaceCounters,
    IoCounters,
    MountCounters,
    ProcessCounters,
    ProcessKey,
    Sample,
    StatCounters,
    SystemCounters,
)
from iodash.outputs.json import row_object
from iodash.sampling.frames import FrameBuilder
from iodash.sources import Demand
from iodash.sources.local import LocalSource
from tests.samples import BOOT, sample

SECONDS = 2.0
GIB = 1 << 30

COLUMNS: dict[type, Any] = {
    SystemRow: SYSTEM_COLUMNS,
    DeviceRow: DEVICE_COLUMNS,
    ProcessRow: PROCESS_COLUMNS,
    GpuRow: GPU_COLUMNS,
}


def filled(row_type: type, grown: int, **given: Any) -> Any:
    """A row in which every number, word and flag says something; in the second of two every counter has grown."""
    values: dict[str, Any] = {}
    for number, field in enumerate(fields(row_type), 1):
        kind = str(field.type)
        if kind.startswith(("Number", "Count", "int", "float")):
            values[field.name] = number * (1 + grown)
        elif kind.startswith(("str", "Text")):
            values[field.name] = field.name
        elif kind == "bool":
            values[field.name] = True
        elif kind == "tuple[str, ...]":
            values[field.name] = (field.name,)
    return row_type(**values | given)


def process(pid: int, grown: int) -> ProcessCounters:
    at = 100 + grown * SECONDS
    io = filled(IoCounters, grown, logical_read_bytes=grown * GIB)
    stat = filled(StatCounters, grown, read_at=at, previous_read_at=0.0, state="R", reaped=(0, 0, 0, 0))
    made = filled(
        ProcessCounters, grown, key=ProcessKey(pid, 1), io=io, stat=stat, start_time=BOOT, reads_fuse=pid == 8
    )
    assert isinstance(made, ProcessCounters)
    return made


def filled_sample(grown: int) -> Sample:
    """Everything known and at work: a busy disk and one that hangs, a network mount, a job on an instance of a GPU."""
    at = 100 + grown * SECONDS
    busy = {"io_ticks_ms": grown * 2000}
    disk = filled(DeviceCounters, grown, name="sda", kind="disk", generation=1, major=8, minor=1, **busy)
    hung = filled(DeviceCounters, 0, name="sdb", kind="disk", major=8, minor=16, **busy)
    mount = filled(MountCounters, grown, kind="nfs", major=0, minor=40)
    gpu = filled(
        GpuCounters,
        grown,
        status="ok",
        read_at=at,
        util_samples=((at - 0.5, 40.0),),
        processes=(filled(GpuProcess, grown, pid=7),),
        throttle_reasons=("sw_thermal",),
        engines=(),
    )
    interface = filled(InterfaceCounters, grown)
    system = filled(
        SystemCounters,
        grown,
        cpu=filled(CpuTicks, grown),
        cpus={},
        interfaces=(interface,),
        swap_total_bytes=GIB,
        memory_total_bytes=4 * GIB,
    )
    return sample(
        at,
        process(7, grown),
        process(8, grown),
        system=system,
        devices=(disk, hung),
        mounts=(mount,),
        gpus=(gpu,),
        gpu_driver=GpuDriver("ok"),
    )


def full_frame() -> Frame:
    return Diagnosis().complete(FrameBuilder().frame(filled_sample(0), filled_sample(1)))


def rows_of(frame: Frame) -> dict[type, tuple[Any, ...]]:
    return {SystemRow: (frame.system,), DeviceRow: frame.devices, ProcessRow: frame.processes, GpuRow: frame.gpus}


@pytest.mark.parametrize("row_type", COLUMNS)
def test_a_full_sample_leaves_no_field_of_a_frame_empty(row_type: type) -> None:
    rows = rows_of(full_frame())[row_type]
    shown = {field.name: [getattr(row, field.name) for row in rows] for field in fields(row_type)}
    says_something = {name for name, values in shown.items() if any(v and not isinstance(v, Missing) for v in values)}
    assert shown.keys() - says_something == set()


def told_of(row_type: type) -> set[str]:
    """The fields that are explained: as a column, or where the row is declared."""
    return {column.key for column in COLUMNS[row_type]} | set(re.findall(r"`(\w+)[^`]*`", row_type.__doc__ or ""))


@pytest.mark.parametrize("row_type", COLUMNS)
def test_every_field_is_a_column_or_told_of_where_it_is_declared(row_type: type) -> None:
    assert {field.name for field in fields(row_type)} - told_of(row_type) == set()


def test_this_machine_shows_nothing_that_is_not_told_of() -> None:
    source = LocalSource(Path("/proc"), Path("/sys"))
    try:
        before = source.sample(Demand(every_field=True))
        time.sleep(0.1)
        after = source.sample(Demand(every_field=True))
    finally:
        source.close()
    frame = Diagnosis().complete(FrameBuilder().frame(before, after))
    assert frame.processes
    for row_type, rows in rows_of(frame).items():
        for row in rows:
            assert row_object(row).keys() - told_of(row_type) == {"missing"}
