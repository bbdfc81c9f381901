"""The simulated trainer starves, stalls and recovers for real, and the simulated GPU shows it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing, known
from tests.lab.nvml.busy import BusyFile, create
from tests.lab.nvml.stage import needs_compiler, until
from tests.lab.trainer import Run, arguments, make_dataset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iodash.model.sample import GpuCounters
    from tests.lab.nvml.stage import Stage


@contextmanager
def training(run: Run) -> Iterator[subprocess.Popen[str]]:
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.lab.trainer", *arguments(run)], cwd=root, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def names(pid: int) -> list[str]:
    """The names of a process's threads and children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    threads = [Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip() for tid in os.listdir(f"/proc/{pid}/task")]
    return threads + [Path(f"/proc/{child}/comm").read_text().strip() for child in children]


def test_processes_are_named_as_pytorch_names_them(tmp_path: Path) -> None:
    with training(Run(workers=2, step_ms=10, read="none", busy=create(tmp_path / "busy"))) as process:
        deadline = time.monotonic() + 20
        wanted = ["pt_data_pin", "pt_data_worker", "pt_data_worker", "pt_main_thread"]
        while not Counter(wanted) <= Counter(found := names(process.pid)):
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert int(process.stdout.read()) > 0


def test_a_run_reads_its_data_and_writes_its_checkpoints(tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path / "data", files=2, size=2 << 20)
    checkpoint = tmp_path / "model.pt"
    run = Run(
        dataset=dataset,
        workers=1,
        item_bytes=1 << 20,
        batch=2,
        step_ms=1,
        checkpoint_every=2,
        checkpoint_bytes=2 << 20,
        checkpoint_path=checkpoint,
        steps=4,
    )
    with training(run) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == 4
    assert checkpoint.stat().st_size == 2 << 20
    for read in ("random", "mmap"):
        with training(replace(run, read=read, workers=0, steps=2)) as process:
            assert process.stdout is not None
            assert int(process.stdout.readline()) == 2


@needs_compiler
def test_a_starved_loader_makes_the_gpu_wait(stage: Stage, tmp_path: Path) -> None:
    busy = create(tmp_path / "busy")
    stage.play({"count": 2, "busy": str(busy)})
    reader = stage.reader(floor_s=0.1)
    fed = Run(workers=1, read="none", batch=1, step_ms=40, busy=busy, gpu=0, gpu_bytes=5 << 30)
    starved = replace(fed, wait_ms=400, gpu=1)
    with training(fed) as one, training(starved) as other:
        pids = frozenset({one.pid, other.pid})

        def both_seen(_: object, gpus: tuple[GpuCounters, ...]) -> bool:
            return all(not isinstance(gpu.processes, Missing) and len(gpu.processes) == 1 for gpu in gpus)

        _, (first, second) = until(reader, both_seen, pids)
        assert [gpu.processes[0].pid for gpu in (first, second)] == [one.pid, other.pid]  # type: ignore[index]
        assert first.memory_used_bytes == 5 << 30
        seen: tuple[list[float], list[float]] = ([], [])
        energy = [gpu.energy_joules_total for gpu in (first, second)]
        deadline = time.monotonic() + 30
        while min(map(len, seen)) < 15 and time.monotonic() < deadline:
            _, gpus = reader.read(pids)
            for samples, gpu in zip(seen, gpus, strict=True):
                samples.extend(percent for _, percent in gpu.util_samples)
            time.sleep(0.05)
        means = [sum(samples[3:]) / len(samples[3:]) for samples in seen]
        assert means[0] > means[1] + 20
        assert means[1] < 40
        used = [known(gpu.energy_joules_total - before) for gpu, before in zip(gpus, energy, strict=True)]
        assert used[0] is not None
        assert used[1] is not None
        assert used[0] > used[1]
        assert not isinstance(gpus[0].pcie_receive_bytes_total, Missing)
    until(reader, lambda _, gpus: [gpu.processes for gpu in gpus] == [(), ()])


def test_the_place_of_a_dead_process_is_taken_again(tmp_path: Path) -> None:
    path = create(tmp_path / "busy")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    place = BusyFile(path, 0, 1)
    first = place._at
    place.close()
    child.kill()
    child.wait()
    again = BusyFile(path, 0, 1)
    assert again._at == first
    with again.busy():
        again.copy(10)
    again.close()


def test_a_run_is_bounded(tmp_path: Path) -> None:
    with training(Run(workers=1, read="none", step_ms=5, seconds=0.3)) as process:
        assert process.wait(30) == 0


@pytest.mark.parametrize("run", [Run(), Run(workers=0, direct=True, read="random", dataset=Path("/data"), steps=3)])
def test_a_command_line_makes_the_same_run(run: Run) -> None:
    line = arguments(run)
    assert ("--direct" in line) == run.direct
    assert line[line.index("--workers") + 1] == str(run.workers)
