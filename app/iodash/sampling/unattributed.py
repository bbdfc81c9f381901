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

_NETWORK = ("nfs", "cifs")
_MEMORY = ("zram", "ram")

_PAGES_A_CPU = 125
_MEMORY_BYTES_PER_S = 4 << 30

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

    Only disks count, each byte once, so that what the processes read and wrote elsewhere is taken off first
    (`_elsewhere`).

    Bytes read count for both at once. Bytes written count for a process when it dirties pages and for the device when
    they are flushed, so that what was dirtied and not yet flushed is carried as a balance. It starts with what is dirty
    at the beginning, or after a frame in which nobody was measured, and never exceeds what is dirty or under writeback
    now: the rest was flushed, or thrown away. A frame's writes come out of the balance only as far as the machine's
    dirty memory says so (`_flush`).
    """

    def __init__(self) -> None:
        self._balance: float | None = None
        self._dirtied = self._doubt = 0.0

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
        elsewhere = [row for row in devices if _elsewhere(row, processes)]
        read = sum_known((row.read_bytes_per_s for row in disks), Missing.NOT_MEASURED) * seconds
        written = sum_known((row.write_bytes_per_s for row in disks), Missing.NOT_MEASURED) * seconds
        from_elsewhere = seconds * sum(or_zero(row.read_bytes_per_s) for row in elsewhere)
        to_elsewhere = seconds * sum(or_zero(row.write_bytes_per_s) for row in elsewhere if not _is_swap(row))
        active = [row for row in moving if row.read_bytes_per_s or row.write_bytes_per_s]
        fetched = seconds * sum(or_zero(row.read_bytes_per_s) for row in active)
        dirtied = seconds * sum(
            max(0.0, or_zero(row.write_bytes_per_s) - or_zero(row.cancelled_write_bytes_per_s)) for row in active
        )
        read_left = _beyond(read, max(0.0, fetched - from_elsewhere))
        written_left, from_balance = self._flush(old, new, written, dirtied - to_elsewhere)
        reasons: set[UnattributedReason] = {"writeback"} if from_balance else set()
        if or_zero(read_left) > 0 or or_zero(written_left) > 0:
            found = _reasons(old, new, processes)
            if any(row.kind in _NETWORK and _moved(row) for row in elsewhere):
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
        """The bytes written that nobody dirtied, and whether some were dirtied before this frame.

        What the processes dirtied and what lay dirty is flushed only as far as it is dirty no longer: of the bytes
        written no more than those dirtied and the fall of dirty memory are theirs. That fall is not exact: what is
        beyond it is nobody's only when it adds up, over frames, to more than the error (`_dirty_error`). `dirtied` is
        below 0 where more of it went elsewhere than was dirtied meanwhile: that too was in the balance and lay dirty.
        """
        before, now = _dirty(old), _dirty(new)
        if self._balance is None:
            self._balance = or_zero(before)
        if isinstance(written, Missing):
            return written, False
        theirs = max(0.0, min(written, dirtied + self._balance))
        if not isinstance(before, Missing) and not isinstance(now, Missing):
            flushed = max(0.0, dirtied + before - now)
            self._doubt = max(0.0, self._doubt + theirs - flushed)
            if self._doubt > _dirty_error(old, new, self._dirtied + abs(dirtied) + flushed):
                nobodys = min(self._doubt, theirs)
                theirs -= nobodys
                self._doubt -= nobodys
        self._dirtied = abs(dirtied)
        self._balance = max(0.0, self._balance + dirtied - theirs)
        if not isinstance(now, Missing):
            self._balance = min(self._balance, now)
        return written - theirs, theirs > max(0.0, dirtied)


def _elsewhere(row: DeviceRow, processes: Sequence[ProcessRow]) -> bool:
    """Whether the bytes of a device are some that the kernel counts for processes, but that are no disk's.

    The kernel counts a request for who makes it, where it enters: on a disk, a partition, a device-mapper or md device,
    from where the same request goes on to the disks uncounted. A request to memory (zram, ram) or to the server of a
    network mount ends there. One to a loop device ends in its image file, which a kernel thread reads: from memory, or
    with requests of its own, that are counted again, for that thread. Where these threads are out of sight, the bytes
    of a loop device upon disks stand for theirs.
    """
    if row.kind == "loop":
        return not row.backed_by or (_moved(row) and _kernel_threads_show(processes))
    return row.kind in _NETWORK or row.kind in _MEMORY


def _kernel_threads_show(processes: Sequence[ProcessRow]) -> bool:
    return any(row.kernel_thread and not isinstance(row.read_bytes_per_s, Missing) for row in processes)


def _is_swap(row: DeviceRow) -> bool:
    """Whether a device may be swap: what is swapped out is counted for no process."""
    return row.kind == "zram" and not row.mounts


def _moved(row: DeviceRow) -> bool:
    return or_zero(row.read_bytes_per_s) > 0 or or_zero(row.write_bytes_per_s) > 0


def _beyond(devices: Number, processes: float) -> Number:
    return devices if isinstance(devices, Missing) else max(0.0, devices - processes)


def _dirty(sample: Sample) -> Count:
    """Bytes that are dirty or under writeback."""
    return sample.system.memory_dirty_bytes + sample.system.memory_writeback_bytes


def _dirty_error(old: Sample, new: Sample, moved: float) -> float:
    """How far the fall of dirty memory may be off, in bytes, when `moved` were dirtied or flushed lately.

    Each CPU keeps up to `_PAGES_A_CPU` pages of the count to itself (mm/vmstat.c), and the count is not read at the
    same instant as the disks' and the processes' counters: what is done within a sample's time, as fast as memory
    allows, may be in one and not yet in the other.
    """
    taken = (old.sample_ms + new.sample_ms) / 1000
    return new.host.cpu_count * _PAGES_A_CPU * new.host.page_bytes + min(moved, taken * _MEMORY_BYTES_PER_S)


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
