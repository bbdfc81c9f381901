"""The second line: what holds the GPUs back, and how sure that is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from iodash.columns.devices import LOUD_STATES
from iodash.formatting.cells import cell_width, crop
from iodash.model.missing import Missing
from iodash.ui.panels.lines import Line, Lines, plain_text, spread, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from iodash.model.frame import DeviceRow, Frame, Verdict
    from iodash.ui.panels.lines import Piece

_NUMBER = re.compile(r"\W*(\d[\d.,]*\W*)?")
_LEAST_WORD = 12
_LONGEST_NAME = 32
_LONGEST_JOB = 24
_LEAST_SUMMARY = 24
"""Cells that what is said of a job has behind the job's name; where it has less the name gives way."""


def blames(verdict: Verdict) -> bool:
    """Whether a verdict names something that holds the GPUs back."""
    from iodash.diagnosis.causes import NO_BLAME  # the rules are loaded beside the first frame, not before it

    return verdict.cause not in NO_BLAME


def is_watching(verdict: Verdict) -> bool:
    """Whether a job has been seen for too short a time for more than a first impression."""
    from iodash.diagnosis.verdicts import WARM_UP_S

    return verdict.job is not None and verdict.confidence == "low" and verdict.window_s < WARM_UP_S


def cause_piece(verdict: Verdict) -> Piece:
    """The cause in words: in capitals and a colour when it blames, calm when there is nobody to blame."""
    words = verdict.cause.replace("_", " ")
    if not blames(verdict):
        return words.replace("gpu", "GPU"), ""
    return words.upper(), "warn" if verdict.confidence == "low" else "alarm"


def cut_at_word(text: str, width: int, ellipsis: str) -> str:
    """`text` in at most `width` cells, cut between words; no number stays at the end without what it counts.

    Only a first word that is too long by itself is cut within, where there is room for a good part of it.
    """
    if cell_width(text) <= width:
        return text
    words = text.split(" ")
    kept: list[str] = []
    for word in words:
        if cell_width(" ".join([*kept, word])) + len(ellipsis) > width:
            break
        kept.append(word)
    while kept and _NUMBER.fullmatch(kept[-1]):
        kept.pop()
    if not kept:
        return "" if words[0][:1].isdigit() or width < _LEAST_WORD else crop(words[0] + ellipsis, width, ellipsis)
    return " ".join(kept).rstrip(",;:(") + ellipsis


def _loud(frame: Frame) -> list[DeviceRow]:
    return [row for row in frame.devices if not isinstance(row.state, Missing) and row.state in LOUD_STATES]


def _of_devices(frame: Frame, ellipsis: str) -> tuple[Line, str, Line]:
    """A device in trouble, while no job is judged that could be held up by it."""
    loud = _loud(frame)
    right: Line = [] if frame.verdict is None else [cause_piece(frame.verdict)]
    if loud:
        first = loud[0]
        if len(loud) > 1:
            right = [(f"+{len(loud) - 1} more", "quiet")]
        return (
            [(f"{crop(first.name, _LONGEST_NAME, ellipsis)} {str(first.state).upper()}", "warn")],
            (first.state_reason),
            right,
        )
    if frame.verdict is None:
        watching = "watching: the GPU driver has not answered yet" if frame.gpu_driver.status == "starting" else ""
        return [(watching or "no device at its limit", "quiet")], "", []
    return [cause_piece(frame.verdict)], frame.verdict.summary, [(frame.verdict.confidence, "quiet")]


def _of_job(verdict: Verdict, others: int, ellipsis: str) -> tuple[Line, str, Line]:
    more = f"+{others} more  " if others else ""
    job = crop(verdict.job or "", _LONGEST_JOB, ellipsis)
    if is_watching(verdict):
        signs = f"; first signs: {verdict.cause.replace('_', ' ')}" if verdict.cause != "unknown" else ""
        dots = "..." if ellipsis.isascii() else ellipsis
        return [(f"watching{dots}", "quiet")], f"{job} for {verdict.window_s:.0f} s{signs}", [(more.rstrip(), "quiet")]
    return [cause_piece(verdict)], verdict.summary, [(more, "quiet"), (verdict.confidence, "quiet")]


def verdict_line(frame: Frame, width: int, *, ascii: bool = False) -> Line:
    """The worst verdict in `width` cells: cause, summary, how many more there are, and the confidence at the right.

    While no job is judged the line names a device in trouble, and is quiet when there is none.
    """
    ellipsis = "~" if ascii else "…"
    verdict = frame.verdict
    if verdict is None or verdict.job is None:
        left, words, right = _of_devices(frame, ellipsis)
    else:
        left, words, right = _of_job(verdict, len(frame.verdicts) - 1, ellipsis)
    look = "quiet" if left[0][1] == "quiet" else ""
    room = width - width_of(left) - 2 - (width_of(right) + 2 if right else 0)
    if verdict is not None and verdict.job and len(frame.verdicts) > 1 and not is_watching(verdict):
        name = f"{crop(verdict.job, _LONGEST_JOB, ellipsis)}: "
        words = f"{name}{words}" if room >= cell_width(name) + _LEAST_SUMMARY else words
    if words and room > len(ellipsis):
        left.append((f"  {cut_at_word(words, room, ellipsis)}", look))
    return spread(left, [piece for piece in right if piece[0]], width, ellipsis)


class VerdictPanel(Lines):
    """The verdict's line. `Enter` or a click opens what speaks for it."""

    key: ClassVar[str] = "verdict"
    title: ClassVar[str] = "VERDICT"
    can_focus = True

    def lines(self, width: int, height: int | None) -> list[Line]:
        """One line, blank until the first frame comes."""
        if self._shown is None:
            return [[]]
        frame, view = self._shown
        return [verdict_line(frame, width, ascii=view.ascii)]

    async def on_click(self, event: events.Click) -> None:
        """Opens the evidence."""
        event.stop()
        await self.screen.run_action("details")

    def _strip(self, line: Sequence[Piece], width: int) -> Strip:
        """The whole line shows that the keys go here, as a selected row does."""
        if self.has_focus:
            line = [(plain_text(list(line)), "selected")]
        return super()._strip(line, width)
