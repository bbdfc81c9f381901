"""A frame in which threads take the place of processes says nothing of jobs: what was found before it stands."""

from __future__ import annotations

from dataclasses import replace

from iodash.diagnosis import Diagnosis
from iodash.model.missing import Missing
from iodash.sampling.history import History, job_subject
from tests.ui.frames import MIB, NOW, frame, process

TRAINING = frame(
    processes=(process(10, "python3", command="python3 train.py", read_bytes_per_s=300 * MIB, cpu_percent=90.0),)
)
SWITCHED = frame(
    time=NOW + 1,
    threads=True,
    switched=True,
    processes=(process(10, "python3", command="python3 train.py", read_bytes_per_s=Missing.NEW),),
)


def test_the_verdict_stays_and_no_rate_of_a_job_is_made_up() -> None:
    diagnosis, history = Diagnosis(), History()
    before, between, after = (diagnosis.complete(one) for one in (TRAINING, SWITCHED, replace(TRAINING, time=NOW + 2)))
    for one in (before, between, after):
        history.add(one)
    assert before.verdict is not None
    assert (between.verdict, between.verdicts) == (before.verdict, before.verdicts)
    assert [job.name for job in between.jobs] == [job.name for job in before.jobs] == ["train.py:10"]
    points = history.series(job_subject("train.py:10"), "read_bytes_per_s")
    assert [point.value for point in points] == [300 * MIB, Missing.NOT_MEASURED, 300 * MIB]
    assert after.jobs[0].read_bytes_total == 600 * MIB


def test_a_first_frame_of_that_kind_is_no_verdict() -> None:
    assert Diagnosis().complete(SWITCHED).verdict is None
