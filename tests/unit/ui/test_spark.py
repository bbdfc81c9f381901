from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.sampling.history import Point
from iodash.ui.widgets.spark import ASCII_BLOCKS, BLOCKS, GAP, cell_seconds, cells, glyph, spark

shares = st.floats(0, 100)


def test_nothing_and_everything_look_different_on_the_fixed_scale() -> None:
    assert spark([0.0, 0.0, 0.0]) == "▁▁▁"
    assert spark([100.0, 100.0, 100.0]) == "███"
    assert spark([0, 50, 100], ascii=True) == ".+#"


def test_a_gap_is_no_zero() -> None:
    assert spark([0.0, None, 100.0]) == "▁ █"
    assert spark([0.0, None, 100.0], ascii=True) == ". #"


@given(st.lists(st.one_of(st.none(), st.floats(-1e12, 1e12)), max_size=40), st.floats(-10, 1e12), st.booleans())
def test_every_value_has_a_glyph_of_one_cell(values: list[float | None], maximum: float, ascii: bool) -> None:
    text = spark(values, maximum, ascii=ascii)
    assert len(text) == len(values)
    assert set(text) <= set((ASCII_BLOCKS if ascii else BLOCKS) + GAP)
    assert not ascii or text.isascii()


@given(shares, shares)
def test_more_never_looks_like_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert BLOCKS.index(glyph(low)) <= BLOCKS.index(glyph(high))


def test_two_cells_a_frame_but_none_below_half_a_second() -> None:
    assert [cell_seconds(delay) for delay in (0.1, 0.5, 1.0, 2.0, 10.0)] == [0.5, 0.5, 0.5, 1.0, 5.0]


def test_a_point_longer_than_a_cell_is_not_smeared() -> None:
    points = [Point(1.1, 1.0, 0.0), Point(2.1, 1.0, 100.0), Point(3.1, 1.0, 0.0)]
    values = cells(points, end=3.1, seconds=1.0, width=4)
    assert values == [0.0, 100.0, 0.0, 0.0]


def test_short_points_are_averaged_by_their_length() -> None:
    points = [Point(0.25, 0.25, 100.0), Point(1.0, 0.75, 0.0)]
    assert cells(points, end=1.0, seconds=1.0, width=1) == [25.0]


def test_what_is_missing_or_was_not_read_is_a_gap() -> None:
    points = [Point(1.0, 1.0, 5.0), Point(2.0, 1.0, Missing.NO_PERMISSION), Point(4.0, 1.0, 7.0)]
    assert cells(points, end=5.0, seconds=1.0, width=6) == [None, 5.0, None, None, 7.0, None]


def test_a_past_cell_stays_what_it_was_while_time_goes_on() -> None:
    points = [Point(0.3 + tick, 1.0, float(tick)) for tick in range(20)]
    before = cells(points[:15], end=points[14].time, seconds=0.5, width=20)
    after = cells(points, end=points[19].time, seconds=0.5, width=20)
    assert after[:8] == before[10:18]


@given(
    st.lists(st.tuples(st.floats(0.05, 5), shares), max_size=40),
    st.floats(0.5, 5),
    st.integers(0, 60),
    st.floats(0, 1e9),
)
def test_cells_stay_within_the_values(
    steps: list[tuple[float, float]], seconds: float, width: int, start: float
) -> None:
    points = []
    time = start
    for span, value in steps:
        time += span
        points.append(Point(time, span, value))
    values = cells(points, end=time, seconds=seconds, width=width)
    assert len(values) == width
    known = [value for value in values if value is not None]
    if known:
        assert min(value for _, value in steps) - 1e-6 <= min(known)
        assert max(known) <= max(value for _, value in steps) + 1e-6
    if steps and width:
        assert any(value is not None for value in values)


def test_a_driver_sample_without_a_length_still_shows() -> None:
    assert cells([Point(0.7, 0.0, 40.0)], end=0.7, seconds=0.5, width=2) == [None, pytest.approx(40.0)]
    assert cells([Point(1.0, 0.0, 40.0)], end=1.0, seconds=0.5, width=2) == [None, pytest.approx(40.0)]
