"""Whether NVIDIA's library is on this host, told without loading it and without starting a program."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

SONAME = "libnvidia-ml.so.1"

_CACHE_ENTRY = re.compile(rb"(/[^\0]*/" + re.escape(SONAME.encode()) + rb")\0")
_MACHINE = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "ppc64le": "powerpc64le-linux-gnu"}


@dataclass(frozen=True, slots=True)
class Library:
    """Where the library lies. `preload`: the loader does not look there, it has to be loaded by its path."""

    path: Path
    preload: bool


def find_library(root: Path = Path("/")) -> Library | None:
    """Looks where the dynamic loader looks (ld.so(8)): LD_LIBRARY_PATH, /etc/ld.so.cache, the default directories.

    WSL and NixOS keep the driver's libraries elsewhere; those places come last. `root` is for tests. A few `stat`
    calls and one read of the loader's cache: about 0.1 ms.
    """
    for directory in os.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":"):
        path = Path(directory) / SONAME
        if directory and path.exists():
            return Library(path, preload=False)
    for path in _cached(root / "etc/ld.so.cache"):
        found = root / path.relative_to("/")
        if found.exists():
            return Library(found, preload=False)
    multiarch = _MACHINE.get(os.uname().machine, "")
    for name in ("lib64", "usr/lib64", f"lib/{multiarch}", f"usr/lib/{multiarch}", "lib", "usr/lib"):
        if (root / name / SONAME).exists():
            return Library(root / name / SONAME, preload=False)
    for name in ("usr/lib/wsl/lib", "run/opengl-driver/lib", "usr/local/nvidia/lib64", "usr/local/nvidia/lib"):
        if (root / name / SONAME).exists():
            return Library(root / name / SONAME, preload=True)
    return None


def _cached(cache: Path) -> list[Path]:
    """The paths under which the loader's cache knows the library. The cache's strings end in NUL, paths among them."""
    try:
        content = cache.read_bytes()
    except OSError:
        return []
    return [Path(os.fsdecode(match)) for match in _CACHE_ENTRY.findall(content)]


def absence(procfs: Path, sysfs: Path, root: Path = Path("/")) -> str:
    """One sentence on why there is no library, and what to do about it."""
    in_container = (root / ".dockerenv").exists() or (root / "run/.containerenv").exists()
    has_driver = (procfs / "driver/nvidia/version").exists() or (root / "dev/nvidiactl").exists()
    if has_driver:
        if in_container:
            return (
                "the driver runs, but its library is not in this container: start it with `--gpus all` and "
                "NVIDIA_DRIVER_CAPABILITIES=utility (or all)"
            )
        return f"the driver runs, but {SONAME} is not found: install the driver's user-space package"
    if in_container:
        return "no GPU in this container: start it with `docker run --gpus all` (NVIDIA_DRIVER_CAPABILITIES=utility)"
    if nvidia_devices(sysfs):
        return "an NVIDIA GPU is on the PCI bus, but no driver is installed"
    return f"no GPU driver on this host ({SONAME} is not found)"


def nvidia_devices(sysfs: Path) -> list[str]:
    """PCI addresses of NVIDIA's display devices, in the driver's order."""
    found: list[str] = []
    try:
        names = os.listdir(sysfs / "bus/pci/devices")
    except OSError:
        return found
    for name in sorted(names):
        device = sysfs / "bus/pci/devices" / name
        try:
            if (device / "vendor").read_text().strip() == "0x10de" and (device / "class").read_text().startswith(
                "0x03"
            ):
                found.append(name)
        except OSError:
            continue
    return found
