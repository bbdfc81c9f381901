"""Compiles the simulated NVML library on demand: one directory a variant, each with its `libnvidia-ml.so.1`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SONAME = "libnvidia-ml.so.1"
SOURCE = Path(__file__).with_name("nvml.c")

VARIANTS: dict[str, tuple[str, ...]] = {
    "current": (),
    "no_v3": ("NO_V3",),
    "no_memory_v2": ("NO_MEMORY_V2",),
    "no_temperature_v": ("NO_TEMPERATURE_V",),
    "no_gpm": ("NO_GPM",),
    "r535": ("R535",),
    "r430": ("R430",),
}
"""What each variant's driver lacks or does otherwise."""


def compiler() -> str | None:
    """A C compiler, None where there is none."""
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")


def library_directory(variant: str = "current", cache: Path | None = None) -> Path:
    """The directory of a variant, for LD_LIBRARY_PATH. Built once for each text of the source.

    Raises `FileNotFoundError` without a compiler, `CalledProcessError` when it fails.
    """
    program = compiler()
    if program is None:
        raise FileNotFoundError("no C compiler (install gcc) to build the simulated NVML library")
    flags = [f"-D{name}" for name in VARIANTS[variant]]
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(flags).encode()).hexdigest()[:12]
    root = cache or Path(tempfile.gettempdir()) / f"iodash-nvml-{os.getuid()}"
    directory = root / f"{variant}-{digest}"
    library = directory / SONAME
    if not library.exists():
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = directory / f".{os.getpid()}.so"
        command = [program, "-shared", "-fPIC", "-O2", "-Wall", f"-Wl,-soname,{SONAME}", *flags]
        subprocess.run([*command, "-o", str(unfinished), str(SOURCE)], check=True, capture_output=True, text=True)
        unfinished.replace(library)
    return directory
