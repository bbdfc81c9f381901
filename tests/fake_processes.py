"""Processes of a proc tree made by hand. Files are written in place, as kept descriptors need it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

IO = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")


def io_file(*values: int) -> bytes:
    """/proc/PID/io with the seven counters; those left out are 0."""
    filled = (*values, *(0,) * (len(IO) - len(values)))
    return "".join(f"{name}: {value}\n" for name, value in zip(IO, filled, strict=True)).encode()


def stat_file(
    pid: int,
    name: bytes = b"python3",
    *,
    state: str = "S",
    ppid: int = 1,
    flags: int = 0x400000,
    minor_faults: int = 10,
    major_faults: int = 0,
    reaped: tuple[int, int, int, int] = (0, 0, 0, 0),
    cpu: int = 0,
    nice: int = 0,
    threads: int = 1,
    start: int = 1000,
    resident: int = 50,
    code: int = 4096,
    policy: int = 0,
    delay: int = 0,
) -> bytes:
    """/proc/PID/stat with the 52 fields of proc(5)."""
    child_minor, child_major, child_user, child_system = reaped
    fields = [
        *(state, ppid, pid, pid, 0, -1, flags, minor_faults, child_minor, major_faults, child_major, cpu, 0),
        *(child_user, child_system, 20, nice, threads, 0, start, 1 << 20, resident, 1 << 60, code),
        *(code + 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, policy, delay, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0),
    ]
    return b"%d (%s) %s\n" % (pid, name, " ".join(map(str, fields)).encode())


def put(directory: Path, **files: bytes) -> Path:
    """Writes files of a process in place."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return directory


def add_process(procfs: Path, pid: int, name: bytes = b"python3", *, uid: int = 65534, start: int = 1000) -> Path:
    """A quiet process with one thread and a command line."""
    directory = put(
        procfs / str(pid),
        io=io_file(),
        stat=stat_file(pid, name, start=start),
        status=b"Name:\tx\nUid:\t0\t%d\t0\t0\n" % uid,
        cgroup=b"0::/user.slice\n",
        cmdline=name + b"\0--flag\0",
    )
    put(directory / "task" / str(pid), io=io_file(), stat=stat_file(pid, name, start=start))
    return directory


def remove_process(procfs: Path, pid: int) -> None:
    """Takes a process away."""
    shutil.rmtree(procfs / str(pid))
