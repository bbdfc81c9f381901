"""One NVIDIA GPU, or one MIG instance, as a flat record of plain values: what the worker sends for it."""

from __future__ import annotations

import time

from iodash.sources.local.gpu import gpm
from iodash.sources.local.gpu.errors import ErrorReports
from iodash.sources.local.gpu.lists import ImplausibleError, ProcessUsage, UtilisationSamples, running_processes
from iodash.sources.local.gpu.nvml import (
    ARGUMENT_VERSION_MISMATCH,
    FUNCTION_NOT_FOUND,
    LOST,
    NO_PERMISSION,
    NOT_FOUND,
    UNSUPPORTED,
    Nvml,
    NvmlError,
)
from iodash.sources.local.gpu.reading import GoneError, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MIB = 1 << 20
MOST_MEMORY = 1 << 50
_MEMORY_V2 = 0x02000028
_ALL_LINKS = 0xFFFFFFFF
_PCIE_TX, _PCIE_RX, _NVLINK_TX, _NVLINK_RX = 197, 198, 138, 139
_UNSIGNED_64 = (2, 3)
"""Value types of a field that hold 64 bits. A byte counter of 32 bits wraps too often to tell a rate."""

_THROTTLE = {
    0x1: "idle",
    0x2: "application_clocks",
    0x4: "power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "power_brake",
    0x100: "display_clock",
}
_MAIN = ("util_percent", "memory_used_bytes", "power_watts", "temperature_celsius")
"""A GPU that gives none of these is in trouble; one that lacks some of them is only an uncommon model."""

_GAUGES: tuple[tuple[str, str, tuple[int, ...], float, float, float], ...] = (
    ("power_watts", "nvmlDeviceGetPowerUsage", (), 1e-3, 0, 10_000),
    ("energy_joules_total", "nvmlDeviceGetTotalEnergyConsumption", (), 1e-3, 0, 2**53),
    ("sm_clock_mhz", "nvmlDeviceGetClockInfo", (1,), 1, 0, 20_000),
    ("memory_clock_mhz", "nvmlDeviceGetClockInfo", (2,), 1, 0, 100_000),
)
"""Field, call, its arguments, unit, least and most that is possible. Drivers use huge numbers for `blank`."""

_SLOW_GAUGES: tuple[tuple[str, str, tuple[int, ...], float, float, float], ...] = (
    ("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", (), 1e-3, 0, 10_000),
    ("ecc_errors", "nvmlDeviceGetTotalEccErrors", (1, 0), 1, 0, 2**53),
    ("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", (), 1, 1, 20),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", (), 1, 1, 64),
)
_SLOW = tuple(gauge[0] for gauge in _SLOW_GAUGES)


class Gpu(Reading):
    """One GPU by its handle. `read` raises `GoneError` when the handle has become useless, nothing else."""

    def __init__(
        self, nvml: Nvml, handle: Any, index: int, *, slow_s: float, blocking_pcie: bool, most_pid: int
    ) -> None:
        super().__init__(nvml, handle)
        self._slow_s = slow_s
        self._slow_at = 0.0
        self._most_pid = most_pid
        self._blocking_pcie = blocking_pcie
        self._turn = 0
        self._samples = UtilisationSamples()
        self._usage = ProcessUsage()
        self._memory_v2 = True
        self._temperature_v = True
        self._clock_reasons = "nvmlDeviceGetCurrentClocksEventReasons"
        self.index = index
        self.mig_mode: bool | None = None
        self.identity = self._identify()
        self._gpm = self._activity()
        self._errors = self._watch_errors()

    @property
    def handle(self) -> Any:
        """NVML's handle."""
        return self._handle

    def read(self) -> dict[str, Any]:
        """Everything that changes, with why not for what can't be read."""
        self._begin()
        now = time.monotonic()
        slow = now >= self._slow_at
        if slow:
            self._slow_at = now + self._slow_s
            self._read_mig_mode()
        samples = self._read_samples()
        self._utilisation()
        self._memory()
        for gauge in _GAUGES:
            self._gauge(*gauge)
        self._set("temperature_celsius", lambda: self._within(self._temperature(), -60, 200))
        self._set("throttle_reasons", self._throttle)
        for codec in ("Encoder", "Decoder"):
            self._codec(codec)
        self._traffic()
        self._processes()
        if self._errors is not None:
            self._set("xid", self._errors.read)
        self._slow(slow)
        self._mig_word()
        return self._end(now, samples)

    def failure(self) -> NvmlError | None:
        """What went wrong when nothing of the last reading worked."""
        failures = [self._troubles[name] for name in _MAIN if name in self._troubles]
        if len(failures) < len(_MAIN):
            return None
        hard = [failure for failure in failures if failure.code not in UNSUPPORTED]
        return hard[0] if hard else None

    def _identify(self) -> dict[str, Any]:
        """What never changes. A name that can't be had is not worth losing the GPU for."""
        uuid = self._try("nvmlDeviceGetUUID", self._handle)
        name = self._try("nvmlDeviceGetName", self._handle)
        pci = self._try("nvmlDeviceGetPciInfo", self._handle)
        minor = self._try("nvmlDeviceGetMinorNumber", self._handle)
        bus = None if pci is None else pci.busId
        address = bus.decode("ascii", "replace") if isinstance(bus, bytes) else bus
        return {
            "uuid": uuid or address or f"index-{self.index}",
            "name": name or "NVIDIA GPU",
            "address": None if address is None else address.lower()[-12:],
            "minor": self.index if minor is None else minor,
        }

    def _codec(self, codec: str) -> None:
        call = f"nvmlDeviceGet{codec}Utilization"
        self._set(f"{codec.lower()}_percent", lambda: self._within(self._call(call)[0], 0, 100))

    def _read_mig_mode(self) -> None:
        try:
            self.mig_mode = bool(self._call("nvmlDeviceGetMigMode")[0])
        except NvmlError as failure:
            if failure.code in LOST:
                raise GoneError(failure) from None

    def _read_samples(self) -> list[list[float]]:
        """The driver's own samples. A driver that keeps none still has its last value."""
        try:
            return self._samples.read(self._nvml, self._handle)
        except NvmlError as failure:
            if failure.code in LOST:
                raise GoneError(failure) from None
            return []

    def _end(self, now: float, samples: list[list[float]]) -> dict[str, Any]:
        status, message = self._verdict()
        return {
            **self.identity,
            **self._record,
            "index": self.index,
            "status": status,
            "message": message,
            "read_at": now,
            "util_samples": samples,
            "missing": self._missing,
        }

    def _activity(self) -> gpm.Gpm | None:
        return gpm.Gpm(self._nvml, self._handle) if gpm.supported(self._nvml, self._handle) else None

    def _utilisation(self) -> None:
        try:
            rates = self._call("nvmlDeviceGetUtilizationRates")
        except NvmlError as failure:
            self._fail("util_percent", failure)
            self._fail("memory_util_percent", failure)
            return
        self._set("util_percent", lambda: self._within(rates.gpu, 0, 100))
        self._set("memory_util_percent", lambda: self._within(rates.memory, 0, 100))

    def _memory(self) -> None:
        """Version 2 leaves out what the driver keeps for itself, as nvidia-smi does; drivers before 510 lack it."""
        try:
            memory = None
            if self._memory_v2:
                try:
                    memory = self._nvml.call("nvmlDeviceGetMemoryInfo", self._handle, _MEMORY_V2)
                except NvmlError as failure:
                    if failure.code not in (FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH):
                        raise
                    self._memory_v2 = False
            memory = self._call("nvmlDeviceGetMemoryInfo") if memory is None else memory
        except NvmlError as failure:
            self._fail("memory_used_bytes", failure)
            self._fail("memory_total_bytes", failure)
            return
        if 0 < memory.total < MOST_MEMORY and memory.used <= memory.total:
            self._record["memory_used_bytes"] = memory.used
            self._record["memory_total_bytes"] = memory.total
        else:
            self._missing["memory_used_bytes"] = self._missing["memory_total_bytes"] = "not_measured"

    def _temperature(self) -> int:
        if self._temperature_v:
            try:
                return int(self._call("nvmlDeviceGetTemperatureV", 0))
            except NvmlError as failure:
                if failure.code not in (FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH):
                    raise
                self._temperature_v = False
        return int(self._call("nvmlDeviceGetTemperature", 0))

    def _throttle(self) -> list[str]:
        try:
            mask = self._call(self._clock_reasons)
        except NvmlError as failure:
            older = "nvmlDeviceGetCurrentClocksThrottleReasons"
            if failure.code != FUNCTION_NOT_FOUND or self._clock_reasons == older:
                raise
            self._clock_reasons = older
            mask = self._call(older)
        return [word for bit, word in _THROTTLE.items() if mask & bit]

    def _traffic(self) -> None:
        """PCIe and NVLink: byte counters, else the rates of GPM, else (when asked for) the reading that blocks."""
        activity = self._read_activity()
        totals = self._fields()
        for name, field, metric, unit in (
            ("pcie_transmit_bytes", _PCIE_TX, gpm.PCIE_TX, 1),
            ("pcie_receive_bytes", _PCIE_RX, gpm.PCIE_RX, 1),
            ("nvlink_transmit_bytes", _NVLINK_TX, gpm.NVLINK_TX, 1024),
            ("nvlink_receive_bytes", _NVLINK_RX, gpm.NVLINK_RX, 1024),
        ):
            if field in totals:
                self._record[f"{name}_total"] = totals[field] * unit
            elif metric in activity:
                self._record[f"{name}_per_s"] = activity[metric] * MIB
        if self._blocking_pcie and "pcie_receive_bytes_total" not in self._record and gpm.PCIE_RX not in activity:
            self._turn ^= 1
            name = ("pcie_transmit_bytes_per_s", "pcie_receive_bytes_per_s")[self._turn]
            self._set(name, lambda: self._call("nvmlDeviceGetPcieThroughput", self._turn) * 1024)
            self._keep(("pcie_transmit_bytes_per_s", "pcie_receive_bytes_per_s"), (name,))

    def _read_activity(self) -> dict[int, float]:
        """The metrics of GPM, where there is GPM."""
        if self._gpm is None:
            return {}
        try:
            activity = self._gpm.read()
        except NvmlError as failure:
            self._fail("sm_active_percent", failure)
            return {}
        if gpm.SM_UTIL in activity:
            self._set("sm_active_percent", lambda: self._within(activity[gpm.SM_UTIL], 0, 100))
        else:
            self._missing["sm_active_percent"] = "new"
        return activity

    def _fields(self) -> dict[int, int]:
        """The counters that have a value; each says for itself whether it has."""
        wanted = [_PCIE_TX, _PCIE_RX, (_NVLINK_TX, _ALL_LINKS), (_NVLINK_RX, _ALL_LINKS)]
        try:
            values = self._nvml.call("nvmlDeviceGetFieldValues", self._handle, wanted)
        except NvmlError as failure:
            if failure.code in LOST:
                raise GoneError(failure) from None
            for name in ("pcie_receive_bytes", "pcie_transmit_bytes", "nvlink_receive_bytes", "nvlink_transmit_bytes"):
                self._fail(f"{name}_total", failure)
                self._missing[f"{name}_per_s"] = failure.reason
            return {}
        return {
            int(value.fieldId): int(value.value.ullVal)
            for value in values
            if value.nvmlReturn == 0 and value.valueType in _UNSIGNED_64 and value.value.ullVal < 2**62
        }

    def _processes(self) -> None:
        self._record["processes_note"] = ""
        self._record["processes"] = self._record["process_samples"] = None
        if self.mig_mode:
            self._record["processes"] = []
            self._record["processes_note"] = "its processes are those of its instances"
            return
        most = self._record.get("memory_total_bytes") or MOST_MEMORY
        try:
            self._record["processes"] = running_processes(self._nvml, self._handle, most, self._most_pid)
            self._record["process_samples"] = self._usage.read(self._nvml, self._handle)
        except ImplausibleError:
            self._missing["processes"] = "unsupported"
            self._record["processes_note"] = "the process list of this driver is not readable: its records don't fit"
        except NvmlError as failure:
            self._fail("processes" if self._record["processes"] is None else "process_samples", failure)

    def _watch_errors(self) -> ErrorReports | None:
        return ErrorReports(self._nvml, self._handle)

    def _slow(self, due: bool) -> None:
        """What changes seldom is asked for seldom and kept between."""
        if due:
            for gauge in _SLOW_GAUGES:
                self._gauge(*gauge)
        self._keep(_SLOW, _SLOW if due else ())

    def _mig_word(self) -> None:
        if self.mig_mode:
            self._record["mig"] = "enabled"
        else:
            self._missing["mig"] = "off"

    def _verdict(self) -> tuple[str, str]:
        failure = self.failure()
        if failure is not None:
            return ("no_permission" if failure.code == NO_PERMISSION else "error"), failure.words
        odd = {
            name: trouble
            for name, trouble in self._troubles.items()
            if trouble.reason == "not_measured" and trouble.code != NOT_FOUND
        }
        return "ok", "; ".join(f"{name.partition('_')[0]}: {trouble.words}" for name, trouble in odd.items())
