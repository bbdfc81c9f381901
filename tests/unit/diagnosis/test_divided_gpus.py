"""GPUs in MIG mode: several rows of one index, of which a job is on one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from iodash.diagnosis.checkup import check_host
from iodash.diagnosis.jobs import find_jobs
from iodash.diagnosis.members import rank_utils
from iodash.diagnosis.signals import measure
from iodash.diagnosis.verdicts import no_job
from tests.ui.frames import divided_gpu, frame, gpu, gpu_process, process
from tests.unit.diagnosis.stories import OK_DRIVER

if TYPE_CHECKING:
    from iodash.model.frame import Frame


def two_jobs() -> Frame:
    """A job on each of two instances of GPU 0, and a third on all of GPU 1."""
    rows = [process(pid, command=f"python {name}.py", gpus=on) for pid, name, on in JOBS]
    gpus = (*divided_gpu(71, 72), gpu(1, util_percent=97.0, processes=(gpu_process(73),)))
    return frame(processes=tuple(rows), gpus=gpus, gpu_driver=OK_DRIVER)


JOBS = ((71, "left", (0,)), (72, "right", (0,)), (73, "whole", (1,)))


def test_a_job_is_judged_by_its_own_instance_and_the_gpu_around_it() -> None:
    told = two_jobs()
    left, right, whole = (measure(told, job, frozenset(), None) for job in find_jobs(told, {}))
    assert [left.sm_active, right.sm_active, whole.sm_active] == [90, 45, 80]
    assert left.temperature == right.temperature == 62
    assert [left.util, right.util, whole.util] == [None, None, 97]


def test_the_ranks_of_a_job_are_compared_by_their_own_instances() -> None:
    told = two_jobs()
    around, left, right, whole = told.gpus
    told = replace(told, gpus=(around, replace(left, util_percent=90.0), replace(right, util_percent=30.0), whole))
    utils = {key.pid: util for job in find_jobs(told, {}) for key, util in rank_utils(told, job).items()}
    assert utils == {71: 90, 72: 30, 73: 97}


@pytest.mark.parametrize(
    ("others", "words"), [((), "no process uses the GPU"), ((gpu(1),), "no process uses any of the 2 GPUs")]
)
def test_instances_are_not_counted_as_gpus(others: tuple[object, ...], words: str) -> None:
    unused = tuple(replace(row, processes=()) for row in divided_gpu(71, 72))
    assert no_job(frame(gpus=(*unused, *others), gpu_driver=OK_DRIVER)).summary == words


def test_the_doctor_counts_gpus_and_names_the_instances() -> None:
    checks = {check.what: check for check in check_host(two_jobs())}
    assert checks["GPUs"].status == "ok, 2 seen, 2 MIG instances, driver 570.86"
    assert checks["processes on GPUs"].ok
