"""The details of a process as lines of text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from iodash.columns.processes import label
from iodash.formatting.cells import cell_width, crop, left, wrap
from iodash.formatting.units import byte_amount
from iodash.model.missing import Missing
from iodash.ui.panels.lines import Line, fitted, width_of
from iodash.ui.panels.process_columns import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.details import Limit, OpenFile, ProcessDetails
    from iodash.model.frame import ProcessRow
    from iodash.model.missing import Text
    from iodash.model.sample import IoCounters

_LABEL = 18

_BELOW = 6
"""Cells before what stands beneath the line that it belongs to."""

_MOST_BELOW = 6

_IO_FIELDS: tuple[tuple[str, str, str, str], ...] = (
    ("read_bytes", "read_bytes", "read", "fetched from storage"),
    ("write_bytes", "write_bytes", "write", "made dirty or written to storage"),
    ("cancelled_write_bytes", "cancelled_write", "", "dirty, but deleted before they reached storage"),
    ("logical_read_bytes", "rchar", "", "asked for by read calls, the page cache included"),
    ("logical_write_bytes", "wchar", "", "handed over by write calls"),
    ("read_calls", "syscr", "", "read calls"),
    ("write_calls", "syscw", "", "write calls"),
)

_LAST_FIELDS: tuple[tuple[str, str], ...] = (
    ("user", "user"),
    ("started (UTC)", "start_time"),
    ("read, all", "read_bytes_total"),
    ("written, all", "write_bytes_total"),
    ("read/s", "read_bytes_per_s"),
    ("written/s", "write_bytes_per_s"),
    ("CPU%", "cpu_percent"),
    ("GPU", "gpus"),
)
"""What is said of a process that is gone; `all` is since iodash started, as in the table."""


def _section(title: str, note: str = "") -> list[Line]:
    return [[], [(title, "strong"), (f"  {note}" if note else "", "quiet")]]


def _with(line: Line, text: str, word: str, width: int) -> list[Line]:
    """`text` behind `line`, or on lines of its own beneath it where there is no room."""
    if width_of(line) + 2 + cell_width(text) <= width:
        return [[*line, ("  ", ""), (text, word)]]
    return [line, *([(" " * _BELOW, ""), (part, word)] for part in wrap(text, max(1, width - _BELOW))[:_MOST_BELOW])]


def _unknown(reason: Missing) -> Line:
    return [(f"  {reason.words}", "quiet")]


def _pair(name: str, value: str, word: str, width: int) -> list[Line]:
    return _with([("  ", ""), (left(name, _LABEL), "quiet")], value, word, width)


def _io_lines(io: IoCounters | Missing, width: int) -> list[Line]:
    note = "since the process started, children it waited for included (/proc/PID/io)"
    lines: list[Line] = [[], *_with([("I/O", "strong")], note, "quiet", width)]
    if isinstance(io, Missing):
        return [*lines, _unknown(io)]
    for field, name, word, meaning in _IO_FIELDS:
        value: int = getattr(io, field)
        amount = "" if field.endswith("calls") else byte_amount(value)
        counted: Line = [
            ("  ", ""),
            (left(name, _LABEL), "quiet"),
            (f"{value:>20,}", word),
            (f"  {amount:>5}", ""),
        ]
        lines += _with(counted, meaning, "quiet", width)
    return lines


def _file_lines(files: Sequence[OpenFile] | Missing, left_out: int, width: int, ellipsis: str) -> list[Line]:
    if isinstance(files, Missing):
        return [*_section("Open files"), _unknown(files)]
    note = f"{len(files)}" + (f", {left_out} more not listed" if left_out else "")
    lines = _section("Open files", note)
    if not files:
        return lines
    headings = ("FD", "FLAGS", "POSITION", "MOUNT", "SERVED BY", "PATH")
    rows = [
        (
            str(file.descriptor),
            file.flags or "-",
            "-" if file.position is None else byte_amount(file.position),
            f"{file.mount} ({file.file_system})" if file.mount else "-",
            file.served_by or "-",
            file.path,
        )
        for file in files
    ]
    most = (5, 10, 8, max(12, width // 5), max(12, width // 5))
    widths = [min(limit, max(cell_width(row[index]) for row in (headings, *rows))) for index, limit in enumerate(most)]
    for row, word in ((headings, "title"), *((row, "") for row in rows)):
        text = "  ".join(left(cell, size, ellipsis) for cell, size in zip(row, widths, strict=False))
        lines += _with([("  ", ""), (text, word)], row[-1], word, width)
    return lines


def _limit_lines(title: str, limits: Sequence[Limit] | Missing, width: int) -> list[Line]:
    lines = _section(title)
    if isinstance(limits, Missing):
        return [*lines, _unknown(limits)]
    return [*lines, *(line for limit in limits for line in _pair(limit.name, limit.value, "", width))]


def _command_lines(command: str, width: int) -> list[Line]:
    return [*_section("Command"), *([("  ", ""), (part, "")] for part in _wrapped(command, max(1, width - 2)))]


def _text(value: Text) -> tuple[str, str]:
    return (value.words, "quiet") if isinstance(value, Missing) else (value or "-", "")


def details_lines(details: ProcessDetails, width: int, *, ascii: bool = False) -> list[Line]:
    """The details in lines of at most `width` cells. What is long is wrapped, names in columns are cropped."""
    ellipsis = "~" if ascii else "…"
    lines = _command_lines(details.command, width)[1:]
    lines += _io_lines(details.io, width)
    lines += _file_lines(details.open_files, details.open_files_left_out, width, ellipsis)
    lines += _section("Control group")
    lines += _pair("path", *_text(details.cgroup), width)
    lines += [line for limit in details.cgroup_limits for line in _pair(limit.name, limit.value, "", width)]
    lines += _limit_lines("Limits", details.limits, width)
    if details.wait_channel:
        lines += _section("Waiting in")
        lines.append([("  ", ""), _text(details.wait_channel)])
    if isinstance(details.threads, Missing) or details.threads:
        lines += _thread_lines(details.threads)
    return [fitted(line, width, ellipsis) for line in lines]


def last_lines(row: ProcessRow, seen: float, width: int, *, ascii: bool = False, command: bool = True) -> list[Line]:
    """What was last known of a process that is gone: its row in the frame of the time `seen` (Unix seconds)."""
    lines: list[Line] = [[("Last seen", "strong"), (time.strftime("  %H:%M:%S", time.localtime(seen)), "quiet")]]
    lines += _pair("name", label(row), "", width)
    lines += [line for name, key in _LAST_FIELDS for line in _pair(name, *_value(row, key), width)]
    if command:
        lines += _command_lines(row.command, width)
    return [fitted(line, width, "~" if ascii else "…") for line in lines]


def _value(row: ProcessRow, key: str) -> tuple[str, str]:
    column = BY_KEY[key]
    reason = column.missing(row)
    return (column.cell(row), "") if reason is None else (reason.words, "quiet")


def _thread_lines(threads: Sequence[tuple[int, str, str]] | Missing) -> list[Line]:
    if isinstance(threads, Missing):
        return [*_section("Threads"), _unknown(threads)]
    lines = _section("Threads", str(len(threads)))
    return [*lines, *([("  ", ""), (f"{tid:>8}  {state}  {name}", "")] for tid, name, state in threads)]


def _wrapped(text: str, width: int, most: int = 12) -> list[str]:
    """`text` broken into lines of `width` cells, at most `most` of them."""
    parts: list[str] = []
    while text and len(parts) < most:
        part = crop(text, width, "")
        if not part:
            break
        parts.append(part)
        text = text[len(part) :]
    if text and parts:
        parts[-1] = crop(parts[-1] + " ..", width, "..")
    return parts or ["-"]
