"""Why a number is missing and what to do about it, in one line for the footer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.devices import LOUD_STATES
from iodash.formatting.units import count, milliseconds
from iodash.model.missing import Missing, or_zero
from iodash.model.remedies import SEE_INTO_OTHERS, see_into_others

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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

_READ_NOTHING = "it read nothing by read calls"
_FETCHED_MORE = "storage gave more than its read calls asked for: whole pages, read-ahead or mapped files"
_MIXED = "not measured in this frame, or what its ended threads and its children did can't be told apart"

_SPECIAL: dict[tuple[str, Missing], str] = {
    ("read_bytes_per_s", Missing.NOT_MEASURED): _MIXED,
    ("write_bytes_per_s", Missing.NOT_MEASURED): _MIXED,
    ("io_delay_percent", Missing.OFF): "off; sysctl kernel.task_delayacct=1 turns it on for new processes",
    ("cache_hit_percent", Missing.NO_IO): _READ_NOTHING,
    ("cache_hit_percent", Missing.UNSUPPORTED): "it reads from FUSE, whose bytes never show",
}


def explain(key: str, reason: Missing) -> str:
    """Why the field `key` is missing, and what would show it."""
    return _SPECIAL.get((key, reason)) or _GENERAL[reason]


def process_reason(
    row: ProcessRow,
    columns: Sequence[Column[ProcessRow]],
    host: Host,
    *,
    of: str = "",
    sorted_by: Collection[str] = (),
) -> str:
    """What the footer says of a selected row: why values are missing, those that share a reason together.

    Args:
        row: a process, or a job as if it were one.
        columns: those on screen, left to right.
        host: where iodash runs, and with what rights.
        of: what stands behind the first headings, such as ` of 4120`.
        sorted_by: the keys of the sorted columns; what is nearest to them is said first.
    """
    marked = [at for at, column in enumerate(columns) if column.key in sorted_by] or [0]
    missing: dict[str, list[int]] = {}
    for at in sorted(range(len(columns)), key=lambda at: min(abs(at - mark) for mark in marked)):
        reason = columns[at].missing(row)
        if reason is not None and reason is not Missing.NO_DRIVER:
            missing.setdefault(_words(row, columns[at].key, reason, host), []).append(at)
    sentences: list[str] = []
    for words, places in missing.items():
        headings = ", ".join(columns[at].heading for at in sorted(places))
        sentences.append(f"{headings}{'' if sentences else of}: {words}")
    return ". ".join(sentences)


def _words(row: ProcessRow, key: str, reason: Missing, host: Host) -> str:
    if reason is Missing.NO_PERMISSION:
        return f"no permission: {see_into_others(host)}"
    words = explain(key, reason)
    return _FETCHED_MORE if words == _READ_NOTHING and or_zero(row.read_bytes_per_s) > 0 else words


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
