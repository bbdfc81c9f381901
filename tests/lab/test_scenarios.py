"""Each labelled scenario gets its verdict in time, and nothing wrong is ever said with high confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lab.play import SECONDS, STEADY_SECONDS, confusion, judge, play
from tests.lab.scenarios import SCENARIOS

if TYPE_CHECKING:
    from typing import Any

    from tests.lab.scenarios import Scenario


def _check(scenario: Scenario, seconds: int) -> None:
    outcomes = play(scenario, seconds)
    if outcomes[0].skipped:
        pytest.skip(outcomes[0].skipped)
    for outcome in outcomes:
        assert outcome.passed, f"{outcome.line()}\n{outcome.summary}\n{' '.join(outcome.causes)}"
        assert not outcome.flaps, f"{outcome.line()}\n{' '.join(outcome.causes)}"


@pytest.mark.lab
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_lab(scenario: Scenario) -> None:
    _check(scenario, STEADY_SECONDS if scenario.steady else SECONDS)


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.quick], ids=lambda scenario: scenario.name)
def test_a_handful_of_the_lab(scenario: Scenario) -> None:
    _check(scenario, 9)


def _said(*causes: str) -> list[dict[str, Any] | None]:
    return [{"cause": cause, "confidence": "high", "summary": ""} for cause in causes]


def test_an_outcome_counts_from_when_the_verdict_stayed_right() -> None:
    outcome = judge(("gpu_fed",), "fed", _said("unknown", "gpu_fed", "unknown", *["gpu_fed"] * 13))
    assert (outcome.settled_s, outcome.flaps, outcome.confident_wrong) == (4, 0, 2)
    assert not outcome.passed


def test_changes_of_the_cause_after_it_should_stand_are_flaps() -> None:
    outcome = judge(("gpu_fed", "unknown"), "fed", _said(*["gpu_fed"] * 12, "unknown", "gpu_fed"))
    assert (outcome.flaps, outcome.passed) == (2, True)


def test_the_confusion_matrix_tells_what_was_taken_for_what() -> None:
    outcomes = [
        judge(("gpu_fed",), "one", _said("gpu_fed")),
        judge(("gpu_fed",), "two", _said("unknown")),
    ]
    assert confusion(outcomes).splitlines()[1].split() == ["gpu_fed", "gpu_fed", "1,", "unknown", "1"]
