"""The fields of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.column import Column, plain
from iodash.formatting.units import byte_amount, percent, whole

if TYPE_CHECKING:
    from iodash.model.frame import GpuRow

GPU_COLUMNS: tuple[Column[GpuRow], ...] = (
    Column("index", "GPU", "", 3, whole, "The driver's index, not CUDA's.", lambda r: r.index, keep=100),
    Column("uuid", "UUID", "", 40, plain, "The GPU's own id.", lambda r: r.uuid, is_text=True),
    Column("name", "NAME", "", 16, plain, "Model.", lambda r: r.name, keep=50, is_text=True),
    Column("status", "STATUS", "", 13, plain, "ok, lost, asleep, no_permission or error.", lambda r: r.status),
    Column(
        "util_percent",
        "UTIL%",
        "%",
        5,
        percent,
        "Share of time with a kernel on the GPU, however small. Low proves idleness, high proves nothing.",
        lambda r: r.util_percent,
        keep=99,
    ),
    Column(
        "memory_util_percent",
        "MEMBW%",
        "%",
        6,
        percent,
        "Share of time its memory was read or written.",
        lambda r: r.memory_util_percent,
    ),
    Column("memory_used_bytes", "MEM", "B", 5, byte_amount, "Memory in use.", lambda r: r.memory_used_bytes, keep=90),
    Column("memory_total_bytes", "OF", "B", 5, byte_amount, "Memory it has.", lambda r: r.memory_total_bytes, keep=89),
    Column("power_watts", "POWER", "W", 5, whole, "Mean power in the interval.", lambda r: r.power_watts, keep=80),
    Column("power_limit_watts", "LIMIT", "W", 5, whole, "Power limit.", lambda r: r.power_limit_watts),
    Column("temperature_celsius", "TEMP", "C", 4, whole, "Temperature.", lambda r: r.temperature_celsius, keep=70),
    Column("sm_clock_mhz", "SMCLK", "MHz", 5, whole, "Clock of its processors.", lambda r: r.sm_clock_mhz),
    Column("memory_clock_mhz", "MEMCLK", "MHz", 6, whole, "Clock of its memory.", lambda r: r.memory_clock_mhz),
    Column(
        "sm_active_percent", "SM%", "%", 4, percent, "Share of its processors at work.", lambda r: r.sm_active_percent
    ),
    Column(
        "pcie_receive_bytes_per_s",
        "PCIe r",
        "B/s",
        6,
        byte_amount,
        "Bytes into the GPU over PCIe.",
        lambda r: r.pcie_receive_bytes_per_s,
        keep=60,
    ),
    Column(
        "pcie_transmit_bytes_per_s",
        "PCIe s",
        "B/s",
        6,
        byte_amount,
        "Bytes out of the GPU over PCIe.",
        lambda r: r.pcie_transmit_bytes_per_s,
        keep=40,
    ),
    Column("throttle_reasons", "THROTTLE", "", 16, plain, "What holds its clocks down.", lambda r: r.throttle_reasons),
    Column("mig", "MIG", "", 10, plain, "The MIG profile of an instance.", lambda r: r.mig, is_text=True),
    Column("encoder_percent", "ENC%", "%", 4, percent, "Video encoder.", lambda r: r.encoder_percent),
    Column("decoder_percent", "DEC%", "%", 4, percent, "Video decoder.", lambda r: r.decoder_percent),
    Column("ecc_errors", "ECC", "", 4, whole, "Uncorrected memory errors.", lambda r: r.ecc_errors),
    Column("xid", "XID", "", 4, whole, "The last error the driver reported.", lambda r: r.xid),
    Column("pcie_generation", "GEN", "", 3, whole, "PCIe generation now.", lambda r: r.pcie_generation),
    Column("pcie_width", "WIDTH", "", 5, whole, "PCIe lanes now.", lambda r: r.pcie_width),
    Column(
        "nvlink_receive_bytes_per_s",
        "NVL r",
        "B/s",
        6,
        byte_amount,
        "NVLink in.",
        lambda r: r.nvlink_receive_bytes_per_s,
    ),
    Column(
        "nvlink_transmit_bytes_per_s",
        "NVL s",
        "B/s",
        6,
        byte_amount,
        "NVLink out.",
        lambda r: r.nvlink_transmit_bytes_per_s,
    ),
    Column("vendor", "VENDOR", "", 7, plain, "nvidia, amd or intel.", lambda r: r.vendor, is_text=True),
)
