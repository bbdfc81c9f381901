"""Charts in braille dots, or in letters where only ASCII may be used: filled columns on a given scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLANK = "\u2800"
_LEFT_DOTS = (0x40, 0x04, 0x02, 0x01)
_RIGHT_DOTS = (0x80, 0x20, 0x10, 0x08)
"""The dots of a cell's two columns, from the lowest to the highest (Unicode block Braille Patterns)."""

DOTS_WIDE, DOTS_HIGH = 2, 4

_ASCII = (" ", ".", ":", "|", "#")
"""A cell filled by none, one, two, three or four quarters."""


def filled(value: float | None, maximum: float, steps: int) -> int:
    """How many of `steps` a column of `value` fills: at least one for a known value, so that 0 is no gap."""
    if value is None:
        return 0
    if maximum <= 0:
        return 1
    return max(1, round(min(value / maximum, 1.0) * steps))


def columns_chart(
    values: Sequence[float | None], maximum: float, height: int, *, ascii: bool = False, downwards: bool = False
) -> list[str]:
    """A chart of `height` lines, the topmost first, on the scale from 0 to `maximum`.

    In braille each cell holds two values and four steps, in ASCII one value and four steps, so that ASCII needs half as
    many values for the same width. None is a gap.

    Args:
        values: the oldest first.
        maximum: what fills the whole height; more is cut.
        height: lines.
        ascii: whether to keep to ASCII.
        downwards: whether columns hang from the top, as the lower half of a mirrored chart does.
    """
    steps = [filled(value, maximum, height * DOTS_HIGH) for value in values]
    rows = range(height) if downwards else range(height - 1, -1, -1)
    if ascii:
        return ["".join(_ASCII[_share(step, row)] for step in steps) for row in rows]
    if len(steps) % DOTS_WIDE:
        steps.insert(0, 0)
    pairs = list(zip(steps[::2], steps[1::2], strict=True))
    left, right = (_LEFT_DOTS, _RIGHT_DOTS) if not downwards else (_LEFT_DOTS[::-1], _RIGHT_DOTS[::-1])
    return [
        "".join(_cell(left[: _share(first, row)], right[: _share(second, row)]) for first, second in pairs)
        for row in rows
    ]


def _share(step: int, row: int) -> int:
    """How much of line `row`, counted from the base, a column of `step` steps fills: 0 to 4."""
    return min(DOTS_HIGH, max(0, step - row * DOTS_HIGH))


def _cell(left: Sequence[int], right: Sequence[int]) -> str:
    return chr(ord(_BLANK) + sum(left) + sum(right)) if left or right else " "


def mirrored_chart(
    above: Sequence[float | None],
    below: Sequence[float | None],
    maximum: float,
    height: int,
    *,
    ascii: bool = False,
) -> tuple[list[str], list[str]]:
    """Two charts on one scale, back to back, `height` lines each: reads grow upwards, writes downwards."""
    return (
        columns_chart(above, maximum, height, ascii=ascii),
        columns_chart(below, maximum, height, ascii=ascii, downwards=True),
    )
