"""What the GPU worker costs: 8 simulated GPUs, one poll a second, GPM and processes on. `python bench/gpu_worker.py`"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from iodash.sources.local.gpu.client import GpuReader
from tests.lab.nvml.build import library_directory
from tests.lab.nvml.scenario import EIGHT, GIB, Scenario

SECONDS = 20
ROUNDS = 3
CPU_GOAL_PERCENT = 1.5
MEMORY_GOAL = 30 << 20


def measure() -> tuple[float, int, float]:
    """Percent of a core, resident bytes, and milliseconds of CPU that a reading takes in the sampler."""
    reader = GpuReader(Path("/proc"), Path("/sys"), enabled=True)
    reader.start()
    reader.wait_first(10)
    visible = frozenset(range(64))
    reader.read(visible)
    time.sleep(1)
    before, _ = reader.own()
    started, spent = time.monotonic(), time.thread_time()
    for _ in range(SECONDS):
        reader.read(visible)
        time.sleep(1)
    reading_ms = (time.thread_time() - spent) / SECONDS * 1000
    reader.read(visible)
    after, resident = reader.own()
    reader.close()
    return 100 * (after - before) / (time.monotonic() - started), resident, reading_ms


def main() -> int:
    """Prints the median of the rounds against the goals. Status 1 when one is missed."""
    with tempfile.TemporaryDirectory() as directory:
        processes = {f"gpu.proc{n}": f"{1000 + n} {8 * GIB} 0 0 {n} 0" for n in range(8)}
        scenario = Scenario(Path(directory) / "scenario", {**EIGHT, **processes})
        os.environ.update(scenario.environment(library_directory()))
        rounds = [measure() for _ in range(ROUNDS)]
    cpu, resident, reading_ms = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"{'GPU worker, 8 GPUs at 1 Hz':<34}{'measured':>12}{'goal':>12}")
    print(f"{'share of one CPU':<34}{cpu:>11.2f}%{CPU_GOAL_PERCENT:>11.2f}%")
    print(f"{'resident memory':<34}{resident / 2**20:>9.1f}MiB{MEMORY_GOAL / 2**20:>9.1f}MiB")
    print(f"{'a reading in the sampler':<34}{reading_ms:>10.2f}ms")
    return 0 if cpu <= CPU_GOAL_PERCENT and resident <= MEMORY_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
