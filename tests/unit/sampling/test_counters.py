from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.sampling.counters import WRAP_32, delta, delta_32, per_second, rate, ratio

COUNTS = st.integers(min_value=0, max_value=2**64)


@given(COUNTS, COUNTS)
def test_a_64_bit_counter_grows_or_was_reset(old: int, grown: int) -> None:
    assert delta(old, old + grown) == grown
    assert delta(old + grown + 1, old) is Missing.RESET


@given(st.integers(0, WRAP_32 - 1), st.integers(0, 10_000))
def test_growth_across_a_wrap_is_counted(old: int, grown: int) -> None:
    assert delta_32(old, (old + grown) % WRAP_32, 10_000) == grown


def test_a_fall_that_no_wrap_explains_is_a_reset() -> None:
    assert delta_32(1_000_000, 0, 10_000) is Missing.RESET
    assert delta_32(WRAP_32 - 1, 10_000, 10_000) is Missing.RESET
    assert delta_32(WRAP_32 + 5, 0, 10_000) is Missing.RESET
    assert delta_32(WRAP_32 - 1, 9_999, 10_000) == 10_000


def test_reasons_go_through_and_the_newer_reading_wins() -> None:
    for difference in (delta, lambda old, new: delta_32(old, new, 10)):
        assert difference(Missing.NEW, 5) is Missing.NEW
        assert difference(5, Missing.GONE) is Missing.GONE
        assert difference(Missing.NEW, Missing.GONE) is Missing.GONE


def test_rates_are_over_the_measured_time() -> None:
    assert rate(100, 300, 2.0) == 100
    assert rate(300, 100, 2.0) is Missing.RESET
    assert per_second(10, 0.0) is Missing.NOT_MEASURED
    assert per_second(Missing.OFF, 1.0) is Missing.OFF


def test_the_mean_of_nothing_is_not_0() -> None:
    assert ratio(10, 4) == 2.5
    assert ratio(0, 0) is Missing.NO_IO
    assert ratio(1, Missing.OFF) is Missing.OFF
    assert ratio(Missing.NEW, 4) is Missing.NEW
