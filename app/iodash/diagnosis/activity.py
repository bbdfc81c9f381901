"""Who moves bytes, seen through the pauses between one burst and the next."""

from __future__ import annotations

from dataclasses import dataclass

BUSY_BYTES_PER_S = float(1 << 20)
"""Bytes a second from which somebody is at work."""

PAUSE_S = 30.0
"""How long somebody who is at work may pause: checkpoints and buffers that are refilled come in bursts."""

_GOES_ON_BYTES_PER_S = BUSY_BYTES_PER_S / 4
_SMOOTHING_S = 15.0


@dataclass(slots=True)
class Activity:
    """One that is at work: `mean` is what it moves, in bytes a second over the last quarter of a minute or so."""

    mean: float
    quiet_s: float = 0.0

    def add(self, moved: float, seconds: float, *, waits: bool = False) -> None:
        """Takes what it moved in `seconds`, in bytes a second. Whoever `waits` for a device does not pause."""
        self.mean += min(1.0, seconds / _SMOOTHING_S) * (moved - self.mean)
        self.quiet_s = 0.0 if waits or moved >= _GOES_ON_BYTES_PER_S else self.quiet_s + seconds

    @property
    def goes_on(self) -> bool:
        """Whether it has not been quiet for longer than a pause."""
        return self.quiet_s <= PAUSE_S


def follow(before: Activity | None, moved: float, seconds: float, *, waits: bool = False) -> Activity | None:
    """The activity of one that was at work or not `before`; None while it is at rest."""
    if before is None:
        return Activity(moved) if moved >= BUSY_BYTES_PER_S else None
    before.add(moved, seconds, waits=waits)
    return before if before.goes_on else None
