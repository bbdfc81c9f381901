from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.model.sample import CpuTicks, InterfaceCounters, Sample
from iodash.sampling.devices import device_rows
from iodash.sampling.system import cpu_rows, interface_rows, system_row, system_row_since_boot
from tests.samples import device_counters, sample, system_counters

ticks = st.integers(0, 1 << 40)
cpu_ticks = st.builds(CpuTicks, ticks, ticks, ticks, ticks, ticks, ticks, ticks, ticks)


def at(monotonic: float, **values: Any) -> Sample:
    return sample(monotonic, system=system_counters(uptime_s=monotonic, **values))


def row(old: Sample, new: Sample) -> Any:
    seconds = new.monotonic - old.monotonic
    return system_row(old, new, seconds, device_rows(old, new, seconds))


def test_cpu_shares_fold_nice_and_interrupts_and_sum_to_100() -> None:
    old = at(10, cpu=CpuTicks(100, 10, 20, 500, 30, 1, 2, 3))
    new = at(12, cpu=CpuTicks(140, 20, 40, 580, 40, 11, 12, 23))
    got = row(old, new)
    assert got.cpu_user_percent == pytest.approx(25)
    assert got.cpu_system_percent == pytest.approx(20)
    assert got.cpu_idle_percent == pytest.approx(40)
    assert got.cpu_iowait_percent == pytest.approx(5)
    assert got.cpu_steal_percent == pytest.approx(10)


@given(cpu_ticks, cpu_ticks)
def test_shares_are_percentages_of_one_hundred_whatever_the_ticks(before: CpuTicks, after: CpuTicks) -> None:
    got = row(at(10, cpu=before), at(11, cpu=after))
    shares = [
        got.cpu_user_percent,
        got.cpu_system_percent,
        got.cpu_idle_percent,
        got.cpu_iowait_percent,
        got.cpu_steal_percent,
    ]
    if Missing.NOT_MEASURED in shares:
        assert shares == [Missing.NOT_MEASURED] * 5
    else:
        assert all(0 <= share <= 100.0001 for share in shares)
        assert sum(shares) == pytest.approx(100)


def test_idle_that_steps_back_counts_as_nothing_and_is_no_reset() -> None:
    got = row(at(10, cpu=CpuTicks(0, 0, 0, 500, 100, 0, 0, 0)), at(11, cpu=CpuTicks(50, 0, 50, 490, 90, 0, 0, 0)))
    assert (got.cpu_user_percent, got.cpu_system_percent, got.cpu_idle_percent, got.cpu_iowait_percent) == (
        50,
        50,
        0,
        0,
    )


def test_no_tick_and_no_cpu_line_are_reasons_not_zeros() -> None:
    same = CpuTicks(1, 1, 1, 1, 1, 1, 1, 1)
    assert row(at(10, cpu=same), at(10.01, cpu=same)).cpu_idle_percent is Missing.NOT_MEASURED
    hidden = at(11, cpu=Missing.NOT_IN_CONTAINER)
    assert row(at(10, cpu=same), hidden).cpu_user_percent is Missing.NOT_IN_CONTAINER
    assert row(hidden, at(12, cpu=same)).cpu_user_percent is Missing.NEW


def test_each_cpu_has_a_row_but_one_that_has_just_come_online() -> None:
    one = CpuTicks(0, 0, 0, 0, 0, 0, 0, 0)
    old = at(10, cpus={0: one, 2: one})
    new = at(11, cpus={0: CpuTicks(100, 0, 0, 0, 0, 0, 0, 0), 1: CpuTicks(5, 0, 0, 0, 0, 0, 0, 0), 2: one})
    rows = cpu_rows(old, new)
    assert [(cpu.cpu, cpu.user_percent) for cpu in rows] == [(0, 100)]
    assert [cpu.cpu for cpu in cpu_rows(None, new)] == [0, 1]


def test_memory_used_is_total_less_available() -> None:
    got = row(
        at(1),
        at(
            2,
            memory_total_bytes=100,
            memory_available_bytes=60,
            memory_free_bytes=10,
            swap_total_bytes=50,
            swap_free_bytes=20,
            memory_cached_bytes=7,
            memory_dirty_bytes=5,
            memory_shmem_bytes=3,
            memory_reclaimable_bytes=2,
        ),
    )
    assert (got.memory_used_bytes, got.memory_available_bytes, got.memory_free_bytes) == (40, 60, 10)
    assert (got.swap_used_bytes, got.memory_cached_bytes, got.memory_dirty_bytes) == (30, 7, 5)
    assert (got.memory_shmem_bytes, got.memory_reclaimable_bytes) == (3, 2)
    no_estimate = at(2, memory_total_bytes=100, memory_available_bytes=Missing.UNSUPPORTED)
    assert row(at(1), no_estimate).memory_used_bytes is Missing.UNSUPPORTED


def test_paging_is_in_bytes_by_the_page_size_of_the_host() -> None:
    old, new = (
        at(10),
        at(12, swap_in_pages=4, swap_out_pages=2, page_in_kib=20, page_out_kib=10, refault_pages=6, major_faults=8),
    )
    new = replace(new, host=replace(new.host, page_bytes=65536))
    got = row(old, new)
    assert (got.swap_in_bytes_per_s, got.swap_out_bytes_per_s) == (2 * 65536, 65536)
    assert (got.page_in_bytes_per_s, got.page_out_bytes_per_s) == (10240, 5120)
    assert (got.refault_bytes_per_s, got.major_faults_per_s) == (3 * 65536, 4)


def test_a_counter_that_fell_was_reset() -> None:
    got = row(at(10, interrupts=100, context_switches=5), at(11, interrupts=90, context_switches=15))
    assert got.interrupts_per_s is Missing.RESET
    assert got.context_switches_per_s == 10


def test_pressure_is_the_exact_share_of_the_interval() -> None:
    old = at(10, pressure_io_some_us=1_000_000, pressure_io_full_us=0, pressure_memory_some_us=Missing.UNSUPPORTED)
    new = at(
        12,
        pressure_io_some_us=1_500_000,
        pressure_io_full_us=2_004_000,
        pressure_memory_some_us=Missing.UNSUPPORTED,
        pressure_cpu_some_us=200_000,
    )
    got = row(old, new)
    assert got.pressure_io_some_percent == pytest.approx(25)
    assert got.pressure_io_full_percent == 100
    assert got.pressure_cpu_some_percent == pytest.approx(10)
    assert got.pressure_memory_some_percent is Missing.UNSUPPORTED


def test_network_sums_what_counts_and_says_new_for_what_it_missed() -> None:
    def network(monotonic: float, *rows: tuple[str, int, int, bool]) -> Sample:
        return at(monotonic, interfaces=tuple(InterfaceCounters(*each) for each in rows))

    old = network(10, ("lo", 5, 5, False), ("eth0", 100, 50, True))
    new = network(12, ("lo", 905, 905, False), ("eth0", 300, 150, True), ("eth1", 10**9, 10**9, True))
    got = row(old, new)
    assert (got.network_receive_bytes_per_s, got.network_transmit_bytes_per_s) == (100, 50)
    rows = {each.name: each for each in interface_rows(old, new, 2.0)}
    assert rows["lo"].receive_bytes_per_s == 450
    assert rows["eth1"].receive_bytes_per_s is Missing.NEW
    assert interface_rows(None, new, 100.0)[2].receive_bytes_per_s == 10**7
    assert interface_rows(None, new, Missing.NOT_IN_CONTAINER)[0].receive_bytes_per_s is Missing.NOT_IN_CONTAINER
    only_new = network(14, ("eth1", 1, 1, True))
    assert row(old, only_new).network_receive_bytes_per_s is Missing.NEW
    assert row(old, network(12, ("lo", 9, 9, False))).network_receive_bytes_per_s == 0
    hidden = at(13, interfaces=Missing.NOT_IN_CONTAINER)
    assert row(new, hidden).network_transmit_bytes_per_s is Missing.NOT_IN_CONTAINER
    assert interface_rows(new, hidden, 1.0) == ()
    assert row(hidden, only_new).network_receive_bytes_per_s is Missing.NEW


def test_disks_count_each_physical_byte_once() -> None:
    def disks(monotonic: float, sectors: int) -> Sample:
        return sample(
            monotonic,
            devices=(
                device_counters("nvme0n1", sectors_read=sectors, sectors_written=2 * sectors, minor=0),
                device_counters("nvme0n1p1", sectors_read=sectors, minor=1, kind="partition", total=False),
                device_counters("dm-0", sectors_read=sectors, minor=2, kind="dm", total=False),
                device_counters("loop0", sectors_read=sectors, minor=3, kind="loop", total=False),
            ),
        )

    got = row(disks(10, 1000), disks(12, 3000))
    assert got.disk_read_bytes_per_s == 2000 * 512 / 2
    assert got.disk_write_bytes_per_s == 4000 * 512 / 2
    assert got.disk_devices == ("nvme0n1",)


def test_a_disk_that_is_not_known_is_left_out_of_the_sum_and_of_its_names() -> None:
    old = sample(10, devices=(device_counters("sda"),))
    new = sample(11, devices=(device_counters("sda", sectors_read=2), device_counters("sdb", minor=16)))
    got = row(old, new)
    assert got.disk_read_bytes_per_s == 1024
    assert got.disk_devices == ("sda",)
    fresh = row(sample(10, devices=()), new)
    assert fresh.disk_read_bytes_per_s is Missing.NEW
    assert fresh.disk_devices == ()


def test_no_disks_sum_to_nothing_and_no_list_has_a_reason() -> None:
    assert row(sample(10, devices=()), sample(11, devices=())).disk_read_bytes_per_s == 0
    hidden = sample(11, devices=Missing.NOT_IN_CONTAINER)
    assert row(sample(10), hidden).disk_write_bytes_per_s is Missing.NOT_IN_CONTAINER


def test_since_boot_divides_by_the_uptime() -> None:
    new = at(100, cpu=CpuTicks(30, 0, 0, 70, 0, 0, 0, 0), interrupts=5000)
    got = system_row_since_boot(new, ())
    assert got.cpu_user_percent == pytest.approx(30)
    assert got.interrupts_per_s == 50
    unknown = sample(100, system=system_counters(uptime_s=Missing.NOT_IN_CONTAINER, interrupts=5))
    assert system_row_since_boot(unknown, ()).interrupts_per_s is Missing.NOT_IN_CONTAINER
