"""The fields of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.column import Column, plain
from iodash.formatting.units import byte_amount, percent, whole

if TYPE_CHECKING:
    from iodash.model.frame import GpuRow

GPU_COLUMNS: tuple[Column[GpuRow], ...] = (
    Column("index", "GPU", "", 3, whole, "The driver's index, not CUDA's.", keep=100),
    Column("instance", "INST", "", 4, plain, "Number of a MIG instance on its GPU."),
    Column("uuid", "UUID", "", 40, plain, "The GPU's own id.", is_text=True),
    Column("name", "NAME", "", 16, plain, "Model.", keep=50, is_text=True),
    Column("status", "STATUS", "", 13, plain, "ok, lost, asleep, no_permission or error.", is_text=True),
    Column(
        "util_percent",
        "UTIL%",
        "%",
        5,
        percent,
        "Share of time with a kernel on the GPU, however small. Low proves idleness, high proves nothing.",
        keep=99,
    ),
    Column("memory_util_percent", "MEMBW%", "%", 6, percent, "Share of time its memory was read or written."),
    Column("memory_used_bytes", "MEM", "B", 5, byte_amount, "Memory in use.", keep=90),
    Column("memory_total_bytes", "OF", "B", 5, byte_amount, "Memory it has.", keep=89),
    Column("power_watts", "POWER", "W", 5, whole, "Mean power in the interval.", keep=80),
    Column("power_limit_watts", "LIMIT", "W", 5, whole, "Power limit."),
    Column("temperature_celsius", "TEMP", "C", 4, whole, "Temperature.", keep=70),
    Column("sm_clock_mhz", "SMCLK", "MHz", 5, whole, "Clock of its processors."),
    Column("memory_clock_mhz", "MEMCLK", "MHz", 6, whole, "Clock of its memory."),
    Column("sm_active_percent", "SM%", "%", 4, percent, "Share of its processors at work."),
    Column("pcie_receive_bytes_per_s", "PCIe r", "B/s", 6, byte_amount, "Bytes into the GPU over PCIe.", keep=60),
    Column("pcie_transmit_bytes_per_s", "PCIe s", "B/s", 6, byte_amount, "Bytes out of the GPU over PCIe.", keep=40),
    Column("throttle_reasons", "THROTTLE", "", 16, plain, "What holds its clocks down."),
    Column("mig", "MIG", "", 10, plain, "The MIG profile of an instance.", is_text=True),
    Column("encoder_percent", "ENC%", "%", 4, percent, "Video encoder."),
    Column("decoder_percent", "DEC%", "%", 4, percent, "Video decoder."),
    Column("ecc_errors", "ECC", "", 4, whole, "Uncorrected memory errors."),
    Column("xid", "XID", "", 4, whole, "The last error the driver reported."),
    Column("pcie_generation", "GEN", "", 3, whole, "PCIe generation now."),
    Column("pcie_width", "WIDTH", "", 5, whole, "PCIe lanes now."),
    Column("nvlink_receive_bytes_per_s", "NVL r", "B/s", 6, byte_amount, "NVLink in."),
    Column("nvlink_transmit_bytes_per_s", "NVL s", "B/s", 6, byte_amount, "NVLink out."),
    Column("vendor", "VENDOR", "", 7, plain, "nvidia, amd or intel.", is_text=True),
)
