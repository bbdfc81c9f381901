"""The recent course of what the disks did, on the time axis that all sparklines share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.units import byte_amount, duration
from iodash.ui.panels.lines import fitted
from iodash.ui.plots import nice_rate
from iodash.ui.widgets.chart import DOTS_WIDE, mirrored_chart
from iodash.ui.widgets.spark import cell_seconds, spark

if TYPE_CHECKING:
    from iodash.model.frame import Frame
    from iodash.ui.panels.lines import Line
    from iodash.ui.view import View

_DIRECTIONS = (("disk r", "read", "disk_read_bytes_per_s"), ("disk w", "write", "disk_write_bytes_per_s"))

_SCALE_WIDTH = 6
_HALF_HEIGHT = 3

CHART_HEIGHT = 1 + 2 * _HALF_HEIGHT
"""Lines of the chart: its legend and its halves."""


def disk_sparks(frame: Frame, view: View, before: int, width: int, most: int = 2) -> list[Line]:
    """Reads and writes as sparklines of `width` cells that begin after `before` cells, beneath other sparklines.

    Each has its own scale, which stands at its end. Where only one line has room it is of reads, and names the writes.
    """
    lines: list[Line] = []
    for label, word, name in _DIRECTIONS:
        values = view.course("", name, frame.time, width, cell_seconds(view.delay))
        top, scale = nice_rate(values, view.lettered)
        newest = getattr(frame.system, name)
        has_room = before >= len(label) + 1
        shown = label if has_room else label[-1:]
        lines.append(
            [
                (f"{shown:>{max(0, before - 2)}}  "[-before:] if before else "", "quiet"),
                (spark(values, top, ascii=view.ascii), word),
                (f"  {byte_amount(newest, view.lettered):>5}", word),
                (f"  of {scale:<5}", "quiet"),
                ("" if has_room else f"  disk {word}s", "quiet"),
            ]
        )
    if most == 1:
        lines[0].append((f"  writes {byte_amount(frame.system.disk_write_bytes_per_s, view.lettered):>5}", "write"))
    return lines[:most]


def disk_chart(frame: Frame, view: View, width: int) -> list[Line]:
    """Reads upwards and writes downwards on one scale, under a legend: `CHART_HEIGHT` lines of `width` cells."""
    room = width - _SCALE_WIDTH
    per_cell = 1 if view.ascii else DOTS_WIDE
    seconds = cell_seconds(view.delay) / per_cell
    reads, writes = (view.course("", name, frame.time, room * per_cell, seconds) for _, _, name in _DIRECTIONS)
    top, scale = nice_rate(reads + writes, view.lettered)
    above, below = mirrored_chart(reads, writes, top, _HALF_HEIGHT, ascii=view.ascii)
    marks = [scale, "", "r", "w", "", scale]
    words = ["read"] * _HALF_HEIGHT + ["write"] * _HALF_HEIGHT
    read, write = (byte_amount(getattr(frame.system, name), view.lettered) for _, _, name in _DIRECTIONS)
    past = duration(room * cell_seconds(view.delay))
    legend: Line = [
        ("DISKS ", "title"),
        (f"read {read:>5}", "read"),
        (" up  ", "quiet"),
        (f"write {write:>5}", "write"),
        (f" down   each half to {scale}/s   {past} to now", "quiet"),
    ]
    return [
        fitted(legend, width, "~" if view.ascii else "…"),
        *(
            [(f"{mark:>{_SCALE_WIDTH - 1}} ", "quiet"), (text, word)]
            for mark, text, word in zip(marks, above + below, words, strict=True)
        ),
    ]
