"""Sums over the rows of several processes or threads."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from iodash.model.missing import Missing
from iodash.sampling.counters import cache_hit_percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from iodash.model.frame import ProcessRow

RATES = (
    "read_bytes_per_s",
    "write_bytes_per_s",
    "cancelled_write_bytes_per_s",
    "logical_read_bytes_per_s",
    "logical_write_bytes_per_s",
    "read_calls_per_s",
    "write_calls_per_s",
    "cpu_percent",
    "major_faults_per_s",
)
"""What each thread or process does for itself, a second: its sum over several is what they do together."""


def summed(rows: Iterable[ProcessRow], names: Sequence[str]) -> dict[str, Any]:
    """The sums over rows of several fields, by name: over what is known, and missing only where nothing is."""
    columns = zip(*map(attrgetter(*names), rows), strict=True)
    return {name: _sum(values) for name, values in zip(names, columns, strict=True)}


def _sum(values: Sequence[Any]) -> Any:
    whole = sum(values)
    if whole.__class__ is not Missing:
        return whole
    known = [value for value in values if value.__class__ is not Missing]
    return sum(known) if known else values[0]


def cache_hits(rows: Iterable[ProcessRow], sums: Mapping[str, Any]) -> Any:
    """Share of the bytes that all rows read by calls which storage did not deliver, in percent, from their sums."""
    if any(row.cache_hit_percent is Missing.UNSUPPORTED for row in rows):
        return Missing.UNSUPPORTED
    return cache_hit_percent(sums["logical_read_bytes_per_s"], sums["read_bytes_per_s"])
