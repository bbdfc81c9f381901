"""GPU performance monitoring (NVML's GPM, Hopper and later): real activity, PCIe and NVLink rates of an interval."""

from __future__ import annotations

import time

from iodash.sources.local.gpu.nvml import Nvml, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SM_UTIL = 2
PCIE_TX = 20
PCIE_RX = 21
NVLINK_RX = 60
NVLINK_TX = 61
_METRICS = (SM_UTIL, PCIE_TX, PCIE_RX, NVLINK_RX, NVLINK_TX)
_APART_S = 0.1
"""The driver refreshes its counters every 100 ms; two samples closer than that may be the same."""

_MOST = 1e9


class Gpm:
    """Two samples of one GPU (or of one MIG instance of it), used in turns."""

    def __init__(self, nvml: Nvml, device: Any, instance: int | None = None) -> None:
        self._nvml = nvml
        self._device = device
        self._instance = instance
        self._older: Any = None
        self._newer: Any = None
        self._taken: float | None = None
        self._values: dict[int, float] = {}

    def read(self) -> dict[int, float]:
        """The metrics between this poll and the one before; none at the first. Raises `NvmlError`."""
        now = time.monotonic()
        if self._newer is None:
            self._older = self._nvml.call("nvmlGpmSampleAlloc")
            self._newer = self._nvml.call("nvmlGpmSampleAlloc")
        taken = self._taken
        if taken is not None and now - taken < _APART_S:
            return self._values
        self._older, self._newer = self._newer, self._older
        self._taken = None
        self._take(self._newer)
        self._taken = now
        self._values = {} if taken is None else self._between()
        return self._values

    def _take(self, sample: Any) -> None:
        if self._instance is None:
            self._nvml.call("nvmlGpmSampleGet", self._device, sample)
        else:
            self._nvml.call("nvmlGpmMigSampleGet", self._device, self._instance, sample)

    def _between(self) -> dict[int, float]:
        request = self._nvml.module.c_nvmlGpmMetricsGet_t()
        request.version = self._nvml.module.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(_METRICS)
        request.sample1 = self._older
        request.sample2 = self._newer
        for at, metric in enumerate(_METRICS):
            request.metrics[at].metricId = metric
        self._nvml.call("nvmlGpmMetricsGet", request)
        answers = (request.metrics[at] for at in range(len(_METRICS)))
        return {a.metricId: a.value for a in answers if a.nvmlReturn == 0 and 0 <= a.value < _MOST}


def supported(nvml: Nvml, device: Any) -> bool:
    """Whether the GPU has it: asked, not guessed from its name."""
    try:
        return bool(nvml.call("nvmlGpmQueryDeviceSupport", device).isSupportedDevice)
    except NvmlError:
        return False
