"""Training jobs made by hand: the rows of the processes, and the row of the job, as the diagnosis makes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iodash.model.frame import JobRow
from iodash.model.missing import known
from tests.ui.frames import MIB, process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import ProcessRow

LAUNCHER = 4100
FIRST_RANK = 4120
FIRST_WORKER = 4200


def members(
    *, ranks: int = 2, workers: int = 3, launcher: bool = True, generation: int = 0, label: str = "train.py"
) -> tuple[ProcessRow, ...]:
    """A launcher, `ranks` on a GPU each, and `workers` loader workers a rank, which read more the higher their number.

    The workers of another `generation` are other processes.
    """
    root = LAUNCHER if launcher else FIRST_RANK
    name = f"{label}:{root}"
    rows = []
    if launcher:
        rows.append(process(LAUNCHER, "torchrun", job=name, role="launcher", command="torchrun train.py"))
    for rank in range(ranks):
        pid = FIRST_RANK + rank
        count = f"{workers} workers" if workers else "no loader workers"
        role = f"{label} rank {rank}, {count}" if ranks > 1 else f"{label}, {count}"
        rows.append(
            process(
                pid,
                command="python3 train.py --lr 3e-4",
                ppid=LAUNCHER,
                job=name,
                role=role,
                gpus=(rank,),
                cpu_percent=100.0,
                resident_bytes=1000 * MIB,
                threads=8,
            )
        )
        for number in range(workers):
            read = (1 + rank * workers + number) * MIB
            rows.append(
                process(
                    FIRST_WORKER + 1000 * generation + 100 * rank + number,
                    "pt_data_worker",
                    ppid=pid,
                    job=name,
                    role=f"loader worker {number}",
                    read_bytes_per_s=float(read),
                    logical_read_bytes_per_s=2.0 * read,
                    cache_hit_percent=50.0,
                    io_delay_percent=10.0,
                    threads=1,
                )
            )
    return tuple(rows)


def job_of(rows: Sequence[ProcessRow], **values: Any) -> JobRow:
    """The row of the job that `rows` are the processes of."""
    name = rows[0].job
    assert name is not None
    label, _, root = name.rpartition(":")
    mine = [row for row in rows if row.job == name]
    ranks = tuple(row.key for row in mine if (row.role or "").startswith(label))
    workers = tuple(row.key for row in mine if (row.role or "").startswith("loader"))
    made = JobRow(
        name=name,
        label=label,
        ranks=ranks,
        workers=workers,
        others=tuple(row.key for row in mine if row.key not in ranks + workers),
        gpus=tuple(range(len(ranks))),
        read_bytes_per_s=sum(known(row.read_bytes_per_s) or 0.0 for row in mine),
        write_bytes_per_s=0.0,
        logical_read_bytes_per_s=0.0,
        cpu_percent=0.0,
        worker_cpu_percent=0.0,
        worker_blocked_percent=0.0,
        read_bytes_total=0,
        write_bytes_total=0,
        root=next(row.key for row in mine if row.pid == int(root)),
    )
    return replace(made, **values)
