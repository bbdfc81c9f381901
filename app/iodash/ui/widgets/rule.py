"""The rule line with a panel's title: ` DEVICES ─────── 3 of 8 ──`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from iodash.formatting.cells import cell_width, crop
from iodash.ui.looks import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

GAP = "   "

_LEAST_PART = 24
"""Cells that a part keeps when others need its room."""


def shortened(parts: Sequence[str], room: int, ellipsis: str) -> list[str]:
    """`parts` with the widest of them cut, so that all of them fit in `room` cells; short ones are not cut."""
    shorter = list(parts)
    while (excess := cell_width(GAP.join(shorter)) - room) > 0:
        widest = max(range(len(shorter)), key=lambda index: cell_width(shorter[index]))
        width = cell_width(shorter[widest])
        if width <= _LEAST_PART:
            break
        shorter[widest] = crop(shorter[widest], max(_LEAST_PART, width - excess), ellipsis)
    return shorter


def rule_strip(
    title: str, info: str, width: int, *, title_style: Style, line_style: Style, info_style: Style, ascii: bool
) -> Strip:
    """A rule of exactly `width` cells: the title at the left, `info` near the right end where it fits."""
    dash = "-" if ascii else "─"
    ellipsis = "~" if ascii else "…"
    title = f" {title} "
    if info:
        info = f" {crop(info, max(0, width - cell_width(title) - 8), ellipsis)} "
    if width < cell_width(title) + cell_width(info) + 4 or info == "  ":
        info = ""
    tail = 2 if info else 0
    filled = max(0, width - cell_width(title) - cell_width(info) - tail)
    segments = [Segment(title, title_style), Segment(dash * filled, line_style)]
    if info:
        segments += [Segment(info, info_style), Segment(dash * tail, line_style)]
    return Strip(segments).adjust_cell_length(width)


class RuleLine(Widget):
    """The rule of a panel, redrawn only when its words change."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._parts: tuple[str, ...] = ()
        self._hints: tuple[str, ...] = ()
        self._focused = False
        self._ascii = False

    def show(
        self,
        parts: Sequence[str],
        hints: Sequence[str] = (),
        *,
        title: str | None = None,
        focused: bool = False,
        ascii: bool = False,
    ) -> None:
        """Sets what stands at the right, the title, and whether the keys go here.

        Long `parts` are cut so that all of them stay; the most important one comes first. Of `hints` those are shown
        for which there is room besides.
        """
        new = (tuple(parts), tuple(hints), title or self._title, focused, ascii)
        if new != (self._parts, self._hints, self._title, self._focused, self._ascii):
            self._parts, self._hints, self._title, self._focused, self._ascii = new
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The one line. Parts for which there is no room are left out, the last first."""
        room = self.size.width - cell_width(self._title) - 10
        parts = [*shortened(self._parts, room, "~" if self._ascii else "…"), *self._hints]
        while len(parts) > 1 and cell_width(GAP.join(parts)) > room:
            parts.pop()
        return rule_strip(
            self._title,
            GAP.join(parts),
            self.size.width,
            title_style=look(self, "focused" if self._focused else "title"),
            line_style=look(self, "rule"),
            info_style=look(self, "quiet"),
            ascii=self._ascii,
        )
