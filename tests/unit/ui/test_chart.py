from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iodash.ui.widgets.chart import DOTS_HIGH, columns_chart, filled, mirrored_chart

values = st.lists(st.one_of(st.none(), st.floats(0, 1e12)), max_size=60)


def _dots(text: str) -> int:
    return sum(bin(ord(character) - 0x2800).count("1") for character in text if character != " ")


def test_a_full_and_an_empty_column() -> None:
    assert columns_chart([100, 100], 100, 2) == ["⣿", "⣿"]
    assert columns_chart([0, 0], 100, 2) == [" ", "⣀"]
    assert columns_chart([None, None], 100, 2) == [" ", " "]


def test_the_left_value_of_a_cell_is_the_older_one() -> None:
    assert columns_chart([100, 0], 100, 1) == ["⣇"]
    assert columns_chart([100], 100, 1) == ["⢸"]


def test_the_lower_half_hangs_from_the_middle() -> None:
    above, below = mirrored_chart([50, 50], [50, 50], 100, 2)
    assert above == [" ", "⣿"]
    assert below == ["⣿", " "]
    assert columns_chart([25, 25], 100, 1, downwards=True) == ["⠉"]


def test_ascii_has_four_steps_a_line() -> None:
    assert columns_chart([0, 25, 50, 75, 100, None], 100, 1, ascii=True) == [".." + ":|# "]
    assert columns_chart([100, 50], 100, 2, ascii=True) == ["# ", "##"]


@given(values, st.floats(0, 1e12), st.integers(1, 8))
def test_a_chart_has_as_many_dots_as_its_columns_fill(data: list[float | None], maximum: float, height: int) -> None:
    rows = columns_chart(data, maximum, height)
    assert len(rows) == height
    assert {len(row) for row in rows} == {(len(data) + 1) // 2}
    assert sum(map(_dots, rows)) == sum(filled(value, maximum, height * DOTS_HIGH) for value in data)
    hanging = columns_chart(data, maximum, height, downwards=True)
    assert [_dots(row) for row in hanging] == [_dots(row) for row in reversed(rows)]


@given(values, st.integers(1, 4))
def test_ascii_charts_are_ascii(data: list[float | None], height: int) -> None:
    assert all(row.isascii() and len(row) == len(data) for row in columns_chart(data, 100.0, height, ascii=True))
