"""The words for how a piece of text looks. What they look like is settled once a screen, for all its panels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style
    from textual.widget import Widget

WORDS: tuple[str, ...] = (
    "read",
    "write",
    "ok",
    "warn",
    "alarm",
    "quiet",
    "strong",
    "title",
    "focused",
    "banner",
    "spark",
    "rule",
    "heading",
    "sorted",
    "selected",
    "blurred",
    "foot",
)

LOOKS: frozenset[str] = frozenset(f"look--{word}" for word in WORDS)
"""The words as component classes; `styles/looks.tcss` says what each one looks like."""


class LookScreen(Screen[None], inherit_bindings=False):
    """A screen that knows the looks. Its panels need none of their own, which halves the time to the first frame."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(LOOKS)


def look(widget: Widget, word: str) -> Style:
    """The style of `word` on the screen of `widget`; the widget's own for the empty word or where nobody knows it."""
    base = widget.rich_style
    return widget.screen.get_component_rich_style(f"look--{word}", default=base) if word else base


def segments(widget: Widget, pieces: Iterable[tuple[str, str]], base: Style) -> list[Segment]:
    """Pieces of text with the word for their look, ready to draw in `widget`; `base` is the widget's own style.

    That style costs a walk up to the screen, so whoever draws many lines keeps it until styles are updated.
    """
    style = widget.screen.get_component_rich_style
    return [Segment(text, style(f"look--{word}", default=base) if word else base) for text, word in pieces if text]
