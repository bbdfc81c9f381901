"""What tells one process from every other, now and later."""

from __future__ import annotations

from typing import NamedTuple


class ProcessKey(NamedTuple):
    """What stays the same while a process (or, with `tid` set, one of its threads) lives, and is never used again."""

    pid: int
    start_ticks: int
    tid: int = 0
