"""The driver's process lists and sample buffers, with what is known to go wrong in them."""

from __future__ import annotations

import time

from iodash.sources.local.gpu.nvml import EMPTY, FUNCTION_NOT_FOUND, INSUFFICIENT_SIZE, Nvml, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS = ("Compute", "Graphics", "MPSCompute")
_UTILISATION_SAMPLES = 1
_STEP_S = 0.1
"""The wall clock moved this much against the monotonic one: it was set, or the machine slept."""

_ALIGNED_S = 2.0
"""A stamp that is further than this from the wall clock is from another clock."""


class ImplausibleError(Exception):
    """A list whose entries can't be: the driver's records have another layout than the binding's."""


def running_processes(nvml: Nvml, handle: Any, most_memory: int, most_pid: int) -> list[list[int | None]]:
    """Pid and memory of every process on a GPU, each once. Raises `NvmlError`, `ImplausibleError`.

    Drivers 535.43 to 535.86, and a few later ones, answer in records of another size than the binding reads. If one
    entry is impossible, all are worthless.
    """
    found: dict[int, int | None] = {}
    for kind in _KINDS:
        try:
            entries = _list_of(nvml, kind, handle)
        except NvmlError as failure:
            if kind == "Compute":
                raise
            if failure.code in EMPTY or failure.reason == "unsupported":
                continue
            raise
        for entry in entries:
            memory = entry.usedGpuMemory
            if not 0 < entry.pid <= most_pid or (memory is not None and memory > most_memory):
                raise ImplausibleError
            held = found.get(entry.pid)
            found[entry.pid] = memory if held is None else max(held, memory or 0)
    return [[pid, memory] for pid, memory in found.items()]


def _list_of(nvml: Nvml, kind: str, handle: Any) -> Any:
    """One of the lists: `_v3`, else `_v2` for drivers before 510. Older records have a layout that nobody reads."""
    for version in ("_v3", "_v2"):
        try:
            return nvml.call(f"nvmlDeviceGet{kind}RunningProcesses{version}", handle)
        except NvmlError as failure:
            if failure.code in EMPTY:
                return ()
            if failure.code != FUNCTION_NOT_FOUND or version == "_v2":
                raise
    return ()


class ProcessUsage:
    """SM shares by process since the last call, by the driver's stamps."""

    def __init__(self) -> None:
        self._last = 0

    def read(self, nvml: Nvml, handle: Any) -> list[list[int]]:
        """Pid and percent for each sample that is newer than the last. Raises `NvmlError`."""
        if not self._last:
            self._last = int((time.time() - 1) * 1e6)
        since = self._last
        try:
            samples = _process_samples(nvml, handle, since)
        except NvmlError as failure:
            if failure.code in EMPTY:
                return []
            raise
        found = []
        for sample in samples:
            if sample.timeStamp > since and sample.smUtil <= 100 and sample.pid > 0:
                found.append([sample.pid, sample.smUtil])
                self._last = max(self._last, sample.timeStamp)
        return found


def _process_samples(nvml: Nvml, handle: Any, since: int) -> Any:
    """Once more when a process was born between the binding's two calls."""
    try:
        return nvml.call("nvmlDeviceGetProcessUtilization", handle, since)
    except NvmlError as failure:
        if failure.code != INSUFFICIENT_SIZE:
            raise
    return nvml.call("nvmlDeviceGetProcessUtilization", handle, since)


class UtilisationSamples:
    """The driver's own utilisation samples since the last poll, on the monotonic clock.

    Their stamps are microseconds of the CPU's wall clock. After that clock was set, or after a suspend, one poll's
    samples are dropped; stamps of another clock are aligned once by the newest.
    """

    def __init__(self) -> None:
        self._last = 0
        self._offset: float | None = None
        self._shift: float | None = None

    def read(self, nvml: Nvml, handle: Any) -> list[list[float]]:
        """Monotonic seconds and percent, oldest first. Raises `NvmlError`."""
        wall = time.time()
        monotonic = time.monotonic()
        offset = monotonic - wall
        stepped = self._offset is not None and abs(offset - self._offset) > _STEP_S
        self._offset = offset
        if not self._last:
            self._last = int((wall - 1) * 1e6)
        try:
            _, samples = nvml.call("nvmlDeviceGetSamples", handle, _UTILISATION_SAMPLES, 0 if stepped else self._last)
        except NvmlError as failure:
            if failure.code in EMPTY:
                return []
            raise
        since = 0 if stepped else self._last
        fresh = sorted(
            {
                s.timeStamp: s.sampleValue.uiVal for s in samples if s.timeStamp > since and s.sampleValue.uiVal <= 100
            }.items()
        )
        if not fresh:
            return []
        self._last = fresh[-1][0]
        if stepped:
            self._shift = None
            return []
        if self._shift is None:
            newest = fresh[-1][0] / 1e6
            self._shift = offset if abs(wall - newest) < _ALIGNED_S else monotonic - newest
        if abs(self._shift - offset) < _ALIGNED_S:
            self._shift = offset
        return [[stamp / 1e6 + self._shift, value] for stamp, value in fresh]
