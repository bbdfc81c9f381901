"""The last line or two: the keys that matter most, or why something on the selected row is as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.cells import cell_width, crop, wrap
from iodash.ui.keys import footer_keys
from iodash.ui.layout import GOOD_HEIGHT
from iodash.ui.panels.lines import Line, Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.ui.keys import Key

GAP = "  "

_MOST_LINES = 2

_LEAST_KEYS = 3
"""How many keys stay beside a sentence where there is room."""


def _entry(key: Key, ascii: bool) -> tuple[str, str]:
    return key.footer_key.replace("←→", "<>") if ascii else key.footer_key, key.footer


def keys_that_fit(keys: Sequence[Key], width: int, *, ascii: bool = False) -> Line:
    """The entries for which there is room, whole ones only; the last go first."""
    kept = list(keys)

    def taken() -> int:
        texts = [" ".join(_entry(key, ascii)) for key in kept]
        return sum(cell_width(text) for text in texts) + len(GAP) * max(0, len(texts) - 1)

    while kept and taken() > width:
        kept.pop()
    line: Line = []
    for key in kept:
        name, words = _entry(key, ascii)
        line += [(GAP if line else "", ""), (name, "strong"), (f" {words}", "quiet")]
    return line


def _broken(text: str, width: int, most: int, ellipsis: str) -> list[str]:
    """`text` on at most `most` lines, the last of them cropped."""
    lines = wrap(text, width)
    if len(lines) > most:
        lines[most - 1 :] = [crop(" ".join(lines[most - 1 :]), width, ellipsis)]
    return lines


class Footer(Lines):
    """The footer. What is said of the selected row goes before the keys, on two lines where it needs and has them."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="footer")
        self._sentence = ""
        self._hint = ""
        self._ascii = False

    def say(self, sentence: str, *, hint: str = "", ascii: bool = False) -> None:
        """Sets what is said of the selected row, and a hint that is more urgent for a moment."""
        if (sentence, hint, ascii) != (self._sentence, self._hint, self._ascii):
            self._sentence, self._hint, self._ascii = sentence, hint, ascii
            self.content_changed()

    def lines(self, width: int, height: int | None) -> list[Line]:
        """One line, or two for a longer sentence."""
        keys = footer_keys()
        text = self._hint or self._sentence
        if not text:
            return [keys_that_fit(keys, width, ascii=self._ascii)]
        most = _MOST_LINES if self.app.size.height >= GOOD_HEIGHT else 1
        *above, text = _broken(text, width, most, "~" if self._ascii else "…")
        look = "warn" if self._hint else ""
        few = keys_that_fit(keys[:_LEAST_KEYS], width - cell_width(text) - 2, ascii=self._ascii)
        gap = width - cell_width(text) - sum(cell_width(piece) for piece, _ in few)
        return [*([(line, look)] for line in above), [(text, look), (" " * gap, ""), *few]]
