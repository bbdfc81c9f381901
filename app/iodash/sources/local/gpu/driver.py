"""The driver as the worker sees it: started, its GPUs found, lost and found again, and what state it is in."""

from __future__ import annotations

import contextlib
import os
import time

from iodash.sources.local.gpu.mig import Instance, find_instances
from iodash.sources.local.gpu.nvidia import Gpu
from iodash.sources.local.gpu.nvml import (
    DRIVER_NOT_LOADED,
    LIBRARY_NOT_FOUND,
    LOST,
    NO_PERMISSION,
    OPERATING_SYSTEM,
    UNKNOWN,
    VERSION_MISMATCH,
    Nvml,
    NvmlError,
)
from iodash.sources.local.gpu.reading import GoneError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STATUS = {
    LIBRARY_NOT_FOUND: ("no_library", "NVIDIA's library can't be loaded"),
    DRIVER_NOT_LOADED: ("not_loaded", "the NVIDIA driver is not loaded (`modprobe nvidia`)"),
    VERSION_MISMATCH: ("version_mismatch", "the driver was upgraded: reboot, or reload the module"),
    NO_PERMISSION: ("error", "no permission to use the driver (/dev/nvidiactl)"),
}
_CUT_OFF = frozenset({UNKNOWN, OPERATING_SYSTEM})
_RESTART = frozenset({1, DRIVER_NOT_LOADED, VERSION_MISMATCH})
_FIRST_PAUSE_S = 1.0


class Slot:
    """A place for one GPU: the GPU while its handle is good, else what is known of it and when to try again."""

    def __init__(self, index: int, pause_s: float, address: str | None = None) -> None:
        self.index = index
        self.address = address
        self.gpu: Gpu | None = None
        self.instances: list[Instance] = []
        self.identity: dict[str, Any] = {
            "uuid": address or f"index-{index}",
            "name": "NVIDIA GPU",
            "address": address,
            "minor": index,
        }
        self.failure: NvmlError | None = None
        self.try_at = 0.0
        self.first_pause_s = self.pause_s = pause_s

    def drop(self, failure: NvmlError, now: float, longest_s: float) -> None:
        """Forgets the handles, never to use them again, and tries later: at first soon, then ever less often."""
        self.gpu = None
        self.instances = []
        self.failure = failure
        self.try_at = now + self.pause_s
        self.pause_s = min(longest_s, self.pause_s * 2)


class Driver:
    """NVML and its GPUs. `poll` never raises for what a driver does."""

    def __init__(self, nvml: Nvml, *, sysfs: str, slow_s: float, retry_s: float, blocking_pcie: bool) -> None:
        self._nvml = nvml
        self._sysfs = sysfs
        self._slow_s = slow_s
        self._retry_s = retry_s
        self._pause_s = min(_FIRST_PAUSE_S, retry_s)
        self._blocking_pcie = blocking_pcie
        self._most_pid = _most_pid()
        self._slots: list[Slot] = []
        self._up = False
        self._worked = False
        self._start_at = 0.0
        self._count_at = 0.0
        self.status = "starting"
        self.message = ""
        self.version: str | None = None

    def poll(self) -> list[dict[str, Any]]:
        """Starts the driver's library if it is time to, then reads every GPU."""
        now = time.monotonic()
        addresses = _display_devices(self._sysfs)
        if addresses and not any(self._awake(address) for address in addresses):
            if not self._slots:
                self._slots = [Slot(index, self._pause_s, address) for index, address in enumerate(addresses)]
            self.status, self.message = "ok", "every GPU sleeps"
        elif not self._up and now >= self._start_at:
            self._start(now, addresses)
        elif self._up and now >= self._count_at:
            self._recount(now, addresses)
        records = [record for slot in self._slots for record in self._read(slot, now)]
        self._judge(now)
        return records

    def _start(self, now: float, addresses: list[str]) -> None:
        self._start_at = now + self._retry_s
        try:
            self._nvml.call("nvmlInit")
            self._up = True
            self._find(now, addresses)
        except NvmlError as failure:
            self._stop()
            self._settle(failure)

    def _find(self, now: float, addresses: list[str]) -> None:
        """One slot a GPU. While one sleeps they are found by address, since an index would wake it."""
        self._count_at = now + self._retry_s
        count = self._nvml.call("nvmlDeviceGetCount")
        try:
            self.version = self._nvml.call("nvmlSystemGetDriverVersion")
        except NvmlError:
            self.version = None
        if all(self._awake(address) for address in addresses):
            self._slots = [Slot(index, self._pause_s) for index in range(count)]
        else:
            self._slots = [Slot(index, self._pause_s, address) for index, address in enumerate(addresses)]
        self.status = "ok"
        self.message = "" if self._slots else "the driver runs, and has no GPU"

    def _recount(self, now: float, addresses: list[str]) -> None:
        """A GPU that was added is found. A count that can't be had changes nothing."""
        self._count_at = now + self._retry_s
        try:
            count = self._nvml.call("nvmlDeviceGetCount")
        except NvmlError:
            return
        if count > len(self._slots):
            self._find(now, addresses)

    def _stop(self) -> None:
        if self._up:
            with contextlib.suppress(NvmlError):
                self._nvml.call("nvmlShutdown")
        self._up = False
        self._slots = []

    def _settle(self, failure: NvmlError) -> None:
        """The driver's state after a call that concerns all of it."""
        status, message = _STATUS.get(failure.code, ("error", f"the NVIDIA driver says: {failure.words}"))
        if failure.code in _CUT_OFF and self._worked:
            message = _cut_off(failure)
        self.status, self.message = status, message

    def _read(self, slot: Slot, now: float) -> list[dict[str, Any]]:
        """The record of a GPU, and those of its instances."""
        address = slot.identity["address"]
        if address is not None and not self._awake(address):
            asleep = _bare(slot, now, "asleep", "off", "asleep: reading it would wake it")
            return [{**asleep, "processes": []}]
        if slot.gpu is None and now >= slot.try_at and self._up:
            self._open(slot, now)
        if slot.gpu is not None:
            try:
                return self._records(slot, slot.gpu)
            except GoneError as gone:
                slot.drop(gone.failure, now, self._retry_s)
        if slot.failure is None:
            return [_bare(slot, now, "error", "starting", "waiting for the driver")]
        if slot.failure.code in LOST:
            return [_bare(slot, now, "lost", "gone", f"{slot.failure.words}; it is looked for again")]
        status = "no_permission" if slot.failure.code == NO_PERMISSION else "error"
        return [_bare(slot, now, status, slot.failure.reason, slot.failure.words)]

    def _records(self, slot: Slot, gpu: Gpu) -> list[dict[str, Any]]:
        records = [gpu.read()]
        slot.failure = gpu.failure()
        self._worked = self._worked or slot.failure is None
        if gpu.mig_mode and not slot.instances:
            slot.instances = find_instances(gpu, self._nvml, self._most_pid)
        elif not gpu.mig_mode:
            slot.instances = []
        records.extend(instance.read() for instance in slot.instances)
        return records

    def _open(self, slot: Slot, now: float) -> None:
        """A handle for the slot's GPU: the one with its uuid when that is known, so that no other takes its place."""
        known = slot.identity["uuid"]
        try:
            if known.startswith("GPU-"):
                handle = self._nvml.call("nvmlDeviceGetHandleByUUID", known.encode())
            elif slot.address is not None:
                handle = self._nvml.call("nvmlDeviceGetHandleByPciBusId", slot.address.encode())
            else:
                handle = self._nvml.call("nvmlDeviceGetHandleByIndex", slot.index)
            slot.gpu = Gpu(
                self._nvml,
                handle,
                slot.index,
                slow_s=self._slow_s,
                blocking_pcie=self._blocking_pcie,
                most_pid=self._most_pid,
            )
        except (NvmlError, GoneError) as error:
            slot.drop(error if isinstance(error, NvmlError) else error.failure, now, self._retry_s)
            return
        slot.identity = slot.gpu.identity
        slot.failure = None
        slot.pause_s = slot.first_pause_s

    def _judge(self, now: float) -> None:
        """What all GPUs say with one voice is the driver's state, not theirs."""
        if not self._up or not self._slots:
            return
        failures = [slot.failure for slot in self._slots]
        first = failures[0]
        if first is not None and all(failure is not None and failure.code == first.code for failure in failures):
            if first.code in _RESTART:
                self._stop()
                self._start_at = now + (self._pause_s if first.code == 1 else self._retry_s)
                self._settle(first)
            elif first.code in _CUT_OFF and self._worked:
                self._settle(first)
        elif self.status != "ok":
            self.status, self.message = "ok", ""

    def _awake(self, address: str) -> bool:
        """Whether the kernel has the device powered (Documentation/power/runtime_pm.rst). Asking wakes nothing."""
        try:
            with open(f"{self._sysfs}/bus/pci/devices/{address}/power/runtime_status") as file:
                return file.read().strip() in ("active", "unsupported")
        except OSError:
            return True


def _cut_off(failure: NvmlError) -> str:
    return (
        f"every GPU stopped answering: {failure.words}. In a container this follows a `systemctl daemon-reload` on the "
        "host: restart the container"
    )


def _bare(slot: Slot, now: float, status: str, reason: str, message: str) -> dict[str, Any]:
    """A GPU without readings, every one of them missing for the same reason."""
    return {
        **slot.identity,
        "index": slot.index,
        "status": status,
        "message": message,
        "read_at": now,
        "util_samples": [],
        "missing": {"*": reason},
        "processes": None,
        "process_samples": None,
        "processes_note": "",
    }


def _display_devices(sysfs: str) -> list[str]:
    """PCI addresses of NVIDIA's display devices, in the order of the driver's indexes."""
    found = []
    root = f"{sysfs}/bus/pci/devices"
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    for name in names:
        try:
            with open(f"{root}/{name}/vendor") as vendor, open(f"{root}/{name}/class") as kind:
                if vendor.read().strip() == "0x10de" and kind.read().startswith("0x03"):
                    found.append(name)
        except OSError:
            continue
    return found


def _most_pid() -> int:
    """The largest pid that this kernel gives out."""
    try:
        with open("/proc/sys/kernel/pid_max") as file:
            return max(1 << 22, int(file.read()))
    except (OSError, ValueError):
        return 1 << 22
