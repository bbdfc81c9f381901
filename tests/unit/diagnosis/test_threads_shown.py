"""While threads are shown, jobs are judged by their whole processes, as while processes are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.diagnosis import Diagnosis
from iodash.diagnosis.processes import Processes, processes_of
from iodash.model.missing import Missing
from tests.ui.frames import MIB, NOW, frame, process
from tests.unit.diagnosis.stories import FIRST_WORKER, MAIN, Story
from tests.unit.diagnosis.test_loader_threads import ON_DISK
from tests.unit.diagnosis.test_rules import BUSY_DISK

if TYPE_CHECKING:
    from iodash.model.frame import Frame, ProcessRow

RATES = (
    "read_bytes_per_s",
    "write_bytes_per_s",
    "logical_read_bytes_per_s",
    "logical_write_bytes_per_s",
    "read_calls_per_s",
    "cpu_percent",
    "major_faults_per_s",
)

WORKERS_READ = Story(
    util=33.0,
    worker={"read_bytes_per_s": 20.0 * MIB, "logical_read_bytes_per_s": 80.0 * MIB, "cpu_percent": 10.0, "state": "D"},
    worker_member={"blocked_percent": 90.0, "waits": {"block": 90.0}},
    devices=(BUSY_DISK,),
)
ONE_IS_STUCK = replace(
    WORKERS_READ, worker_member={"blocked_percent": 0.0}, worker={"logical_read_bytes_per_s": 80.0 * MIB}
)


def threads_of(row: ProcessRow) -> tuple[ProcessRow, ...]:
    """A process as its threads: the main one, which does nothing, and two helpers that share the work."""
    pid, start_ticks, _ = row.key
    nothing: dict[str, Any] = dict.fromkeys(RATES, 0.0)
    half: dict[str, Any] = {name: getattr(row, name) * 0.5 for name in RATES}
    return (
        replace(row, key=row.key._replace(tid=pid), **nothing),
        *(replace(row, key=type(row.key)(pid, start_ticks + n, 100_000 + pid * 10 + n), **half) for n in (1, 2)),
    )


def by_threads(one: Frame, **values: Any) -> Frame:
    rows = tuple(thread for row in one.processes for thread in threads_of(row))
    return replace(one, threads=True, processes=rows, **values)


def seen(story: Story, *, threads_from: int, seconds: int = 14) -> Frame:
    """The last of a story's frames, in which threads take the place of processes at some second."""
    diagnosis = Diagnosis(frozenset({MAIN}))
    for second in range(seconds):
        one = story.frame(second)
        one = by_threads(one, switched=second == threads_from) if second >= threads_from else one
        done = diagnosis.complete(one)
    return done


@pytest.mark.parametrize("story", [WORKERS_READ, ON_DISK])
@pytest.mark.parametrize("threads_from", [-1, 1, 12])
def test_a_job_is_the_same_by_threads_as_by_processes(story: Story, threads_from: int) -> None:
    by_processes, shown = seen(story, threads_from=99), seen(story, threads_from=threads_from)
    total = by_processes.jobs[0].read_bytes_total  # the frame of the switch adds nothing, see the test below
    assert tuple(replace(job, read_bytes_total=total) for job in shown.jobs) == by_processes.jobs
    assert shown.verdicts == by_processes.verdicts
    assert shown.verdict is not None
    assert shown.verdict.cause == "device_saturated"


def test_the_totals_of_a_job_go_on() -> None:
    done = seen(WORKERS_READ, threads_from=7, seconds=14)
    assert done.jobs[0].read_bytes_total == 13 * 4 * 20 * MIB


def test_a_worker_that_lags_does_so_through_the_switch() -> None:
    """How far it is behind is known from the frames before."""
    diagnosis = Diagnosis()
    for second in range(8):
        one = ONE_IS_STUCK.frame(second)
        rows = tuple(
            replace(row, logical_read_bytes_per_s=0.0) if row.pid == FIRST_WORKER else row for row in one.processes
        )
        one = replace(one, processes=rows)
        done = diagnosis.complete(one if second < 6 else by_threads(one, switched=second == 6))
    assert [key.pid for key in done.jobs[0].stragglers] == [FIRST_WORKER]


def test_the_same_members_are_asked_for() -> None:
    diagnosis = Diagnosis()
    diagnosis.complete(WORKERS_READ.frame(0))
    wanted = diagnosis.wanted, diagnosis.wanted_threads
    diagnosis.complete(by_threads(WORKERS_READ.frame(1)))
    assert (diagnosis.wanted, diagnosis.wanted_threads) == wanted


def test_every_thread_of_a_member_bears_its_job_and_part() -> None:
    one = replace(WORKERS_READ, neighbours=(process(7, "bash"),)).frame()
    expected = {row.pid: (row.job, row.role) for row in Diagnosis().complete(one).processes}
    done = Diagnosis().complete(by_threads(one))
    assert done.threads
    assert len(done.processes) == 3 * len(one.processes)
    assert {(row.pid, (row.job, row.role)) for row in done.processes} == set(expected.items())


ROW = process(
    100,
    "train",
    read_bytes_per_s=10.0,
    logical_read_bytes_per_s=40.0,
    read_bytes_total=1000,
    cpu_percent=50.0,
    resident_bytes=5 * MIB,
    threads=3,
    gpus=(0,),
    gpu_memory_bytes=MIB,
    cache_hit_percent=75.0,
)


def threads(*values: dict[str, Any]) -> Frame:
    """A frame of the threads of one process; the last of them is the main one."""
    numbers = [*range(101, 100 + len(values)), 100]
    rows = [
        replace(ROW, key=ROW.key._replace(tid=tid, start_ticks=ROW.key.start_ticks + tid - 100), **each)
        for tid, each in zip(numbers, values, strict=True)
    ]
    return frame(threads=True, processes=tuple(rows))


def test_a_process_is_the_sum_of_its_threads_and_what_they_share_counts_once() -> None:
    helper = {"name": "helper", "start_time": NOW, "read_bytes_per_s": 0.0, "state": "R"}
    (row,) = processes_of(threads(helper, {}))
    assert row == replace(
        ROW, logical_read_bytes_per_s=80.0, read_bytes_total=2000, cpu_percent=100.0, cache_hit_percent=87.5
    )


def test_what_is_unknown_of_all_threads_stays_unknown_and_of_some_adds_nothing() -> None:
    hidden = {"read_bytes_per_s": Missing.NO_PERMISSION, "logical_read_bytes_per_s": Missing.NO_PERMISSION}
    (row,) = processes_of(threads(hidden, {**hidden, "cpu_percent": Missing.NEW}))
    assert (row.read_bytes_per_s, row.logical_read_bytes_per_s) == (Missing.NO_PERMISSION, Missing.NO_PERMISSION)
    assert row.cache_hit_percent is Missing.NO_PERMISSION
    assert row.cpu_percent == 50.0


def test_hits_of_what_a_fuse_mount_delivers_are_not_told() -> None:
    (row,) = processes_of(threads({"cache_hit_percent": Missing.UNSUPPORTED}, {}))
    assert row.cache_hit_percent is Missing.UNSUPPORTED


def test_a_process_of_one_thread_is_that_thread() -> None:
    assert processes_of(threads({})) == (ROW,)


def test_a_process_without_its_main_thread_is_not_listed() -> None:
    one = threads({}, {})
    assert processes_of(replace(one, processes=one.processes[:1])) == ()


def test_only_a_process_whose_threads_did_something_is_made_again() -> None:
    processes, one = Processes(), threads({}, {})
    (before,) = processes.of(one)
    assert processes.of(replace(one, time=NOW + 1))[0] is before
    busy = replace(one.processes[0], cpu_percent=90.0)
    assert processes.of(replace(one, processes=(busy, *one.processes[1:])))[0].cpu_percent == 140.0
    assert processes.of(replace(one, processes=one.processes[1:]))[0].cpu_percent == 50.0


def test_processes_are_taken_as_they_are() -> None:
    one = frame(processes=(ROW,))
    assert processes_of(one) is one.processes
