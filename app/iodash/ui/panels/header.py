"""The first line: what this is, of which machine, when, how fresh, and what iodash itself costs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from iodash.formatting.units import byte_amount, duration, percent_tenths
from iodash.model.missing import Missing
from iodash.ui.panels.lines import Line, Lines, spread, width_of

if TYPE_CHECKING:
    from iodash.model.frame import Frame
    from iodash.ui.view import View


def _every(seconds: float) -> str:
    return f"every {round(seconds, 2):g} s"


def _host(frame: Frame) -> list[tuple[int, Line]]:
    container = [("  ", ""), (frame.host.name, "strong")]
    parts: list[tuple[int, Line]] = [(90, [("iodash", "title")]), (80, container)]
    if frame.host.container:
        parts.append((40, [(f" ({frame.host.container})", "quiet")]))
    return parts


def _state(frame: Frame, view: View) -> Line:
    if view.paused_s is not None:
        return [("  ", ""), (f" PAUSED {duration(view.paused_s)} old ", "banner")]
    return [("  live", "ok")]


def _own(frame: Frame, ascii: bool) -> Line:
    cpu = frame.own.cpu_percent
    share = "-" if isinstance(cpu, Missing) else f"{percent_tenths(cpu)}%"
    return [(f"self {share:>5} {byte_amount(frame.own.resident_bytes):>5}", "quiet")]


def header_line(frame: Frame | None, view: View | None, width: int) -> Line:
    """The header in `width` cells. What matters least goes first where there is no room for all."""
    if frame is None or view is None:
        return spread([("iodash", "title"), ("  collecting the first sample", "quiet")], [], width)
    left = [
        *_host(frame),
        (70, [(f"   {datetime.fromtimestamp(frame.time):%H:%M:%S}", "")]),
        (60, [(f"  {_every(view.delay)}", "quiet")]),
        (100, _state(frame, view)),
    ]
    if frame.own.missed_ticks:
        left.append((65, [(f"  missed {frame.own.missed_ticks}", "warn")]))
    if view.trouble:
        left.append((95, [(f"  {view.trouble}", "warn")]))
    right = (50, _own(frame, view.ascii))
    while sum(width_of(line) for _, line in [*left, right]) >= width and len(left) > 1:
        least = min([*left, right], key=lambda part: part[0])
        if least is right:
            right = (101, [])
        else:
            left.remove(least)
    ellipsis = "~" if view.ascii else "…"
    return spread([piece for _, line in left for piece in line], right[1], width, ellipsis)


class Header(Lines):
    """The header line. Shows that it is collecting until the first frame comes."""

    key: ClassVar[str] = "header"
    title: ClassVar[str] = ""

    def lines(self, width: int, height: int | None) -> list[Line]:
        """One line."""
        frame, view = self._shown or (None, None)
        return [header_line(frame, view, width)]
