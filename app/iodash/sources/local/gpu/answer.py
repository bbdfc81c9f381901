"""What the worker reports, as counters. Text from the driver is made safe here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.model.sample import GpuCounters, GpuDriver

if TYPE_CHECKING:
    from iodash.sources.local.gpu.processes import Joined


def driver_of(answer: dict[str, Any]) -> GpuDriver:
    """The driver's state as the worker found it."""
    driver = answer["driver"]
    version = driver["version"]
    return GpuDriver(driver["status"], None if version is None else safe_text(version), safe_text(driver["message"]))


def counters_of(gpu: dict[str, Any], joined: Joined) -> GpuCounters:
    """One GPU of an answer. A field that the worker has no value for is missing, with the worker's reason."""
    missing = gpu["missing"]

    otherwise = missing.get("*", "unsupported")

    def value(name: str) -> Any:
        found = gpu.get(name)
        return Missing(missing.get(name, otherwise)) if found is None else found

    reasons = value("throttle_reasons")
    mig = value("mig")
    return GpuCounters(
        index=gpu["index"],
        uuid=safe_text(gpu["uuid"]),
        name=safe_text(gpu["name"]),
        vendor="nvidia",
        status=gpu["status"],
        message=safe_text(gpu["message"]),
        read_at=gpu["read_at"],
        util_percent=value("util_percent"),
        util_samples=tuple((at, percent) for at, percent in gpu["util_samples"]),
        memory_util_percent=value("memory_util_percent"),
        memory_used_bytes=value("memory_used_bytes"),
        memory_total_bytes=value("memory_total_bytes"),
        power_watts=value("power_watts"),
        power_limit_watts=value("power_limit_watts"),
        energy_joules_total=value("energy_joules_total"),
        temperature_celsius=value("temperature_celsius"),
        sm_clock_mhz=value("sm_clock_mhz"),
        memory_clock_mhz=value("memory_clock_mhz"),
        sm_active_percent=value("sm_active_percent"),
        pcie_receive_bytes_total=value("pcie_receive_bytes_total"),
        pcie_transmit_bytes_total=value("pcie_transmit_bytes_total"),
        pcie_receive_bytes_per_s=value("pcie_receive_bytes_per_s"),
        pcie_transmit_bytes_per_s=value("pcie_transmit_bytes_per_s"),
        nvlink_receive_bytes_total=value("nvlink_receive_bytes_total"),
        nvlink_transmit_bytes_total=value("nvlink_transmit_bytes_total"),
        nvlink_receive_bytes_per_s=value("nvlink_receive_bytes_per_s"),
        nvlink_transmit_bytes_per_s=value("nvlink_transmit_bytes_per_s"),
        throttle_reasons=reasons if isinstance(reasons, Missing) else tuple(reasons),
        mig=mig if isinstance(mig, Missing) else safe_text(mig),
        encoder_percent=value("encoder_percent"),
        decoder_percent=value("decoder_percent"),
        ecc_errors=value("ecc_errors"),
        xid=value("xid"),
        pcie_generation=value("pcie_generation"),
        pcie_width=value("pcie_width"),
        processes=joined.processes,
        processes_note=joined.note,
        instance=gpu.get("instance"),
    )
