from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.formatting.cells import cell_width, crop, left, right
from iodash.formatting.safe_text import safe_text

NAMES = st.text(max_size=30).map(safe_text)


@pytest.mark.parametrize(("text", "width"), [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("a日", 3)])
def test_width_is_in_cells(text: str, width: int) -> None:
    assert cell_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "cropped"),
    [
        ("train.py", 8, "train.py"),
        ("train.py", 7, "train.…"),
        ("train.py", 1, "…"),
        ("train.py", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_what_is_cut_shows_as_an_ellipsis(text: str, width: int, cropped: str) -> None:
    assert crop(text, width) == cropped


def test_plain_terminals_get_an_ellipsis_of_dots() -> None:
    assert crop("train.py", 6, "...") == "tra..."
    assert crop("train.py", 2, "...") == ".."


@given(NAMES, st.integers(min_value=0, max_value=40), st.sampled_from(["…", "...", "~"]))
def test_aligned_text_fills_its_cells_exactly(text: str, width: int, ellipsis: str) -> None:
    assert cell_width(crop(text, width, ellipsis)) <= width
    assert cell_width(left(text, width, ellipsis)) == width
    assert cell_width(right(text, width, ellipsis)) == width


@given(NAMES)
def test_text_that_fits_is_not_touched(text: str) -> None:
    assert crop(text, cell_width(text)) == text


def test_sides() -> None:
    assert left("ab", 4) == "ab  "
    assert right("ab", 4) == "  ab"
