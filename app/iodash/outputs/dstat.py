"""Frames in the shape of dstat's lines: groups of narrow columns under two headers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame
    from iodash.outputs.dstat_columns import Block, Layout, Value

_LETTERS = {1024: "BkMGTPE", 1000: " kMGTPE"}
_BIT_LETTERS = "bkMGTPE"


def number(value: float, width: int, base: int, *, decimals: bool, letters: str | None = None) -> str:
    """A number in exactly `width` cells as dstat writes it.

    It stays in the smaller unit as long as its digits fit. With `decimals` it has as many as fit. Zero has no unit.
    """
    if base == 0:
        return _digits(value, width, decimals=decimals).rjust(width)
    units = letters or _LETTERS[base]
    room = width - 1
    step = 0
    while len(f"{abs(value):.0f}") > room and step < len(units) - 1:
        value /= base
        step += 1
    text = _digits(value, room, decimals=decimals)
    return text.rjust(room) + (" " if text == "0" else units[step])


def _digits(value: float, room: int, *, decimals: bool) -> str:
    whole = f"{value:.0f}"
    if decimals and value:
        places = room - len(whole) - 1
        if places > 0:
            return f"{value:.{places}f}"[:room]
    return "0" if whole == "-0" else whole


@dataclass(slots=True)
class DstatWriter:
    """Turns frames into dstat's lines. Between two headers there are `header_every` lines, none again when 0.

    Given a terminal's `width`, groups that don't fit are left out from the right and `>` stands for them.
    """

    layout: Layout
    groups: list[list[Block]]
    header_every: int = 0
    width: int | None = None
    trimmed: bool = field(init=False, default=False)
    _lines: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Leaves out what doesn't fit."""
        if self.width is None:
            return
        kept = list(self.groups)
        while len(kept) > 1 and len(self._headers(kept)[0]) > self.width:
            kept.pop()
        self.trimmed = len(kept) < len(self.groups)
        self.groups = kept

    def lines(self, frame: Frame) -> list[str]:
        """The line of `frame`, under headers where they are due."""
        due = self._lines == 0 or (self.header_every > 0 and self._lines % self.header_every == 0)
        self._lines += 1
        line = "|".join(":".join(self._cells(block, frame) for block in group) for group in self.groups)
        return [*(self._headers(self.groups) if due else []), line + (">" if self.trimmed else "")]

    def _headers(self, groups: Sequence[Sequence[Block]]) -> list[str]:
        titles = " ".join(self._title(block) for group in groups for block in group)
        names = "|".join(
            ":".join(" ".join(name.center(block.width) for name in block.names) for block in group) for group in groups
        )
        return [titles, names]

    def _title(self, block: Block) -> str:
        width = (block.width + 1) * len(block.names) - 1
        return block.title.replace(" ", "-")[:width].center(width, "-")

    def _cells(self, block: Block, frame: Frame) -> str:
        return " ".join(self._cell(block, value) for value in block.values(frame))

    def _cell(self, block: Block, value: Value) -> str:
        if isinstance(value, Missing):
            return "-".rjust(block.width - 1) + " " if block.base else "-".rjust(block.width)
        if isinstance(value, str):
            return value.ljust(block.width)
        if block.base == 1024 and self.layout.kilobytes:
            tenths = f"{value / 1024:.1f}"
            text = tenths if block.decimals and value and len(tenths) < block.width else f"{value / 1024:.0f}"
            return text.rjust(block.width - 1) + (" " if text == "0" else "k")
        if block.base == 1024 and self.layout.bits:
            return number(value * 8, block.width, 1000, decimals=block.decimals, letters=_BIT_LETTERS)
        return number(value, block.width, block.base, decimals=block.decimals)
