"""The recent course of what the disks did, on the time axis that all sparklines share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.units import byte_amount
from iodash.ui.plots import nice_maximum
from iodash.ui.widgets.chart import DOTS_WIDE, mirrored_chart
from iodash.ui.widgets.spark import cell_seconds, cells, spark

if TYPE_CHECKING:
    from iodash.model.frame import Frame
    from iodash.ui.panels.lines import Line
    from iodash.ui.view import View

_DIRECTIONS = (("disk r", "read", "disk_read_bytes_per_s"), ("disk w", "write", "disk_write_bytes_per_s"))

_SCALE_WIDTH = 6
CHART_HEIGHT = 3
"""Lines of each half of the chart."""


def _values(name: str, frame: Frame, view: View, count: int, seconds: float) -> list[float | None]:
    points = view.history.last("", name, int(count * seconds / max(view.delay, 0.1)) + 2)
    return cells(points, frame.time, seconds, count)


def _top(values: list[float | None]) -> float:
    return nice_maximum(max((value for value in values if value is not None), default=0.0), 1024)


def disk_sparks(frame: Frame, view: View, before: int, width: int) -> list[Line]:
    """Reads and writes as sparklines of `width` cells that begin after `before` cells, beneath other sparklines.

    Each has its own scale, which stands at its end.
    """
    lines: list[Line] = []
    for label, word, name in _DIRECTIONS:
        values = _values(name, frame, view, width, cell_seconds(view.delay))
        top = _top(values)
        newest = getattr(frame.system, name)
        shown = label if before >= len(label) + 1 else label[-1:]
        lines.append(
            [
                (f"{shown:>{max(0, before - 2)}}  "[-before:] if before else "", "quiet"),
                (spark(values, top, ascii=view.ascii), word),
                (f"  {byte_amount(newest, view.units):>5}", word),
                (f"  of {byte_amount(top, view.units)}", "quiet"),
            ]
        )
    return lines


def disk_chart(frame: Frame, view: View, width: int) -> list[Line]:
    """Reads upwards and writes downwards as a chart on one scale, `2 * CHART_HEIGHT` lines of `width` cells."""
    room = width - _SCALE_WIDTH
    per_cell = 1 if view.ascii else DOTS_WIDE
    seconds = cell_seconds(view.delay) / per_cell
    reads, writes = (_values(name, frame, view, room * per_cell, seconds) for _, _, name in _DIRECTIONS)
    top = _top(reads + writes)
    above, below = mirrored_chart(reads, writes, top, CHART_HEIGHT, ascii=view.ascii)
    scale = byte_amount(top, view.units)
    marks = [scale, "", "r", "w", "", scale]
    words = ["read"] * CHART_HEIGHT + ["write"] * CHART_HEIGHT
    return [
        [(f"{mark:>{_SCALE_WIDTH - 1}} ", "quiet"), (text, word)]
        for mark, text, word in zip(marks, above + below, words, strict=True)
    ]
