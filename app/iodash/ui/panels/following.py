"""Which row of a new frame is the one that was selected before, also where threads stand in the place of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.ui.panels.job_rows import JobGroup

if TYPE_CHECKING:
    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.sample import ProcessKey
    from iodash.ui.panels.job_rows import TableRow


def found_again(row: TableRow, frame: Frame) -> ProcessKey | None:
    """What `row` is among the rows of `frame`, listed or not; None when it has ended.

    Where one of both has threads, a process is its main thread, and a thread is its process. A job is its topmost
    process.
    """
    process = row.total if isinstance(row, JobGroup) else row
    return next((other.key for other in frame.processes if _is_same(process, other)), None)


def _is_same(row: ProcessRow, other: ProcessRow) -> bool:
    if row.key == other.key:
        return True
    return row.pid == other.pid and ((not row.tid and other.tid == row.pid) or (row.tid > 0 and not other.tid))


def followed_words(row: TableRow, *, is_listed: bool = True) -> str:
    """What the rule says of the row that is followed."""
    return f"following {_name(row)}" + ("" if is_listed else " (not listed)")


def ended_words(row: TableRow) -> str:
    """What is said once when the row that was followed has ended."""
    name = _name(row)
    return f"{'PID ' if name.isdigit() else ''}{name} has ended; no longer following"


def _name(row: TableRow) -> str:
    if isinstance(row, JobGroup):
        return row.job.label
    return f"thread {row.tid}" if row.tid not in (0, row.pid) else str(row.pid)
