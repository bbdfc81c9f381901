from __future__ import annotations

import operator

import pytest

from iodash.model.missing import Missing, known, or_zero, sum_known

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
]


def test_the_reasons_are_the_words_of_the_contract() -> None:
    assert {reason.value for reason in Missing} == {
        "no_permission",
        "off",
        "new",
        "gone",
        "reset",
        "no_io",
        "unsupported",
        "not_in_container",
        "no_driver",
        "starting",
        "not_measured",
    }
    assert Missing.NO_PERMISSION.words == "no permission"


@pytest.mark.parametrize("reason", list(Missing))
@pytest.mark.parametrize("operation", OPERATORS)
def test_arithmetic_keeps_the_reason(reason: Missing, operation: object) -> None:
    assert callable(operation)
    assert operation(reason, 2) is reason
    assert operation(2.5, reason) is reason
    assert -reason is reason


def test_the_left_of_two_reasons_wins() -> None:
    assert Missing.NEW + Missing.OFF is Missing.NEW
    assert Missing.OFF - Missing.NEW is Missing.OFF


def test_sums_keep_the_reason() -> None:
    values: list[float | Missing] = [1, Missing.NO_PERMISSION, 2]
    assert sum(values) is Missing.NO_PERMISSION


def test_choosing_between_a_number_and_none() -> None:
    assert known(0) == 0
    assert known(Missing.OFF) is None
    assert or_zero(3.5) == 3.5
    assert or_zero(Missing.OFF) == 0


def test_a_sum_is_over_what_is_known_and_missing_only_where_nothing_is() -> None:
    assert sum_known([1.5, Missing.NEW, 2]) == 3.5
    assert sum_known([]) == 0
    assert sum_known([Missing.NO_PERMISSION, Missing.NEW]) is Missing.NO_PERMISSION
