"""What a panel's history plots hold: which series share a plot, their scale and their time axis. Draws nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.columns import DEVICE_COLUMNS, GPU_COLUMNS, SYSTEM_COLUMNS
from iodash.formatting.units import Units, ago, byte_amount, decimal, percent
from iodash.model.missing import Missing
from iodash.sampling.history import Point
from iodash.ui.widgets.spark import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from iodash.model.frame import Frame
    from iodash.sampling.history import History

MOST_TRACES = 6
"""More lines than that in one plot can't be told apart: their mean, the least and the most are drawn instead."""

_SYSTEM_HEADINGS = {column.key: column.heading for column in SYSTEM_COLUMNS} | {"disk_write_bytes_per_s": "write"}
_DEVICE_HEADINGS = {column.key: column.heading for column in DEVICE_COLUMNS}
_GPU_HEADINGS = {column.key: column.heading for column in GPU_COLUMNS}

_CYCLE = ("read", "write", "ok", "warn", "strong", "quiet")

_SPANS = {30: 3, 60: 4, 120: 4, 300: 5, 600: 5, 1200: 4, 1800: 3, 3600: 4, 7200: 4}
"""The seconds that a time axis can cover, and into how many round steps each is divided."""

_JUST_ABOVE_100 = 101.0
"""Shares that pass 100 by less did so when time was measured or means were taken; the scale stays."""

_MOST_SAMPLES = 400
_SAMPLE_S = 0.25
"""More detail than that has no room in a plot."""

Run = list[tuple[float, float]]
"""Successive (seconds before the end, value) without a gap; seconds are 0 or negative."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of a plot. `word` names its colour, `marker` draws it where there are no colours."""

    label: str
    word: str
    marker: str
    runs: list[Run]
    latest: float | None


@dataclass(frozen=True, slots=True)
class Plot:
    """Series of one unit on one scale."""

    title: str
    unit: str
    traces: tuple[Trace, ...]

    def text(self, value: float, units: Units) -> str:
        """A value of this plot, as its axis and legend write it."""
        if self.unit.startswith("B"):
            return byte_amount(value, units)
        if self.unit == "%":
            return f"{percent(value)}%"
        if self.unit == "W":
            return f"{value:.0f}W"
        return decimal(value)

    def maximum(self, units: Units) -> float:
        """The top of the scale: 100 for shares that stay below, else a round number above all values."""
        highest = max((value for trace in self.traces for run in trace.runs for _, value in run), default=0.0)
        if self.unit == "%" and highest < _JUST_ABOVE_100:
            return 100.0
        base = 1024 if self.unit.startswith("B") and units is not Units.SI else 1000
        return nice_maximum(highest, base)


def nice_rate(values: Iterable[float | None], units: Units) -> tuple[float, str]:
    """The top of a scale for byte rates, and how it is written.

    It is never below 1 M, so that what is next to nothing looks like it.
    """
    base = 1000 if units is Units.SI else 1024
    top = nice_maximum(max(base**2, *(value for value in values if value is not None)), base)
    return top, byte_amount(top, units)


def nice_maximum(value: float, base: int = 1000) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50, 100, 200, 500 times a power of `base` that is not below `value`."""
    if value <= 0:
        return 1.0
    scale = float(base) ** math.floor(math.log(value, base))
    for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500, base):
        if factor * scale >= value:
            return factor * scale
    return base * scale


def runs_of(points: Iterable[Point], end: float) -> list[Run]:
    """The points as runs; a missing value or a time without points ends a run, so a gap stays a gap."""
    runs: list[Run] = []
    previous: float | None = None
    for time, span, value in points:
        if isinstance(value, Missing):
            previous = None
            continue
        if previous is None or time - span > previous + span / 2 + 0.05:
            runs.append([])
        runs[-1].append((min(0.0, time - end), value))
        previous = time
    return runs


def _sampled_runs(samples: Sequence[Point], end: float) -> list[Run]:
    """A GPU's utilisation as its driver sampled it, thinned to means of at most `_MOST_SAMPLES` steps."""
    if not samples:
        return []
    step = max(_SAMPLE_S, (end - samples[0].time) / _MOST_SAMPLES)
    values = cells(samples, end, step, math.ceil((end - samples[0].time) / step) + 1)
    newest = math.ceil(end / step) * step
    points = [
        Point(newest - (len(values) - 1 - place) * step, step, Missing.NOT_MEASURED if value is None else value)
        for place, value in enumerate(values)
    ]
    return runs_of(points, end)


def _heading(subject: str, name: str, frame: Frame) -> str:
    if not subject:
        headings = _SYSTEM_HEADINGS
    else:
        headings = _GPU_HEADINGS if any(gpu.uuid == subject for gpu in frame.gpus) else _DEVICE_HEADINGS
    return headings.get(name, name.replace("_", " "))


def _subject(subject: str, frame: Frame) -> str:
    for gpu in frame.gpus:
        if gpu.uuid == subject:
            return f"GPU {gpu.number}"
    return subject


def _colour(name: str, position: int) -> str:
    if "_read_" in f"_{name}" or "receive" in name:
        return "read"
    if "_write_" in f"_{name}" or "transmit" in name:
        return "write"
    return _CYCLE[position % len(_CYCLE)]


def _group(series: Sequence[tuple[str, str, str]]) -> list[list[tuple[str, str, str]]]:
    """Neighbours of one unit share a plot when they are of one subject, or the same series of several subjects."""
    groups: list[list[tuple[str, str, str]]] = []
    for subject, name, unit in series:
        if groups:
            together = [*groups[-1], (subject, name, unit)]
            subjects, names, units = ({entry[part] for entry in together} for part in range(3))
            if len(units) == 1 and (len(subjects) == 1 or len(names) == 1):
                groups[-1] = together
                continue
        groups.append([(subject, name, unit)])
    return groups


def plots_of(series: Sequence[tuple[str, str, str]], frame: Frame, history: History) -> list[Plot]:
    """The plots for a panel's series, as (subject, name, unit); those without a single value are left out."""
    plots: list[Plot] = []
    for group in _group(series):
        one_name = len({name for _, name, _ in group}) == 1 and len(group) > 1
        traces: list[Trace] = _summary(group, frame, history) if one_name and len(group) > MOST_TRACES else []
        for subject, name, _unit in group if not traces else ():
            runs = runs_of(history.series(subject, name), frame.time)
            if not runs:
                continue
            position = len(traces)
            label = _subject(subject, frame) if one_name else _heading(subject, name, frame)
            word = _CYCLE[position % len(_CYCLE)] if one_name else _colour(name, position)
            latest = _latest(runs, frame)
            if name == "util_percent":
                runs = _sampled_runs(history.series(subject, "util_samples"), frame.time) or runs
            traces.append(Trace(label, word, _marker(label, traces), runs, latest))
        if traces:
            subject, name, unit = group[0]
            title = _heading(subject, name, frame) if one_name else _subject(subject, frame) or _title(name)
            plots.append(Plot(title, unit, tuple(traces)))
    return plots


def _latest(runs: Sequence[Run], frame: Frame) -> float | None:
    moment, value = runs[-1][-1]
    return value if moment > -frame.interval_s / 2 else None


def _summary(group: Sequence[tuple[str, str, str]], frame: Frame, history: History) -> list[Trace]:
    """The mean of many subjects, and those whose own mean is least and most. Empty where too few are known."""
    courses = {subject: points for subject, name, _ in group if (points := history.series(subject, name))}
    if len(courses) <= MOST_TRACES:
        return []
    at_once: dict[tuple[float, float], list[float]] = {}
    means: dict[str, float] = {}
    for subject, points in courses.items():
        known = [point.value for point in points if not isinstance(point.value, Missing)]
        means[subject] = sum(known) / len(known)
        for point in points:
            if not isinstance(point.value, Missing):
                at_once.setdefault((point.time, point.span), []).append(point.value)
    mean = tuple(Point(*moment, sum(values) / len(values)) for moment, values in sorted(at_once.items()))
    ordered = sorted(means, key=means.__getitem__)
    least, most = ordered[0], ordered[-1]
    drawn = (
        (f"mean of {len(courses)}", "strong", "m", mean),
        (f"least: {_subject(least, frame)}", "warn", "l", courses[least]),
        (f"most: {_subject(most, frame)}", "ok", "t", courses[most]),
    )
    traces: list[Trace] = []
    for label, word, marker, course in drawn:
        runs = runs_of(course, frame.time)
        traces.append(Trace(label, word, marker, runs, _latest(runs, frame)))
    return traces


def _title(name: str) -> str:
    """The title of a plot of the whole machine: the first word of its first series, such as `disk`."""
    return {"cpu": "CPU"}.get(name.split("_", 1)[0], name.split("_", 1)[0])


def _marker(label: str, taken: Sequence[Trace]) -> str:
    """A letter or digit of the label that no other line of the plot has."""
    used = {trace.marker for trace in taken}
    for character in [*label[-1:], *label] if label[-1:].isdigit() else label:
        if character.isalnum() and character.isascii() and character.lower() not in used:
            return character.lower()
    return next(character for character in "*+xo@=&$0123456789" if character not in used)


def time_span(plots: Sequence[Plot]) -> float:
    """Seconds that the time axis covers: a round number, so that it stays while the past grows."""
    oldest = max((-trace.runs[0][0][0] for plot in plots for trace in plot.traces), default=0.0)
    return float(next((span for span in _SPANS if span >= oldest), max(_SPANS)))


def time_ticks(span: float) -> list[tuple[float, str]]:
    """Where the time axis has its ticks, and their words."""
    steps = _SPANS.get(round(span), 4)
    moments = [-span * step / steps for step in range(steps, 0, -1)]
    return [
        *((moment, ago(-moment)) for moment in moments),
        (0.0, "now"),
    ]
