from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.formatting.units import (
    DASH,
    Units,
    byte_amount,
    byte_rate_in_words,
    bytes_in_words,
    count,
    decimal,
    duration,
    milliseconds,
    network_rate,
    percent,
    percent_tenths,
    whole,
)
from iodash.model.missing import Missing

FORMATTERS = (byte_amount, network_rate, count, whole, percent, percent_tenths, milliseconds, decimal)


@pytest.mark.parametrize("formatter", FORMATTERS)
@pytest.mark.parametrize("reason", list(Missing))
@pytest.mark.parametrize("units", list(Units))
def test_what_is_not_known_is_a_dash(formatter: object, reason: Missing, units: Units) -> None:
    assert callable(formatter)
    assert formatter(reason, units) == DASH


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0001, "0"),
        (0.49, "0"),
        (0.5, "0.5B"),
        (1, "1B"),
        (9.94, "9.9B"),
        (999, "999B"),
        (999.5, "1000B"),
        (1000, "1000B"),
        (1023, "1023B"),
        (1023.4, "1023B"),
        (1023.5, "1.00K"),
        (1024, "1.00K"),
        (9.99 * 1024, "9.99K"),
        (9.995 * 1024, "10.0K"),
        (99.95 * 1024, "100K"),
        (9999, "9.76K"),
        (999.5 * 1024, "1000K"),
        (1023.4 * 1024, "1023K"),
        (1023.5 * 1024, "1.00M"),
        (24 * 2**20, "24.0M"),
        (1.88 * 2**30, "1.88G"),
        (2**40, "1.00T"),
        (2**50, "1.00P"),
        (2**63, "8.00E"),
    ],
)
def test_bytes_in_powers_of_1024(value: float, text: str) -> None:
    assert byte_amount(value) == text
    assert network_rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.04, "0"),
        (999, "999B"),
        (999.4, "999B"),
        (999.5, "1.00K"),
        (1000, "1.00K"),
        (1024, "1.02K"),
        (9999, "10.0K"),
        (999_499, "999K"),
        (999_500, "1.00M"),
        (10**9, "1.00G"),
    ],
)
def test_bytes_in_powers_of_1000(value: float, text: str) -> None:
    assert byte_amount(value, Units.SI) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.3, "0"), (1, "<1"), (512, "<1"), (513, "1"), (8151, "8"), (10240, "10"), (2**30, "1048576")],
)
def test_kib_is_whole_has_no_letter_and_never_takes_something_for_nothing(value: float, text: str) -> None:
    assert byte_amount(value, Units.KIB) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (0.04, "0 B"),
        (0.6, "0.6 B"),
        (1024, "1.00 KiB"),
        (14.4 * 2**20, "14.4 MiB"),
        (2**40, "1.00 TiB"),
    ],
)
def test_a_sentence_spells_the_unit_of_the_same_digits(value: float, text: str) -> None:
    assert bytes_in_words(value) == text
    assert byte_rate_in_words(value) == f"{text}/s"


def test_a_sentence_has_a_dash_for_what_is_not_known() -> None:
    assert bytes_in_words(Missing.OFF) == byte_rate_in_words(Missing.NEW) == DASH


def test_bits_are_for_the_network_alone() -> None:
    assert network_rate(125_000_000, Units.BITS) == "1.00G"
    assert network_rate(100, Units.BITS) == "800b"
    assert network_rate(0.05, Units.BITS) == "0"
    assert byte_amount(2**30, Units.BITS) == "1.00G"
    assert network_rate(1000, Units.SI) == "1.00K"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.04, "0"), (0.05, "0.1"), (0.3, "0.3"), (9.94, "9.9"), (9.95, "10"), (14, "14"), (999, "999"),
     (999.5, "1.00k"), (1000, "1.00k"), (9999, "10.0k"), (12_100, "12.1k"), (1_200_000, "1.20M")],
)  # fmt: skip
def test_counts(value: float, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0004, "0"), (0.0006, "0.001"), (0.07, "0.070"), (0.0994, "0.099"), (0.0996, "0.10"),
     (5.21, "5.21"), (63.2, "63.2"), (999, "999"),
     (1024, "1024"), (9999, "9999"), (9999.5, "10.0s"), (12_300, "12.3s"), (99_949, "99.9s"),
     (99_950, "100s"), (1_000_000, "1000s")],
)  # fmt: skip
def test_milliseconds(value: float, text: str) -> None:
    assert milliseconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.2, "<1"), (0.5, "<1"), (0.51, "1"), (99.6, "100"), (140, "140")]
)
def test_percent_reads_as_0_only_when_it_is(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0.0"), (41.26, "41.3"), (999.9, "999.9"), (999.95, "1000")])
def test_percent_with_tenths(value: float, text: str) -> None:
    assert percent_tenths(value) == text


def test_plain_numbers() -> None:
    assert whole(41.6) == "42"
    assert [decimal(value) for value in (0.5, 9.99, 12.34, 128.0)] == ["0.50", "9.99", "12.3", "128"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(8.9, "8 s"), (59.9, "59 s"), (60, "1 min 0 s"), (125, "2 min 5 s"), (3780, "1 h 3 min")]
)
def test_spans_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


AMOUNTS = st.floats(min_value=0, max_value=2**69) | st.integers(min_value=0, max_value=2**69)


@given(AMOUNTS, st.sampled_from([Units.IEC, Units.SI, Units.BITS]))
def test_an_amount_of_any_size_takes_at_most_five_cells(value: float, units: Units) -> None:
    assert len(byte_amount(value, units)) <= 5
    assert len(network_rate(value / 8, units)) <= 5
    assert len(count(value, units)) <= 5


@given(st.floats(min_value=0, max_value=9_999_000))
def test_a_wait_takes_at_most_five_cells(value: float) -> None:
    assert len(milliseconds(value)) <= 5


@given(AMOUNTS, AMOUNTS)
def test_a_larger_amount_never_reads_as_a_smaller_one(one: float, other: float) -> None:
    def size(text: str) -> float:
        return float(text.rstrip("BKMGTPE")) * float(1024 ** max(0, "BKMGTPE".find(text[-1])))

    small, large = sorted((one, other))
    assert size(byte_amount(small)) <= size(byte_amount(large))


def test_the_key_b_goes_round_the_units() -> None:
    assert [unit.next for unit in Units] == [Units.SI, Units.BITS, Units.IEC, Units.IEC]
