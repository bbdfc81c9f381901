"""Where nobody could have seen who trains, the verdict does not say that nobody does."""

from __future__ import annotations

from typing import Any

import pytest

from iodash.diagnosis import Diagnosis
from iodash.diagnosis.activity import PAUSE_S
from iodash.diagnosis.checkup import check_host
from iodash.model.frame import Frame, ProcessRow, UnattributedRow, Verdict
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver, Host
from tests.ui.frames import MIB, NOW, frame, gpu, process

HIDDEN = Missing.NO_PERMISSION
CONTAINER = Host("node", "6.18", container="docker", pid_namespace=True)
BARE = Host("node", "6.18")


def private(pid: int, **values: Any) -> ProcessRow:
    return process(pid, "sshd", read_bytes_per_s=HIDDEN, write_bytes_per_s=HIDDEN, **values)


def moved(mib: float) -> UnattributedRow:
    return UnattributedRow(mib * MIB, 0, ("other_container",) if mib else ())


def verdict_on(*frames: Frame) -> Verdict:
    diagnosis = Diagnosis()
    for one in frames:
        verdict = diagnosis.complete(one).verdict
    assert verdict is not None
    return verdict


def test_hidden_io_of_most_processes_is_said_with_the_remedy() -> None:
    rows = (process(7, "bash"), *(private(100 + number) for number in range(68)))
    kernel = [private(1000 + number, kernel_thread=True) for number in range(200)]
    verdict = verdict_on(frame(processes=(*rows, *kernel), host=BARE))
    assert (verdict.cause, verdict.confidence) == ("unknown", "low")
    assert verdict.summary == "cannot tell: the I/O of 68 of 69 programs may not be read"
    assert verdict.advice.startswith("run as root")


def test_doctor_counts_the_same_processes_as_the_verdict() -> None:
    kernel = [private(1000 + number, kernel_thread=True) for number in range(200)]
    one = frame(processes=(process(7), private(8), private(9), *kernel), host=BARE)
    checks = {check.what: check for check in check_host(one)}
    assert checks["I/O of processes"].status == "no permission for 2 of 3 programs"
    assert "2 of 3 programs" in verdict_on(one).summary


def test_threads_are_not_counted_as_processes() -> None:
    rows = [private(100 + number) for number in range(3)]
    threads = [private(100, key=rows[0].key._replace(tid=500 + number)) for number in range(40)]
    verdict = verdict_on(frame(processes=(*rows, *threads), host=BARE, threads=True))
    assert "the I/O of 3 of 3 programs may not be read" in verdict.summary


@pytest.mark.parametrize(
    "rows",
    [
        (process(7), process(8), process(9), private(10)),
        (process(7), *(private(1000 + number, kernel_thread=True) for number in range(200))),
    ],
)
def test_a_few_hidden_processes_or_kernel_threads_hide_no_training(rows: tuple[ProcessRow, ...]) -> None:
    assert verdict_on(frame(processes=rows, host=BARE)).cause == "no_gpu_work"


def test_others_at_work_beside_a_container_are_said_with_the_remedy() -> None:
    verdict = verdict_on(frame(host=CONTAINER, unattributed=moved(92.0)))
    assert (verdict.cause, verdict.confidence) == ("unknown", "low")
    assert verdict.summary == "cannot tell: only this container's processes are in sight, and others move 92.0 MiB/s"
    assert "--pid=host" in verdict.advice


def test_nobody_trains_beside_a_container_at_rest_or_where_the_whole_host_is_in_sight() -> None:
    assert verdict_on(frame(host=CONTAINER, unattributed=moved(0.1))).cause == "no_gpu_work"
    assert verdict_on(frame(host=CONTAINER, unattributed=UnattributedRow(HIDDEN, HIDDEN, ()))).cause == "no_gpu_work"
    assert verdict_on(frame(host=BARE, unattributed=moved(92.0))).cause == "no_gpu_work"


def test_others_that_work_in_bursts_do_not_make_the_verdict_flap() -> None:
    diagnosis = Diagnosis()
    for number in range(20):
        one = frame(time=NOW + number, host=CONTAINER, unattributed=moved(48.0 if number % 4 == 0 else 0.0))
        verdict = diagnosis.complete(one).verdict
        assert verdict is not None
        assert verdict.cause == "unknown"
        assert "move 0" not in verdict.summary


def test_others_that_have_ended_are_forgotten() -> None:
    quiet = [frame(time=NOW + number, host=CONTAINER) for number in range(1, round(PAUSE_S) + 2)]
    assert verdict_on(frame(host=CONTAINER, unattributed=moved(92.0)), *quiet).cause == "no_gpu_work"


def test_processes_that_proc_hides_are_no_container_s() -> None:
    host = Host("node", "6.18", pid_namespace=True, procfs="/host/proc", hidepid="2")
    verdict = verdict_on(frame(host=host, unattributed=moved(92.0)))
    assert verdict.summary == "cannot tell: other users' processes are hidden, and others move 92.0 MiB/s"
    assert verdict.advice == "run as root, or: mount -o remount,hidepid=0 /host/proc"


def test_a_driver_that_shows_nobody_on_its_gpus_is_believed() -> None:
    driver = GpuDriver("ok", "570", "")
    rows = tuple(private(100 + number, gpus=()) for number in range(9))
    one = frame(host=CONTAINER, processes=rows, unattributed=moved(92.0), gpus=(gpu(),), gpu_driver=driver)
    verdict = verdict_on(one)
    assert (verdict.cause, verdict.confidence) == ("no_gpu_work", "high")
