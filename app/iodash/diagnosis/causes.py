"""The causes that a verdict can name, one for each thing that a person would do next."""

from __future__ import annotations

CAUSES: dict[str, str] = {
    "gpu_fed": "nothing holds the GPUs back",
    "no_gpu_work": "no process uses a GPU",
    "device_saturated": "a block device is at its limit",
    "device_stalled": "I/O in flight, nothing completes",
    "network_storage": "a remote mount is slow, or the loaders wait on sockets",
    "io_throttled": "a cgroup limit holds I/O down, the device is free",
    "small_reads": "many small or random reads",
    "inline_loading": "the main process loads the data itself, without workers",
    "cpu_preprocessing": "the loader workers are CPU-bound",
    "cpu_limited": "too few cores, or a CPU quota",
    "checkpoint_write": "the GPUs wait while the job writes",
    "memory_pressure": "swapping, or reclaim stalls",
    "page_cache_thrash": "the data set outgrows the page cache and is read again",
    "shared_memory_full": "/dev/shm is (nearly) full",
    "gpu_throttled": "heat or power, not data",
    "gpu_copy_bound": "copies from host to GPU fill PCIe",
    "gpu_resident_idle": "a kernel is there but hardly works, as when another rank is late",
    "host_dispatch": "one core launches work too slowly",
    "unknown": "cannot tell; the summary says what is missing",
}

NO_BLAME = frozenset({"gpu_fed", "no_gpu_work", "unknown"})
"""Causes that name nobody."""
