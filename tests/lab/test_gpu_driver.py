"""The worker's own parts in this process, on the simulated library: instances, sleep, clocks, the binding's traps."""

from __future__ import annotations

import sys
import time
import types
from typing import TYPE_CHECKING, Any

import pytest

from iodash.sources.local.gpu import nvml
from iodash.sources.local.gpu.lists import ProcessUsage, UtilisationSamples
from iodash.sources.local.gpu.nvml import Nvml, NvmlError, load
from tests.lab.nvml.scenario import GIB, HEALTHY, MIG
from tests.lab.nvml.stage import Stage, in_process, needs_compiler

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_compiler


def poll_apart(driver: Any) -> list[dict[str, Any]]:
    driver.poll()
    time.sleep(0.11)
    records = driver.poll()
    assert isinstance(records, list)
    return records


def test_instances_have_memory_processes_and_activity_and_no_utilisation(stage: Stage) -> None:
    stage.play({**MIG, "gpu0.gpm": 1, "gpu0.gpm2_gi7": 40, "gpu0.proc0": f"4321 {GIB} 7 0"})
    driver = stage.driver()
    parent, small, large, plain = poll_apart(driver)
    assert parent["mig"] == "enabled"
    assert (small["mig"], small["memory_used_bytes"], small["sm_active_percent"]) == ("1g.5gb", 2 * GIB, 40)
    assert small["processes"] == [[4321, GIB]]
    assert "util_percent" not in small
    assert (large["mig"], large["processes"]) == ("3g.20gb", [])
    assert plain["util_percent"] == 80
    stage.scenario.set({"gpu0.mig": 0})
    assert len(driver.poll()) == 2


@pytest.mark.parametrize("call", ["nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex"])
@pytest.mark.parametrize("code", [4, 15])
def test_instances_that_may_not_be_seen_cost_nothing_else(stage: Stage, call: str, code: int) -> None:
    stage.play({**MIG, f"fail0.{call}": code})
    records = stage.driver().poll()
    assert [(record["index"], record["status"]) for record in records] == [(0, "ok"), (1, "ok")]


def test_instances_are_told_apart_even_where_the_driver_names_none(stage: Stage) -> None:
    stage.play({**MIG, "fail0.nvmlDeviceGetUUID": 999})
    assert len({record["uuid"] for record in stage.driver().poll()}) == 4


def test_an_instance_that_fails_is_in_trouble_by_itself(stage: Stage) -> None:
    stage.play({**MIG, "gpu0.gpm": 1, "fail0.nvmlDeviceGetGpuInstanceId": 999})
    assert [record["status"] for record in stage.driver().poll()] == ["ok", "ok", "ok", "ok"]


def test_gpm_gives_activity_and_rates_where_there_are_no_counters(stage: Stage) -> None:
    stage.play({**HEALTHY, "gpu.gpm2": 33, "gpu.gpm61": 7})
    stage.scenario.unset("gpu.field198_rate")
    stage.scenario.set({"gpu.gpm21": 5})
    driver = stage.driver()
    (first,) = driver.poll()
    assert first["missing"]["sm_active_percent"] == "new"
    (record,) = poll_apart(driver)
    assert record["sm_active_percent"] == 33
    assert record["pcie_receive_bytes_per_s"] == 5 << 20
    assert record["nvlink_transmit_bytes_per_s"] == 7 << 20
    assert "pcie_transmit_bytes_total" in record


def test_a_blocking_reading_is_kept_until_its_next_turn(stage: Stage) -> None:
    stage.play({"gpu.pcie_rx_kb": 2, "gpu.pcie_tx_kb": 3})
    driver = stage.driver(blocking_pcie=True)
    driver.poll()
    (record,) = driver.poll()
    assert (record["pcie_receive_bytes_per_s"], record["pcie_transmit_bytes_per_s"]) == (2048, 3072)
    assert stage.calls()["nvmlDeviceGetPcieThroughput"] == 2


def test_gpus_are_found_by_address_while_one_sleeps(stage: Stage) -> None:
    stage.add_pci_gpu("0000:10:00.0", "active")
    asleep = stage.add_pci_gpu("0000:11:00.0", "suspended")
    stage.play({"count": 2, "gpu.util": 5})
    driver = stage.driver()
    assert [record["status"] for record in driver.poll()] == ["ok", "asleep"]
    assert not [line for line in stage.lines() if line.split()[3] == "1"]
    asleep.write_text("active\n")
    assert [record["status"] for record in driver.poll()] == ["ok", "ok"]


def test_nothing_is_started_while_all_sleep(stage: Stage) -> None:
    state = stage.add_pci_gpu("0000:10:00.0", "suspended")
    (stage.sysfs / "bus/pci/devices/0000:00:00.0").mkdir()
    stage.play({"count": 1})
    driver = stage.driver()
    (record,) = driver.poll()
    assert (record["status"], record["uuid"], stage.lines()) == ("asleep", "0000:10:00.0", [])
    state.write_text("active\n")
    driver.poll()
    assert [record["status"] for record in driver.poll()] == ["ok"]


def test_an_older_driver_lacks_what_it_lacks(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.play({**HEALTHY, "gpu.throttle": 4, "gpu.memused": GIB, "gpu.proc0": f"7 {GIB}"})
    module = in_process().module
    old = types.ModuleType("old")
    old.__dict__.update(module.__dict__)
    for name in ("TemperatureV", "CurrentClocksEventReasons", "ComputeRunningProcesses_v3"):
        delattr(old, f"nvmlDeviceGet{name}")

    def no_version_two(handle: Any, version: Any = None) -> Any:
        if version is not None:
            raise module.NVMLError(13)
        return module.nvmlDeviceGetMemoryInfo(handle)

    monkeypatch.setattr(old, "nvmlDeviceGetMemoryInfo", no_version_two)
    monkeypatch.setattr("tests.lab.nvml.stage.in_process", lambda: Nvml(old))
    driver = stage.driver()
    driver.poll()
    (record,) = driver.poll()
    assert (record["temperature_celsius"], record["throttle_reasons"]) == (63, ["power_cap"])
    assert (record["memory_used_bytes"], record["processes"]) == (GIB, [[7, GIB]])


def test_a_gpu_that_supports_nothing_optional_is_still_a_row(stage: Stage) -> None:
    optional = (
        "Samples",
        "PowerUsage",
        "TotalEnergyConsumption",
        "TemperatureV",
        "ClockInfo",
        "FieldValues",
        "MigMode",
    )
    stage.play({**HEALTHY, **{f"fail.nvmlDeviceGet{call}": 3 for call in optional}, "gpu.gpm": 0})
    (record,) = stage.driver().poll()
    assert (record["status"], record["message"], record["util_percent"]) == ("ok", "", 95)
    assert set(record["missing"].values()) <= {"unsupported", "not_measured", "off"}
    assert "power_watts" not in record


def test_memory_in_records_of_another_size_makes_the_list_worthless(stage: Stage) -> None:
    stage.play({"gpu.memtotal": GIB, "gpu.memused": 1, "gpu.proc0": f"7 {2 * GIB}"})
    (record,) = stage.driver().poll()
    assert (record["processes"], record["missing"]["processes"]) == (None, "unsupported")
    assert "not readable" in record["processes_note"]


class Driver:
    """A binding with one call, which answers what the test says."""

    class NVMLError(Exception):
        def __init__(self, value: int) -> None:
            super().__init__(value)
            self.value = value

    class NVMLLibraryMismatchError(Exception):
        pass

    def __init__(self, name: str, answer: Callable[..., Any]) -> None:
        setattr(self, name, answer)


def sample(stamp_us: float, percent: int) -> Any:
    value = types.SimpleNamespace(uiVal=percent)
    return types.SimpleNamespace(timeStamp=int(stamp_us), sampleValue=value)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    now = types.SimpleNamespace(wall=1_000_000.0, monotonic=500.0)
    clock = types.SimpleNamespace(time=lambda: now.wall, monotonic=lambda: now.monotonic)
    monkeypatch.setattr("iodash.sources.local.gpu.lists.time", clock)
    return now


def test_a_clock_that_was_set_costs_one_polls_samples_and_makes_no_spike(clock: types.SimpleNamespace) -> None:
    ring: list[Any] = []
    binding: Any = Driver("nvmlDeviceGetSamples", lambda _h, _t, since: (1, [s for s in ring if s.timeStamp > since]))
    samples, driver = UtilisationSamples(), Nvml(binding)
    ring.append(sample((clock.wall - 0.1) * 1e6, 40))
    assert samples.read(driver, None) == [[pytest.approx(499.9), 40]]
    clock.wall -= 3600
    clock.monotonic += 1
    ring.append(sample((clock.wall - 0.1) * 1e6, 50))
    assert samples.read(driver, None) == []
    ring.clear()
    clock.wall += 1
    clock.monotonic += 1
    ring.append(sample((clock.wall + 3600 - 0.1) * 1e6, 60))
    ((at, percent),) = samples.read(driver, None)
    assert at == pytest.approx(501.9, abs=0.5)
    assert percent == 60


def test_samples_out_of_order_or_twice_are_put_right(clock: types.SimpleNamespace) -> None:
    ring = [sample(clock.wall * 1e6 - at, percent) for at, percent in ((1e5, 30), (3e5, 10), (1e5, 30), (2e5, 200))]
    binding: Any = Driver("nvmlDeviceGetSamples", lambda *_: (1, ring))
    assert [percent for _, percent in UtilisationSamples().read(Nvml(binding), None)] == [10, 30]


def test_process_usage_asks_again_when_a_process_was_born_meanwhile() -> None:
    answers: list[Any] = [7, [types.SimpleNamespace(pid=9, timeStamp=int(time.time() * 1e6), smUtil=33)]]

    def answer(_handle: Any, _since: int) -> Any:
        first = answers.pop(0)
        if isinstance(first, int):
            raise Driver.NVMLError(first)
        return first

    binding: Any = Driver("nvmlDeviceGetProcessUtilization", answer)
    assert ProcessUsage().read(Nvml(binding), None) == [[9, 33]]


@pytest.mark.parametrize("code", [0, 6, 21])
def test_an_empty_answer_is_no_error(code: int) -> None:
    def nothing(*_: Any) -> Any:
        raise Driver.NVMLError(code)

    binding: Any = Driver("nvmlDeviceGetProcessUtilization", nothing)
    assert ProcessUsage().read(Nvml(binding), None) == []


def test_usage_with_a_stamp_that_went_back_or_is_impossible_is_dropped(stage: Stage) -> None:
    old = int((time.time() - 100) * 1e6)
    stage.play({"gpu.proc0": f"7 {GIB}", "gpu.usage0": f"7 50 0 {old}", "gpu.usage1": "7 4000 0", "gpu.stamps_back": 1})
    (record,) = stage.driver().poll()
    assert record["process_samples"] == []


def test_a_missing_function_is_no_error_of_the_binding_and_still_answered() -> None:
    def mismatch() -> None:
        raise Driver.NVMLLibraryMismatchError

    binding: Any = Driver("nvmlX", mismatch)
    for name in ("nvmlX", "nvmlNowhere"):
        with pytest.raises(NvmlError) as caught:
            Nvml(binding).call(name)
        assert caught.value.code == nvml.FUNCTION_NOT_FOUND


def test_an_unknown_code_still_has_words() -> None:
    assert NvmlError(77).words == "NVML error (77)"


def test_a_library_that_can_not_be_loaded_is_named() -> None:
    assert "/nowhere/libnvidia-ml.so.1 can't be loaded" in str(load("/nowhere/libnvidia-ml.so.1"))


def test_another_package_of_the_same_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    shim = types.ModuleType("pynvml")
    shim.__file__ = "/venv/pynvml/__init__.py"
    monkeypatch.setitem(sys.modules, "pynvml", shim)
    assert "/venv/pynvml/__init__.py" in str(load(""))


def test_a_binding_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert load("") == "the Python package nvidia-ml-py is not installed"
