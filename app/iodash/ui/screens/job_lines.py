"""The members of a training job as lines of text: each rank with its loader workers, and the job's sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.processes import label
from iodash.diagnosis.processes import processes_of
from iodash.formatting.units import byte_amount, percent
from iodash.model.missing import Missing
from iodash.ui.panels.lines import Line, fitted, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.formatting.units import Units
    from iodash.model.frame import Frame, JobRow, ProcessRow
    from iodash.model.sample import ProcessKey
    from iodash.ui.view import View

_HEADING = f"{'PID':>9} {'READ/s':>6} {'WRITE/s':>7} {'CPU%':>5} {'WAIT%':>5}  PART"


def job_lines(frame: Frame, view: View, key: ProcessKey, width: int) -> list[Line]:
    """The job that a process belongs to, with every member; no line when it belongs to none.

    WAIT% is the share of time in which the main thread of a member was found in state D. Other threads of ranks that
    have work stand beneath them, under their own numbers.
    """
    job = next((job for job in frame.jobs if any(member.pid == key.pid for member in job.members)), None)
    if job is None:
        return []
    ellipsis = "~" if view.ascii else "…"
    rows = {row.pid: row for row in processes_of(frame)}
    units = view.lettered
    gpus = f"  GPU {' '.join(map(str, job.gpus))}" if job.gpus else ""
    count = len(job.members)
    totals: Line = [
        (f"  read {byte_amount(job.read_bytes_total, units)}", "read"),
        (f"  written {byte_amount(job.write_bytes_total, units)}", "write"),
    ]
    lines: list[Line] = [
        [(f"Job {job.name}", "strong"), (f"{gpus}  {count} process{'es' if count != 1 else ''}", "quiet")],
        [
            ("  now  ", "quiet"),
            (f"read {byte_amount(job.read_bytes_per_s, units)}/s", "read"),
            (f"  write {byte_amount(job.write_bytes_per_s, units)}/s", "write"),
            (f"  CPU {percent(job.cpu_percent)} %", ""),
        ],
        *_beside_or_beneath([("  since first seen, ended workers included", "quiet")], totals, width),
        [(_HEADING, "heading")],
    ]
    for member, depth in family(job, rows):
        lines.append(_member(member, depth, rows.get(member.pid), job, frame, view, mine=member.pid == key.pid))
        if member in job.ranks:
            lines += _threads(member, frame, view)
    return [fitted(line, width, ellipsis) for line in lines]


def _beside_or_beneath(line: Line, more: Line, width: int) -> list[Line]:
    return [[*line, *more]] if width_of(line) + width_of(more) <= width else [line, [("  ", ""), *more]]


def _threads(rank: ProcessKey, frame: Frame, view: View) -> list[Line]:
    found = [thread for key, thread in frame.readings.members.items() if key.tid and key.pid == rank.pid]
    stem = "  " if view.ascii else "│ "
    return [
        [
            (f" {thread.key.tid:>8}", ""),
            (f" {byte_amount(thread.read_bytes_per_s, view.units):>6}", "read"),
            (f" {byte_amount(Missing.NOT_MEASURED):>7}", "write"),
            (f" {percent(thread.main_thread_cpu_percent):>5} {percent(thread.blocked_percent):>5}  ", ""),
            (stem, "quiet"),
            (f"thread {thread.name}", ""),
        ]
        for thread in sorted(found, key=lambda thread: thread.key.tid)
    ]


def family(job: JobRow, rows: dict[int, ProcessRow]) -> list[tuple[ProcessKey, int]]:
    """Every member once with its depth: a rank, its workers beneath it, at last what belongs to no rank."""
    ranks = {key.pid for key in job.ranks}
    beneath: dict[int, list[ProcessKey]] = {}
    for worker in job.workers:
        beneath.setdefault(_rank_of(worker.pid, ranks, rows) or 0, []).append(worker)
    found: list[tuple[ProcessKey, int]] = []
    for rank in job.ranks:
        found.append((rank, 0))
        found += [(worker, 1) for worker in beneath.get(rank.pid, ())]
    return [*found, *((worker, 0) for worker in beneath.get(0, ())), *((other, 0) for other in job.others)]


def _rank_of(pid: int, ranks: set[int], rows: dict[int, ProcessRow]) -> int | None:
    """The nearest ancestor that is a rank."""
    seen: set[int] = set()
    while pid not in seen:
        seen.add(pid)
        row = rows.get(pid)
        if row is None or isinstance(row.ppid, Missing):
            return None
        pid = row.ppid
        if pid in ranks:
            return pid
    return None


def _member(
    key: ProcessKey, depth: int, row: ProcessRow | None, job: JobRow, frame: Frame, view: View, *, mine: bool
) -> Line:
    mark = ("*" if view.ascii else "◆") if mine else " "
    stem = ("  " if view.ascii else "│ ") if depth else ""
    lags: Sequence[tuple[str, str]] = [("  lags behind", "warn")] if key in job.stragglers else []
    if row is None:
        return [(f"{mark}{key.pid:>8}", ""), (f"  {stem}gone", "quiet"), *lags]
    reading = frame.readings.members.get(key)
    wait = percent(Missing.NOT_MEASURED if reading is None else reading.blocked_percent)
    units: Units = view.lettered
    return [
        (f"{mark}{key.pid:>8}", "strong" if mine else ""),
        (f" {byte_amount(row.read_bytes_per_s, units):>6}", "read"),
        (f" {byte_amount(row.write_bytes_per_s, units):>7}", "write"),
        (f" {percent(row.cpu_percent):>5} {wait:>5}  ", ""),
        (stem, "quiet"),
        (row.role or label(row), ""),
        *lags,
    ]
