"""Without a job the verdict says so only where iodash could look."""

from __future__ import annotations

from typing import Any

import pytest

from iodash.diagnosis.verdicts import no_job
from tests.ui.frames import frame, process


def test_nobody_trains() -> None:
    assert no_job(frame()).cause == "no_gpu_work"


def test_who_was_asked_for_and_is_not_there_is_named() -> None:
    assert no_job(frame(), frozenset({77, 4761})).summary == "no process has PID 77, 4761, or it has ended"


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"processes": ()}, "no process is in sight"), ({"short_of_files": True}, "too few files may be open")],
)
def test_who_could_not_look_cannot_tell(values: dict[str, Any], reason: str) -> None:
    verdict = no_job(frame(**values))
    assert (verdict.cause, verdict.confidence, verdict.summary) == ("unknown", "low", f"cannot tell: {reason}")


def test_the_kernel_s_own_threads_are_told_from_what_is_not_there() -> None:
    kernel = (process(2, "kthreadd", kernel_thread=True), process(9, "kworker/0:1", kernel_thread=True))
    shown = frame(processes=kernel)
    assert no_job(shown, frozenset({2, 9})).summary == "a kernel thread trains nothing (PID 2, 9)"
    both = no_job(shown, frozenset({2, 77})).summary
    assert both == "no process has PID 77, or it has ended; a kernel thread trains nothing (PID 2)"
