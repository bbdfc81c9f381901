"""One-row sparklines: a fixed scale, and one time axis for all of them, newest at the right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from iodash.sampling.history import Point

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = ".:-=+*%#"
GAP = " "

SHARE = 100.0
"""The scale of a share in percent."""


def cell_seconds(delay: float) -> float:
    """How much time one cell stands for when a frame comes every `delay` seconds: two cells a frame, at least 0.5 s.

    Every sparkline on the screen uses the same, so that what happened together stands above each other.
    """
    return max(0.5, delay / 2)


def cells(points: Iterable[Point], end: float, seconds: float, width: int) -> list[float | None]:
    """The values of `width` cells of `seconds` each, the last holding the moment `end`; None where nothing is known.

    Cells lie on a grid of whole multiples of `seconds`, so that a past cell doesn't change any more while time goes on.
    A cell shows the mean of the points that lie in it, weighted by how long they lasted in it. A point that lasted
    longer than a cell is not smeared over its neighbours: the cell shows the one that holds its middle.

    Args:
        points: values with the moment at which their span ended, oldest first.
        end: the newest moment shown, in the time of the points.
        seconds: what one cell stands for.
        width: how many cells.
    """
    if width <= 0:
        return []
    newest = -(-end // seconds)  # the grid line at or after the end
    first = (newest - width) * seconds
    weights = [0.0] * width
    sums = [0.0] * width
    middles: list[float | None] = [None] * width
    for time, span, value in points:
        if time <= first or isinstance(value, Missing):
            continue
        begin = (time - span - first) / seconds
        finish = (time - first) / seconds
        last = math.ceil(finish) - 1  # a cell holds its end, not its beginning
        for index in range(max(0, min(last, math.floor(begin))), min(width, last + 1)):
            overlap = min(finish, index + 1) - max(begin, index)
            if span >= seconds and begin <= index + 0.5 < finish:
                middles[index] = value
            weight = max(overlap, 1e-9)
            weights[index] += weight
            sums[index] += weight * value
    return [
        middle if middle is not None else (total / weight if weight else None)
        for middle, weight, total in zip(middles, weights, sums, strict=True)
    ]


def glyph(value: float | None, maximum: float = SHARE, *, ascii: bool = False) -> str:
    """One cell of a sparkline: the lowest block for 0, the full one for `maximum` and above, a blank for a gap.

    Anything above 0 that is at least half a step shows as more than 0; 0 and a gap never look alike.
    """
    if value is None:
        return GAP
    blocks = ASCII_BLOCKS if ascii else BLOCKS
    if maximum <= 0:
        return blocks[0]
    share = min(max(value / maximum, 0.0), 1.0)
    return blocks[round(share * (len(blocks) - 1))]


def spark(values: Sequence[float | None], maximum: float = SHARE, *, ascii: bool = False) -> str:
    """A sparkline of `values`, one cell each."""
    return "".join(glyph(value, maximum, ascii=ascii) for value in values)
