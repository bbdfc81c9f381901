"""What the worker reports, as counters. Text from the driver is made safe here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.model.sample import GpuCounters, GpuDriver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.sources.local.gpu.processes import Joined

    Shape = Mapping[str, type | tuple[type, ...]]

_NUMBER = (int, float)
_ANSWER: Shape = {"driver": dict, "gpus": list, "took_s": _NUMBER, "cpu_s": _NUMBER, "resident_bytes": int}
_DRIVER: Shape = {"status": str, "version": (str, type(None)), "message": str}
_GPU: Shape = {
    "index": int,
    "uuid": str,
    "name": str,
    "minor": int,
    "status": str,
    "message": str,
    "read_at": _NUMBER,
    "util_samples": list,
    "missing": dict,
    "processes": (list, type(None)),
}
"""What every answer holds, whatever could not be read."""

_REASONS = tuple(reason.value for reason in Missing)


def read_answer(line: bytes) -> dict[str, Any]:
    """A line of the worker's.

    Raises:
        ValueError: it is no answer, or one in which something is not where it belongs: after an update of iodash a
            worker that is started again may be another version's.
    """
    answer: dict[str, Any] = json.loads(line)
    _check(answer, _ANSWER)
    _check(answer["driver"], _DRIVER)
    for gpu in answer["gpus"]:
        _check(gpu, _GPU)
        if any(reason not in _REASONS for reason in gpu["missing"].values()):
            raise ValueError("a number is missing for an unknown reason")
    return answer


def _check(found: object, shape: Shape) -> None:
    if not isinstance(found, dict) or not all(isinstance(found.get(key, ...), kind) for key, kind in shape.items()):
        raise ValueError("this is no answer of the GPU worker")


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
