"""What the user asked for: the options of the dashboard and of batch mode, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DELAYS: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0)
"""The intervals that `+` and `-` step through, in seconds."""

THEMES: tuple[str, ...] = ("dark", "light", "high-contrast", "colour-blind", "terminal")
"""The names of the screen's themes, the default first."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option once. Names are those of the long options, with `_` for `-`."""

    delay: float = 1.0
    iter: int | None = None
    only: bool = False
    threads: bool = False
    accumulated: bool = False
    pid: tuple[int, ...] = ()
    user: tuple[str, ...] = ()
    kilobytes: bool = False
    time: bool = False
    quiet: int = 0
    device: tuple[str, ...] = ()
    all_devices: bool = False
    gpu: bool = True
    sort: str | None = None
    reverse: bool = False
    filter: str = ""
    output: Path | None = None
    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    theme: str | None = None
    ascii: bool = False
    processes_only: bool = False
    """Opens with the processes full-screen, as `iodash iotop` does."""
