"""Moves iodash's own heap into huge pages, because its memory cools down between two ticks.

A tick touches about a thousand pages that rested since the last one. On a virtual machine whose host takes back the
mappings of resting memory, the first touch of each 2 MiB of physical memory cost some 50 µs (measured), and small pages
lie scattered over hundreds of such pieces, huge ones in a few. Resident memory doesn't grow: only what is filled moves.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_AFTER = 4
"""Ticks after which the heap is moved; it is looked at again after twice as many, and so on, for what it grew by."""

_AGAIN = 2
_SETTINGS = Path("/sys/kernel/mm/transparent_hugepage")
_OWN_AREAS = Path("/proc/self/smaps")
_MADV_HUGEPAGE = 14
_MADV_COLLAPSE = 25
_FILLED = 0.9


class HugePages:
    """Counts ticks, and moves the heap of this process when it is time."""

    def __init__(self, settings: Path = _SETTINGS) -> None:
        self._settings = settings
        self._left = self._wait = FIRST_AFTER

    def tick(self) -> None:
        """To be called once a tick. Does nothing where the machine's owner switched huge pages off."""
        self._left -= 1
        if self._left > 0:
            return
        self._left = self._wait = _AGAIN * self._wait
        self._move()

    def _move(self) -> None:
        try:
            allowed = (self._settings / "enabled").read_text()
            size = int((self._settings / "hpage_pmd_size").read_text())
            areas = _OWN_AREAS.read_text("utf-8", "replace")
        except (OSError, ValueError):
            return
        if "[never]" in allowed:
            return
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for start, length in filled_areas(areas, size):
            advise(start, length, _MADV_HUGEPAGE)  # all that kernels before 6.1 know: khugepaged moves it some day
            advise(start, length, _MADV_COLLAPSE)


def filled_areas(smaps: str, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a process's heap that huge pages of `size` bytes can hold: start and length, both in bytes.

    `smaps` is the text of /proc/PID/smaps (proc(5)). Of it count private, writable areas that belong to no file and are
    at least nine tenths resident.
    """
    start = end = 0
    for line in smaps.splitlines():
        first, _, rest = line.partition(" ")
        low, dash, high = first.partition("-")
        if dash:
            fields = rest.split()
            heap = fields[0] == "rw-p" and (not fields[4:] or fields[4].startswith(("[heap]", "[anon:")))
            start, end = (int(low, 16), int(high, 16)) if heap else (0, 0)
        elif first == "Rss:" and end and 1024 * int(rest.split()[0]) >= _FILLED * (end - start):
            whole_start, whole_end = -(-start // size) * size, end // size * size
            if whole_start < whole_end:
                yield whole_start, whole_end - whole_start
