"""One card as /sys shows it (Documentation/gpu/amdgpu/thermal.rst, Documentation/ABI/testing/sysfs-driver-intel-*)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from iodash.model.missing import Missing
from iodash.sources.local.kept_file import list_names, read_bytes, read_int

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.missing import Count, Number

VENDORS = {"0x1002": "amd", "0x8086": "intel"}

_CARD = re.compile(r"card\d+$")

_GENERATION = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""PCIe generation by the transfer rate of a lane in GT/s."""


class Card:
    """The files of one card. `pcie_bw` is not among them: reading it sleeps for a second in the driver."""

    def __init__(self, directory: Path, vendor: str) -> None:
        self._card = directory
        self._device = directory / "device"
        self.vendor = vendor
        self.address = os.path.basename(os.path.realpath(self._device))
        monitors = list_names(self._device / "hwmon")
        self._monitor = self._device / "hwmon" / monitors[0] if monitors else None

    def name(self) -> str:
        """The product, where the driver knows it, else the vendor and the PCI id."""
        product = read_bytes(self._device / "product_name")
        if product:
            return product.decode("utf-8", "surrogateescape")
        ident = (read_bytes(self._device / "device") or b"").decode("ascii", "replace")
        return f"{'AMD' if self.vendor == 'amd' else 'Intel'} GPU {ident}".strip()

    def awake(self) -> bool:
        """Whether the kernel keeps the card powered. Reading most files of a card that sleeps wakes it."""
        return read_bytes(self._device / "power/runtime_status") in (b"active", b"unsupported", None)

    def util_percent(self) -> Number:
        """Share of time that the graphics and compute engines were busy."""
        return _percent(read_int(self._device / "gpu_busy_percent"))

    def memory_util_percent(self) -> Number:
        """How busy the memory controller is."""
        return _percent(read_int(self._device / "mem_busy_percent"))

    def memory_used_bytes(self) -> Count:
        """Bytes of its own memory in use."""
        return _count(read_int(self._device / "mem_info_vram_used"))

    def memory_total_bytes(self) -> Count:
        """Bytes of its own memory."""
        return _count(read_int(self._device / "mem_info_vram_total"))

    def power_watts(self) -> Number:
        """Mean power as the card reports it, or its power now."""
        watts = self._sensor("power1_average", 1e-6)
        return self._sensor("power1_input", 1e-6) if isinstance(watts, Missing) else watts

    def power_limit_watts(self) -> Number:
        """The power cap."""
        watts = self._sensor("power1_cap", 1e-6)
        return self._sensor("power1_max", 1e-6) if isinstance(watts, Missing) else watts

    def energy_joules(self) -> Number:
        """Energy used so far."""
        return self._sensor("energy1_input", 1e-6)

    def temperature_celsius(self) -> Number:
        """Temperature of the chip's edge or package."""
        return self._sensor("temp1_input", 1e-3)

    def clock_mhz(self) -> Number:
        """Clock of the shader engines."""
        mhz = self._sensor("freq1_input", 1e-6)
        return _count(read_int(self._card / "gt_act_freq_mhz")) if isinstance(mhz, Missing) else mhz

    def memory_clock_mhz(self) -> Number:
        """Clock of the memory."""
        return self._sensor("freq2_input", 1e-6)

    def pcie_generation(self) -> Count:
        """Generation of the PCIe link now."""
        speed = (read_bytes(self._device / "current_link_speed") or b"").split(b" ")[0]
        try:
            return _GENERATION[float(speed)]
        except (ValueError, KeyError):
            return Missing.UNSUPPORTED

    def pcie_width(self) -> Count:
        """Lanes of the PCIe link now."""
        width = read_int(self._device / "current_link_width")
        return width if width else Missing.UNSUPPORTED

    def _sensor(self, name: str, unit: float) -> Number:
        value = None if self._monitor is None else read_int(self._monitor / name)
        return Missing.UNSUPPORTED if value is None else value * unit


def find_cards(sysfs: Path) -> list[Card]:
    """AMD's and Intel's cards, in the order of their names."""
    names = sorted(filter(_CARD.match, list_names(sysfs / "class/drm")), key=lambda name: int(name[4:]))
    found = []
    for name in names:
        directory = sysfs / "class/drm" / name
        vendor = VENDORS.get((read_bytes(directory / "device/vendor") or b"").decode("ascii", "replace").strip())
        if vendor is not None:
            found.append(Card(directory, vendor))
    return found


def _count(value: int | None) -> Count:
    return Missing.UNSUPPORTED if value is None or value < 0 else value


def _percent(value: int | None) -> Number:
    return Missing.UNSUPPORTED if value is None or not 0 <= value <= 100 else value
