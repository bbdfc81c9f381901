"""Whether somebody could train here unseen: whose I/O is hidden, and what moves bytes out of sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.activity import follow
from iodash.diagnosis.processes import processes_of
from iodash.formatting.units import byte_rate_in_words
from iodash.model.missing import Missing, or_zero
from iodash.model.remedies import SEE_THE_HOST, see_hidden_processes, see_into_others

if TYPE_CHECKING:
    from iodash.diagnosis.activity import Activity
    from iodash.model.frame import Frame


class OutOfSight:
    """What the devices move beyond the processes in sight, remembered through the pauses of whoever moves it."""

    def __init__(self) -> None:
        self._activity: Activity | None = None

    @property
    def bytes_per_s(self) -> float:
        """What is moved out of sight, 0 while that is nothing worth a word."""
        return 0.0 if self._activity is None else self._activity.mean

    def look(self, frame: Frame) -> None:
        """Takes the next frame."""
        moved = or_zero(frame.unattributed.read_bytes_per_s) + or_zero(frame.unattributed.write_bytes_per_s)
        self._activity = follow(self._activity, moved, frame.interval_s)


def unreadable(frame: Frame) -> tuple[int, int]:
    """Of how many programs the I/O may not be read, and how many there are. Kernel threads train nothing."""
    programs = [row for row in processes_of(frame) if not row.kernel_thread]
    hidden = [row for row in programs if row.read_bytes_per_s is Missing.NO_PERMISSION]
    return len(hidden), len(programs)


def why_unseen(frame: Frame, out_of_sight: float) -> tuple[str, str] | None:
    """Why a job may run that nobody sees, and what shows it; None where whoever moves bytes is in sight.

    `out_of_sight` is what is moved by processes that are not listed, in bytes a second.
    """
    hidden, count = unreadable(frame)
    if hidden > count / 2:
        return f"the I/O of {hidden} of {count} programs may not be read", see_into_others(frame.host)
    if not out_of_sight:
        return None
    moved = f"and others move {byte_rate_in_words(out_of_sight)}"
    if frame.host.hidepid:
        return f"other users' processes are hidden, {moved}", see_hidden_processes(frame.host)
    if frame.host.pid_namespace:
        return f"only this container's processes are in sight, {moved}", SEE_THE_HOST
    return None
