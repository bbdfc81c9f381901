"""What stands there instead of the dashboard when the terminal is too small for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from iodash.formatting.cells import crop
from iodash.ui.layout import LEAST_HEIGHT, LEAST_WIDTH

if TYPE_CHECKING:
    from textual.geometry import Size


def too_small(width: int, height: int) -> bool:
    """Whether a terminal of that size can't hold the dashboard."""
    return width < LEAST_WIDTH or height < LEAST_HEIGHT


def too_small_lines(width: int, height: int) -> list[str]:
    """What is there and what is needed, in at most `height` lines of `width` cells."""
    whole = f"iodash: {width}x{height}, needs {LEAST_WIDTH}x{LEAST_HEIGHT}"
    if len(whole) <= width or height < 2:
        return [crop(whole, width, "")]
    parts = ["iodash:", f"{width}x{height},", "needs", f"{LEAST_WIDTH}x{LEAST_HEIGHT}"]
    return [crop(part, width, "") for part in parts[:height]]


class TooSmall(Widget):
    """The notice. It works down to one cell."""

    DEFAULT_CSS = "TooSmall { width: 100%; height: 100%; }"
    ALLOW_SELECT = False

    def on_resize(self) -> None:
        """Names the new size."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the notice."""
        screen: Size = self.app.size
        lines = too_small_lines(screen.width, screen.height)
        text = lines[y] if y < len(lines) else ""
        return Strip([Segment(text, self.rich_style)]).crop_extend(0, self.size.width, self.rich_style)
