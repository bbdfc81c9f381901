"""What the files of one process say: /proc/PID/io and /proc/PID/stat (proc(5), Documentation/filesystems/proc.rst)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from iodash.model.sample import IoCounters, StatCounters

if TYPE_CHECKING:
    from collections.abc import Iterable

_FLAGS = os.O_RDONLY | os.O_CLOEXEC
_BLOCK = 4096
_WHOLE = 3072
"""A reading shorter than this is the whole file: the kernel fills a page of 4096 bytes before it stops at a record."""

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_POLICIES = {b"1": "rt", b"2": "rt", b"5": "idle"}  # SCHED_FIFO, SCHED_RR, SCHED_IDLE

# Positions after the name, whose brackets end field 2 of proc(5).
_STATE, _PPID, _TASK_FLAGS = 0, 1, 6
_MINOR, _CHILD_MINOR, _MAJOR, _CHILD_MAJOR = 7, 8, 9, 10
_USER, _SYSTEM, _CHILD_USER, _CHILD_SYSTEM = 11, 12, 13, 14
_NICE, _THREADS, _START, _RESIDENT, _START_CODE = 16, 17, 19, 21, 23
_POLICY, _IO_DELAY, _ARGUMENTS = 38, 39, 45
_FIELDS = 46


class ProcessStat(NamedTuple):
    """One reading of /proc/PID/stat.

    `program` changes when the process executes another program: its name and, where this process may see them, the
    addresses of its code and arguments. `nice_class` is the I/O class and level that its CPU priority stands for.
    """

    name: bytes
    start_ticks: int
    kernel_thread: bool
    program: tuple[bytes, bytes, bytes]
    nice_class: str
    counters: StatCounters


def parse_io(raw: bytes) -> IoCounters:
    """The seven counters of /proc/PID/io.

    Raises:
        ValueError: it has another shape.
    """
    values = raw.split()[1::2]
    if len(values) != 7:
        raise ValueError("not an io file")
    return IoCounters(*map(int, values))


def parse_stat(raw: bytes, read_at: float, previous_read_at: float = 0.0) -> ProcessStat:
    """One line of /proc/PID/stat. The name may hold anything, brackets and blanks too: its end is the last bracket.

    Raises:
        ValueError: it has another shape.
    """
    begin, end = raw.find(b"("), raw.rfind(b")")
    fields = raw[end + 2 :].split(None, _FIELDS)
    if begin < 0 or len(fields) < _IO_DELAY + 1:
        raise ValueError("not a stat file")
    name = raw[begin + 1 : end]
    arguments = fields[_ARGUMENTS] if len(fields) > _ARGUMENTS else b"0"
    nice_class = _POLICIES.get(fields[_POLICY], "be")
    return ProcessStat(
        name=name,
        start_ticks=int(fields[_START]),
        kernel_thread=bool(int(fields[_TASK_FLAGS]) & _KERNEL_THREAD),
        program=(name, fields[_START_CODE], arguments),
        nice_class=nice_class if nice_class == "idle" else f"{nice_class}/{(int(fields[_NICE]) + 20) // 5}",
        counters=StatCounters(
            read_at,
            fields[_STATE].decode("ascii"),
            int(fields[_PPID]),
            int(fields[_THREADS]),
            int(fields[_USER]) + int(fields[_SYSTEM]),
            int(fields[_MAJOR]),
            int(fields[_RESIDENT]),
            int(fields[_IO_DELAY]),
            (
                int(fields[_CHILD_MINOR]),
                int(fields[_CHILD_MAJOR]),
                int(fields[_CHILD_USER]),
                int(fields[_CHILD_SYSTEM]),
            ),
            previous_read_at,
            int(fields[_MINOR]),
        ),
    )


def add_io(parts: Iterable[IoCounters]) -> IoCounters:
    """The sum of the counters of several threads."""
    rows = [
        (
            part.logical_read_bytes,
            part.logical_write_bytes,
            part.read_calls,
            part.write_calls,
            part.read_bytes,
            part.write_bytes,
            part.cancelled_write_bytes,
        )
        for part in parts
    ]
    return IoCounters(*map(sum, zip(*rows, strict=True))) if rows else IoCounters(0, 0, 0, 0, 0, 0, 0)


def open_file(path: str) -> int:
    """A descriptor for reading that no child inherits. Raises OSError."""
    return os.open(path, _FLAGS)


def read_file(path: str, size: int = _BLOCK) -> bytes:
    """The first `size` bytes of a file; one call alone gets no more than a page of most. Raises OSError."""
    descriptor = os.open(path, _FLAGS)
    try:
        content = os.read(descriptor, size)
        while _WHOLE <= len(content) < size:
            more = os.read(descriptor, size - len(content))
            if not more:
                break
            content += more
        return content
    finally:
        os.close(descriptor)


def live_threads(directory: str) -> tuple[IoCounters, int] | None:
    """The sums over the live threads of a process of what they read and wrote and of their page faults.

    Exited threads and the children that it has waited for are left out. None when it can't be read. `directory` is
    /proc/PID.
    """
    found: list[IoCounters] = []
    faults = 0
    try:
        for thread in os.listdir(f"{directory}/task"):
            try:
                io = parse_io(read_file(f"{directory}/task/{thread}/io"))
                stat = parse_stat(read_file(f"{directory}/task/{thread}/stat"), 0.0)
            except (FileNotFoundError, ProcessLookupError):
                continue
            found.append(io)
            faults += page_faults(stat.counters)
    except (OSError, ValueError):
        return None
    return add_io(found), faults


def page_faults(stat: StatCounters) -> int:
    """Page faults of both kinds; those of a process go on counting its threads that have ended."""
    return stat.minor_faults + stat.major_faults
