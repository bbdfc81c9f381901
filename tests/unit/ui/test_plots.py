from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.formatting.units import Units
from iodash.model.missing import Missing
from iodash.sampling.history import Point
from iodash.ui.plots import MOST_TRACES, Plot, nice_maximum, plots_of, runs_of, time_span, time_ticks
from iodash.ui.screens.history import arrange, draw, legend
from tests.ui.frames import MIB, NOW, device, divided_gpu, frame, gpu, system, view

if TYPE_CHECKING:
    from iodash.ui.view import View


@given(st.floats(1e-6, 1e18), st.sampled_from([1000, 1024]))
def test_the_scale_is_round_and_not_wasteful(value: float, base: int) -> None:
    top = nice_maximum(value, base)
    assert value <= top <= value * 2.6


def test_scales_people_expect() -> None:
    assert nice_maximum(0) == 1
    assert nice_maximum(1.9 * 2**30, 1024) == 2 * 2**30
    assert nice_maximum(700 * MIB, 1024) == 2**30
    assert nice_maximum(412) == 500


def test_missing_values_and_times_without_frames_end_a_run() -> None:
    points = [
        Point(1, 1, 5.0),
        Point(2, 1, 6.0),
        Point(3, 1, Missing.RESET),
        Point(4, 1, 7.0),
        Point(9, 1, 8.0),
        Point(10.02, 1.02, 9.0),
    ]
    assert runs_of(points, 10.02) == [
        [(pytest.approx(-9.02), 5.0), (pytest.approx(-8.02), 6.0)],
        [(pytest.approx(-6.02), 7.0)],
        [(pytest.approx(-1.02), 8.0), (0.0, 9.0)],
    ]


def test_instances_of_a_divided_gpu_have_lines_of_their_own() -> None:
    one = frame(gpus=divided_gpu(71, 72))
    (memory,) = plots_of([(row.uuid, "memory_used_bytes", "B") for row in one.gpus], one, view(one).history)
    assert [trace.label for trace in memory.traces] == ["GPU 0", "GPU 0.mig0", "GPU 0.mig1"]
    assert len({trace.marker for trace in memory.traces}) == 3


def test_series_of_one_unit_and_subject_share_a_plot_and_keep_their_colours() -> None:
    one = frame(system=system(disk_read_bytes_per_s=5.0 * MIB, cpu_user_percent=40.0))
    series = [
        ("", "disk_read_bytes_per_s", "B/s"),
        ("", "disk_write_bytes_per_s", "B/s"),
        ("", "cpu_user_percent", "%"),
        ("", "memory_used_bytes", "B"),
    ]
    disk, cpu, memory = plots_of(series, one, view(one).history)
    assert (disk.title, cpu.title, memory.title) == ("disk", "CPU", "memory")
    assert [(trace.label, trace.word, trace.marker) for trace in disk.traces] == [
        ("read", "read", "r"),
        ("write", "write", "w"),
    ]
    assert cpu.maximum(Units.IEC) == 100
    assert disk.maximum(Units.IEC) == 5 * MIB


def test_each_of_a_few_gpus_has_a_line() -> None:
    one = frame(gpus=tuple(gpu(index) for index in range(MOST_TRACES)))
    (plot,) = plots_of([(row.uuid, "util_percent", "%") for row in one.gpus], one, view(one).history)
    assert [trace.label for trace in plot.traces] == [f"GPU {index}" for index in range(MOST_TRACES)]
    assert len({trace.marker for trace in plot.traces}) == MOST_TRACES


def test_many_gpus_are_drawn_as_their_mean_the_least_and_the_most() -> None:
    busy = {3: 10.0, 12: 90.0}
    frames = [
        frame(
            time=NOW + tick,
            gpus=tuple(
                gpu(index, util_percent=Missing.GONE if index == 5 else busy.get(index, 50.0)) for index in range(16)
            ),
        )
        for tick in range(3)
    ]
    series = [(row.uuid, "util_percent", "%") for row in frames[-1].gpus]
    (plot,) = plots_of(series, frames[-1], view(*frames).history)
    assert [(trace.label, trace.latest) for trace in plot.traces] == [
        ("mean of 15", 50.0),
        ("least: GPU 3", 10.0),
        ("most: GPU 12", 90.0),
    ]
    assert [len(run) for trace in plot.traces for run in trace.runs] == [3, 3, 3]
    assert len({trace.marker for trace in plot.traces}) == 3


def test_a_share_that_passes_100_by_a_rounding_keeps_the_scale() -> None:
    one = frame(gpus=(gpu(0, util_percent=100.2),))
    (plot,) = plots_of([("GPU-0", "util_percent", "%")], one, view(one).history)
    assert plot.maximum(Units.IEC) == 100


def test_what_was_never_known_has_no_plot_and_what_is_unknown_now_has_no_newest_value() -> None:
    never = frame(system=system(pressure_io_some_percent=Missing.UNSUPPORTED))
    assert plots_of([("", "pressure_io_some_percent", "%")], never, view(never).history) == []
    before = frame(time=NOW - 1, devices=(device(util_percent=50.0),))
    now = frame(devices=(device(util_percent=Missing.RESET),))
    (plot,) = plots_of([("nvme0n1", "util_percent", "%")], now, view(before, now).history)
    assert plot.traces[0].latest is None
    assert plot.title == "nvme0n1"


def test_a_share_above_100_is_still_on_the_scale() -> None:
    one = frame(devices=(device(util_percent=130.0),))
    (plot,) = plots_of([("nvme0n1", "util_percent", "%")], one, view(one).history)
    assert plot.maximum(Units.IEC) == 200


def test_the_time_axis_is_round_and_ends_now() -> None:
    frames = [frame(time=NOW + tick) for tick in range(45)]
    plots = plots_of([("", "cpu_user_percent", "%")], frames[-1], view(*frames).history)
    assert time_span(plots) == 60
    assert [words for _, words in time_ticks(300.0)] == ["-5 min", "-4 min", "-3 min", "-2 min", "-1 min", "now"]
    assert [words for _, words in time_ticks(30.0)] == ["-30 s", "-20 s", "-10 s", "now"]
    assert [words for _, words in time_ticks(7200.0)] == ["-2 h", "-1 h 30 min", "-1 h", "-30 min", "now"]
    for span in (30, 60, 120, 300, 600, 1200, 1800, 3600, 7200):
        moments = [moment for moment, _ in time_ticks(span)]
        assert all(moment == round(moment) for moment in moments)
        assert moments[0] == -span
        assert moments == sorted(moments)


def _course(ticks: int = 90) -> tuple[Plot, View]:
    frames = [
        frame(
            time=NOW + tick,
            system=system(disk_read_bytes_per_s=1e9 * (1 + math.sin(tick / 5)), disk_write_bytes_per_s=3e8),
        )
        for tick in range(ticks)
        if not 40 < tick < 50
    ]
    shown = view(*frames)
    series = [("", "disk_read_bytes_per_s", "B/s"), ("", "disk_write_bytes_per_s", "B/s")]
    return plots_of(series, frames[-1], shown.history)[0], shown


@pytest.mark.parametrize("size", [(30, 6), (57, 8), (100, 14), (199, 50)])
@pytest.mark.parametrize("ascii", [False, True])
def test_a_drawn_plot_has_its_size_axes_and_both_lines(size: tuple[int, int], ascii: bool) -> None:
    plot, _ = _course()
    width, height = size
    text = draw(plot, width, height, 120.0, ascii=ascii)
    lines = text.replace("\x1b[0m", "").split("\n")
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert "now" in lines[-1]
    assert "2.00G" in text
    assert "\x1b" not in text.replace("\x1b[0m", "")
    if ascii:
        assert text.replace("\x1b[0m", "").isascii()
        assert "r" in text
        assert "w" in text


def test_colours_are_used_only_when_given() -> None:
    plot, _ = _course()
    text = draw(plot, 80, 12, 120.0, colour={"read": (1, 2, 3), "write": 3, "quiet": None}.get)
    assert "38;2;1;2;3" in text
    assert "38;5;3" in text


def test_a_gap_in_time_is_a_gap_in_the_plot() -> None:
    plot, _ = _course()
    lines = draw(plot, 106, 12, 90.0, ascii=True).replace("\x1b[0m", "").split("\n")
    drawn = {index for line in lines[1:-2] for index, character in enumerate(line[6:-1]) if character in "rw"}
    missing = [index for index in range(min(drawn), max(drawn)) if index not in drawn]
    assert len(missing) >= 7
    assert missing == list(range(missing[0], missing[-1] + 1))


def test_nothing_of_one_plot_is_left_in_the_next() -> None:
    plot, _ = _course()
    alone = replace(plot, traces=plot.traces[1:])
    first = draw(alone, 80, 12, 90.0, ascii=True)
    draw(plot, 80, 12, 90.0, ascii=True)
    assert draw(alone, 80, 12, 90.0, ascii=True) == first


def test_the_legend_names_lines_with_their_newest_values() -> None:
    plot, _ = _course()
    line = legend(plot, Units.IEC, 80)
    assert [text.split()[0] for text, word in line if word in ("read", "write")] == ["read", "write"]
    assert "286M" in line[-1][0]
    letters = legend(plot, Units.IEC, 80, letters=True)
    assert any(text.strip().startswith("r: read") for text, _ in letters)


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [
        (4, (120, 30), (4, 1)),
        (4, (200, 50), (4, 2)),
        (4, (58, 14), (2, 1)),
        (1, (200, 50), (1, 1)),
        (6, (80, 9), (1, 1)),
    ],
)
def test_as_many_plots_as_have_room(count: int, size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert arrange(count, *size) == expected
