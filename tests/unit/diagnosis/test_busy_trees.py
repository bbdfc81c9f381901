"""Where no GPU and no name tells, the Python programs that move bytes are the jobs, and stay so through pauses."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.diagnosis import Diagnosis
from iodash.diagnosis.activity import PAUSE_S
from iodash.model.members import JobRows, MemberFacts
from iodash.model.missing import Missing
from tests.ui.frames import MIB, NOW, frame, process

if TYPE_CHECKING:
    from iodash.model.frame import Frame, ProcessRow

HIDDEN = Missing.NO_PERMISSION


def program(pid: int, script: str, mib: float = 0.0, *, ppid: int = 1, **values: Any) -> ProcessRow:
    moved = {"read_bytes_per_s": mib * MIB, "gpus": Missing.NO_DRIVER}
    return process(pid, "python3", **{"command": f"python3 {script}", "ppid": ppid, **moved, **values})


def second(number: float, *rows: ProcessRow, **values: Any) -> Frame:
    return frame(time=NOW + number, processes=rows, **values)


def names(done: Frame) -> list[str]:
    return [job.name for job in done.jobs]


def loader(number: int) -> tuple[ProcessRow, ...]:
    """A program whose worker reads all the time."""
    return program(100, "load.py"), program(101, "load.py", 46.0 + number % 3, ppid=100)


def saver(number: int) -> ProcessRow:
    """A program that writes for a moment every few seconds."""
    return program(200, "save.py", write_bytes_per_s=0.0 if number % 4 else 48.0 * MIB)


def test_every_program_that_moves_bytes_is_a_job_of_its_own() -> None:
    others = (process(300, "rsync", read_bytes_per_s=90.0 * MIB), program(301, "idle.py"), program(302, "log.py", 0.5))
    done = Diagnosis().complete(second(0, *loader(0), saver(0), *others))
    assert names(done) == ["load.py:100", "save.py:200"]
    assert [key.pid for key in done.jobs[0].workers] == [101]


def test_programs_that_work_in_bursts_stay_jobs_and_their_verdicts_settle() -> None:
    diagnosis = Diagnosis()
    for number in range(20):
        done = diagnosis.complete(second(number, *loader(number), saver(number)))
        assert names(done) == ["load.py:100", "save.py:200"]
        assert [row.job for row in done.processes] == ["load.py:100", "load.py:100", "save.py:200"]
    assert [verdict.window_s for verdict in done.verdicts] == [10.0, 10.0]


def test_a_job_outlives_a_pause_in_which_nothing_moves_at_all_and_no_more() -> None:
    diagnosis = Diagnosis()
    diagnosis.complete(second(0, program(200, "save.py", 48.0)))
    still = [diagnosis.complete(second(number, program(200, "save.py"))) for number in range(1, round(PAUSE_S) + 1)]
    assert all(names(done) == ["save.py:200"] for done in still)
    assert names(diagnosis.complete(second(PAUSE_S + 1, program(200, "save.py")))) == []


def test_little_that_goes_on_keeps_a_job() -> None:
    diagnosis = Diagnosis()
    diagnosis.complete(second(0, program(200, "save.py", 2.0)))
    for number in range(1, 100):
        done = diagnosis.complete(second(number, program(200, "save.py", 0.5 if number % 20 == 0 else 0.0)))
    assert names(done) == ["save.py:200"]


def test_a_job_whose_device_does_not_answer_stays_one() -> None:
    diagnosis = Diagnosis()
    for number in range(100):
        stuck = program(101, "load.py", 0.0 if number else 46.0, ppid=100, state="D" if number else "S")
        done = diagnosis.complete(second(number, program(100, "load.py"), stuck))
    assert names(done) == ["load.py:100"]


def test_a_job_ends_with_its_program_even_if_the_pid_is_used_again() -> None:
    diagnosis = Diagnosis()
    diagnosis.complete(second(0, program(200, "save.py", 48.0)))
    again = program(200, "save.py")
    assert names(diagnosis.complete(second(1, replace(again, key=again.key._replace(start_ticks=9))))) == []


def test_a_job_stays_while_threads_are_shown() -> None:
    diagnosis = Diagnosis()
    diagnosis.complete(second(0, saver(0)))
    row = saver(1)
    done = diagnosis.complete(second(1, replace(row, key=row.key._replace(tid=row.key.pid)), threads=True))
    assert names(done) == ["save.py:200"]


def test_only_the_busiest_few_are_jobs() -> None:
    rows = [program(100 + number, f"p{number}.py", 2.0 + number) for number in range(30)]
    found = names(Diagnosis().complete(second(0, *rows)))
    assert 2 <= len(found) <= 10
    assert found[-1] == "p29.py:129"
    assert "p0.py:100" not in found


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("iodash", "/venv/bin/python /venv/bin/iodash"),
        ("iodash", ""),
        ("python", "python -m iodash -b"),
        ("python3", "/venv/bin/python3 -X importtime -u -m iodash"),
        ("python3", "python3 /venv/bin/iodash doctor"),
        ("python3", "/venv/bin/python3 -I /venv/lib/iodash/sources/local/gpu/launch.py 7 8"),
    ],
)
def test_iodash_is_no_job_and_no_part_of_one_that_counts(name: str, command: str) -> None:
    own = process(300, name, command=command, read_bytes_per_s=46.0 * MIB)
    assert names(Diagnosis().complete(second(0, own))) == []
    started = replace(own, ppid=100)
    assert names(Diagnosis().complete(second(0, program(100, "watch.py"), started))) == []
    assert names(Diagnosis().complete(second(0, own, program(400, "load.py", 9.0, ppid=300)))) == ["load.py:400"]


def test_a_program_that_is_told_of_iodash_is_a_job() -> None:
    rows = program(100, "load.py --log /tmp/iodash", 9.0), program(200, "/home/ada/iodash/load.py", 9.0)
    assert len(names(Diagnosis().complete(second(0, *rows)))) == 2


@pytest.mark.parametrize("launcher", ["-m torch.distributed.run fit.py", "/venv/bin/torchrun fit.py"])
def test_ranks_under_a_launcher_are_one_job_also_while_one_rank_pauses(launcher: str) -> None:
    diagnosis = Diagnosis()
    for number in range(6):
        moved = [9.0 if number in (0, n) or number % 2 == n else 0.0 for n in (0, 1)]
        ranks = [program(100 + n, "fit.py --deepspeed c.json", mib, ppid=90) for n, mib in enumerate(moved)]
        done = diagnosis.complete(second(number, program(90, launcher), *ranks))
        assert names(done) == ["fit.py:90"]
        assert [key.pid for key in done.jobs[0].ranks] == [100, 101]


def test_ranks_under_a_launcher_of_ones_own_are_ranks_once_their_environment_is_known() -> None:
    diagnosis = Diagnosis()
    ranks = [program(100 + n, "fit.py", 9.0, ppid=90) for n in (0, 1)]
    told = {row.key: MemberFacts({"RANK": str(n), "WORLD_SIZE": "2"}, "/", (), 0, 0, 0) for n, row in enumerate(ranks)}
    for number in range(3):
        known = JobRows(facts=told if number else {})
        done = diagnosis.complete(second(number, program(90, "go.py", 2.0), *ranks, readings=known))
        assert len(done.jobs) == 1
        assert done.jobs[0].root == program(90, "go.py").key
    assert [key.pid for key in done.jobs[0].ranks] == [100, 101]


def test_thousands_of_idle_processes_cost_next_to_nothing() -> None:
    rows = tuple(process(10_000 + number, "daemon", read_bytes_per_s=HIDDEN) for number in range(5000))
    diagnosis = Diagnosis()
    diagnosis.complete(second(0, *rows))
    best = min(_cpu_of(diagnosis, second(1 + number, *rows)) for number in range(5))
    assert best < 0.05


def _cpu_of(diagnosis: Diagnosis, one: Frame) -> float:
    began = time.process_time()
    diagnosis.complete(one)
    return time.process_time() - began
