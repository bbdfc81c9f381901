"""How often processes at rest are looked at."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from iodash.model.missing import Count

IDLE_TURNS = 64
"""Every so many sweeps the stat file of a process that does nothing is read all the same."""

SEARCH_TURNS = 16
"""The same while somebody unseen computes."""

_UNSEEN_CPUS = 0.1
"""How many CPUs must be busy with nobody known for it before they are looked for."""


class Pace:
    """Goes through the idle processes in `turns` sweeps: in fewer while the machine computes more than is seen."""

    def __init__(self) -> None:
        self.turns = SEARCH_TURNS
        self._busy_ticks: Count = Missing.NOT_MEASURED
        self._seen_ticks = 0
        self._at = 0.0

    def see(self, ticks: int) -> None:
        """Counts what a process computed."""
        self._seen_ticks += ticks

    def set(self, busy_ticks: Count, clock_ticks: int) -> None:
        """Takes how many ticks all CPUs together have run processes so far, `clock_ticks` a second each."""
        now = time.monotonic()
        unseen = busy_ticks - self._busy_ticks - self._seen_ticks
        at_rest = not isinstance(unseen, Missing) and unseen <= _UNSEEN_CPUS * clock_ticks * (now - self._at)
        self.turns = IDLE_TURNS if at_rest else SEARCH_TURNS
        self._busy_ticks, self._seen_ticks, self._at = busy_ticks, 0, now
