"""What speaks for each verdict, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.cells import left, wrap
from iodash.formatting.units import byte_amount, decimal, milliseconds, percent
from iodash.model.missing import Missing
from iodash.ui.panels.lines import Line, fitted
from iodash.ui.panels.verdict import blames, cause_piece, is_watching
from iodash.ui.screens.evidence_plots import plot_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.formatting.units import Units
    from iodash.model.frame import Evidence, Frame, Verdict
    from iodash.model.missing import Number
    from iodash.ui.view import View

_VALUE_WIDTH = 9
_GOOD_HEIGHTS = ((46, 3), (32, 2))
"""From how many lines of the screen on a plot takes how many."""


def evidence_lines(frame: Frame, view: View, width: int, height: int) -> list[Line]:
    """Every job's verdict with its evidence, advice and plots, `width` cells wide, on a screen of `height` lines.

    The verdict that stands on the dashboard comes first.
    """
    ellipsis = "~" if view.ascii else "…"
    verdicts = in_order(frame)
    if not verdicts:
        return [[("no verdict yet: the GPU driver has not answered", "quiet")]]
    plot_height = next((lines for least, lines in _GOOD_HEIGHTS if height >= least), 1)
    lines: list[Line] = []
    for verdict in verdicts:
        if lines:
            lines += [[], [(("-" if view.ascii else "─") * width, "rule")]]
        lines += _words(verdict, view.lettered, width)
        if plots := plot_lines(frame, view, verdict, width, plot_height):
            lines += [[], *plots]
    return [fitted(line, width, ellipsis) for line in lines]


def in_order(frame: Frame) -> Sequence[Verdict]:
    """The verdicts of a frame, the worst first, the others as they are."""
    if frame.verdict is None:
        return frame.verdicts
    return (frame.verdict, *(verdict for verdict in frame.verdicts if verdict is not frame.verdict))


def _words(verdict: Verdict, units: Units, width: int) -> list[Line]:
    subject = f"{verdict.job}  " if verdict.job else ""
    seen = f"  {'watched for only' if is_watching(verdict) else 'over'} {verdict.window_s:.0f} s"
    head: Line = [(subject, "strong"), cause_piece(verdict), (f"  {verdict.confidence} confidence{seen}", "quiet")]
    lines: list[Line] = [head]
    lines += [[(part, "")] for part in wrap(verdict.summary, width)]
    if verdict.evidence:
        lines.append([])
        lines.append([(f"{'MEASURED':>{_VALUE_WIDTH}} {'LIMIT':>{_VALUE_WIDTH}}  WHAT", "heading")])
        for item in verdict.evidence:
            lines += _evidence(item, units, width)
    if verdict.advice and verdict.cause != "gpu_fed":
        lines.append([])
        word = "Try: " if blames(verdict) else "Next: "
        for number, part in enumerate(wrap(verdict.advice, max(1, width - len(word)))):
            lines.append([(word if number == 0 else " " * len(word), "strong"), (part, "")])
    return lines


def _evidence(item: Evidence, units: Units, width: int) -> list[Line]:
    limit = "" if item.threshold is None else amount(item.threshold, item.unit, units)
    before = f"{amount(item.value, item.unit, units):>{_VALUE_WIDTH}}"
    room = max(10, width - 2 * _VALUE_WIDTH - 3)
    lines: list[Line] = []
    for number, part in enumerate(wrap(item.text, room)):
        first = number == 0
        lines.append(
            [
                (before if first else " " * _VALUE_WIDTH, "strong"),
                (f" {limit if first else '':>{_VALUE_WIDTH}}", "quiet"),
                (f"  {left(part, room)}", ""),
            ]
        )
    return lines


def amount(value: Number, unit: str, units: Units) -> str:
    """A measured value with its unit."""
    if unit.startswith("B"):
        return byte_amount(value, units) + unit[1:]
    if unit == "%":
        return f"{percent(value)} %"
    if unit == "ms":
        return f"{milliseconds(value)} ms".replace("s ms", " s")
    if not isinstance(value, Missing) and value == round(value):
        return f"{value:.0f} {unit}".rstrip()
    return f"{decimal(value)} {unit}".rstrip()
