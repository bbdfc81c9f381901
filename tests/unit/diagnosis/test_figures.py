"""A percentage reads the same in the column of measured values and in the sentence beside it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.formatting.units import Units
from iodash.ui.screens.evidence_lines import amount
from tests.unit.diagnosis.test_rules import CONFOUNDERS, CPU_WORKERS, SAVING, STORIES

if TYPE_CHECKING:
    from tests.unit.diagnosis.stories import Story

_FIGURE = re.compile(r"<?\d+ %")
_TOLD = {**{name: story for name, (story, _, _) in STORIES.items()}, **CONFOUNDERS, "it saves": SAVING}


def _odd(values: dict[str, Any]) -> dict[str, Any]:
    """The same with shares that lie beside a half: rounded twice they read as another whole number."""
    changed = dict(values)
    for name, value in values.items():
        if name.endswith("_percent") and isinstance(value, float):
            changed[name] = value - 1.504 if value > 2 else 0.3
    return changed


@pytest.mark.parametrize("name", _TOLD)
def test_the_figures_of_the_evidence_are_those_of_its_sentences(name: str) -> None:
    story: Story = _TOLD[name]
    verdict = replace(
        story,
        util=None if story.util is None else max(0.3, story.util - 1.504),
        main=_odd(story.main),
        main_member=_odd({"main_thread_cpu_percent": 0.0, **story.main_member}),
        worker=_odd(story.worker),
        worker_member=_odd(story.worker_member),
    ).verdict()
    assert verdict.evidence
    for item in verdict.evidence:
        figures = _FIGURE.findall(item.text)
        if item.unit == "%" and figures:
            assert amount(item.value, item.unit, Units.IEC) in figures, item


def test_a_share_just_below_a_half_is_rounded_once() -> None:
    story = replace(CPU_WORKERS, worker={**CPU_WORKERS.worker, "cpu_percent": 95.496})
    first = story.verdict().evidence[0]
    assert (amount(first.value, first.unit, Units.IEC), first.text) == (
        "95 %",
        "the loader workers use 95 % of a CPU each",
    )


def test_a_little_is_not_nothing_in_either() -> None:
    story = replace(CPU_WORKERS, main_member={"main_thread_cpu_percent": 0.3})
    (item,) = (one for one in story.verdict().evidence if one.signal == "main_thread_cpu_percent")
    assert (amount(item.value, item.unit, Units.IEC), item.text) == ("<1 %", "the main thread waits (<1 % CPU)")
