"""Why a number is missing and what to do about it, in one line for the footer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.devices import LOUD_STATES
from iodash.formatting.units import count, milliseconds
from iodash.model.missing import Missing
from iodash.model.remedies import SEE_INTO_OTHERS, see_into_others

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iodash.columns import Column
    from iodash.model.frame import DeviceRow, ProcessRow
    from iodash.model.sample import Host

_GENERAL: dict[Missing, str] = {
    Missing.NO_PERMISSION: f"no permission: {SEE_INTO_OTHERS}",
    Missing.OFF: "switched off in the kernel",
    Missing.NEW: "first seen in this frame; the next one has it",
    Missing.GONE: "ended while it was being read",
    Missing.RESET: "its counter was set back; the next frame has it",
    Missing.NO_IO: "nothing was done that it could be the mean of",
    Missing.UNSUPPORTED: "the kernel does not count it here",
    Missing.NOT_IN_CONTAINER: "not visible in this container",
    Missing.NO_DRIVER: "no GPU driver answers",
    Missing.STARTING: "the reader is still starting",
    Missing.NOT_MEASURED: "not measured in this frame; rows in sight have it in the next one",
}

_SPECIAL: dict[tuple[str, Missing], str] = {
    ("io_delay_percent", Missing.OFF): "off; sysctl kernel.task_delayacct=1 turns it on for new processes",
    ("cache_hit_percent", Missing.NO_IO): "it read nothing by read calls",
    ("cache_hit_percent", Missing.UNSUPPORTED): "it reads from FUSE, whose bytes never show",
}


def explain(key: str, reason: Missing) -> str:
    """Why the field `key` is missing, and what would show it."""
    return _SPECIAL.get((key, reason)) or _GENERAL[reason]


def process_reason(row: ProcessRow, columns: Iterable[Column[ProcessRow]], host: Host) -> str:
    """What the footer says of a selected process: the first missing number of `columns`, most important first."""
    missing = [
        (column, reason)
        for column in columns
        if (reason := column.missing(row)) is not None and reason is not Missing.NO_DRIVER
    ]
    if not missing:
        return ""
    column, reason = max(missing, key=lambda pair: pair[0].keep)
    forbidden = reason is Missing.NO_PERMISSION
    words = f"no permission: {see_into_others(host)}" if forbidden else explain(column.key, reason)
    return f"{column.heading} of {row.pid}: {words}"


def device_reason(row: DeviceRow) -> str:
    """What the footer says of a selected device: the reason of its state, else why it has none."""
    if isinstance(row.state, Missing):
        return f"{row.name}: {explain('state', row.state)}"
    word = row.state.upper() if row.state in LOUD_STATES else row.state
    reasons = [f"{row.name} {word}: {row.state_reason}"] if row.state_reason else []
    if discards := discards_in_await(row):
        reasons.append(discards if reasons else f"{row.name}: {discards}")
    return "; ".join(reasons)


def discards_in_await(row: DeviceRow) -> str:
    """Which discards `await` includes beside the reads and writes in sight, empty when there are none."""
    if isinstance(row.discards_per_s, Missing) or row.discards_per_s <= 0 or isinstance(row.await_ms, Missing):
        return ""
    return f"await includes {count(row.discards_per_s)} discards/s of {milliseconds(row.discard_await_ms)} ms"
