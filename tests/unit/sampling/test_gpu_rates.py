from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import EngineCounters, GpuProcess
from iodash.sampling.gpus import GpuRates
from tests.gpu_counters import gpu_counters
from tests.samples import sample

if TYPE_CHECKING:
    from iodash.model.frame import GpuRow
    from iodash.model.sample import GpuCounters, Sample


def at(monotonic: float, *gpus: GpuCounters) -> Sample:
    return sample(monotonic, gpus=gpus)


def one(rates: GpuRates, old: Sample, new: Sample) -> GpuRow:
    (row,) = rates.rows(old, new)
    return row


def test_power_and_pcie_are_means_of_the_interval_between_the_readings() -> None:
    old = at(10.0, gpu_counters(9.9, pcie_receive_bytes_total=1000))
    new = at(11.0, gpu_counters(11.4 - 0.5, energy_joules_total=1250.5, pcie_receive_bytes_total=3000))
    row = one(GpuRates(), old, new)
    assert row.power_watts == pytest.approx(250.5)
    assert row.pcie_receive_bytes_per_s == pytest.approx(2000)


def test_a_gpu_seen_for_the_first_time_has_gauges_and_says_new_for_its_rates() -> None:
    row = one(GpuRates(), at(10.0), at(11.0, gpu_counters(10.9, pcie_transmit_bytes_per_s=7.0)))
    assert row.power_watts == 400
    assert row.pcie_receive_bytes_per_s is Missing.NEW
    assert row.pcie_transmit_bytes_per_s == 7.0


def test_the_drivers_own_rate_stands_in_for_a_counter_that_there_is_not() -> None:
    row = one(GpuRates(), at(10.0, gpu_counters(9.9)), at(11.0, gpu_counters(10.9)))
    assert row.nvlink_receive_bytes_per_s == 5e9
    assert row.nvlink_transmit_bytes_per_s is Missing.OFF


def test_a_counter_that_fell_was_reset_and_makes_no_spike() -> None:
    old = at(10.0, gpu_counters(9.9, pcie_receive_bytes_total=5000))
    new = at(11.0, gpu_counters(10.9, pcie_receive_bytes_total=100, energy_joules_total=3.0))
    row = one(GpuRates(), old, new)
    assert row.pcie_receive_bytes_per_s is Missing.RESET
    assert row.power_watts == 400, "the gauge is right while the energy counter began anew"


def test_a_counter_that_was_unknown_before_has_no_rate_yet() -> None:
    old = at(10.0, gpu_counters(9.9, pcie_receive_bytes_total=Missing.NO_PERMISSION))
    row = one(GpuRates(), old, at(11.0, gpu_counters(10.9)))
    assert row.pcie_receive_bytes_per_s is Missing.NO_PERMISSION


def test_utilisation_is_the_mean_of_the_samples_by_the_time_each_stands_for() -> None:
    samples = ((10.2, 100.0), (10.4, 100.0), (11.0, 0.0))
    row = one(GpuRates(), at(10.0, gpu_counters(9.9)), at(11.0, gpu_counters(10.95, util_samples=samples)))
    assert row.util_percent == pytest.approx((100 * 0.4 + 100 * 0.2 + 0 * 0.6) / (0.4 + 0.2 + 0.6))
    assert [before for before, _ in row.util_samples] == pytest.approx([0.8, 0.6, 0.0])
    assert [percent for _, percent in row.util_samples] == [100.0, 100.0, 0.0]


def test_a_single_sample_is_the_mean() -> None:
    row = one(GpuRates(), at(10.0, gpu_counters(9.9)), at(11.0, gpu_counters(10.9, util_samples=((10.8, 30.0),))))
    assert row.util_percent == 30


def test_the_last_sample_of_a_frame_bounds_the_first_of_the_next() -> None:
    rates = GpuRates()
    first = at(11.0, gpu_counters(10.95, util_samples=((10.8, 0.0),)))
    second = at(12.0, gpu_counters(11.95, util_samples=((11.2, 100.0), (11.8, 0.0))))
    one(rates, at(10.0, gpu_counters(9.9)), first)
    assert one(rates, first, second).util_percent == pytest.approx(100 * 0.4 / (0.4 + 0.6))


def test_without_samples_the_drivers_last_value_is_shown() -> None:
    row = one(GpuRates(), at(10.0, gpu_counters(9.9)), at(11.0, gpu_counters(10.9)))
    assert (row.util_percent, row.util_samples) == (40, ())


def test_no_sample_is_in_two_frames() -> None:
    rates = GpuRates()
    reading = gpu_counters(10.9, util_samples=((10.5, 10.0), (10.8, 20.0)))
    first = at(11.0, reading)
    assert len(one(rates, at(10.0, gpu_counters(9.9)), first).util_samples) == 2
    again = one(rates, first, at(11.4, reading))
    assert again.util_samples == ()
    assert again.util_percent == pytest.approx(15), "between two polls the values hold"
    assert one(rates, first, at(12.0, gpu_counters(11.9, util_samples=((10.8, 20.0),)))).util_samples == ()


def test_a_reading_that_got_old_is_not_repeated_as_new() -> None:
    rates = GpuRates()
    reading = gpu_counters(10.9, util_samples=((10.5, 10.0),))
    one(rates, at(10.0, gpu_counters(9.9)), at(11.0, reading))
    row = one(rates, at(14.0, reading), at(15.0, reading))
    assert row.util_percent is Missing.NOT_MEASURED
    assert row.memory_used_bytes is Missing.NOT_MEASURED
    assert row.processes is Missing.NOT_MEASURED
    assert row.memory_total_bytes == reading.memory_total_bytes
    assert row.message == "no new reading for 4 s"


def test_samples_from_before_the_interval_are_left_out() -> None:
    samples = ((2.0, 100.0), (10.5, 0.0))
    row = one(GpuRates(), at(10.0), at(11.0, gpu_counters(10.9, util_samples=samples)))
    assert [percent for _, percent in row.util_samples] == [0.0]


@pytest.mark.parametrize("status", ["lost", "asleep", "error", "no_permission"])
def test_a_gpu_in_trouble_keeps_its_row_and_the_others_their_numbers(status: Any) -> None:
    bad = gpu_counters(10.9, index=1, uuid="GPU-b").unmeasured(Missing.GONE, status, "what happened")
    old = at(10.0, gpu_counters(9.9), gpu_counters(9.9, index=1, uuid="GPU-b"))
    good, row = GpuRates().rows(old, at(11.0, gpu_counters(10.9, energy_joules_total=1400.0), bad))
    assert (row.status, row.util_percent, row.message) == (status, Missing.GONE, "what happened")
    assert good.power_watts == pytest.approx(400)


def test_gpus_are_matched_by_uuid_when_their_order_changes() -> None:
    a, b = gpu_counters(9.9, uuid="GPU-a"), gpu_counters(9.9, uuid="GPU-b", energy_joules_total=5000.0)
    later = gpu_counters(10.9, uuid="GPU-b", energy_joules_total=5100.0)
    assert one(GpuRates(), at(10.0, a, b), at(11.0, later)).power_watts == pytest.approx(100)


def test_the_same_sample_twice_gives_gauges() -> None:
    now = at(10.0, gpu_counters(9.9))
    row = one(GpuRates(), now, now)
    assert (row.power_watts, row.pcie_receive_bytes_per_s) == (400, Missing.NEW)


def intel(read_at: float, *engines: EngineCounters, **values: Any) -> GpuCounters:
    processes = tuple(GpuProcess(pid, Missing.UNSUPPORTED, Missing.NEW) for pid in sorted({e.pid for e in engines}))
    return gpu_counters(
        read_at, vendor="intel", util_percent=Missing.UNSUPPORTED, engines=engines, processes=processes, **values
    )


def test_engine_counters_become_the_share_of_the_busiest_engine() -> None:
    old = intel(10.0, EngineCounters(7, 1, "render", 0), EngineCounters(7, 1, "video", 0, capacity=2))
    new = intel(
        11.0,
        EngineCounters(7, 1, "render", 300_000_000),
        EngineCounters(7, 1, "video", 400_000_000, capacity=2),
        EngineCounters(8, 2, "render", 100_000_000),
    )
    row = one(GpuRates(), at(10.0, old), at(11.0, new))
    assert row.util_percent == pytest.approx(40)
    assert not isinstance(row.processes, Missing)
    assert [process.sm_percent for process in row.processes] == [pytest.approx(30), pytest.approx(10)]


def test_engine_cycles_are_a_share_of_all_cycles() -> None:
    old = intel(10.0, EngineCounters(7, 1, "ccs", 1000, 10_000))
    new = intel(11.0, EngineCounters(7, 1, "ccs", 3000, 14_000))
    assert one(GpuRates(), at(10.0, old), at(11.0, new)).util_percent == pytest.approx(50)


def test_engine_counters_say_nothing_at_first_sight() -> None:
    row = one(GpuRates(), at(10.0), at(11.0, intel(10.9, EngineCounters(7, 1, "ccs", 1000, 10_000))))
    assert row.util_percent is Missing.NEW


def test_a_new_client_counted_in_cycles_is_not_credited_with_all_time() -> None:
    old = intel(10.0, EngineCounters(7, 1, "ccs", 0, 10_000))
    new = intel(11.0, EngineCounters(7, 1, "ccs", 0, 14_000), EngineCounters(8, 2, "ccs", 9_000, 14_000))
    assert one(GpuRates(), at(10.0, old), at(11.0, new)).util_percent == 0


def test_a_card_that_tells_its_utilisation_is_believed() -> None:
    engines = (EngineCounters(7, 1, "gfx", 0),)
    old, new = intel(10.0, *engines), gpu_counters(11.0, util_percent=77, engines=engines, processes=Missing.OFF)
    row = one(GpuRates(), at(10.0, old), at(11.0, new))
    assert (row.util_percent, row.processes) == (77, Missing.OFF)
