"""What the devices did beyond what the listed processes account for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.model.frame import UnattributedRow
from iodash.model.missing import Missing, or_zero, sum_known
from iodash.sampling.counters import delta, per_second

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from iodash.model.frame import DeviceRow, ProcessRow, UnattributedReason
    from iodash.model.missing import Count, Number
    from iodash.model.sample import Sample

_ACCOUNTED_MOUNTS = ("nfs", "cifs")
"""Mounts whose bytes the kernel counts for the process that reads and writes, though no disk of this host sees them."""

_ORDER: tuple[UnattributedReason, ...] = (
    "exited",
    "no_permission",
    "kernel",
    "other_container",
    "writeback",
    "network",
)


class Unattributed:
    """Weighs the devices' bytes against the processes' bytes, frame after frame.

    Bytes read count for both at once. Bytes written count for a process when it dirties pages and for the device when
    they are flushed, so that what was dirtied and not yet flushed is carried as a balance. It starts with what is dirty
    at the beginning, or after a frame in which nobody was measured, and never exceeds what is dirty or under writeback
    now: the rest was flushed, or thrown away.
    """

    def __init__(self) -> None:
        self._balance: float | None = None

    def row(
        self,
        old: Sample,
        new: Sample,
        seconds: float,
        devices: Sequence[DeviceRow],
        processes: Sequence[ProcessRow],
        moving: Iterable[ProcessRow],
    ) -> UnattributedRow:
        """The row of one frame. `reasons` are empty when nothing is left over; `moving` are the rows of any I/O."""
        disks = [row for row in devices if row.total]
        mounts = [row for row in devices if row.kind in _ACCOUNTED_MOUNTS]
        read = sum_known((row.read_bytes_per_s for row in disks), Missing.NOT_MEASURED) * seconds
        written = sum_known((row.write_bytes_per_s for row in disks), Missing.NOT_MEASURED) * seconds
        from_mounts = seconds * sum(or_zero(row.read_bytes_per_s) for row in mounts)
        to_mounts = seconds * sum(or_zero(row.write_bytes_per_s) for row in mounts)
        active = [row for row in moving if row.read_bytes_per_s or row.write_bytes_per_s]
        fetched = seconds * sum(or_zero(row.read_bytes_per_s) for row in active)
        dirtied = seconds * sum(
            max(0.0, or_zero(row.write_bytes_per_s) - or_zero(row.cancelled_write_bytes_per_s)) for row in active
        )
        read_left = _beyond(read, max(0.0, fetched - from_mounts))
        written_left, from_balance = self._flush(old, new, written, max(0.0, dirtied - to_mounts))
        reasons: set[UnattributedReason] = {"writeback"} if from_balance else set()
        if or_zero(read_left) > 0 or or_zero(written_left) > 0:
            found = _reasons(old, new, processes)
            if from_mounts or to_mounts:
                found.add("network")
            reasons |= found or {"kernel"}
        return UnattributedRow(
            read_bytes_per_s=per_second(read_left, seconds),
            write_bytes_per_s=per_second(written_left, seconds),
            reasons=tuple(reason for reason in _ORDER if reason in reasons),
        )

    def unmeasured(self, new: Sample) -> UnattributedRow:
        """The row of a frame in which nothing is known of the processes: whose the devices' bytes are can't be told."""
        dirty = _dirty(new)
        if not isinstance(dirty, Missing):
            self._balance = dirty
        return UnattributedRow(Missing.NOT_MEASURED, Missing.NOT_MEASURED, ())

    def _flush(self, old: Sample, new: Sample, written: Number, dirtied: float) -> tuple[Number, bool]:
        """The bytes written that nobody dirtied, and whether some were dirtied before this frame."""
        if self._balance is None:
            self._balance = or_zero(_dirty(old))
        if isinstance(written, Missing):
            return written, False
        beyond = written - dirtied
        left = max(0.0, beyond - self._balance)
        from_balance = beyond > 0 and self._balance > 0
        self._balance = max(0.0, self._balance - beyond)
        now = _dirty(new)
        if not isinstance(now, Missing):
            self._balance = min(self._balance, now)
        return left, from_balance


def _beyond(devices: Number, processes: float) -> Number:
    return devices if isinstance(devices, Missing) else max(0.0, devices - processes)


def _dirty(sample: Sample) -> Count:
    """Bytes that are dirty or under writeback."""
    return sample.system.memory_dirty_bytes + sample.system.memory_writeback_bytes


def _reasons(old: Sample, new: Sample, processes: Sequence[ProcessRow]) -> set[UnattributedReason]:
    """Who else may have done it."""
    found: set[UnattributedReason] = set()
    if new.host.hidepid or any(row.read_bytes_per_s is Missing.NO_PERMISSION for row in processes):
        found.add("no_permission")
    if new.host.pid_namespace:
        found.add("other_container")
    gone = old.processes.keys() - new.processes.keys()
    born = len(new.processes) - len(old.processes) + len(gone)
    created = delta(old.system.processes_created, new.system.processes_created)
    if gone or (not isinstance(created, Missing) and created > born):
        found.add("exited")
    return found
