"""Independent witnesses of the simulated library: gpustat reads it too, and the binding's structures fit its own."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from iodash.model.missing import Missing, known
from tests.lab.nvml.build import SONAME, library_directory
from tests.lab.nvml.scenario import GIB
from tests.lab.nvml.stage import Stage, in_process, needs_compiler, until

pytestmark = needs_compiler

STRUCTURES = {
    "nvmlUtilization_t": "c_nvmlUtilization_t",
    "nvmlMemory_t": "c_nvmlMemory_t",
    "nvmlMemory_v2_t": "c_nvmlMemory_v2_t",
    "process_v2": "c_nvmlProcessInfo_v2_t",
    "usage_sample": "c_nvmlProcessUtilizationSample_t",
    "nvmlSample_t": "c_nvmlSample_t",
    "nvmlFieldValue_t": "c_nvmlFieldValue_t",
    "nvmlPciInfo_t": "nvmlPciInfo_t",
    "nvmlTemperature_t": "c_nvmlTemperature_v1_t",
    "nvmlGpmMetric_t": "c_nvmlGpmMetric_t",
    "nvmlGpmSupport_t": "c_nvmlGpmSupport_t",
    "nvmlEventData_t": "c_nvmlEventData_t",
}


@pytest.mark.parametrize(("simulated", "real"), STRUCTURES.items())
def test_structures_have_the_size_that_the_binding_declares(simulated: str, real: str) -> None:
    structure = getattr(in_process().module, real)
    library = ctypes.CDLL(str(library_directory() / SONAME))
    assert library.iodash_test_sizeof(simulated.encode()) == ctypes.sizeof(structure)


def test_the_head_of_a_metrics_request_has_the_size_that_the_binding_declares() -> None:
    library = ctypes.CDLL(str(library_directory() / SONAME))
    assert (
        library.iodash_test_sizeof(b"nvmlGpmMetricsGet_t") == in_process().module.c_nvmlGpmMetricsGet_t.metrics.offset
    )


@pytest.mark.skipif(find_spec("gpustat") is None, reason="gpustat is not installed")
def test_gpustat_sees_the_same_gpus(stage: Stage) -> None:
    me = os.getpid()
    stage.play(
        {
            "count": 3,
            "gpu0.util": 37,
            "gpu0.temp": 61,
            "gpu0.power_mw": 412_000,
            "gpu0.memused": 64 * GIB,
            "gpu0.memreserved": GIB,
            "gpu0.proc0": f"{me} {10 * GIB} 0 0 30 1",
            "gpu0.enc": 12,
            "gpu1.name": "NVIDIA GeForce RTX 4090",
            "gpu1.util": 100,
            "gpu1.temp": 80,
            "gpu1.limit_mw": 450_000,
            "gpu1.memtotal": 24 * GIB,
            "gpu2.mig": 1,
            "gpu2.power_mw": 90_000,
        }
    )
    done = subprocess.run(
        [sys.executable, "-m", "gpustat", "--json"], capture_output=True, text=True, check=True, timeout=60
    )
    theirs = json.loads(done.stdout)
    driver, ours = until(stage.reader(), lambda _, gpus: len(gpus) == 3, frozenset({me}))
    assert theirs["driver_version"] == driver.version
    for gpu, other in zip(ours, theirs["gpus"], strict=True):
        assert (gpu.index, gpu.uuid, gpu.name) == (other["index"], other["uuid"], other["name"])
        assert known(gpu.temperature_celsius) == other["temperature.gpu"]
        assert known(gpu.util_percent) == other["utilization.gpu"]
        assert not isinstance(gpu.power_watts, Missing)
        assert round(gpu.power_watts) == other["power.draw"]
        assert known(gpu.power_limit_watts) == other["enforced.power.limit"]
        assert not isinstance(gpu.memory_used_bytes, Missing)
        assert not isinstance(gpu.memory_total_bytes, Missing)
        assert (gpu.memory_used_bytes >> 20, gpu.memory_total_bytes >> 20) == (
            other["memory.used"],
            other["memory.total"],
        )
        assert known(gpu.encoder_percent) == other["utilization.enc"]
        assert not isinstance(gpu.processes, Missing)
        assert [(p.pid, known(p.memory_bytes)) for p in gpu.processes] == [
            (p["pid"], p["gpu_memory_usage"] << 20) for p in other["processes"]
        ]
