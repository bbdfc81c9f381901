from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.frame import DeviceRow
from iodash.model.missing import Missing
from iodash.model.sample import DeviceCounters, MountCounters
from iodash.sampling.devices import device_rows, device_rows_since_boot
from tests.samples import device_counters, sample, system_counters

WRAP = 1 << 32


def between(old: DeviceCounters | None, new: DeviceCounters, seconds: float = 2.0) -> DeviceRow:
    before = sample(10, devices=() if old is None else (old,))
    (row,) = device_rows(before, sample(10 + seconds, devices=(new,)), seconds)
    return row


def mount(**values: Any) -> MountCounters:
    counts = {
        field.name: values.get(field.name, 0)
        for field in fields(MountCounters)
        if field.name not in ("name", "kind", "major", "minor", "mounts", "file_system")
    }
    return MountCounters(
        name="nas:/ckpt", kind="nfs", major=0, minor=44, mounts=("/ckpt",), file_system="nfs4", **counts
    )


def test_the_formulas_of_iostat() -> None:
    old = device_counters(
        reads=1000,
        reads_merged=10,
        sectors_read=80000,
        read_ms=500,
        writes=2000,
        writes_merged=100,
        sectors_written=160000,
        write_ms=4000,
        io_ticks_ms=900,
        queue_ms=4294967000,
        discards=5,
        discards_merged=1,
        sectors_discarded=4096,
        discard_ms=7,
        flushes=11,
        flush_ms=33,
    )
    new = device_counters(
        reads=1200,
        reads_merged=30,
        sectors_read=96000,
        read_ms=900,
        writes=2100,
        writes_merged=150,
        sectors_written=168000,
        write_ms=4500,
        io_ticks_ms=1300,
        queue_ms=600,
        discards=9,
        discards_merged=3,
        sectors_discarded=8192,
        discard_ms=19,
        flushes=13,
        flush_ms=53,
        in_flight=7,
    )
    row = between(old, new)
    assert (row.reads_per_s, row.read_bytes_per_s, row.reads_merged_per_s) == (100, 16000 * 256, 10)
    assert row.reads_merged_percent == pytest.approx(100 * 20 / 220)
    assert (row.read_await_ms, row.read_size_bytes) == (2, 40 * 1024)
    assert (row.writes_per_s, row.write_bytes_per_s, row.writes_merged_per_s) == (50, 2000 * 1024, 25)
    assert (row.write_await_ms, row.write_size_bytes) == (5, 40 * 1024)
    assert row.writes_merged_percent == pytest.approx(100 / 3)
    assert (row.discards_per_s, row.discard_bytes_per_s, row.discards_merged_per_s) == (2, 1024 * 1024, 1)
    assert (row.discard_await_ms, row.discard_size_bytes) == (3, 512 * 1024)
    assert row.discards_merged_percent == pytest.approx(100 / 3)
    assert (row.flushes_per_s, row.flush_await_ms) == (1, 10)
    assert row.queue_length == pytest.approx(0.448)
    assert row.util_percent == 20
    assert row.await_ms == pytest.approx((400 + 500 + 12) / (200 + 100 + 4))
    assert row.in_flight == 7


def test_the_mean_queue_follows_from_rates_and_waits() -> None:
    old = device_counters()
    new = device_counters(reads=100, read_ms=300, writes=50, write_ms=250, queue_ms=550)
    row = between(old, new, 1.0)
    assert isinstance(row.read_await_ms, float | int)
    assert isinstance(row.write_await_ms, float | int)
    assert row.queue_length == pytest.approx((100 * row.read_await_ms + 50 * row.write_await_ms) / 1000)


def test_nothing_done_has_rates_of_zero_and_no_waits() -> None:
    row = between(device_counters(reads=5, read_ms=9), device_counters(reads=5, read_ms=9))
    assert (row.reads_per_s, row.read_bytes_per_s, row.queue_length, row.util_percent) == (0, 0, 0, 0)
    unknown = (
        row.read_await_ms,
        row.write_await_ms,
        row.discard_await_ms,
        row.flush_await_ms,
        row.await_ms,
        row.read_size_bytes,
        row.write_size_bytes,
        row.discard_size_bytes,
        row.reads_merged_percent,
        row.writes_merged_percent,
        row.discards_merged_percent,
    )
    assert set(unknown) == {Missing.NO_IO}


def test_the_same_object_in_both_samples_is_a_device_at_rest() -> None:
    disk = device_counters(reads=5, read_ms=9, flushes=Missing.UNSUPPORTED, in_flight=1)
    row = between(disk, disk)
    assert (row.reads_per_s, row.util_percent, row.in_flight) == (0, 0, 1)
    assert (row.read_await_ms, row.flushes_per_s) == (Missing.NO_IO, Missing.UNSUPPORTED)
    assert between(disk, disk, 0.0).reads_per_s is Missing.NOT_MEASURED


def test_a_device_seen_first_is_new_but_its_queue_is_known() -> None:
    row = between(None, device_counters(reads=40, flushes=Missing.UNSUPPORTED, in_flight=3))
    assert row.reads_per_s is Missing.NEW
    assert row.util_percent is Missing.NEW
    assert row.flushes_per_s is Missing.UNSUPPORTED
    assert row.in_flight == 3


@pytest.mark.parametrize(
    "counter",
    ["reads", "writes", "sectors_read", "sectors_written", "discards", "flushes", "reads_merged", "writes_merged"],
)
def test_one_fallen_count_makes_the_whole_interval_a_reset(counter: str) -> None:
    before: dict[str, Any] = {"reads": 500, "writes": 500, "read_ms": 100, counter: 900}
    after: dict[str, Any] = {"reads": 600, "writes": 600, "read_ms": 200, counter: 100}
    old, new = device_counters(**before), device_counters(**after)
    row = between(old, new)
    assert row.reads_per_s is Missing.RESET
    assert row.read_await_ms is Missing.RESET
    assert row.queue_length is Missing.RESET
    assert row.util_percent is Missing.RESET


def test_another_device_under_the_same_name_is_a_reset_though_its_counters_grew() -> None:
    row = between(device_counters(generation=4, reads=5), device_counters(generation=9, reads=50))
    assert row.reads_per_s is Missing.RESET
    assert between(device_counters(generation=0), device_counters(generation=9, reads=2)).reads_per_s == 1


def test_the_same_name_with_another_number_is_a_new_device() -> None:
    assert between(device_counters(minor=0), device_counters(minor=1, reads=4)).reads_per_s is Missing.NEW


def test_a_device_that_is_gone_has_no_row() -> None:
    before = sample(10, devices=(device_counters("sda"), device_counters("sdb")))
    rows = device_rows(before, sample(11, devices=(device_counters("sda"),)), 1.0)
    assert [row.name for row in rows] == ["sda"]
    assert device_rows(before, sample(11, devices=Missing.NOT_IN_CONTAINER), 1.0) == ()
    hidden = sample(10, devices=Missing.NOT_IN_CONTAINER)
    assert device_rows(hidden, before, 1.0)[0].reads_per_s is Missing.NEW


def test_times_wrap_at_32_bits() -> None:
    row = between(
        device_counters(reads=1000, read_ms=WRAP - 296, io_ticks_ms=WRAP - 96, queue_ms=WRAP - 296),
        device_counters(reads=1200, read_ms=704, io_ticks_ms=304, queue_ms=704),
    )
    assert (row.read_await_ms, row.queue_length, row.util_percent) == (5, 0.5, 20)


def test_a_fall_too_large_for_a_wrap_is_a_reset_of_that_field() -> None:
    row = between(
        device_counters(reads=1, io_ticks_ms=1_000_000, queue_ms=2_000_000, read_ms=5),
        device_counters(reads=2, io_ticks_ms=10, queue_ms=10, read_ms=6),
    )
    assert row.util_percent is Missing.RESET
    assert row.queue_length is Missing.RESET
    assert (row.reads_per_s, row.read_await_ms) == (0.5, 1)


def test_use_may_pass_a_hundred_percent() -> None:
    assert between(device_counters(), device_counters(io_ticks_ms=1006), 1.0).util_percent == pytest.approx(100.6)


def test_a_hung_device_is_in_use_without_completions() -> None:
    row = between(device_counters(io_ticks_ms=100, in_flight=1), device_counters(io_ticks_ms=2100, in_flight=1))
    assert (row.reads_per_s, row.util_percent, row.in_flight) == (0, 100, 1)
    assert row.await_ms is Missing.NO_IO


def test_statistics_switched_off_say_so() -> None:
    off: dict[str, Any] = {field.name: Missing.OFF for field in fields(DeviceCounters) if str(field.type) == "Count"}
    row = between(device_counters(**off), device_counters(**off))
    assert {row.reads_per_s, row.await_ms, row.util_percent, row.in_flight, row.flushes_per_s} == {Missing.OFF}
    assert between(device_counters(reads=5), device_counters(**off)).reads_per_s is Missing.OFF
    assert between(device_counters(**off), device_counters(reads=5)).reads_per_s is Missing.OFF


def test_waits_of_a_kernel_without_discards_are_over_reads_and_writes() -> None:
    lacking: dict[str, Any] = dict.fromkeys(
        ("discards", "discards_merged", "sectors_discarded", "discard_ms"), Missing.UNSUPPORTED
    )
    row = between(device_counters(**lacking), device_counters(reads=10, read_ms=50, **lacking))
    assert row.await_ms == 5
    assert row.discards_per_s is Missing.UNSUPPORTED
    assert row.discards_merged_percent is Missing.UNSUPPORTED


def test_since_boot_divides_lifetime_by_uptime() -> None:
    lived = sample(
        100,
        system=system_counters(uptime_s=100.0),
        devices=(device_counters(reads=1000, sectors_read=2000, read_ms=3000),),
        mounts=(mount(operations=50),),
    )
    disk, nas = device_rows_since_boot(lived)
    assert (disk.reads_per_s, disk.read_bytes_per_s, disk.read_await_ms) == (10, 10240, 3)
    assert nas.operations_per_s == 0.5
    unknown = sample(100, system=system_counters(uptime_s=Missing.NOT_IN_CONTAINER), devices=Missing.NOT_IN_CONTAINER)
    assert device_rows_since_boot(unknown) == ()
    unknown = sample(100, system=system_counters(uptime_s=Missing.NOT_IN_CONTAINER), devices=(device_counters(),))
    assert device_rows_since_boot(unknown)[0].reads_per_s is Missing.NOT_MEASURED


def nfs(old: MountCounters | None, new: MountCounters) -> DeviceRow:
    before = sample(10, devices=(), mounts=() if old is None else (old,))
    (row,) = device_rows(before, sample(12, devices=(), mounts=(new,)), 2.0)
    return row


def test_a_network_mount_is_a_row_whose_waits_are_execute_times() -> None:
    row = nfs(
        mount(operations=100, reads=10, read_bytes=1000),
        mount(
            operations=300,
            retransmits=4,
            reads=110,
            writes=50,
            read_bytes=1000 + 100 * 4096,
            written_bytes=50 * 8192,
            read_execute_ms=200,
            write_execute_ms=500,
            rtt_ms=600,
            queue_ms=200,
            execute_ms=1000,
            in_flight=Missing.UNSUPPORTED,
        ),
    )
    assert (row.name, row.kind, row.mounts) == ("nas:/ckpt", "nfs", ("/ckpt",))
    assert (row.operations_per_s, row.reads_per_s, row.writes_per_s, row.retransmits_per_s) == (100, 50, 25, 2)
    assert (row.read_bytes_per_s, row.write_bytes_per_s) == (50 * 4096, 25 * 8192)
    assert (row.await_ms, row.read_await_ms, row.write_await_ms) == (5, 2, 10)
    assert (row.rtt_ms, row.queue_ms, row.queue_length) == (3, 1, 0.5)
    assert (row.read_size_bytes, row.write_size_bytes) == (4096, 8192)
    assert {row.util_percent, row.discards_per_s, row.flush_await_ms, row.in_flight} == {Missing.UNSUPPORTED}
    assert not row.total


def test_network_mounts_are_new_reset_or_silent() -> None:
    assert nfs(None, mount(operations=9)).operations_per_s is Missing.NEW
    again = nfs(mount(operations=9, reads=5), mount(operations=3, reads=6))
    assert (again.operations_per_s, again.reads_per_s) == (Missing.RESET, Missing.RESET)
    silent = nfs(mount(rtt_ms=Missing.UNSUPPORTED), mount(rtt_ms=Missing.UNSUPPORTED))
    assert (silent.operations_per_s, silent.await_ms, silent.rtt_ms) == (0, Missing.NO_IO, Missing.UNSUPPORTED)


count = st.integers(0, 1 << 50)
wrapping = st.integers(0, WRAP - 1)
anything = st.builds(
    device_counters,
    reads=count,
    reads_merged=count,
    sectors_read=count,
    read_ms=wrapping,
    writes=count,
    writes_merged=count,
    sectors_written=count,
    write_ms=wrapping,
    in_flight=st.integers(0, 1000),
    io_ticks_ms=wrapping,
    queue_ms=wrapping,
    discards=count,
    flushes=st.one_of(count, st.just(Missing.UNSUPPORTED)),
    flush_ms=wrapping,
)


@given(anything, anything, st.floats(0.001, 3600))
def test_whatever_is_read_no_number_is_negative_and_no_reading_fails(
    old: DeviceCounters, new: DeviceCounters, seconds: float
) -> None:
    row = between(old, new, seconds)
    for field in fields(DeviceRow):
        value = getattr(row, field.name)
        if isinstance(value, float | int) and field.name.endswith(("_s", "_ms", "_bytes", "_percent", "_length")):
            assert value >= 0, field.name
