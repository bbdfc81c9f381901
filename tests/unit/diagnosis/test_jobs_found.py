"""Processes become jobs: by GPUs, trees, launchers, names and what the user points at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from iodash.diagnosis import Diagnosis
from iodash.diagnosis.jobs import find_jobs, role_of, script_label
from iodash.model.members import MemberFacts
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver
from tests.ui.frames import MIB, frame, gpu, gpu_process, process

if TYPE_CHECKING:
    from iodash.diagnosis.jobs import Job
    from iodash.model.frame import Frame, ProcessRow

OK = GpuDriver("ok", "570", "")
NO_DRIVER = GpuDriver("no_library", None, "no NVIDIA library")
TRAIN = "python /home/ada/train.py --epochs 3"


def trainer(pid: int, *gpus: int, **values: Any) -> ProcessRow:
    return process(pid, "pt_main_thread", **{"command": TRAIN, "gpus": gpus, **values})


def loader(pid: int, parent: int, **values: Any) -> ProcessRow:
    return process(pid, "pt_data_worker", **{"command": TRAIN, "ppid": parent, **values})


def machine(*rows: ProcessRow, gpus: int = 2, **values: Any) -> Frame:
    return frame(**{"processes": rows, "gpus": tuple(gpu(n) for n in range(gpus)), "gpu_driver": OK, **values})


def jobs(*rows: ProcessRow, facts: Any = None, pinned: frozenset[int] = frozenset(), **values: Any) -> tuple[Job, ...]:
    return find_jobs(machine(*rows, **values), facts or {}, pinned)


def facts_of(rank: int) -> MemberFacts:
    return MemberFacts({"RANK": str(rank)}, "/", (), 0, 0, 0)


def pids(rows: tuple[ProcessRow, ...]) -> list[int]:
    return [row.key.pid for row in rows]


def test_a_process_on_a_gpu_and_its_forked_workers_are_a_job() -> None:
    (job,) = jobs(
        process(1, "init"), process(50, "bash", ppid=1), trainer(100, 0, ppid=50), loader(101, 100), loader(102, 100)
    )
    assert (job.name, job.gpus, pids(job.workers)) == ("train.py:100", (0,), [101, 102])
    assert role_of(job.ranks[0], job.label) == "train.py, 2 workers"


def test_workers_of_older_frameworks_are_known_by_their_command_line() -> None:
    (job,) = jobs(
        process(100, "python3", command=TRAIN, gpus=(0,)),
        process(101, "python3", command=TRAIN, ppid=100),
        process(102, "python3", command="python -c from multiprocessing.spawn import spawn_main", ppid=100),
        process(103, "python3", command="python -c from multiprocessing.resource_tracker import main", ppid=100),
        process(104, "nvidia-smi", command="nvidia-smi dmon", ppid=100),
    )
    assert pids(job.workers) == [101, 102]
    assert pids(job.others) == [103, 104]


def test_ranks_under_torchrun_are_one_job_in_the_order_of_their_ranks() -> None:
    launcher = process(90, "python3", command="/usr/bin/python /usr/bin/torchrun --nproc-per-node 2 train.py")
    ranks = trainer(100, 1, ppid=90), trainer(101, 0, ppid=90)
    facts = {ranks[0].key: facts_of(0), ranks[1].key: facts_of(1)}
    (job,) = jobs(launcher, *ranks, loader(200, 100), loader(201, 101), facts=facts)
    assert (job.root, job.label, job.gpus) == (90, "train.py", (0, 1))
    assert [(rank.row.key.pid, rank.number, pids(rank.workers)) for rank in job.ranks] == [
        (100, 0, [200]),
        (101, 1, [201]),
    ]
    assert pids(job.others) == [90]
    assert len(job.rows) == 5


def test_ranks_without_an_environment_are_numbered_by_their_gpu() -> None:
    launcher = process(90, "deepspeed", command="deepspeed --num_gpus 2 train.py")
    (job,) = jobs(launcher, trainer(101, 0, ppid=90), trainer(100, 1, ppid=90))
    assert [(rank.row.key.pid, rank.number) for rank in job.ranks] == [(101, 0), (100, 1)]


def test_spawned_ranks_belong_to_the_process_that_spawned_them() -> None:
    spawn = "python -c from multiprocessing.spawn import spawn_main; spawn_main()"
    (job,) = jobs(
        process(100, "python3", command=TRAIN),
        process(101, "python3", command=spawn, ppid=100, gpus=(0,)),
        process(102, "python3", command=spawn, ppid=100, gpus=(1,)),
        loader(201, 101),
    )
    assert job.root == 100
    assert [pids(rank.workers) for rank in job.ranks] == [[201], []]


def test_ranks_under_a_launcher_of_ones_own_are_one_job() -> None:
    rows = [process(90, "python3", command="python launch.py 2"), trainer(100, 0, ppid=90), trainer(101, 1, ppid=90)]
    told = {
        row.key: MemberFacts({"RANK": str(n), "WORLD_SIZE": "2"}, "/", (), 0, 0, 0) for n, row in enumerate(rows[1:])
    }
    (job,) = jobs(*rows, facts=told)
    assert (job.root, job.gpus) == (90, (0, 1))
    assert [role_of(rank, "fit.py") for rank in job.ranks] == [
        "fit.py rank 0, no loader workers",
        "fit.py rank 1, no loader workers",
    ]


def test_runs_that_a_sweep_started_side_by_side_stay_jobs_of_their_own() -> None:
    rows = [process(90, "python3", command="python sweep.py"), trainer(100, 0, ppid=90), trainer(101, 1, ppid=90)]
    assert len(jobs(*rows, facts={row.key: MemberFacts({}, "/", (), 0, 0, 0) for row in rows[1:]})) == 2


def test_the_server_that_forks_workers_is_none_itself() -> None:
    forked = "python -c from multiprocessing.forkserver import main; main(8, 9, ['__main__'])"
    (job,) = jobs(
        trainer(100, 0),
        process(101, "python", command=forked, ppid=100),
        process(102, "python", command=forked, ppid=101),
        process(103, "python", command=forked, ppid=101),
    )
    assert (pids(job.workers), pids(job.others)) == ([102, 103], [101])


def test_workers_of_a_loader_that_is_not_asked_do_not_dilute_those_that_work() -> None:
    diagnosis = Diagnosis()
    for second in range(24):
        busy = [loader(101 + n, 100, cpu_percent=96.0) for n in range(2)]
        idle = [loader(201 + n, 100, cpu_percent=0.0) for n in range(6)]
        done = diagnosis.complete(machine(trainer(100, 0), *busy, *idle, gpus=1, time=1000.0 + second, gpu_driver=OK))
        scene_gpu = done.verdict
    assert scene_gpu is not None
    assert scene_gpu.cause == "cpu_preprocessing"
    assert "2 loader workers" in scene_gpu.summary


def test_a_worker_that_inherited_a_gpu_is_no_rank() -> None:
    (job,) = jobs(trainer(100, 0), loader(101, 100, gpus=(0,)))
    assert [rank.row.key.pid for rank in job.ranks] == [100]
    assert pids(job.workers) == [101]


def test_two_runs_are_two_jobs() -> None:
    first, second = jobs(trainer(100, 0), loader(101, 100), trainer(300, 1), loader(301, 300))
    assert (first.root, pids(first.workers)) == (100, [101])
    assert (second.root, pids(second.workers)) == (300, [301])


def test_nobody_on_a_readable_gpu_trains() -> None:
    assert jobs(trainer(100), loader(101, 100)) == ()


def test_without_a_driver_the_framework_s_names_tell() -> None:
    (job,) = jobs(trainer(100), loader(101, 100), gpus=0, gpu_driver=NO_DRIVER)
    assert (job.root, job.gpus, pids(job.workers)) == (100, (), [101])
    (other,) = jobs(process(100, "python3", command=TRAIN), loader(101, 100), gpus=0, gpu_driver=NO_DRIVER)
    assert (other.root, pids(other.workers)) == (100, [101])


def test_only_a_named_process_s_tree_is_judged() -> None:
    rows = process(90, "bash", command="bash run.sh"), process(100, "python3", command=TRAIN, ppid=90), trainer(300, 1)
    (job,) = jobs(*rows, pinned=frozenset({90}))
    assert job.ranks[0].row.key.pid == 100
    assert jobs(*rows, pinned=frozenset({77})) == ()


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("python3 -u /work/train.py --lr 1", "train.py"),
        ("python -m lightning.run fit", "lightning.run"),
        ("/opt/bin/trainer --x", "trainer"),
        ("/opt/bin/trainer -m threads", "trainer"),
        ("python -c print(1) x.py", "python"),
    ],
)
def test_a_job_is_called_by_its_script(command: str, label: str) -> None:
    assert script_label(process(7, "python3", command=command)) == label


def test_a_circle_of_parents_ends() -> None:
    (job,) = jobs(trainer(100, 0, ppid=101), loader(101, 100))
    assert len(job.rows) == len(set(pids(job.rows)))


def test_rows_say_which_part_they_have_and_a_job_counts_once() -> None:
    main = trainer(100, 0, read_bytes_per_s=1.0 * MIB)
    workers = [loader(101 + n, 100, read_bytes_per_s=2.0 * MIB) for n in range(3)]
    done = Diagnosis().complete(
        machine(process(90, "python3", command="torchrun train.py"), main, *workers, process(5, "sshd"))
    )
    roles = {row.key.pid: row.role for row in done.processes}
    assert roles[102] == "loader worker 1"
    assert roles[5] is None
    assert [row.read_bytes_per_s for row in done.jobs] == [7.0 * MIB]


def total_after(diagnosis: Diagnosis, *rows: ProcessRow) -> Any:
    return diagnosis.complete(machine(*rows)).jobs[0].read_bytes_total


def test_totals_survive_workers_that_come_and_go() -> None:
    diagnosis = Diagnosis()
    assert total_after(diagnosis, trainer(100, 0), loader(101, 100, read_bytes_per_s=5.0 * MIB)) == 5 * MIB
    assert total_after(diagnosis, trainer(100, 0)) == 5 * MIB
    assert total_after(diagnosis, trainer(100, 0), loader(102, 100, read_bytes_per_s=2.0 * MIB)) == 7 * MIB


def test_an_account_without_permission_is_not_zero() -> None:
    hidden = Missing.NO_PERMISSION
    assert total_after(Diagnosis(), trainer(100, 0, read_bytes_per_s=hidden)) is hidden


def test_a_worker_that_is_stuck_while_others_work_is_a_straggler() -> None:
    diagnosis = Diagnosis()
    workers = [loader(101 + n, 100, logical_read_bytes_per_s=8.0 * MIB, state="S") for n in range(3)]
    stuck = loader(110, 100, state="D")
    for _ in range(8):
        done = diagnosis.complete(machine(trainer(100, 0), *workers, stuck))
    assert [key.pid for key in done.jobs[0].stragglers] == [110]


def _four_ranks(second: int, late_util: float, usual_util: float = 100.0) -> Frame:
    ranks = [trainer(100 + n, n, ppid=90, cpu_percent=1.0) for n in range(4)]
    loaders = [loader(200 + n, 100 + n, cpu_percent=95.0 if n == 2 else 1.0) for n in range(4)]
    return frame(
        processes=(process(90, "torchrun", command="torchrun train.py"), *ranks, *loaders),
        gpus=tuple(gpu(n, util_percent=late_util if n == 2 else usual_util) for n in range(4)),
        gpu_driver=OK,
        time=1000.0 + second,
    )


def test_a_rank_that_the_others_wait_for_is_judged_alone_and_named() -> None:
    diagnosis = Diagnosis()
    for second in range(12):
        verdict = diagnosis.complete(_four_ranks(second, 30.0)).verdict
    assert verdict is not None
    assert verdict.cause == "cpu_preprocessing"
    assert verdict.summary.startswith("the others wait for rank 2 (PID 102): the loader worker is CPU-bound (95 %)")
    assert "its GPU idles 70 % of the time" in verdict.summary
    assert verdict.processes[0].pid == 102
    assert verdict.job == "train.py:90"


@pytest.mark.parametrize(("late", "usual"), [(85.0, 100.0), (20.0, 40.0)])
def test_ranks_that_differ_somewhat_are_judged_together(late: float, usual: float) -> None:
    diagnosis = Diagnosis()
    for second in range(12):
        verdict = diagnosis.complete(_four_ranks(second, late, usual)).verdict
    assert verdict is not None
    assert "others wait" not in verdict.summary


def test_a_rank_that_the_others_wait_for_is_a_straggler() -> None:
    gpus = tuple(gpu(n, util_percent=20.0 if n == 1 else 100.0, processes=(gpu_process(100 + n),)) for n in range(4))
    launcher = process(90, "python3", command="torchrun train.py")
    ranks = [trainer(100 + n, n, ppid=90) for n in range(4)]
    done = Diagnosis().complete(frame(processes=(launcher, *ranks), gpus=gpus, gpu_driver=OK))
    assert [key.pid for key in done.jobs[0].stragglers] == [101]


def test_a_kernel_thread_is_no_job_even_when_the_user_points_at_it() -> None:
    kernel = process(2, "kthreadd", command="", kernel_thread=True)
    worker = process(9, "kworker/0:1", command="", ppid=2, kernel_thread=True)
    assert jobs(kernel, worker, pinned=frozenset({2, 9})) == ()
    (job,) = jobs(kernel, worker, process(1, "init"), pinned=frozenset({1, 2}))
    assert job.root == 1
    judged = Diagnosis(frozenset({2})).complete(machine(kernel, worker))
    assert [(row.role, row.job) for row in judged.processes] == [(None, None), (None, None)]
