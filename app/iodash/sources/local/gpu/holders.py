"""Processes that have a GPU's device file open: who uses a GPU where the driver lists nobody."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from iodash.sources.daemon import DaemonExecutor
from iodash.sources.local.kept_file import list_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future
    from pathlib import Path

EVERY_S = 5.0
MOST_DESCRIPTORS = 4096
"""How many descriptors of one process are looked at."""

_DEVICE = re.compile(r"/dev/nvidia(\d+)$")


class Holders:
    """Looks through /proc/*/fd in a thread of its own, since a link there may need another process's locks."""

    def __init__(self, procfs: Path) -> None:
        self._procfs = procfs
        self._thread = DaemonExecutor("iodash-gpu-holders")
        self._found: Mapping[int, frozenset[int]] = {}
        self._pending: Future[dict[int, frozenset[int]]] | None = None
        self._next = 0.0

    def read(self) -> Mapping[int, frozenset[int]]:
        """Pids by the minor number of the device, as found last. Starts a new look every `EVERY_S`. Never blocks."""
        if self._pending is not None and self._pending.done():
            self._found = self._pending.result()
            self._pending = None
        now = time.monotonic()
        if self._pending is None and now >= self._next:
            self._next = now + EVERY_S
            self._pending = self._thread.submit(device_holders, self._procfs)
        return self._found

    def close(self) -> None:
        """Ends the thread without waiting for it."""
        self._thread.shutdown()


def device_holders(procfs: Path) -> dict[int, frozenset[int]]:
    """Pids by minor number. A process that computes also holds nvidia-uvm, which tells it from one that only looks."""
    found: dict[int, dict[int, bool]] = {}
    for name in list_names(procfs):
        if not name.isdigit():
            continue
        minors, computes = _devices_of(procfs / name / "fd")
        for minor in minors:
            found.setdefault(minor, {})[int(name)] = computes
    return {
        minor: frozenset(pid for pid, computes in pids.items() if computes or not any(pids.values()))
        for minor, pids in found.items()
    }


def _devices_of(directory: Path) -> tuple[set[int], bool]:
    minors: set[int] = set()
    computes = False
    for name in list_names(directory)[:MOST_DESCRIPTORS]:
        try:
            target = os.readlink(directory / name)
        except OSError:
            continue
        if target.startswith("/dev/nvidia"):
            device = _DEVICE.match(target)
            if device is not None:
                minors.add(int(device[1]))
            computes = computes or target.startswith("/dev/nvidia-uvm")
    return minors, computes
