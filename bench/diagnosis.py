"""What judging a frame costs: 1000 processes, one job of 64 loader workers. `python -m bench diagnosis`"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.common import Result
from iodash.diagnosis import Diagnosis
from iodash.model.members import JobRows, MemberRow
from iodash.model.sample import GpuDriver
from tests.ui.frames import NOW, device, frame, gpu, gpu_process, process, system

if TYPE_CHECKING:
    from bench.common import Effort
    from iodash.model.frame import Frame

PROCESSES = 1000
WORKERS = 64
GOAL_MS = 2.0
MIB = 1 << 20

_MAIN, _FIRST = 5000, 5001
_FRAMES = 150


def frames(count: int) -> list[Frame]:
    """Successive frames: the job's rows are new each second, those of idle processes stay."""
    idle = tuple(process(100 + n, f"daemon-{n}", command=f"/usr/sbin/daemon-{n} --number {n}") for n in range(935))
    made = []
    for second in range(count):
        main = process(_MAIN, "pt_main_thread", command="python train.py --workers 64", gpus=(0,), cpu_percent=12.0)
        workers = [
            process(
                _FIRST + n,
                "pt_data_worker",
                command="python train.py --workers 64",
                ppid=_MAIN,
                cpu_percent=5.0 + n % 7,
                read_bytes_per_s=(3.0 + n % 3) * MIB,
                logical_read_bytes_per_s=(3.0 + n % 3) * MIB,
            )
            for n in range(WORKERS)
        ]
        rows = (*idle, main, *workers)
        members = {
            row.key: MemberRow(row.key, 5.0, 1.0, 10, 5.0, 70.0, {"block": 70.0, "queue": 20.0}, True)
            for row in rows[len(idle) :]
        }
        made.append(
            frame(
                time=NOW + second,
                processes=rows,
                system=system(),
                devices=tuple(
                    device(
                        f"nvme{n}n1",
                        minor=n,
                        total=True,
                        reads_per_s=2000.0,
                        operations_per_s=2000.0,
                        read_bytes_per_s=200.0 * MIB,
                        read_await_ms=4.0 + second % 3,
                        read_size_bytes=100_000.0,
                        util_percent=98.0,
                        queue_length=20.0,
                        in_flight=20,
                    )
                    for n in range(8)
                ),
                gpus=tuple(
                    gpu(n, util_percent=40.0, processes=(gpu_process(_MAIN),) if n == 0 else ()) for n in range(8)
                ),
                gpu_driver=GpuDriver("ok", "570", ""),
                readings=JobRows(members=members),
            )
        )
    assert len(made[0].processes) == PROCESSES
    return made


def run(effort: Effort) -> list[Result]:
    """The median CPU time of judging one frame, with a full past behind it."""
    del effort
    told = frames(_FRAMES)
    diagnosis = Diagnosis()
    spent = []
    for one in told:
        fresh = replace(one)
        before = time.thread_time_ns()
        finished = diagnosis.complete(fresh)
        spent.append((time.thread_time_ns() - before) / 1e6)
    assert finished.verdict is not None
    assert finished.verdict.cause == "device_saturated", finished.verdict
    settled = sorted(spent[_FRAMES // 2 :])
    return [
        Result("judging 1000 processes, 64 workers, median", statistics.median(settled), GOAL_MS, "ms"),
        Result("judging 1000 processes, 64 workers, 95 %", settled[int(0.95 * len(settled))], None, "ms"),
    ]
