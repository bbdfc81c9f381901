"""Filters: what they find, and that none of them holds iodash up."""

from __future__ import annotations

import time

import pytest

from iodash.outputs.row_filter import LIMIT_S, NOT_VALID, TOO_SLOW, RowFilter, row_filter
from tests.ui import frames

ROWS = tuple(
    frames.process(number, "python3", command=f"python3 {'a' * 4000} (a+)+\\1b{number}") for number in range(9)
)


@pytest.mark.parametrize(
    ("text", "because"),
    [("[", NOT_VALID), ("a{", ""), ("[[a]", ""), ("", ""), ("(x", NOT_VALID), ("(?:" * 500, NOT_VALID), ("train", "")],
)
def test_a_filter_says_whether_it_is_searched_literally(text: str, because: str) -> None:
    assert RowFilter(text).literal_because == because


def test_what_is_no_regular_expression_is_searched_literally() -> None:
    rows = (frames.process(1, "a[b"), frames.process(2, "ab"))
    assert [row.pid for row in RowFilter("A[B").pick(rows)] == [1]


@pytest.mark.parametrize("pattern", [r"(a+)+\1b", r"((a{1,100}){1,100}){1,100}b"])
def test_an_expression_that_never_ends_is_given_up_and_searched_literally(pattern: str) -> None:
    filtering = RowFilter(pattern)
    began = time.process_time()
    found = filtering.pick(ROWS)
    assert time.process_time() - began < 10 * LIMIT_S
    assert filtering.literal_because == TOO_SLOW
    assert found == [row for row in ROWS if pattern in row.command]
    began = time.process_time()
    assert filtering.pick(ROWS) == found
    assert time.process_time() - began < LIMIT_S


@pytest.mark.parametrize("pattern", [r"(\w+[._-]?)+\.pt$", r"(\w+[ /-]?)+Q!", "((((((((a*)*)*)*)*)*)*)*)*Q"])
def test_expressions_that_people_write_do_not_hold_it_up(pattern: str) -> None:
    began = time.process_time()
    assert RowFilter(pattern).pick(ROWS) == []
    assert time.process_time() - began < 10 * LIMIT_S


def test_the_filter_in_use_remembers_that_it_took_too_long() -> None:
    assert row_filter("(a+)+\\1b") is row_filter("(a+)+\\1b")
