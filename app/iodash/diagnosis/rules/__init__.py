"""The causes in the order in which they are asked after: a deeper cause stands before its symptoms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.rules.checkpoint import checkpoint_write
from iodash.diagnosis.rules.gpu import gpu_copy_bound, gpu_fed, gpu_resident_idle, gpu_throttled, host_dispatch
from iodash.diagnosis.rules.limits import cpu_limited, io_throttled
from iodash.diagnosis.rules.loading import cpu_preprocessing, inline_loading
from iodash.diagnosis.rules.memory import memory_pressure, page_cache_thrash, shared_memory_full
from iodash.diagnosis.rules.storage import device_saturated, device_stalled, network_storage, small_reads

if TYPE_CHECKING:
    from collections.abc import Callable

    from iodash.diagnosis.finding import Finding
    from iodash.diagnosis.scene import Scene

RULES: tuple[Callable[[Scene], Finding | None], ...] = (
    gpu_throttled,
    checkpoint_write,
    gpu_resident_idle,
    gpu_fed,
    memory_pressure,
    shared_memory_full,
    page_cache_thrash,
    io_throttled,
    cpu_limited,
    device_stalled,
    network_storage,
    small_reads,
    device_saturated,
    cpu_preprocessing,
    inline_loading,
    gpu_copy_bound,
    host_dispatch,
)
