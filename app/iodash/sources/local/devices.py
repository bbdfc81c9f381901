"""Block devices: /proc/diskstats, which works with /sys hidden too, with what sysfs and the mount table say of them."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Count, Missing
from iodash.model.sample import DeviceCounters
from iodash.sources.local.kept_file import KeptFile
from iodash.sources.local.mounts import MountReader
from iodash.sources.local.topology import Blocks, path_head

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from iodash.sources.local.mounts import MountTable
    from iodash.sources.local.topology import BlockDevice

PEEK_S = 0.25
"""Seconds between two looks at the requests in flight."""

REFRESH_S = 5.0
"""Seconds in which every device has been looked at in sysfs once."""

_IN_FLIGHT_FIELD = 11
_BOGUS = 1 << 31
"""From here on a number of requests in flight is a negative one that a driver has miscounted."""

_COLUMNS = (
    "reads",
    "reads_merged",
    "sectors_read",
    "read_ms",
    "writes",
    "writes_merged",
    "sectors_written",
    "write_ms",
    "in_flight",
    "io_ticks_ms",
    "queue_ms",
    "discards",
    "discards_merged",
    "sectors_discarded",
    "discard_ms",
    "flushes",
    "flush_ms",
)
_SHORT_PARTITION = ("reads", "sectors_read", "writes", "sectors_written")
_TIMES = ("read_ms", "write_ms", "io_ticks_ms", "queue_ms")
_LXCFS_LENGTH = 14
_MOUNTS_SHOWN = 8


class DiskLine:
    """One line of /proc/diskstats: number, name and the fields that it has."""

    __slots__ = ("fields", "major", "minor", "name")

    def __init__(self, major: int, minor: int, name: str, fields: dict[str, Count]) -> None:
        self.major = major
        self.minor = minor
        self.name = name
        self.fields = fields


def parse_line(line: bytes) -> DiskLine | None:
    """A line of any kernel's /proc/diskstats; None for one without number and name.

    Fields that the line doesn't have are unsupported, further ones are ignored. Partitions of Linux 2.6 have four
    fields of their own. lxcfs prints three numbers after the eleven old ones that aren't the kernel's, and, on cgroup
    v2, zeros for all it doesn't know.
    """
    parts = line.split()
    try:
        major, minor, name = int(parts[0]), int(parts[1]), safe_text(parts[2])
        numbers = [int(part) for part in parts[3 : 3 + len(_COLUMNS)]]
    except (ValueError, IndexError):
        return None
    fields: dict[str, Count] = dict.fromkeys(_COLUMNS, Missing.UNSUPPORTED)
    length = len(parts) - 3
    if length == len(_SHORT_PARTITION):
        fields.update(zip(_SHORT_PARTITION, numbers, strict=True))
        return DiskLine(major, minor, name, fields)
    complete = 17 if length >= 17 else 15 if length >= 15 else 11
    fields.update(zip(_COLUMNS[:complete], numbers, strict=False))
    if length == _LXCFS_LENGTH and not any(fields[time_field] for time_field in _TIMES):
        fields.update(dict.fromkeys((*_TIMES, "in_flight", "reads_merged", "writes_merged"), Missing.UNSUPPORTED))
    in_flight = fields["in_flight"]
    if not isinstance(in_flight, Missing) and not 0 <= in_flight < _BOGUS:
        fields["in_flight"] = Missing.UNSUPPORTED
    return DiskLine(major, minor, name, fields)


class DeviceReader:
    """Reads all block devices, partitions, loop and ram devices included.

    A light thread of its own looks at the requests in flight some four times a second while any device moves, since
    one reading a sample would miss most queues.

    Args:
        procfs: the proc tree.
        sysfs: the sys tree. Without it kinds and totals are told by names.
        mounts: the mount table, where somebody else reads it already.
    """

    def __init__(self, procfs: Path, sysfs: Path, mounts: MountReader | None = None) -> None:
        self._file = KeptFile(procfs / "diskstats")
        self._peeks = InFlightPeeks(procfs)
        self._mounts = mounts or MountReader(procfs)
        self._blocks = Blocks(procfs, sysfs)
        self._names: tuple[str, ...] = ()
        self._mount_changes = -1
        self._read_at = 0.0
        self._due = 0.0
        self._next = 0
        self._events = KeptFile(sysfs / "kernel/uevent_seqnum")
        self._seen_events: bytes | Missing | None = None
        self._whole_left = 0
        self._rows: dict[bytes, DeviceCounters] = {}
        self._mounted: dict[str, tuple[str, ...]] = {}

    def read(self) -> tuple[DeviceCounters, ...] | Missing:
        """The devices in the kernel's order, or why there is no list."""
        content = self._file.read()
        if isinstance(content, Missing):
            return content
        self._peeks.start()
        peaks = self._peeks.take()
        lines = [line for line in content.split(b"\n") if line]
        known = [self._rows.get(line) for line in lines]
        self._peeks.look(None in known)
        if None not in known and len(known) == len(self._names) and not self._refresh():
            return _shown(known, peaks)
        parsed = [(line, disk) for line in lines if (disk := parse_line(line)) is not None]
        self._update(tuple(disk.name for _, disk in parsed))
        rows: dict[bytes, DeviceCounters] = {}
        for line, disk in parsed:
            rows[line] = self._rows.get(line) or self._row(disk)
        self._rows = rows
        return _shown(rows.values(), peaks)

    def close(self) -> None:
        """Lets go of the kept descriptors and ends the thread, waiting for nothing."""
        self._peeks.close()
        self._file.close()
        self._events.close()
        self._mounts.close()

    def _update(self, names: tuple[str, ...]) -> None:
        """Takes notice of devices that came or went."""
        if names != self._names:
            self._names = names
            self._blocks.forget()
            self._read_at = time.monotonic()
            self._forget_rows()
        self._refresh()

    def _refresh(self) -> bool:
        """Reads the share of sysfs that is due, and the mount table. True when rows must be made anew."""
        table = self._mounts.table()
        changed = self._mounts.changes != self._mount_changes
        if changed:
            self._mount_changes = self._mounts.changes
            self._blocks.forget()
        now = time.monotonic()
        self._due = min(self._due + len(self._names) * (now - self._read_at) / REFRESH_S, len(self._names))
        self._read_at = now
        whole = math.floor(self._due)
        self._due -= whole
        self._notice_events()
        for _ in range(whole):
            self._next = (self._next + 1) % len(self._names)
            changed |= self._blocks.refresh(self._names[self._next], whole=self._whole_left > 0)
            self._whole_left -= 1
        if changed:
            self._forget_rows()
            self._mounted = _mount_points(self._blocks, table)
        return changed

    def _notice_events(self) -> None:
        """After any event about a device, or where nobody tells of them, all devices are looked at wholly in turn."""
        events = self._events.read()
        if isinstance(events, Missing) or events != self._seen_events:
            self._whole_left = 0 if self._seen_events is None else len(self._names)
            self._seen_events = events

    def _forget_rows(self) -> None:
        self._rows = {}

    def _row(self, disk: DiskLine) -> DeviceCounters:
        table = self._mounts.table()
        device = self._blocks.get(disk.name)
        return DeviceCounters(
            name=disk.name,
            major=disk.major,
            minor=disk.minor,
            generation=device.generation,
            kind=device.kind,
            total=device.physical,
            hidden=device.hidden or _is_unused(disk, device),
            label=device.label,
            mounts=self._mounted.get(disk.name, ()),
            backed_by=self._backing(device, table),
            slots=device.slots,
            **_counted(disk, device),
        )

    def _backing(self, device: BlockDevice, table: MountTable) -> tuple[str, ...]:
        mount = self._blocks.image_mount(device.name, table)
        if mount is not None and mount.kind is not None:
            return (mount.source,)
        return self._blocks.leaves(device.name, table)


def _is_unused(disk: DiskLine, device: BlockDevice) -> bool:
    """Whether a zram device was never set up or never used: distributions make one that most machines leave alone.

    Without a size it can hold nothing (Documentation/admin-guide/blockdev/zram.rst). With one, making a file system or
    swap on it would have counted, where the kernel counts.
    """
    if device.kind != "zram":
        return False
    return device.size == 0 or (device.counting and not any(disk.fields[name] for name in _SHORT_PARTITION))


def _counted(disk: DiskLine, device: BlockDevice) -> dict[str, Count]:
    if not device.counting:
        return dict.fromkeys(_COLUMNS, Missing.OFF)
    if device.kind == "partition" and not disk.fields["flushes"]:
        # The kernel counts flushes of whole disks alone (Documentation/admin-guide/iostats.rst).
        return disk.fields | {"flushes": Missing.UNSUPPORTED, "flush_ms": Missing.UNSUPPORTED}
    return disk.fields


def _shown(rows: Iterable[DeviceCounters | None], peaks: dict[bytes, int]) -> tuple[DeviceCounters, ...]:
    """The rows with the most requests seen in flight, and with each byte counted once."""
    shown = [_with_peak(row, peaks) for row in rows if row is not None]
    return tuple(_count_paths(shown) if any(row.hidden and path_head(row.name) for row in shown) else shown)


def _with_peak(row: DeviceCounters, peaks: dict[bytes, int]) -> DeviceCounters:
    if not peaks or isinstance(row.in_flight, Missing):
        return row
    peak = peaks.get(row.name.encode(), 0)
    return replace(row, in_flight=peak) if peak > row.in_flight else row


def _count_paths(rows: list[DeviceCounters]) -> list[DeviceCounters]:
    """Counts NVMe paths instead of their head where, as on older kernels, the head counts nothing itself."""
    silent = {row.name for row in rows if row.total and not _has_counted(row)}
    telling = {path_head(row.name) for row in rows if row.hidden and _has_counted(row)} & silent
    return [
        replace(row, total=path_head(row.name) in telling if row.hidden else row.total and row.name not in telling)
        for row in rows
    ]


def _has_counted(row: DeviceCounters) -> bool:
    return bool(row.reads or row.writes) and not isinstance(row.reads, Missing)


def _mount_points(blocks: Blocks, table: MountTable) -> dict[str, tuple[str, ...]]:
    """Where each device is mounted. A disk also has the mounts of its partitions.

    Where the root of a file system is mounted, bind mounts of its directories are left out.
    """
    whole: dict[str, dict[str, None]] = {}
    parts: dict[str, dict[str, None]] = {}
    for mount in table:
        for name in blocks.under(mount):
            for holder in (name, blocks.get(name).parent):
                if holder is not None:
                    (whole if mount.root_path == "/" else parts).setdefault(holder, {})[mount.mount_point] = None
    return {name: tuple(points)[:_MOUNTS_SHOWN] for name, points in (parts | whole).items()}


class InFlightPeeks:
    """The most requests in flight that a few readings a second have seen since they were last taken.

    A reading of ten devices costs some 40 microseconds.
    """

    def __init__(self, procfs: Path) -> None:
        self._file = KeptFile(procfs / "diskstats")
        self._content = b""
        self._lock = threading.Lock()
        self._peaks: dict[bytes, int] = {}
        self._wanted = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts looking. Calling it again does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="iodash-in-flight", daemon=True)
            self._thread.start()

    def look(self, wanted: bool) -> None:
        """Whether it is worth looking: while no device moves, nobody is woken for it."""
        if wanted == self._wanted.is_set():
            return
        if wanted:
            self._wanted.set()
        else:
            self._wanted.clear()

    def take(self) -> dict[bytes, int]:
        """The largest number by raw device name; looking starts afresh."""
        if not self._peaks:
            return {}
        with self._lock:
            peaks, self._peaks = self._peaks, {}
        return peaks

    def peek(self) -> None:
        """Looks once."""
        content = self._file.read()
        if isinstance(content, Missing) or content == self._content:
            return  # nothing moved: what is in flight now was in flight then
        self._content = content
        for line in content.split(b"\n"):
            fields = line.split(None, _IN_FLIGHT_FIELD + 1)
            if len(fields) <= _IN_FLIGHT_FIELD or fields[_IN_FLIGHT_FIELD] == b"0":
                continue
            name, text = fields[2], fields[_IN_FLIGHT_FIELD]
            seen = int(text) if text.isdigit() else 0
            if seen < _BOGUS:
                with self._lock:
                    self._peaks[name] = max(seen, self._peaks.get(name, 0))

    def close(self) -> None:
        """Ends the thread, waiting for nothing."""
        self._stop.set()
        self._wanted.set()

    def _run(self) -> None:
        while self._wanted.wait() and not self._stop.wait(PEEK_S):
            self.peek()
        self._file.close()
