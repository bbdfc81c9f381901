"""Every error code at every call, at start and mid-run: a word for the GPU it hits, the others unharmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.sources.local.gpu.answer import counters_of
from iodash.sources.local.gpu.processes import ProcessJoin
from tests.lab.nvml.stage import needs_compiler

if TYPE_CHECKING:
    from iodash.model.sample import GpuCounters
    from tests.lab.nvml.scenario import Value
    from tests.lab.nvml.stage import Stage

pytestmark = needs_compiler

CODES = (1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 17, 18, 21, 25, 28, 999)

DRIVER_CALLS = ("nvmlInitWithFlags", "nvmlDeviceGetCount", "nvmlSystemGetDriverVersion")

DEVICE_CALLS = (
    "*",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth",
    "nvmlDeviceGetEncoderUtilization",
    "nvmlDeviceGetDecoderUtilization",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceRegisterEvents",
    "nvmlEventSetWait",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleGet",
    "nvmlGpmMetricsGet",
)

SCENE: dict[str, Value] = {
    "count": 2,
    "gpu.util": 50,
    "gpu.gpm": 1,
    "gpu.xid": 79,
    "gpu.mig": 0,
    "gpu.field198": 1000,
    "gpu.field197": 500,
    "gpu.proc0": f"41 {1 << 30} 0 0 30 5",
    "gpu.energy_mj": 5000,
    "gpu.samples": "1:50",
}

VOLATILE = ("read_at", "util_samples", "temperature_celsius", "sm_active_percent", "processes")


def counters(records: list[dict[str, Any]], stage: Stage) -> list[GpuCounters]:
    join = ProcessJoin(stage.procfs, apart=False)
    return [counters_of(record, join.join(record, "570.1", {41}, ())) for record in records]


def known_fields(gpu: GpuCounters) -> set[str]:
    return {name for name in gpu.__slots__ if not isinstance(getattr(gpu, name), Missing)}


def check(healthy: list[GpuCounters], now: list[GpuCounters]) -> None:
    assert [gpu.index for gpu in now] == [0, 1]
    hit, other = now
    assert other.status == "ok"
    assert known_fields(healthy[1]) <= known_fields(other)
    assert all(getattr(other, n) == getattr(healthy[1], n) for n in known_fields(other) if n not in VOLATILE)
    if hit.status != "ok":
        assert hit.message
        assert hit.util_percent in (Missing.GONE, Missing.NO_PERMISSION, Missing.NOT_MEASURED, Missing.UNSUPPORTED)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", DEVICE_CALLS)
def test_a_call_that_fails_on_one_gpu(stage: Stage, call: str, code: int) -> None:
    stage.play(SCENE)
    driver = stage.driver()
    driver.poll()
    healthy = counters(driver.poll(), stage)

    stage.scenario.set({f"fail0.{call}": code})
    check(healthy, counters(driver.poll(), stage))
    at_start = stage.driver()
    at_start.poll()
    check(healthy, counters(at_start.poll(), stage))
    assert at_start.status == "ok"

    stage.scenario.unset(f"fail0.{call}")
    driver.poll()
    again = counters(driver.poll(), stage)
    assert [gpu.status for gpu in again] == ["ok", "ok"]
    assert known_fields(healthy[0]) - {"sm_active_percent", "xid"} <= known_fields(again[0])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", DRIVER_CALLS)
def test_a_call_that_fails_for_the_whole_driver(stage: Stage, call: str, code: int) -> None:
    stage.play({**SCENE, f"fail.{call}": code})
    driver = stage.driver()
    records = driver.poll()
    if call == "nvmlSystemGetDriverVersion":
        assert (driver.status, driver.version, len(records)) == ("ok", None, 2)
        return
    expected = {9: "not_loaded", 12: "no_library", 18: "version_mismatch"}.get(code, "error")
    assert (driver.status, records) == (expected, [])
    assert driver.message
    stage.scenario.unset(f"fail.{call}")
    assert len(driver.poll()) == 2
    assert (driver.status, driver.message) == ("ok", "")


@pytest.mark.parametrize("code", CODES)
def test_a_driver_that_fails_altogether_mid_run_comes_back(stage: Stage, code: int) -> None:
    stage.play(SCENE)
    driver = stage.driver()
    driver.poll()
    stage.scenario.set({"fail0.*": code, "fail1.*": code})
    for _ in range(3):
        rows = counters(driver.poll(), stage)
        assert all(isinstance(gpu.util_percent, Missing) for gpu in rows)
    if code in (9, 18):
        assert driver.status in ("not_loaded", "version_mismatch", "ok")
    stage.scenario.unset("fail0.*", "fail1.*")
    for _ in range(3):
        driver.poll()
    assert [gpu.status for gpu in counters(driver.poll(), stage)] == ["ok", "ok"]
    assert driver.status == "ok"


def test_the_version_mismatch_says_what_to_do(stage: Stage) -> None:
    stage.play({"fail.nvmlInitWithFlags": 18})
    driver = stage.driver()
    driver.poll()
    assert driver.message == "the driver was upgraded: reboot, or reload the module"


@pytest.mark.parametrize("code", [999, 17])
def test_a_container_that_was_cut_off_is_told_why(stage: Stage, code: int) -> None:
    stage.play(SCENE)
    driver = stage.driver()
    driver.poll()
    stage.scenario.set({"fail0.*": code, "fail1.*": code})
    rows = counters(driver.poll(), stage)
    assert driver.status == "error"
    assert "daemon-reload" in driver.message
    assert [gpu.status for gpu in rows] == ["error", "error"]


def test_a_field_that_fails_oddly_is_named(stage: Stage) -> None:
    stage.play({**SCENE, "fail0.nvmlDeviceGetPowerUsage": 999})
    (hit, _) = counters(stage.driver().poll(), stage)
    assert (hit.status, hit.power_watts, hit.message) == ("ok", Missing.NOT_MEASURED, "power: Unknown Error (999)")
