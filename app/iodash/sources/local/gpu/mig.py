"""MIG instances: memory, processes and (with GPM) activity. Utilisation and clocks do not exist for them."""

from __future__ import annotations

import time

from iodash.sources.local.gpu import gpm
from iodash.sources.local.gpu.nvidia import Gpu
from iodash.sources.local.gpu.nvml import LOST, Nvml, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Instance(Gpu):
    """A MIG instance, by its own handle, its number on the parent and the number of its slice there."""

    def __init__(self, parent: Gpu, nvml: Nvml, handle: Any, number: int, *, most_pid: int) -> None:
        self._parent = parent
        self._slice: int | None = None
        super().__init__(nvml, handle, parent.index, slow_s=0, blocking_pcie=False, most_pid=most_pid)
        name = str(self.identity["name"])
        self.identity["minor"] = parent.identity["minor"]
        self.identity["instance"] = number
        if not str(self.identity["uuid"]).startswith("MIG-"):  # the place of the GPU, which its instances share
            self.identity["uuid"] = f"{self.identity['uuid']}.mig{number}"
        self._profile = name.partition(" MIG ")[2] or name

    def read(self) -> dict[str, Any]:
        """What an instance has. The rest is `unsupported`, never 0."""
        self._begin()
        self._record["mig"] = self._profile
        self._memory()
        self._read_activity()
        self._processes()
        return self._end(time.monotonic(), [])

    def failure(self) -> NvmlError | None:
        """What went wrong when not even its memory could be read."""
        return self._troubles.get("memory_used_bytes")

    def _activity(self) -> gpm.Gpm | None:
        if not gpm.supported(self._nvml, self._parent.handle):
            return None
        self._slice = self._try("nvmlDeviceGetGpuInstanceId", self._handle)
        return None if self._slice is None else gpm.Gpm(self._nvml, self._parent.handle, self._slice)

    def _watch_errors(self) -> None:
        """Errors are reported for the whole GPU."""


def find_instances(parent: Gpu, nvml: Nvml, most_pid: int) -> list[Instance]:
    """The instances of a GPU in MIG mode that this process may see."""
    try:
        most = nvml.call("nvmlDeviceGetMaxMigDeviceCount", parent.handle)
    except NvmlError:
        return []
    found = []
    for at in range(most):
        try:
            handle = nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", parent.handle, at)
        except NvmlError as failure:
            if failure.code not in LOST:
                continue
            break
        found.append(Instance(parent, nvml, handle, at, most_pid=most_pid))
    return found
