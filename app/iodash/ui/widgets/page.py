"""A scrolling page of lines: help, details, whatever is longer than the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip

from iodash.ui.looks import LOOKS
from iodash.ui.panels.lines import Line, width_of
from iodash.ui.styles import ASCII

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType
    from textual.widget import Widget


class WholeCells(ScrollBarRender):
    """A scroll bar without the letters that fill a part of a cell, which are not ASCII."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def keep_to_ascii(widget: Widget) -> None:
    """Draws the scroll bar of `widget` in ASCII where the screen keeps to that."""
    if widget.app.has_class(ASCII):
        widget.vertical_scrollbar.renderer = WholeCells  # type: ignore[misc]


class Page(ScrollView, can_focus=True):
    """Lines that are made anew for the width there is; scrolled by arrows, pages, `g`, `G`, `j`, `k` and the wheel."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(LOOKS)
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "scroll_down", "Down"),
        ("k", "scroll_up", "Up"),
        ("g", "scroll_home", "To the start"),
        ("G", "scroll_end", "To the end"),
    ]

    def __init__(self, lines: Callable[[int], list[Line]], *, id: str | None = None) -> None:
        """`lines` gives the content for a width in cells."""
        super().__init__(id=id)
        self._make = lines
        self._lines: list[Line] = []

    def on_mount(self) -> None:
        """The scroll bar keeps to what the screen keeps to."""
        keep_to_ascii(self)

    def content_changed(self) -> None:
        """Makes the lines anew and keeps the place. They leave room for a scroll bar that their number may bring."""
        width = max(1, self.content_region.width - self.styles.scrollbar_size_vertical)
        self._lines = self._make(width)
        longest = max((width_of(line) for line in self._lines), default=0)
        self.virtual_size = Size(min(longest, width), len(self._lines))
        self.refresh()

    def on_resize(self) -> None:
        """Makes the lines for the new width."""
        self.content_changed()

    def notify_style_update(self) -> None:
        """Draws in the new colours."""
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight."""
        y += self.scroll_offset.y
        base = self.rich_style
        line = self._lines[y] if 0 <= y < len(self._lines) else []
        segments = [
            Segment(text, self.get_component_rich_style(f"look--{word}") if word else base)
            for text, word in line
            if text
        ]
        return Strip(segments).crop_extend(0, self.size.width, base)
