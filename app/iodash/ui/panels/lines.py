"""Panels that are a few lines of text: content is pieces of text with a word for their look, drawn line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from textual.geometry import Region
from textual.strip import Strip

from iodash.formatting.cells import ELLIPSIS, cell_width, crop
from iodash.ui.looks import segments
from iodash.ui.panels.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.geometry import Size

    from iodash.model.frame import Frame
    from iodash.ui.view import View

Piece: TypeAlias = tuple[str, str]
"""Some safe text and the word for its look: `""` for the usual one, else one of `looks.WORDS`."""

Line: TypeAlias = list[Piece]


def width_of(line: Line) -> int:
    """How many cells a line takes."""
    return sum(cell_width(text) for text, _ in line)


def plain_text(line: Line) -> str:
    """The text of a line without looks."""
    return "".join(text for text, _ in line)


def fitted(line: Line, width: int, ellipsis: str = ELLIPSIS) -> Line:
    """`line` in at most `width` cells, cropped with an ellipsis."""
    if width_of(line) <= width:
        return line
    room = width - len(ellipsis)
    if room < 0:
        return []
    result: Line = []
    for text, word in line:
        taken = cell_width(text)
        if taken > room:
            result.append((crop(text, room, "") + ellipsis, word))
            break
        result.append((text, word))
        room -= taken
    return result


def spread(left: Line, right: Line, width: int, ellipsis: str = ELLIPSIS) -> Line:
    """`left` at the left edge and `right` at the right edge of `width` cells; `left` gives way."""
    right = fitted(right, width, ellipsis)
    room = width - width_of(right)
    left = fitted(left, max(0, room - 1), ellipsis) if right else fitted(left, width, ellipsis)
    return [*left, (" " * (room - width_of(left)), ""), *right]


class Lines(Panel):
    """A panel whose content is `lines`. Only lines that changed are drawn again.

    As high as its lines where its style says `height: auto`.
    """

    DEFAULT_CSS = "Lines { width: 1fr; height: auto; padding: 0 1; }"
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._laid_out: dict[tuple[int, int | None], list[Line]] = {}
        self._laid_out_for: Size | None = None
        self._drawn: list[Line] = []
        self._drawn_size = (0, 0)
        self._strips: dict[int, Strip] = {}
        self._base: Style | None = None
        self._height_wanted = 0
        self._shown: tuple[Frame, View] | None = None

    def show_frame(self, frame: Frame, view: View) -> None:
        """Takes in a frame and draws what it changes."""
        self._shown = (frame, view)
        self.content_changed()

    def lines(self, width: int, height: int | None) -> list[Line]:
        """The content for `width` cells and at most `height` lines (None: as many as it likes)."""
        raise NotImplementedError

    def content_changed(self) -> None:
        """Draws what changed. Call it after taking in a new frame."""
        self._laid_out.clear()
        if not self.is_attached:
            return
        size = self.size
        if size.width and len(self._lay_out(size.width, None)) != self._height_wanted:
            self.refresh(layout=True)
        self._draw(size.width, size.height)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """How many lines it has at that width."""
        self._height_wanted = len(self._lay_out(width, None))
        return self._height_wanted

    def on_resize(self) -> None:
        """Lays the content out for the new size."""
        self._draw(self.size.width, self.size.height)

    def on_focus(self) -> None:
        """The title shows where the keys go."""
        self._base = None
        self._strips.clear()
        self.refresh()

    def on_blur(self) -> None:
        """The title shows where the keys go."""
        self._base = None
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Forgets what was drawn in the old colours."""
        super().notify_style_update()
        self._base = None
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """One line of the content area. The first frame is drawn before the first resize event comes."""
        if self._drawn_size != self.size:
            self._strips.clear()
            self._drawn_size = (self.size.width, self.size.height)
            self._drawn = self._lay_out(*self._drawn_size)[: self.size.height]
        strip = self._strips.get(y)
        if strip is None:
            line = self._drawn[y] if y < len(self._drawn) else []
            strip = self._strips[y] = self._strip(line, self.size.width)
        return strip

    def _lay_out(self, width: int, height: int | None) -> list[Line]:
        """`lines`, asked once for each change of the content where all it wants has room."""
        if self._laid_out_for != self.app.size:
            self._laid_out.clear()
            self._laid_out_for = self.app.size
        free = self._laid_out.get((width, None))
        if free is not None and (height is None or len(free) <= height):
            return free
        if (width, height) not in self._laid_out:
            self._laid_out[width, height] = self.lines(width, height)
        return self._laid_out[width, height]

    def _draw(self, width: int, height: int) -> None:
        if width <= 0 or height <= 0:
            return
        new = self._lay_out(width, height)[:height]
        old = self._drawn
        self._drawn = new
        for y in range(max(len(old), len(new))):
            if (old[y] if y < len(old) else None) != (new[y] if y < len(new) else None):
                self._strips.pop(y, None)
                self.refresh(Region(0, y, width, 1))

    def _strip(self, line: Sequence[Piece], width: int) -> Strip:
        if self.has_focus:
            line = [(text, "focused" if word == "title" else word) for text, word in line]
        if self._base is None:
            self._base = self.rich_style
        return Strip(segments(self, line, self._base)).crop_extend(0, width, self._base)
