"""Who uses which engine of a GPU, as the kernel's DRM drivers say it in /proc/PID/fdinfo.

The keys are those of Documentation/gpu/drm-usage-stats.rst. amdgpu has them from Linux 5.14, i915 from 5.19, xe from
its start; NVIDIA's own driver has none.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.model.sample import EngineCounters
from iodash.sources.local.kept_file import list_names, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

LOOK_EVERY_S = 5.0
SHARE_OF_TIME = 50
"""A look through all descriptors is followed by a pause of at least this many times its length."""

MOST_DESCRIPTORS = 4096

_UNITS = {b"": 1, b"B": 1, b"KiB": 1 << 10, b"MiB": 1 << 20, b"GiB": 1 << 30}


@dataclass(frozen=True, slots=True)
class DrmClient:
    """One open file of a DRM device: `device` is the PCI address, `memory_bytes` what it keeps in the GPU's memory."""

    device: str
    pid: int
    client: int
    engines: tuple[EngineCounters, ...]
    memory_bytes: int | None


def parse_client(pid: int, content: bytes) -> DrmClient | None:
    """One fdinfo file; None when it is of no DRM client with a PCI device."""
    fields: dict[str, bytes] = {}
    for line in content.splitlines():
        if line.startswith(b"drm-"):
            key, _, value = line.partition(b":")
            fields[key[4:].decode("ascii", "replace")] = value.strip()
    device = fields.get("pdev")
    client = _number(fields.get("client-id"))
    if device is None or client is None:
        return None
    engines = []
    for name, amount in fields.items():
        kind, _, engine = name.partition("-")
        busy = _number(amount)
        if busy is None or not engine or engine.startswith("capacity-"):
            continue
        capacity = _number(fields.get(f"engine-capacity-{engine}")) or 1
        if kind == "engine":
            engines.append(EngineCounters(pid, client, engine, busy, None, capacity))
        elif kind == "cycles" and (total := _number(fields.get(f"total-cycles-{engine}"))) is not None:
            engines.append(EngineCounters(pid, client, engine, busy, total, capacity))
    memory = [
        held
        for field in ("resident-vram", "memory-vram", "resident-vram0", "resident-local0")
        if (held := _number(fields.get(field))) is not None
    ]
    return DrmClient(device.decode("ascii", "replace"), pid, client, tuple(engines), memory[0] if memory else None)


class DrmClients:
    """Reads the DRM clients of all processes. Looking for them is rare; reading those that are known is cheap."""

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._files: list[tuple[int, Path, str]] = []
        self._look_at = 0.0

    def read(self, device: str) -> list[DrmClient]:
        """Every client of one device once: a descriptor that was inherited or duplicated names the same client again.

        No file of another device is read, as far as sysfs tells whose each is.
        """
        now = time.monotonic()
        if now >= self._look_at:
            self._files = find_clients(self._procfs, self._sysfs)
            took = time.monotonic() - now
            self._look_at = now + max(LOOK_EVERY_S, SHARE_OF_TIME * took)
        seen: dict[int, DrmClient] = {}
        for pid, path, address in self._files:
            content = read_bytes(path) if address in (device, "") else None
            client = None if content is None else parse_client(pid, content)
            if client is not None and client.device == device:
                seen.setdefault(client.client, client)
        return list(seen.values())


def find_clients(procfs: Path, sysfs: Path) -> list[tuple[int, Path, str]]:
    """The fdinfo files of all descriptors of DRM devices, with the device's PCI address, empty where nobody tells."""
    addresses: dict[str, str] = {}
    found = []
    for name in list_names(procfs):
        if not name.isdigit():
            continue
        directory = procfs / name / "fd"
        for descriptor in list_names(directory)[:MOST_DESCRIPTORS]:
            try:
                target = os.readlink(directory / descriptor)
            except OSError:
                continue
            if target.startswith("/dev/dri/"):
                if target not in addresses:
                    device = sysfs / "class/drm" / os.path.basename(target) / "device"
                    addresses[target] = os.path.basename(os.path.realpath(device)) if device.exists() else ""
                found.append((int(name), procfs / name / "fdinfo" / descriptor, addresses[target]))
    return found


def _number(value: bytes | None) -> int | None:
    """A whole number with or without a unit (`ns`, `KiB`); None if it is none."""
    if value is None:
        return None
    digits, _, unit = value.partition(b" ")
    if not digits.isdigit():
        return None
    return int(digits) * _UNITS.get(unit.strip(), 1)
