"""The fields of a device: what `iostat -x` prints, and what it can't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iodash.columns.column import Column, plain
from iodash.formatting.units import DASH, Units, byte_amount, count, decimal, milliseconds, percent_tenths, whole
from iodash.model.missing import Missing

if TYPE_CHECKING:
    from iodash.model.frame import DeviceRow

LOUD_STATES = frozenset({"queued", "saturated", "slow", "throttled", "stalled"})
"""States that deserve attention; they are written in capitals."""


def _state(value: Any, units: Units) -> str:
    if isinstance(value, Missing):
        return value.words
    return str(value).upper() if value in LOUD_STATES else str(value)


def _mounts(value: Any, units: Units) -> str:
    return " ".join(value) if value else DASH


_SEVERITY = {
    state: rank
    for rank, state in enumerate(("idle", "ok", "busy", "queued", "slow", "saturated", "throttled", "stalled"))
}


def _severity(row: DeviceRow) -> Any:
    return row.state if isinstance(row.state, Missing) else _SEVERITY[row.state]


DEVICE_COLUMNS: tuple[Column[DeviceRow], ...] = (
    Column("name", "DEVICE", "", 14, plain, "The kernel's name.", keep=100, is_text=True),
    Column("kind", "KIND", "", 9, plain, "What kind of device or mount it is.", is_text=True),
    Column("major", "MAJ", "", 4, whole, "Major number."),
    Column("minor", "MIN", "", 5, whole, "Minor number."),
    Column(
        "state",
        "STATE",
        "",
        9,
        _state,
        "idle, ok, busy, QUEUED, SATURATED, SLOW, THROTTLED or STALLED; the reason is in the footer.",
        keep=90,
        is_text=True,
        order=_severity,
    ),
    Column("reads_per_s", "r/s", "/s", 6, count, "Read requests completed.", keep=70),
    Column("writes_per_s", "w/s", "/s", 6, count, "Write requests completed.", keep=69),
    Column("discards_per_s", "d/s", "/s", 6, count, "Discards completed."),
    Column("flushes_per_s", "f/s", "/s", 6, count, "Flushes completed."),
    Column("read_bytes_per_s", "READ/s", "B/s", 6, byte_amount, "Bytes read.", keep=80),
    Column("write_bytes_per_s", "WRITE/s", "B/s", 7, byte_amount, "Bytes written.", keep=79),
    Column("discard_bytes_per_s", "DISC/s", "B/s", 6, byte_amount, "Bytes discarded."),
    Column("reads_merged_per_s", "rrqm/s", "/s", 6, count, "Reads merged in the queue."),
    Column("writes_merged_per_s", "wrqm/s", "/s", 6, count, "Writes merged in the queue."),
    Column("discards_merged_per_s", "drqm/s", "/s", 6, count, "Discards merged."),
    Column("reads_merged_percent", "%rrqm", "%", 6, percent_tenths, "Share of reads merged."),
    Column("writes_merged_percent", "%wrqm", "%", 6, percent_tenths, "Share of writes merged."),
    Column("discards_merged_percent", "%drqm", "%", 6, percent_tenths, "Share of discards merged."),
    Column(
        "await_ms",
        "await",
        "ms",
        6,
        milliseconds,
        "Mean time from request to completion, queueing included, over reads, writes and discards (d/s), as in "
        "`iostat -s`; so it may lie outside of r_await and w_await.",
        keep=95,
    ),
    Column("read_await_ms", "r_await", "ms", 7, milliseconds, "The same for reads.", keep=60),
    Column("write_await_ms", "w_await", "ms", 7, milliseconds, "The same for writes.", keep=59),
    Column("discard_await_ms", "d_await", "ms", 7, milliseconds, "The same for discards."),
    Column("flush_await_ms", "f_await", "ms", 7, milliseconds, "The same for flushes."),
    Column("read_size_bytes", "rareq-sz", "B", 8, byte_amount, "Mean size of a read."),
    Column("write_size_bytes", "wareq-sz", "B", 8, byte_amount, "Mean size of a write."),
    Column("discard_size_bytes", "dareq-sz", "B", 8, byte_amount, "Mean size of a discard."),
    Column("queue_length", "aqu-sz", "", 6, decimal, "Mean number of requests queued or in service.", keep=62),
    Column("in_flight", "in fl", "", 5, whole, "Requests in flight, the most seen.", keep=45),
    Column(
        "util_percent",
        "%util",
        "%",
        6,
        percent_tenths,
        "Share of time with at least one request in flight. On a device that serves many at once 100 is not its limit.",
        keep=99,
    ),
    Column("operations_per_s", "ops/s", "/s", 6, count, "Operations of a network mount."),
    Column("rtt_ms", "rtt", "ms", 6, milliseconds, "Mean time the server took to answer."),
    Column("queue_ms", "queue", "ms", 6, milliseconds, "Mean time in the client's queue."),
    Column("retransmits_per_s", "retr/s", "/s", 6, count, "Requests sent again."),
    Column("backed_by", "BACKED BY", "", 16, plain, "The physical devices beneath.", is_text=True),
    Column("mounts", "MOUNTS", "", 0, _mounts, "Where it is mounted.", keep=40, is_text=True),
)

DEVICE_SHORT: tuple[str, ...] = (
    "name",
    "state",
    "reads_per_s",
    "writes_per_s",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "await_ms",
    "read_await_ms",
    "write_await_ms",
    "queue_length",
    "in_flight",
    "util_percent",
    "mounts",
)
"""The keys of the device table on screen, in order; the full-screen panel shows all."""
