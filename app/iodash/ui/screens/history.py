"""The history plots beneath a full-screen panel: axes and lines by plotext, drawn only while they are open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget

from iodash.formatting.units import Units
from iodash.ui.looks import LOOKS
from iodash.ui.panels.lines import fitted
from iodash.ui.plots import Plot, plots_of, time_span, time_ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iodash.model.frame import Frame
    from iodash.ui.panels.lines import Line
    from iodash.ui.view import View

_LEAST_HEIGHT = 7
"""Lines of a plot: a title, an axis and something between them."""

_GOOD_HEIGHT = 12
_SIDE_BY_SIDE = 150
"""Cells from which on two plots stand beside each other."""

_TICK_WIDTH = 5

_TO_ASCII = str.maketrans({"─": "-", "│": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "┤": "+", "┬": "+", "┼": "+"})


def draw(
    plot: Plot,
    width: int,
    height: int,
    span: float,
    *,
    units: Units = Units.IEC,
    ascii: bool = False,
    letters: bool = False,
    colour: Callable[[str], Any] = lambda word: None,
) -> str:
    """A plot with its axes as lines of text with ANSI colours, at most `width` by `height` cells.

    The labels of the value axis are equally wide in all plots, so that their time axes stand above each other.

    Args:
        plot: what to draw.
        width: cells.
        height: lines.
        span: seconds that the time axis covers, up to now.
        units: how byte amounts are written.
        ascii: whether to keep to ASCII.
        letters: whether lines are drawn with their letters, as there are no colours to tell them apart.
        colour: the colour of a word as plotext takes it, None for none.
    """
    import plotext

    top = plot.maximum(units)
    steps = 4 if height >= 11 else 2
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plotsize(width, height)
    plotext.xlim(-span, 0)
    plotext.ylim(0, top)
    values = [top * step / steps for step in range(steps + 1)]
    plotext.yticks(values, [plot.text(value, units).rjust(_TICK_WIDTH) for value in values])
    ticks = time_ticks(span)
    if width < 50:
        ticks = [ticks[0], ticks[-1]]
    plotext.xticks([moment for moment, _ in ticks], [words for _, words in ticks])
    if (quiet := colour("quiet")) is not None:
        plotext.ticks_color(quiet)
    for trace in plot.traces:
        for run in trace.runs:
            moments = [moment for moment, _ in run]
            line_colour = colour(trace.word)
            plotext.plot(
                moments,
                [value for _, value in run],
                marker=trace.marker if ascii or letters else "braille",
                **({} if line_colour is None else {"color": line_colour}),
            )
    text: str = plotext.build().rstrip("\n")
    plotext.clear_figure()
    return text.translate(_TO_ASCII) if ascii else text


def legend(plot: Plot, units: Units, width: int, *, letters: bool = False) -> Line:
    """The title line of a plot: what it is and each line's name and newest value in its colour."""
    line: Line = [(plot.title, "title")]
    for trace in plot.traces:
        value = "-" if trace.latest is None else plot.text(trace.latest, units)
        mark = f"{trace.marker}: " if letters else ""
        line.append((f"   {mark}{trace.label} {value:>5}", trace.word))
    return fitted(line, width, "~" if letters else "…")


def arrange(count: int, width: int, height: int) -> tuple[int, int]:
    """How many of `count` plots fit in `width` by `height` cells, and how many beside each other."""
    beside = 2 if width >= _SIDE_BY_SIDE and count > 1 else 1
    stacked = max(1, min(-(-count // beside), height // _GOOD_HEIGHT or 1))
    if stacked * beside < count:
        stacked = max(stacked, min(-(-count // beside), height // _LEAST_HEIGHT))
    return min(count, stacked * beside), beside


class HistoryPlots(Widget):
    """The plots of a panel's main values. Drawn at most once a frame, and only while there is room for one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(LOOKS)
    DEFAULT_CSS = "HistoryPlots { width: 1fr; height: 1fr; }"
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._job: tuple[tuple[tuple[str, str, str], ...], Frame, View] | None = None
        self._drawn_for: object = None
        self._strips: list[Strip] = []

    def show(self, series: Sequence[tuple[str, str, str]], frame: Frame, view: View) -> None:
        """Plots the series, as (subject, name, unit), up to `frame`."""
        self._job = (tuple(series), frame, view)
        self.refresh()

    def notify_style_update(self) -> None:
        """Draws in the new colours."""
        super().notify_style_update()
        self._drawn_for = None

    def render_line(self, y: int) -> Strip:
        """One line of the plots."""
        if self._job is None:
            return Strip.blank(self.size.width, self.rich_style)
        series, frame, view = self._job
        wanted = (series, frame.time, view.lettered, view.ascii, self.size)
        if wanted != self._drawn_for:
            self._strips = self._draw(series, frame, view)
            self._drawn_for = wanted
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def _colour(self, word: str) -> Any:
        """The colour of a word as plotext takes it: red, green and blue, or the number of a terminal colour."""
        colour = self.get_component_rich_style(f"look--{word}").color
        if colour is None or colour.is_default or self.app.no_color:
            return None
        return tuple(colour.triplet) if colour.triplet is not None else colour.number

    def _draw(self, series: Sequence[tuple[str, str, str]], frame: Frame, view: View) -> list[Strip]:
        width, height = self.size
        plots = plots_of(series, frame, view.history)
        if not plots:
            return [self._line([(" no history of this panel yet", "quiet")], width)] if series else []
        shown, beside = arrange(len(plots), width, height)
        if height < _LEAST_HEIGHT:
            return []
        letters = view.ascii or self.app.no_color
        span = time_span(plots)
        stacked = -(-shown // beside)
        strips: list[Strip] = []
        for row in range(stacked):
            rows_high = height // stacked + (1 if row < height % stacked else 0)
            cells = width // beside
            drawn = [
                self._plot(plot, cells, rows_high, span, view, letters)
                for plot in plots[row * beside : min(shown, (row + 1) * beside)]
            ]
            strips += [
                Strip.join([part[y] for part in drawn]).crop_extend(0, width, self.rich_style) for y in range(rows_high)
            ]
        return strips

    def _plot(self, plot: Plot, width: int, height: int, span: float, view: View, letters: bool) -> list[Strip]:
        title = self._line([(" ", ""), *legend(plot, view.lettered, width - 2, letters=letters)], width)
        body = draw(
            plot,
            width - 1,
            height - 1,
            span,
            units=view.lettered,
            ascii=view.ascii,
            letters=letters,
            colour=self._colour,
        )
        base = self.rich_style
        strips = [title]
        for text in Text.from_ansi(body).split("\n"):
            segments = [
                Segment(segment.text, base + segment.style if segment.style else base)
                for segment in text.render(self.app.console)
                if segment.text and segment.text != "\n"
            ]
            strips.append(Strip(segments).crop_extend(0, width, base))
        strips = strips[:height]
        return strips + [Strip.blank(width, base)] * (height - len(strips))

    def _line(self, line: Line, width: int) -> Strip:
        base = self.rich_style
        segments = [
            Segment(text, self.get_component_rich_style(f"look--{word}") if word else base) for text, word in line
        ]
        return Strip(segments).crop_extend(0, width, base)
