"""GPU readings made by hand: a GPU of which everything is known, until a test says otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from iodash.model.missing import Missing
from iodash.model.sample import GpuCounters

GIB = 1 << 30


def gpu_counters(read_at: float, **values: Any) -> GpuCounters:
    made = GpuCounters(
        index=0,
        uuid="GPU-a",
        name="H200",
        vendor="nvidia",
        status="ok",
        message="",
        read_at=read_at,
        util_percent=40,
        util_samples=(),
        memory_util_percent=20,
        memory_used_bytes=64 * GIB,
        memory_total_bytes=141 * GIB,
        power_watts=400.0,
        power_limit_watts=700.0,
        energy_joules_total=1000.0,
        temperature_celsius=60,
        sm_clock_mhz=1980,
        memory_clock_mhz=3201,
        sm_active_percent=35.0,
        pcie_receive_bytes_total=0,
        pcie_transmit_bytes_total=0,
        pcie_receive_bytes_per_s=Missing.UNSUPPORTED,
        pcie_transmit_bytes_per_s=Missing.UNSUPPORTED,
        nvlink_receive_bytes_total=Missing.UNSUPPORTED,
        nvlink_transmit_bytes_total=Missing.UNSUPPORTED,
        nvlink_receive_bytes_per_s=5e9,
        nvlink_transmit_bytes_per_s=Missing.OFF,
        throttle_reasons=(),
        mig=Missing.OFF,
        encoder_percent=0,
        decoder_percent=0,
        ecc_errors=0,
        xid=Missing.NOT_MEASURED,
        pcie_generation=5,
        pcie_width=16,
        processes=(),
    )
    return replace(made, **values)
