"""The second line: what holds the GPUs back, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iodash.columns.devices import LOUD_STATES
from iodash.formatting.cells import crop
from iodash.model.missing import Missing
from iodash.ui.panels.lines import Line, Lines, spread

if TYPE_CHECKING:
    from iodash.model.frame import DeviceRow, Frame
    from iodash.ui.view import View

QUIET_CAUSES = frozenset({"gpu_fed", "no_gpu_work", "unknown"})
"""Causes that call for nothing: they are written in capitals like all, but without the colour of an alarm."""

_LONGEST_NAME = 32


def _loud(frame: Frame) -> list[DeviceRow]:
    return [row for row in frame.devices if not isinstance(row.state, Missing) and row.state in LOUD_STATES]


def _without_verdict(frame: Frame, ellipsis: str) -> tuple[Line, Line]:
    loud = _loud(frame)
    if not loud:
        return [("no device at its limit", "quiet")], []
    first = loud[0]
    more = f"+{len(loud) - 1} more" if len(loud) > 1 else ""
    return [
        (f"{crop(first.name, _LONGEST_NAME, ellipsis)} {str(first.state).upper()}", "warn"),
        (f"  {first.state_reason}", ""),
    ], [(more, "quiet")]


def verdict_line(frame: Frame, width: int, *, ascii: bool = False) -> Line:
    """The verdict in `width` cells: cause in capitals, summary, confidence at the right edge.

    Without a verdict the line names a device in trouble, and is quiet when there is none.
    """
    ellipsis = "~" if ascii else "…"
    verdict = frame.verdict
    if verdict is None:
        left, right = _without_verdict(frame, ellipsis)
    else:
        cause = verdict.cause.replace("_", " ").upper()
        left = [(cause, "strong" if verdict.cause in QUIET_CAUSES else "alarm"), (f"  {verdict.summary}", "")]
        right = [(verdict.confidence, "quiet")]
        if len(frame.verdicts) > 1:
            right = [(f"1 of {len(frame.verdicts)}  ", "quiet"), *right]
    return spread(left, right, width, ellipsis)


class VerdictPanel(Lines):
    """The verdict's line."""

    key: ClassVar[str] = "verdict"
    title: ClassVar[str] = "VERDICT"
    can_focus = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Frame, View] | None = None

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows the frame's verdict."""
        self._shown = (frame, view)
        self.content_changed()

    def lines(self, width: int, height: int | None) -> list[Line]:
        """One line, blank until the first frame comes."""
        if self._shown is None:
            return [[]]
        frame, view = self._shown
        return [verdict_line(frame, width, ascii=view.ascii)]
