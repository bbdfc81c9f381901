"""What the devices did beyond the listed processes: nothing twice, nothing lost, and the likely reason."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.frame import DeviceRow
from iodash.model.missing import Missing
from iodash.model.sample import IoCounters, ProcessKey
from iodash.sampling.frames import FrameBuilder
from iodash.sampling.processes import ProcessRates
from iodash.sampling.unattributed import Unattributed
from tests.samples import device_counters, process_counters, sample, system_counters

if TYPE_CHECKING:
    from iodash.model.frame import ProcessRow, UnattributedRow
    from iodash.model.missing import Number


def disk(read: Number = 0.0, written: Number = 0.0, **values: Any) -> DeviceRow:
    texts: dict[str, Any] = {"state": "ok", "state_reason": "", "mounts": (), "backed_by": ()}
    known: dict[str, Any] = {
        "name": "vda",
        "kind": "disk",
        "read_bytes_per_s": read,
        "write_bytes_per_s": written,
        "total": True,
        **texts,
        **values,
    }
    for field in fields(DeviceRow):
        if field.name not in known and str(field.type) in ("Number", "Count", "int"):
            known[field.name] = 0
    return DeviceRow(**known)


def worker(read: int = 0, written: int = 0, cancelled: int = 0, pid: int = 7) -> ProcessRow:
    old = process_counters(pid)
    new = replace(old, io=IoCounters(0, 0, 0, 0, read, written, cancelled))
    return ProcessRates().rows(sample(1, old), sample(2, new), 1.0, ())[0]


def hidden_row() -> ProcessRow:
    hidden = process_counters(9, io=Missing.NO_PERMISSION)
    return ProcessRates().rows(sample(1, hidden), sample(2, hidden), 1.0, ())[0]


def row(
    *processes: ProcessRow,
    devices: tuple[DeviceRow, ...] = (disk(),),
    keeper: Unattributed | None = None,
    dirty: Any = 0,
    dirty_before: Any = 0,
    **values: Any,
) -> UnattributedRow:
    old = sample(1, process_counters(7), system=system_counters(memory_dirty_bytes=dirty_before))
    system = system_counters(memory_dirty_bytes=dirty, processes_created=values.pop("created", 0))
    new = sample(2, *values.pop("left", [process_counters(7)]), system=system, **values)
    return (keeper or Unattributed()).row(old, new, 1.0, devices, processes, processes)


def test_reads_beyond_the_processes_are_left_over() -> None:
    found = row(worker(read=300), devices=(disk(read=1000.0),))
    assert found.read_bytes_per_s == 700
    assert found.write_bytes_per_s == 0
    assert found.reasons == ("kernel",)


def test_nothing_is_left_over_when_the_processes_did_it() -> None:
    assert row(worker(read=1000, written=50), devices=(disk(1000.0, 50.0),)).reasons == ()


def test_processes_that_read_more_than_the_disks_leave_nothing() -> None:
    assert row(worker(read=5000), devices=(disk(read=1000.0),)).read_bytes_per_s == 0


def test_only_devices_of_the_total_count() -> None:
    devices = (disk(100.0), disk(100.0, total=False, name="vda1"))
    assert row(worker(read=100), devices=devices).read_bytes_per_s == 0


def test_bytes_of_network_mounts_do_not_hide_those_of_disks() -> None:
    devices = (disk(500.0), disk(800.0, name="nas:/d", kind="nfs", total=False))
    found = row(worker(read=800), devices=devices)
    assert found.read_bytes_per_s == 500
    assert found.reasons == ("network",)


def test_a_later_flush_of_what_a_process_dirtied_is_not_counted_again() -> None:
    keeper = Unattributed()
    dirtied = row(worker(written=1000), keeper=keeper, dirty=1000)
    flushed = row(worker(), devices=(disk(written=600.0),), keeper=keeper, dirty=400)
    rest = row(worker(), devices=(disk(written=400.0),), keeper=keeper)
    assert [one.write_bytes_per_s for one in (dirtied, flushed, rest)] == [0, 0, 0]
    assert [one.reasons for one in (dirtied, flushed, rest)] == [(), ("writeback",), ("writeback",)]


def test_writes_that_nobody_dirtied_are_left_over() -> None:
    found = row(worker(), devices=(disk(written=600.0),))
    assert found.write_bytes_per_s == 600
    assert found.reasons == ("kernel",)


def test_what_was_dirty_at_the_start_is_writeback() -> None:
    found = row(worker(), devices=(disk(written=600.0),), dirty_before=500)
    assert found.write_bytes_per_s == 100
    assert found.reasons == ("kernel", "writeback")


def test_the_balance_is_never_more_than_what_is_dirty() -> None:
    """What is no longer dirty was thrown away, as by a deleted file: it can't explain a later write."""
    keeper = Unattributed()
    row(worker(written=1000), keeper=keeper, dirty=100)
    assert row(worker(), devices=(disk(written=600.0),), keeper=keeper).write_bytes_per_s == 500


def test_cancelled_writes_are_not_expected_at_the_device() -> None:
    keeper = Unattributed()
    row(worker(written=1000, cancelled=900), keeper=keeper, dirty=10_000)
    assert row(worker(), devices=(disk(written=600.0),), keeper=keeper).write_bytes_per_s == 500


def test_a_frame_in_which_nobody_was_measured_blames_nobody_and_loses_no_balance() -> None:
    keeper = Unattributed()
    row(worker(written=1000), keeper=keeper, dirty=1000)
    found = keeper.unmeasured(sample(3, system=system_counters(memory_dirty_bytes=700)))
    assert (found.read_bytes_per_s, found.write_bytes_per_s) == (Missing.NOT_MEASURED, Missing.NOT_MEASURED)
    assert found.reasons == ()
    flushed = row(worker(), devices=(disk(written=700.0),), keeper=keeper)
    assert (flushed.write_bytes_per_s, flushed.reasons) == (0, ("writeback",))


def test_an_unmeasured_frame_keeps_the_balance_where_dirty_memory_is_not_known() -> None:
    keeper = Unattributed()
    hidden = Missing.NOT_IN_CONTAINER
    row(worker(written=1000), keeper=keeper, dirty=hidden, dirty_before=hidden)
    keeper.unmeasured(sample(3, system=system_counters(memory_dirty_bytes=hidden)))
    assert row(worker(), devices=(disk(written=1000.0),), keeper=keeper, dirty=hidden).write_bytes_per_s == 0


def test_what_the_disks_did_while_rows_changed_their_kind_is_nobodys() -> None:
    thread = process_counters(7, key=ProcessKey(7, 70, 7))
    builder = FrameBuilder()
    samples = [
        sample(at, process, threads=bool(process.key.tid), devices=(device_counters(sectors_read=2000 * at),))
        for at, process in enumerate((process_counters(7), process_counters(7), thread, thread, process_counters(7)))
    ]
    frames = [builder.frame(old, new) for old, new in pairwise(samples)]
    assert [one.switched for one in frames] == [False, True, False, True]
    assert [one.unattributed.read_bytes_per_s for one in frames] == [
        1_024_000,
        Missing.NOT_MEASURED,
        1_024_000,
        Missing.NOT_MEASURED,
    ]
    assert [bool(one.unattributed.reasons) for one in frames] == [True, False, True, False]


def test_without_memory_figures_the_balance_is_carried_unbounded() -> None:
    keeper = Unattributed()
    hidden = Missing.NOT_IN_CONTAINER
    row(worker(written=1000), keeper=keeper, dirty=hidden, dirty_before=hidden)
    found = row(worker(), devices=(disk(written=1000.0),), keeper=keeper, dirty=hidden)
    assert found.write_bytes_per_s == 0


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=30),
    st.integers(0, 10**9),
)
def test_over_time_the_devices_writes_are_split_without_loss(steps: list[tuple[int, int]], start: int) -> None:
    """With nothing thrown away: writes = dirtied + dirty at the start + left over - still dirty."""
    keeper = Unattributed()
    dirty, left, total_dirtied, total_written = start, 0.0, 0, 0
    for dirtied, written in steps:
        before, dirty = dirty, max(0, dirty + dirtied - written)
        found = row(
            worker(written=dirtied),
            devices=(disk(written=float(written)),),
            keeper=keeper,
            dirty=dirty,
            dirty_before=before,
        )
        assert isinstance(found.write_bytes_per_s, float)
        left += found.write_bytes_per_s
        total_dirtied += dirtied
        total_written += written
    assert left == pytest.approx(total_written - total_dirtied - start + dirty, abs=1e-3)


def test_reasons_name_who_else_may_have_done_it() -> None:
    devices = (disk(read=100.0),)
    assert row(worker(), hidden_row(), devices=devices).reasons == ("no_permission",)
    assert row(worker(), devices=devices, left=[]).reasons == ("exited",)
    assert row(worker(), devices=devices, created=5).reasons == ("exited",)
    host = replace(sample(1).host, pid_namespace=True)
    assert row(worker(), devices=devices, host=host).reasons == ("other_container",)
    hidden = replace(sample(1).host, hidepid="2")
    assert row(worker(), devices=devices, host=hidden).reasons == ("no_permission",)


def test_without_devices_nothing_can_be_left_over() -> None:
    found = row(worker(), devices=())
    assert found.read_bytes_per_s is found.write_bytes_per_s is Missing.NOT_MEASURED
    assert found.reasons == ()
    new = row(worker(), devices=(disk(Missing.NEW, Missing.NEW),))
    assert new.read_bytes_per_s is Missing.NEW


def test_a_device_that_is_not_known_yet_leaves_the_others() -> None:
    found = row(worker(), devices=(disk(70.0), disk(Missing.NEW, Missing.NEW, name="vdb")))
    assert found.read_bytes_per_s == 70


def test_no_time_gives_no_rate() -> None:
    same = sample(1, process_counters(7))
    found = Unattributed().row(same, same, 0.0, (disk(),), (), ())
    assert found.read_bytes_per_s is Missing.NOT_MEASURED
