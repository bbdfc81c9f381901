"""Devices over one interval, by the formulas of `iostat -x` (Documentation/admin-guide/iostats.rst)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from iodash.model.frame import DeviceRow
from iodash.model.missing import Count, Missing, Number
from iodash.sampling.counters import delta, delta_32, per_second, ratio

if TYPE_CHECKING:
    from iodash.model.sample import DeviceCounters, MountCounters, Sample

    Resting: TypeAlias = dict[str, tuple[DeviceCounters, DeviceRow]]

_SECTOR_BYTES = 512
_TIMES_LIMIT = 1 << 31
"""Milliseconds that request times may grow by across a wrap of their 32 bits; more was a reset."""

_CLOCK_SLACK_MS = 1000
"""How much longer than the interval a device may seem to have been busy, since the two clocks are read apart."""

_COUNTS = (
    "reads",
    "reads_merged",
    "sectors_read",
    "writes",
    "writes_merged",
    "sectors_written",
    "discards",
    "discards_merged",
    "sectors_discarded",
    "flushes",
)
_MOUNT_COUNTS = (
    "operations",
    "retransmits",
    "reads",
    "writes",
    "read_bytes",
    "written_bytes",
    "read_execute_ms",
    "write_execute_ms",
    "rtt_ms",
    "queue_ms",
    "execute_ms",
)


def device_rows(old: Sample, new: Sample, seconds: float, resting: Resting | None = None) -> tuple[DeviceRow, ...]:
    """Every block device and network mount of `new` over the `seconds` since `old`.

    A device that was not in `old` is `new`. One whose counters fell, or whose name the kernel has given to another
    device meanwhile, is `reset`. One that is gone has no row. The rows of devices that did nothing are kept in
    `resting` by name and given out again.
    """
    devices_before = {} if isinstance(old.devices, Missing) else {_device_key(row): row for row in old.devices}
    known: Resting = {} if resting is None else resting
    mounts_before = {_mount_key(row): row for row in old.mounts}
    devices = () if isinstance(new.devices, Missing) else new.devices
    return (
        *(_between(devices_before.get(_device_key(row)), row, seconds, known) for row in devices),
        *(_mount_row(_mount_growth(mounts_before.get(_mount_key(row)), row), row, seconds) for row in new.mounts),
    )


def device_rows_since_boot(sample: Sample) -> tuple[DeviceRow, ...]:
    """The means since boot: the first report of iostat. Network mounts count from when they were mounted."""
    uptime = sample.system.uptime_s
    seconds = 0.0 if isinstance(uptime, Missing) else uptime
    devices = () if isinstance(sample.devices, Missing) else sample.devices
    return (
        *(_device_row(_Growth.of_all(row), row, seconds) for row in devices),
        *(_mount_row({name: getattr(row, name) for name in _MOUNT_COUNTS}, row, seconds) for row in sample.mounts),
    )


class _Growth(NamedTuple):
    """How much each counter of a device grew."""

    reads: Count
    reads_merged: Count
    sectors_read: Count
    read_ms: Count
    writes: Count
    writes_merged: Count
    sectors_written: Count
    write_ms: Count
    discards: Count
    discards_merged: Count
    sectors_discarded: Count
    discard_ms: Count
    flushes: Count
    flush_ms: Count
    io_ticks_ms: Count
    queue_ms: Count

    @classmethod
    def of_all(cls, row: DeviceCounters) -> _Growth:
        """Everything since boot."""
        return cls(*(getattr(row, name) for name in cls._fields))

    @classmethod
    def unknown(cls, row: DeviceCounters, reason: Missing) -> _Growth:
        """Nothing is known of this interval; what the device never counts keeps its own reason."""
        values = (getattr(row, name) for name in cls._fields)
        return cls(*(value if isinstance(value, Missing) else reason for value in values))


def _between(old: DeviceCounters | None, new: DeviceCounters, seconds: float, resting: Resting) -> DeviceRow:
    if old is not new or seconds <= 0:
        return _device_row(_device_growth(old, new, seconds), new, seconds)
    # Nothing was seen to change, as with most loop devices: the row is the same for any interval.
    counters, row = resting.get(new.name, (None, None))
    if row is None or counters is not new:
        row = _device_row(_device_growth(new, new, 1.0), new, 1.0)
        resting[new.name] = new, row
    return row


def _device_key(row: DeviceCounters) -> tuple[str, int, int]:
    return row.name, row.major, row.minor


def _mount_key(row: MountCounters) -> tuple[str, int, int]:
    return row.name, row.major, row.minor


def _device_growth(old: DeviceCounters | None, new: DeviceCounters, seconds: float) -> _Growth:
    if old is None:
        return _Growth.unknown(new, Missing.NEW)
    other_use = old.generation and new.generation and old.generation != new.generation
    counts = {name: delta(getattr(old, name), getattr(new, name)) for name in _COUNTS}
    if other_use or Missing.RESET in counts.values():
        return _Growth.unknown(new, Missing.RESET)
    return _Growth(
        **counts,
        read_ms=delta_32(old.read_ms, new.read_ms, _TIMES_LIMIT),
        write_ms=delta_32(old.write_ms, new.write_ms, _TIMES_LIMIT),
        discard_ms=delta_32(old.discard_ms, new.discard_ms, _TIMES_LIMIT),
        flush_ms=delta_32(old.flush_ms, new.flush_ms, _TIMES_LIMIT),
        io_ticks_ms=delta_32(old.io_ticks_ms, new.io_ticks_ms, 1000 * seconds + _CLOCK_SLACK_MS),
        queue_ms=delta_32(old.queue_ms, new.queue_ms, _TIMES_LIMIT),
    )


def _mean(whole: Number, parts: Number) -> Number:
    """`whole` a part, `no_io` where there was none; what is never counted keeps its own reason even then."""
    return whole if isinstance(whole, Missing) else ratio(whole, parts)


def _merged_percent(merged: Count, completed: Count) -> Number:
    return 100 * _mean(merged, merged + completed)


def _mean_wait(grown: _Growth) -> Number:
    """Over reads, writes and, where the kernel counts them, discards: `await` of `iostat -s`."""
    times, counts = grown.read_ms + grown.write_ms, grown.reads + grown.writes
    if not isinstance(grown.discards, Missing):
        times, counts = times + grown.discard_ms, counts + grown.discards
    return _mean(times, counts)


def _device_row(grown: _Growth, row: DeviceCounters, seconds: float) -> DeviceRow:
    return DeviceRow(
        name=row.name,
        kind=row.kind,
        major=row.major,
        minor=row.minor,
        mounts=row.mounts,
        backed_by=row.backed_by,
        reads_per_s=per_second(grown.reads, seconds),
        writes_per_s=per_second(grown.writes, seconds),
        discards_per_s=per_second(grown.discards, seconds),
        flushes_per_s=per_second(grown.flushes, seconds),
        read_bytes_per_s=per_second(grown.sectors_read * _SECTOR_BYTES, seconds),
        write_bytes_per_s=per_second(grown.sectors_written * _SECTOR_BYTES, seconds),
        discard_bytes_per_s=per_second(grown.sectors_discarded * _SECTOR_BYTES, seconds),
        reads_merged_per_s=per_second(grown.reads_merged, seconds),
        writes_merged_per_s=per_second(grown.writes_merged, seconds),
        discards_merged_per_s=per_second(grown.discards_merged, seconds),
        reads_merged_percent=_merged_percent(grown.reads_merged, grown.reads),
        writes_merged_percent=_merged_percent(grown.writes_merged, grown.writes),
        discards_merged_percent=_merged_percent(grown.discards_merged, grown.discards),
        await_ms=_mean_wait(grown),
        read_await_ms=_mean(grown.read_ms, grown.reads),
        write_await_ms=_mean(grown.write_ms, grown.writes),
        discard_await_ms=_mean(grown.discard_ms, grown.discards),
        flush_await_ms=_mean(grown.flush_ms, grown.flushes),
        read_size_bytes=_mean(grown.sectors_read * _SECTOR_BYTES, grown.reads),
        write_size_bytes=_mean(grown.sectors_written * _SECTOR_BYTES, grown.writes),
        discard_size_bytes=_mean(grown.sectors_discarded * _SECTOR_BYTES, grown.discards),
        queue_length=per_second(grown.queue_ms / 1000, seconds),
        in_flight=row.in_flight,
        util_percent=per_second(grown.io_ticks_ms / 10, seconds),
        operations_per_s=Missing.UNSUPPORTED,
        rtt_ms=Missing.UNSUPPORTED,
        queue_ms=Missing.UNSUPPORTED,
        retransmits_per_s=Missing.UNSUPPORTED,
        state=Missing.NOT_MEASURED,
        state_reason="",
        label=row.label,
        total=row.total,
        hidden=row.hidden,
        slots=row.slots,
    )


def _mount_growth(old: MountCounters | None, new: MountCounters) -> dict[str, Count]:
    if old is None:
        grown: dict[str, Count] = dict.fromkeys(_MOUNT_COUNTS, Missing.NEW)
    else:
        grown = {name: delta(getattr(old, name), getattr(new, name)) for name in _MOUNT_COUNTS}
        if Missing.RESET in grown.values():
            grown = dict.fromkeys(_MOUNT_COUNTS, Missing.RESET)
    own = {name: getattr(new, name) for name in _MOUNT_COUNTS}
    return {name: own[name] if isinstance(own[name], Missing) else grown[name] for name in _MOUNT_COUNTS}


def _mount_row(grown: dict[str, Count], row: MountCounters, seconds: float) -> DeviceRow:
    """A network mount as a row of the device table. A wait is the client's execute time, queueing included.

    The mean number of operations under way follows from their waits by Little's law.
    """
    no = Missing.UNSUPPORTED
    return DeviceRow(
        name=row.name,
        kind=row.kind,
        major=row.major,
        minor=row.minor,
        mounts=row.mounts,
        backed_by=(),
        reads_per_s=per_second(grown["reads"], seconds),
        writes_per_s=per_second(grown["writes"], seconds),
        discards_per_s=no,
        flushes_per_s=no,
        read_bytes_per_s=per_second(grown["read_bytes"], seconds),
        write_bytes_per_s=per_second(grown["written_bytes"], seconds),
        discard_bytes_per_s=no,
        reads_merged_per_s=no,
        writes_merged_per_s=no,
        discards_merged_per_s=no,
        reads_merged_percent=no,
        writes_merged_percent=no,
        discards_merged_percent=no,
        await_ms=_mean(grown["execute_ms"], grown["operations"]),
        read_await_ms=_mean(grown["read_execute_ms"], grown["reads"]),
        write_await_ms=_mean(grown["write_execute_ms"], grown["writes"]),
        discard_await_ms=no,
        flush_await_ms=no,
        read_size_bytes=_mean(grown["read_bytes"], grown["reads"]),
        write_size_bytes=_mean(grown["written_bytes"], grown["writes"]),
        discard_size_bytes=no,
        queue_length=per_second(grown["execute_ms"] / 1000, seconds),
        in_flight=row.in_flight,
        util_percent=no,
        operations_per_s=per_second(grown["operations"], seconds),
        rtt_ms=_mean(grown["rtt_ms"], grown["operations"]),
        queue_ms=_mean(grown["queue_ms"], grown["operations"]),
        retransmits_per_s=per_second(grown["retransmits"], seconds),
        state=Missing.NOT_MEASURED,
        state_reason="",
    )
