"""The rule line with a panel's title: ` DEVICES ─────── 3 of 8 ──`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from iodash.formatting.cells import cell_width, crop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

GAP = "   "


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

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rule--title", "rule--line", "rule--info"}

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._parts: tuple[str, ...] = ()
        self._ascii = False

    def show(self, parts: Sequence[str], *, title: str | None = None, ascii: bool = False) -> None:
        """Sets what stands at the right, the most important part first, and another title."""
        new = (tuple(parts), title or self._title, ascii)
        if new != (self._parts, self._title, self._ascii):
            self._parts, self._title, self._ascii = new
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The one line. Parts for which there is no room are left out, the last first."""
        parts = list(self._parts)
        room = self.size.width - cell_width(self._title) - 10
        while len(parts) > 1 and cell_width(GAP.join(parts)) > room:
            parts.pop()
        return rule_strip(
            self._title,
            GAP.join(parts),
            self.size.width,
            title_style=self.get_component_rich_style("rule--title"),
            line_style=self.get_component_rich_style("rule--line"),
            info_style=self.get_component_rich_style("rule--info"),
            ascii=self._ascii,
        )
