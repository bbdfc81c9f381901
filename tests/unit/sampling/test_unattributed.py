"""What the devices did beyond the listed processes: nothing twice, nothing lost, and the likely reason."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.frame import DeviceRow
from iodash.model.missing import Missing, or_zero
from iodash.model.sample import IoCounters, ProcessKey
from iodash.sampling.frames import FrameBuilder
from iodash.sampling.processes import ProcessRates
from iodash.sampling.unattributed import Unattributed
from tests.samples import device_counters, process_counters, sample, system_counters

if TYPE_CHECKING:
    from iodash.model.frame import ProcessRow, UnattributedRow
    from iodash.model.missing import Number


MIB = 1 << 20


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


def worker(
    read: int = 0, written: int = 0, cancelled: int = 0, pid: int = 7, *, kernel_thread: bool = False
) -> ProcessRow:
    old = process_counters(pid, kernel_thread=kernel_thread)
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


def test_what_lies_dirty_all_the_time_explains_no_write() -> None:
    keeper = Unattributed()
    lies: dict[str, Any] = {"dirty_before": 200 * MIB, "dirty": 200 * MIB, "keeper": keeper}
    found = [row(worker(), devices=(disk(written=amount * MIB),), **lies) for amount in (15.0, 17.0, 8.0)]
    assert [one.write_bytes_per_s for one in found] == [15 * MIB, 17 * MIB, 8 * MIB]
    assert [one.reasons for one in found] == [("kernel",)] * 3
    flushed = row(worker(), devices=(disk(written=200.0 * MIB),), keeper=keeper, dirty_before=200 * MIB, dirty=0)
    assert (flushed.write_bytes_per_s, flushed.reasons) == (0, ("writeback",))


def test_what_was_dirtied_and_still_lies_explains_no_write_either() -> None:
    found = row(worker(written=30 * MIB), devices=(disk(written=20.0 * MIB),), dirty_before=100 * MIB, dirty=130 * MIB)
    assert found.write_bytes_per_s == 20 * MIB


def test_direct_writes_of_a_listed_process_are_its_own_whatever_lies_dirty() -> None:
    lies: dict[str, Any] = {"dirty_before": 100 * MIB, "dirty": 100 * MIB}
    assert row(worker(written=20 * MIB), devices=(disk(written=20.0 * MIB),), **lies).write_bytes_per_s == 0


def test_a_difference_within_the_error_of_the_dirty_count_is_no_writer() -> None:
    """The two CPUs keep up to 125 pages each to themselves."""
    for lacking, left in ((1_000_000, 0), (1_048_576, 1_048_576)):
        fallen: dict[str, Any] = {"dirty_before": 100 * MIB, "dirty": 80 * MIB + lacking}
        assert row(worker(), devices=(disk(written=20.0 * MIB),), **fallen).write_bytes_per_s == left


def test_a_slow_sample_widens_the_error() -> None:
    fallen: dict[str, Any] = {"dirty_before": 100 * MIB, "dirty": 83 * MIB}
    devices = (disk(written=20.0 * MIB),)
    assert row(worker(), devices=devices, **fallen).write_bytes_per_s == 3 * MIB
    assert row(worker(), devices=devices, **fallen, sample_ms=200.0).write_bytes_per_s == 0


def test_a_burst_between_two_readings_is_no_writer_but_what_adds_up_is() -> None:
    """20 MiB were dirtied after the dirty count was read and before the process was: the next frame evens that out."""
    keeper = Unattributed()
    slow: dict[str, Any] = {"keeper": keeper, "sample_ms": 20.0}
    devices = (disk(written=100.0 * MIB),)
    row(worker(written=100 * MIB), keeper=keeper, dirty=100 * MIB)
    burst = [
        row(worker(written=100 * MIB), devices=devices, dirty_before=100 * MIB, dirty=120 * MIB, **slow),
        row(worker(written=120 * MIB), devices=devices, dirty_before=120 * MIB, dirty=120 * MIB, **slow),
    ]
    assert [one.write_bytes_per_s for one in burst] == [0, 0]
    beyond = (disk(written=30.0 * MIB),)
    lies: dict[str, Any] = {"dirty_before": 120 * MIB, "dirty": 120 * MIB}
    found = [row(worker(written=10 * MIB), devices=beyond, **lies, **slow) for _ in range(6)]
    left = [or_zero(one.write_bytes_per_s) for one in found]
    assert max(left) <= 30 * MIB
    assert sum(left) == pytest.approx(6 * 20 * MIB, abs=31 * MIB)


# --- what is read and written elsewhere -------------------------------------------------------------------------------


def image(read: Number = 0.0, written: Number = 0.0, **values: Any) -> DeviceRow:
    return disk(read, written, **{"name": "loop1", "kind": "loop", "total": False, **values})


LOOP_THREAD = worker(0, kernel_thread=True, pid=2)


def test_bytes_of_an_image_in_memory_hide_none_of_the_disks() -> None:
    devices = (disk(18.0 * MIB, 9.0 * MIB), image(60.0 * MIB, 30.0 * MIB))
    found = row(worker(60 * MIB, 30 * MIB), devices=devices)
    assert (found.read_bytes_per_s, found.write_bytes_per_s) == (18 * MIB, 9 * MIB)
    assert found.reasons == ("kernel",)


def test_bytes_of_an_image_on_a_disk_count_once() -> None:
    """The process reads the loop device, and its kernel thread the disk; part of the image lay in the page cache."""
    devices = (disk(38.0 * MIB), image(30.0 * MIB, backed_by=("vda",)))
    thread = worker(20 * MIB, kernel_thread=True, pid=2)
    assert row(worker(30 * MIB), thread, devices=devices).read_bytes_per_s == 18 * MIB


def test_an_image_upon_an_image_counts_once() -> None:
    lower, upper = image(30.0 * MIB, backed_by=("vda",)), image(30.0 * MIB, name="loop2", backed_by=("vda",))
    threads = [worker(30 * MIB, kernel_thread=True, pid=pid) for pid in (2, 3)]
    devices = (disk(36.0 * MIB), lower, upper)
    assert row(worker(30 * MIB), *threads, devices=devices).read_bytes_per_s == 6 * MIB


def test_where_kernel_threads_are_out_of_sight_an_image_on_a_disk_stands_for_them() -> None:
    devices = (disk(36.0 * MIB), image(30.0 * MIB, backed_by=("vda",)))
    assert row(worker(30 * MIB), devices=devices).read_bytes_per_s == 6 * MIB
    hidden = process_counters(2, io=Missing.NO_PERMISSION, kernel_thread=True)
    thread = ProcessRates().rows(sample(1, hidden), sample(2, hidden), 1.0, ())[0]
    assert row(worker(30 * MIB), thread, devices=devices).read_bytes_per_s == 6 * MIB


def test_device_mapper_and_md_pass_requests_on_uncounted() -> None:
    stack = [disk(50.0 * MIB, name=name, kind=kind, total=False) for name, kind in (("dm-0", "dm"), ("md0", "md"))]
    assert row(worker(50 * MIB), LOOP_THREAD, devices=(disk(50.0 * MIB), *stack)).read_bytes_per_s == 0
    assert row(worker(40 * MIB), LOOP_THREAD, devices=(disk(50.0 * MIB), *stack)).read_bytes_per_s == 10 * MIB


def test_memory_devices_hide_none_of_the_disks() -> None:
    for kind in ("zram", "ram"):
        devices = (disk(5.0, 7.0), disk(90.0, 80.0, name=f"{kind}0", kind=kind, total=False, mounts=("/scratch",)))
        found = row(worker(90, 80), devices=devices)
        assert (found.read_bytes_per_s, found.write_bytes_per_s) == (5, 7)


def test_what_is_swapped_out_to_memory_was_dirtied_by_no_process() -> None:
    devices = (disk(written=50.0), disk(written=80.0, name="zram0", kind="zram", total=False))
    assert row(worker(written=50), devices=devices).write_bytes_per_s == 0


def test_what_is_flushed_to_an_image_or_a_server_leaves_the_balance() -> None:
    for device in (image(written=100.0 * MIB), disk(written=100.0 * MIB, name="nas:/d", kind="nfs", total=False)):
        keeper = Unattributed()
        row(worker(written=100 * MIB), keeper=keeper, dirty=100 * MIB)
        devices = (disk(written=20.0 * MIB), device)
        flushed = row(worker(), devices=devices, keeper=keeper, dirty_before=100 * MIB)
        assert flushed.write_bytes_per_s == 20 * MIB
        assert "writeback" not in flushed.reasons


def test_what_is_flushed_to_an_image_on_a_disk_is_flushed_to_the_disk_once() -> None:
    keeper = Unattributed()
    row(worker(written=48 * MIB), keeper=keeper, dirty=48 * MIB)
    thread = worker(written=48 * MIB, kernel_thread=True, pid=2)
    upper = image(written=48.0 * MIB, backed_by=("vda",))
    moved = row(worker(), thread, devices=(disk(), upper), keeper=keeper, dirty_before=48 * MIB, dirty=48 * MIB)
    flushed = row(worker(), devices=(disk(written=48.0 * MIB),), keeper=keeper, dirty_before=48 * MIB)
    assert (moved.write_bytes_per_s, flushed.write_bytes_per_s, flushed.reasons) == (0, 0, ("writeback",))


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
