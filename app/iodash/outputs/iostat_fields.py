"""The columns of iostat's device tables, and several devices added up as one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from iodash.model.missing import Missing, Number, or_zero
from iodash.sampling.counters import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from iodash.model.frame import DeviceRow

UNDEFINED = frozenset({Missing.NO_IO, Missing.UNSUPPORTED})
"""What iostat prints as 0.00: means over nothing, and what a device doesn't do."""

Kind = Literal["plain", "bytes", "size", "percent", "total"]


class Field(NamedTuple):
    """One column: heading with `kB` for the unit, JSON key, cells, what kind of number, and the number in bytes."""

    heading: str
    key: str
    width: int
    kind: Kind
    value: Callable[[DeviceRow, float], Number]


def add(*values: Number) -> Number:
    """A sum in which what a device doesn't do counts as nothing."""
    total: Number = 0.0
    for value in values:
        total = total + (0.0 if value in UNDEFINED else value)
    return total


def _mean_size(row: DeviceRow) -> Number:
    requests = add(row.reads_per_s, row.writes_per_s, row.discards_per_s)
    amount = add(row.read_bytes_per_s, row.write_bytes_per_s, row.discard_bytes_per_s)
    if isinstance(requests, Missing):
        return requests
    return amount / requests if requests else Missing.NO_IO


TPS = Field("tps", "tps", 9, "plain", lambda row, _: add(row.reads_per_s, row.writes_per_s, row.discards_per_s))
UTIL = Field("%util", "util", 7, "percent", lambda row, _: row.util_percent)
QUEUE = Field("aqu-sz", "aqu-sz", 8, "plain", lambda row, _: row.queue_length)

READS = (
    Field("r/s", "r/s", 8, "plain", lambda row, _: row.reads_per_s),
    Field("rkB/s", "rkB/s", 10, "bytes", lambda row, _: row.read_bytes_per_s),
    Field("rrqm/s", "rrqm/s", 9, "plain", lambda row, _: row.reads_merged_per_s),
    Field("%rrqm", "rrqm", 7, "percent", lambda row, _: row.reads_merged_percent),
    Field("r_await", "r_await", 8, "plain", lambda row, _: row.read_await_ms),
    Field("rareq-sz", "rareq-sz", 9, "size", lambda row, _: row.read_size_bytes),
)
WRITES = (
    Field("w/s", "w/s", 8, "plain", lambda row, _: row.writes_per_s),
    Field("wkB/s", "wkB/s", 10, "bytes", lambda row, _: row.write_bytes_per_s),
    Field("wrqm/s", "wrqm/s", 9, "plain", lambda row, _: row.writes_merged_per_s),
    Field("%wrqm", "wrqm", 7, "percent", lambda row, _: row.writes_merged_percent),
    Field("w_await", "w_await", 8, "plain", lambda row, _: row.write_await_ms),
    Field("wareq-sz", "wareq-sz", 9, "size", lambda row, _: row.write_size_bytes),
)
DISCARDS = (
    Field("d/s", "d/s", 8, "plain", lambda row, _: row.discards_per_s),
    Field("dkB/s", "dkB/s", 10, "bytes", lambda row, _: row.discard_bytes_per_s),
    Field("drqm/s", "drqm/s", 9, "plain", lambda row, _: row.discards_merged_per_s),
    Field("%drqm", "drqm", 7, "percent", lambda row, _: row.discards_merged_percent),
    Field("d_await", "d_await", 8, "plain", lambda row, _: row.discard_await_ms),
    Field("dareq-sz", "dareq-sz", 9, "size", lambda row, _: row.discard_size_bytes),
)
REST = (
    Field("f/s", "f/s", 8, "plain", lambda row, _: row.flushes_per_s),
    Field("f_await", "f_await", 8, "plain", lambda row, _: row.flush_await_ms),
    QUEUE,
    UTIL,
)
SHORT_EXTENDED = (
    TPS,
    Field(
        "kB/s",
        "kB/s",
        10,
        "bytes",
        lambda row, _: add(row.read_bytes_per_s, row.write_bytes_per_s, row.discard_bytes_per_s),
    ),
    Field(
        "rqm/s",
        "rqm/s",
        9,
        "plain",
        lambda row, _: add(row.reads_merged_per_s, row.writes_merged_per_s, row.discards_merged_per_s),
    ),
    Field("await", "await", 8, "plain", lambda row, _: row.await_ms),
    Field("areq-sz", "areq-sz", 9, "size", lambda row, _: _mean_size(row)),
    QUEUE,
    UTIL,
)
BASIC = (
    TPS,
    Field("kB_read/s", "kB_read/s", 13, "bytes", lambda row, _: row.read_bytes_per_s),
    Field("kB_wrtn/s", "kB_wrtn/s", 13, "bytes", lambda row, _: row.write_bytes_per_s),
    Field("kB_dscd/s", "kB_dscd/s", 13, "bytes", lambda row, _: row.discard_bytes_per_s),
    Field("kB_read", "kB_read", 11, "total", lambda row, seconds: row.read_bytes_per_s * seconds),
    Field("kB_wrtn", "kB_wrtn", 11, "total", lambda row, seconds: row.write_bytes_per_s * seconds),
    Field("kB_dscd", "kB_dscd", 11, "total", lambda row, seconds: row.discard_bytes_per_s * seconds),
)
SHORT_BASIC = (
    TPS,
    BASIC[1],
    Field("kB_w+d/s", "kB_w+d/s", 13, "bytes", lambda row, _: add(row.write_bytes_per_s, row.discard_bytes_per_s)),
    BASIC[4],
    Field(
        "kB_w+d",
        "kB_w+d",
        11,
        "total",
        lambda row, seconds: add(row.write_bytes_per_s, row.discard_bytes_per_s) * seconds,
    ),
)


def group_row(name: str, rows: Sequence[DeviceRow]) -> DeviceRow:
    """Several devices as one: amounts added up, waits and sizes weighted by their requests, %util as the mean.

    `rows` must not be empty.
    """
    added: dict[str, Number] = {field: add(*(getattr(row, field) for row in rows)) for field in _ADDED}
    values = dict(added)
    for kind in ("read", "write", "discard", "flush"):
        count = f"{kind}es_per_s" if kind == "flush" else f"{kind}s_per_s"
        values[f"{kind}_await_ms"] = _weighted(rows, f"{kind}_await_ms", count)
        if kind != "flush":
            values[f"{kind}_size_bytes"] = ratio(added[f"{kind}_bytes_per_s"], added[count])
            merged = added[f"{kind}s_merged_per_s"]
            values[f"{kind}s_merged_percent"] = 100 * ratio(merged, merged + added[count])
    requests = [add(row.reads_per_s, row.writes_per_s, row.discards_per_s) for row in rows]
    waited = add(*(row.await_ms * number for row, number in zip(rows, requests, strict=True)))
    values["await_ms"] = ratio(waited, add(*requests))
    values["util_percent"] = add(*(row.util_percent for row in rows)) / len(rows)
    return replace(rows[0], name=name, label=None, **values)  # type: ignore[arg-type]


_ADDED = (
    *("reads_per_s", "writes_per_s", "discards_per_s", "flushes_per_s"),
    *("read_bytes_per_s", "write_bytes_per_s", "discard_bytes_per_s"),
    *("reads_merged_per_s", "writes_merged_per_s", "discards_merged_per_s", "queue_length"),
)


def _weighted(rows: Iterable[DeviceRow], field: str, count: str) -> Number:
    pairs = [(getattr(row, field), getattr(row, count)) for row in rows]
    return ratio(add(*(value * number for value, number in pairs)), add(*(number for _, number in pairs)))


def completes(row: DeviceRow) -> bool:
    """Whether any request completed."""
    return any(or_zero(rate) > 0 for rate in (row.reads_per_s, row.writes_per_s, row.discards_per_s, row.flushes_per_s))


def is_active(row: DeviceRow) -> bool:
    """Whether anything happened, be it that a request hangs: iostat's -z hides such a device, which misleads."""
    return completes(row) or or_zero(row.in_flight) > 0 or or_zero(row.util_percent) > 0


def is_part_of(row: DeviceRow, disk: str) -> bool:
    """Whether `row` is by its name a partition of `disk`."""
    return re.fullmatch(re.escape(disk.removeprefix("/dev/")) + r"p?\d+", row.name) is not None
