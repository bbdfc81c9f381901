"""Text measured in terminal cells, not characters: a CJK name takes two cells a letter."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

ELLIPSIS = "…"

_NARROW = re.compile("[ -~…←-↓─-▟▲▸▼◆⠀-⣿]*")
"""ASCII and the signs that iodash draws with: one cell each."""


@lru_cache(maxsize=4096)
def _letter_width(letter: str) -> int:
    from wcwidth import wcwidth  # tables that take as long to load as the first frame has to spare

    return max(wcwidth(letter), 0)


@lru_cache(maxsize=8192)
def cell_width(text: str) -> int:
    """How many terminal cells `text` takes. It must have been through `safe_text`, so no character is negative."""
    if text.isascii() or _NARROW.fullmatch(text):
        return len(text)
    return sum(map(_letter_width, text))


def crop(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` in at most `width` cells; what was cut shows as an ellipsis at the end."""
    if (len(text) <= width and text.isascii()) or cell_width(text) <= width:
        return text
    if width <= len(ellipsis):
        return ellipsis[:width]
    room = width - len(ellipsis)
    if text.isascii():
        return text[:room] + ellipsis
    used = accumulate(map(_letter_width, text))
    return text[: bisect_right(list(used), room)] + ellipsis


def left(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` left-aligned in exactly `width` cells."""
    cropped = crop(text, width, ellipsis)
    return cropped + " " * (width - cell_width(cropped))


def right(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` right-aligned in exactly `width` cells."""
    cropped = crop(text, width, ellipsis)
    return " " * (width - cell_width(cropped)) + cropped


def wrap(text: str, width: int) -> list[str]:
    """`text` broken between words into lines of at most `width` cells, at least one; a longer word is broken within."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_width(lines[-1]) + 1 + cell_width(word) <= width:
            lines[-1] += f" {word}"
            continue
        rest = word
        while cell_width(rest) > width > 0 and (part := crop(rest, width, "")):
            lines.append(part)
            rest = rest[len(part) :]
        lines.append(rest)
    return lines or [""]
