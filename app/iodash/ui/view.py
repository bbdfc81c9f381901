"""How the panels show a frame: what the user has switched, apart from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.formatting.units import Units
from iodash.ui.widgets.spark import cells

if TYPE_CHECKING:
    from iodash.sampling.history import History


_SHORTEST_DELAY = 0.1


@dataclass(frozen=True, slots=True)
class View:
    """The switches that more than one panel obeys.

    `history` ends at the shown frame: while the screen is paused it is the past of the frozen frame. `paused_s` is the
    age of the shown frame in seconds while paused, else None. `full` is the key of the full-screen panel, if any.
    `delay` is the interval asked for, in seconds. `trouble` says in a few words what else goes wrong, if anything.
    """

    history: History
    units: Units = Units.IEC
    ascii: bool = False
    paused_s: float | None = None
    full: str | None = None
    delay: float = 1.0
    trouble: str = ""

    def course(self, subject: str, name: str, end: float, count: int, seconds: float) -> list[float | None]:
        """A series as the values of `count` cells of `seconds` each, up to the moment `end`."""
        points = self.history.last(subject, name, int(count * seconds / max(self.delay, _SHORTEST_DELAY)) + 2)
        return cells(points, end, seconds, count)

    @property
    def lettered(self) -> Units:
        """The units of amounts that stand by themselves: with letters also where tables have whole KiB (`-k`)."""
        return Units.IEC if self.units is Units.KIB else self.units
