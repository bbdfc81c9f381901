"""What a verdict is about, as small plots on one time axis: the GPUs, the devices, the waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.formatting.cells import cell_width, crop, left
from iodash.formatting.units import ago, byte_amount, percent
from iodash.model.missing import Missing
from iodash.sampling.history import job_subject
from iodash.ui.panels.gpu_lines import utilisation_cells
from iodash.ui.plots import nice_rate
from iodash.ui.widgets.chart import DOTS_WIDE, columns_chart
from iodash.ui.widgets.spark import SHARE, cell_seconds, spark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame, GpuRow, JobRow, Verdict
    from iodash.model.missing import Number
    from iodash.ui.panels.lines import Line
    from iodash.ui.view import View

_MOST_GPUS = 4
"""With more than that their mean and the least used one are drawn."""

_LEAST_LABEL, _WIDEST_LABEL = 12, 16
_SCALE = "  {newest:>5}  of {top:<5}"
_SCALE_WIDTH = 17
_LEAST_PLOT = 8
_TICK_CELLS = 10
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)


@dataclass(frozen=True, slots=True)
class Track:
    """One plot: its name, the word for its look, its values on the common axis, and its scale in words."""

    label: str
    word: str
    values: list[float | None]
    top: float
    newest: str
    top_text: str


@dataclass(frozen=True, slots=True)
class _Axis:
    """The newest `count` steps of `seconds` each, up to the frame's end."""

    frame: Frame
    view: View
    count: int
    seconds: float

    def values(self, subject: str, name: str) -> list[float | None]:
        return self.view.course(subject, name, self.frame.time, self.count, self.seconds)

    def share(self, label: str, word: str, values: list[float | None], newest: Number) -> Track:
        known = "" if isinstance(newest, Missing) else "%"
        return Track(label, word, values, SHARE, percent(newest) + known, "100%")

    def rate(self, label: str, word: str, subject: str, name: str, newest: Number) -> Track:
        values = self.values(subject, name)
        top, scale = nice_rate(values, self.view.lettered)
        return Track(label, word, values, top, byte_amount(newest, self.view.lettered), scale)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _gpu_tracks(axis: _Axis, gpus: Sequence[GpuRow]) -> list[Track]:
    drawn = [
        (gpu, utilisation_cells(gpu, axis.frame, axis.view, axis.count, axis.seconds))
        for gpu in gpus
        if gpu.status == "ok"
    ]
    tracks = [axis.share(f"GPU {gpu.number}", "spark", values, gpu.util_percent) for gpu, values in drawn]
    if len(drawn) <= _MOST_GPUS:
        return tracks
    together = [_mean(values) for values in zip(*(values for _, values in drawn), strict=True)]
    now = _mean([gpu.util_percent for gpu, _ in drawn if not isinstance(gpu.util_percent, Missing)])
    least = min(range(len(drawn)), key=lambda index: _mean(drawn[index][1]) or 0.0)
    mean = axis.share(f"{len(drawn)} GPUs", "spark", together, Missing.NOT_MEASURED if now is None else now)
    return [mean, tracks[least]]


def _device_tracks(axis: _Axis, verdict: Verdict) -> list[Track]:
    tracks: list[Track] = []
    rows = {row.name: row for row in axis.frame.devices}
    for name in verdict.devices:
        row = rows.get(name)
        reads = axis.rate(
            f"{name} r", "read", name, "read_bytes_per_s", Missing.GONE if row is None else row.read_bytes_per_s
        )
        writes = axis.rate(
            f"{name} w", "write", name, "write_bytes_per_s", Missing.GONE if row is None else row.write_bytes_per_s
        )
        tracks.append(reads)
        if "write" in verdict.cause or writes.top > reads.top:
            tracks.append(writes)
    if not any(_drawable(track) for track in tracks):
        system = axis.frame.system
        tracks.append(axis.rate("disks r", "read", "", "disk_read_bytes_per_s", system.disk_read_bytes_per_s))
        tracks.append(axis.rate("disks w", "write", "", "disk_write_bytes_per_s", system.disk_write_bytes_per_s))
    return tracks


def _wait_tracks(axis: _Axis, job: JobRow | None) -> list[Track]:
    tracks: list[Track] = []
    if job is not None:
        values = axis.values(job_subject(job.name), "blocked_percent")
        label = "workers in D" if job.workers else "threads in D"
        newest = next((value for value in reversed(values) if value is not None), Missing.NOT_MEASURED)
        tracks.append(axis.share(label, "warn", values, newest))
    stall = axis.frame.system.pressure_io_some_percent
    tracks.append(axis.share("IO stall", "warn", axis.values("", "pressure_io_some_percent"), stall))
    return tracks


def _drawable(track: Track) -> bool:
    return any(value is not None for value in track.values)


def tracks_of(frame: Frame, view: View, verdict: Verdict, count: int, seconds: float) -> list[Track]:
    """The plots of a verdict over the last `count` steps of `seconds`; those of which nothing is known are left out."""
    job = next((job for job in frame.jobs if job.name == verdict.job), None)
    pids = frozenset() if job is None else frozenset(key.pid for key in job.members)
    gpus = [gpu for gpu in frame.gpus if job is None or gpu.concerns(job.gpus, pids)]
    axis = _Axis(frame, view, count, seconds)
    tracks = [*_gpu_tracks(axis, gpus), *_device_tracks(axis, verdict), *_wait_tracks(axis, job)]
    return [track for track in tracks if _drawable(track)]


def plot_lines(frame: Frame, view: View, verdict: Verdict, width: int, height: int) -> list[Line]:
    """The plots of a verdict, `height` lines each, beneath each other in `width` cells, with their time axis."""
    ellipsis = "~" if view.ascii else "…"
    labels = max(_LEAST_LABEL, min(_WIDEST_LABEL, width // 5))
    room = width - labels - 1 - _SCALE_WIDTH
    if room < _LEAST_PLOT:
        return []
    per_cell = 1 if view.ascii or height == 1 else DOTS_WIDE
    seconds = cell_seconds(view.delay)
    lines: list[Line] = []
    for track in tracks_of(frame, view, verdict, room * per_cell, seconds / per_cell):
        drawn = (
            [spark(track.values, track.top, ascii=view.ascii)]
            if height == 1
            else columns_chart(track.values, track.top, height, ascii=view.ascii)
        )
        for number, text in enumerate(drawn):
            first = number == 0
            name = left(_label(track.label, labels, ellipsis) if first else "", labels)
            scale = _SCALE.format(newest=track.newest, top=track.top_text) if first else ""
            lines.append([(name + " ", "quiet"), (left(text, room), track.word), (scale, "quiet")])
    return [*lines, *axis_lines(labels + 1, room, seconds, verdict.window_s, ascii=view.ascii)] if lines else []


def _label(label: str, width: int, ellipsis: str) -> str:
    """A device's name gives way, not the direction behind it."""
    name, _, direction = label.rpartition(" ")
    if cell_width(label) <= width or not name:
        return crop(label, width, ellipsis)
    return f"{crop(name, width - cell_width(direction) - 1, ellipsis)} {direction}"


def _labels_fit(step: float, room: int, seconds: float) -> bool:
    """Whether ticks every `step` seconds are far enough apart, and no label runs into the next one."""
    cells = step / seconds
    labels = (ago(count * step) for count in range(1, int(room / cells) + 1))
    return cells >= _TICK_CELLS and all(len(label) < cells for label in labels)


def axis_lines(before: int, room: int, seconds: float, window_s: float, *, ascii: bool) -> list[Line]:
    """A rule on which the judged window is drawn thick, and the times beneath it."""
    thin, thick, tick = ("-", "=", "+") if ascii else ("─", "━", "┬")
    judged = min(room, max(1, round(window_s / seconds)))
    step_s = next((step for step in _STEPS_S if _labels_fit(step, room, seconds)), _STEPS_S[-1])
    rule = [thin] * (room - judged) + [thick] * judged
    words = [" "] * room
    words[-3:] = "now"
    past_s = step_s
    while (at := room - round(past_s / seconds)) >= 0:
        text = ago(past_s)
        rule[at] = tick
        if at + len(text) < room - 3:
            words[at : at + len(text)] = text
        past_s += step_s
    judged_words = f"  {thick} judged"
    return [
        [(" " * before + "".join(rule), "quiet"), (judged_words, "quiet")],
        [(" " * before + "".join(words), "quiet")],
    ]
