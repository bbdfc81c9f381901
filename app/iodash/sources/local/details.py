"""Everything about one process that is read only while somebody looks at it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from iodash.formatting.safe_text import safe_command, safe_text
from iodash.formatting.units import bytes_in_words
from iodash.model.details import Limit, OpenFile, ProcessDetails
from iodash.model.missing import Missing, Text
from iodash.sources.local.cgroups import Cgroup
from iodash.sources.local.containers import container_of
from iodash.sources.local.kept_file import reason
from iodash.sources.local.mounts import MountTable
from iodash.sources.local.process_files import parse_io, parse_stat, read_file
from iodash.sources.local.topology import Blocks
from iodash.sources.local.where import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from iodash.model.sample import IoCounters, ProcessKey
    from iodash.sources.local.cgroups import IoLimit

T = TypeVar("T")

MOST_FILES = 200
"""How many open files are shown; of more only the number is told."""

_MOST_THREADS = 1000
_LARGE = 1 << 20
_LIMIT_LINE = re.compile(r"^Max (.+?)\s{2,}(\S+)\s+(\S+)\s*(\S*)\s*$")
_ACCESS = {os.O_RDONLY: "read", os.O_WRONLY: "write", os.O_RDWR: "read+write"}
_FLAGS = ((os.O_APPEND, "append"), (os.O_DIRECT, "direct"), (os.O_SYNC, "sync"), (os.O_NONBLOCK, "nonblock"))
_FLAG_BITS = re.compile(rb"^flags:\s*([0-7]+)", re.MULTILINE)
_POSITION = re.compile(rb"^pos:\s*(\d+)", re.MULTILINE)
_MOUNT_ID = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)


class DetailsReader:
    """Reads details. Nothing is kept between two readings, so that one which hangs spoils no other."""

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._procfs = str(procfs)
        self._sysfs = sysfs

    def read(self, key: ProcessKey) -> ProcessDetails | None:
        """The details of a process or thread; None when it is gone or its number belongs to another one now.

        No file that the process has open is touched: its name, mount and position come from the kernel.
        """
        process = f"{self._procfs}/{key.pid}"
        task = f"{process}/task/{key.tid}" if key.tid else process
        try:
            stat = parse_stat(read_file(f"{task}/stat"), 0.0)
        except (OSError, ValueError):
            return None
        if stat.start_ticks != key.start_ticks:
            return None
        mountinfo = _try(lambda: read_file(f"{process}/mountinfo", _LARGE))
        table = MountTable(()) if isinstance(mountinfo, Missing) else MountTable.parse(mountinfo)
        cgroup_file = _try(lambda: read_file(f"{process}/cgroup", 1 << 16))
        blocks = Blocks(Path(self._procfs), self._sysfs)
        open_files, left_out = self._open_files(process, table, blocks)
        command = _try(lambda: safe_command(read_file(f"{process}/cmdline", 8192)))
        return ProcessDetails(
            key=key,
            command=safe_text(stat.name) if isinstance(command, Missing) or not command else command,
            io=_io(task),
            open_files=open_files,
            open_files_left_out=left_out,
            cgroup=cgroup_file if isinstance(cgroup_file, Missing) else container_of(cgroup_file)[0],
            cgroup_limits=() if isinstance(cgroup_file, Missing) else tuple(_cgroup_limits(cgroup_file, table, blocks)),
            limits=_try(lambda: tuple(parse_limits(read_file(f"{task}/limits", 1 << 14)))),
            wait_channel=_wait_channel(task),
            threads=_threads(process),
        )

    def _open_files(
        self, process: str, table: MountTable, blocks: Blocks
    ) -> tuple[tuple[OpenFile, ...] | Missing, int]:
        names = _try(lambda: sorted(int(name) for name in os.listdir(f"{process}/fd")))
        if isinstance(names, Missing):
            return names, 0
        mounts = {mount.mount_id: mount for mount in table}
        served_by: dict[int, str] = {}
        found: list[OpenFile] = []
        for descriptor in names[:MOST_FILES]:
            try:
                target = os.readlink(f"{process}/fd/{descriptor}")
                info = read_file(f"{process}/fdinfo/{descriptor}")
            except OSError:
                continue
            is_path = target.startswith("/")
            mount = mounts.get(_number(_MOUNT_ID, info) or -1) if is_path else None
            if mount is not None and mount.mount_id not in served_by:
                served_by[mount.mount_id] = served(mount, blocks, table).summary
            found.append(
                OpenFile(
                    descriptor=descriptor,
                    path=safe_text(os.fsencode(target)),
                    mount=mount.mount_point if mount else "",
                    file_system=mount.file_system if mount else "",
                    served_by=served_by[mount.mount_id] if mount else "",
                    position=_number(_POSITION, info) if is_path else None,
                    flags=flag_words(_number(_FLAG_BITS, info, base=8) or 0),
                )
            )
        return tuple(found), max(0, len(names) - MOST_FILES)


def _try(read: Callable[[], T]) -> T | Missing:
    try:
        return read()
    except OSError as error:
        return reason(error, Missing.GONE)


def _io(directory: str) -> IoCounters | Missing:
    try:
        return parse_io(read_file(f"{directory}/io"))
    except OSError as error:
        return reason(error, Missing.UNSUPPORTED)
    except ValueError:
        return Missing.UNSUPPORTED


def _number(pattern: re.Pattern[bytes], content: bytes, base: int = 10) -> int | None:
    found = pattern.search(content)
    return int(found[1], base) if found else None


def flag_words(flags: int) -> str:
    """The flags of an open file (`fdinfo`, proc(5)) as words: `read+write append direct`."""
    words = [_ACCESS.get(flags & os.O_ACCMODE, "path")]
    words += [word for bits, word in _FLAGS if flags & bits == bits]
    return " ".join(words)


def parse_limits(content: bytes) -> Iterator[Limit]:
    """The lines of /proc/PID/limits: `open files` `1024 of 1048576`, the soft limit of the hard one."""
    for line in content.decode("ascii", "replace").splitlines():
        found = _LIMIT_LINE.match(line)
        if found:
            name, soft, hard, unit = found.groups()
            value = soft if soft == hard else f"{soft} of {hard}"
            yield Limit(name, value if not unit or soft == "unlimited" else f"{value} {unit}")


def _wait_channel(directory: str) -> Text:
    """The kernel function that the task sleeps in; `0` stands for none, or for one that may not be seen."""
    content = _try(lambda: read_file(f"{directory}/wchan"))
    if isinstance(content, Missing):
        return content
    return "" if content.strip() in (b"", b"0") else safe_text(content.strip())


def _threads(process: str) -> tuple[tuple[int, str, str], ...] | Missing:
    names = _try(lambda: sorted(int(name) for name in os.listdir(f"{process}/task")))
    if isinstance(names, Missing):
        return names
    found: list[tuple[int, str, str]] = []
    for tid in names[:_MOST_THREADS]:
        try:
            stat = parse_stat(read_file(f"{process}/task/{tid}/stat"), 0.0)
        except (OSError, ValueError):
            continue
        found.append((tid, safe_text(stat.name), stat.counters.state))
    return tuple(found)


def _cgroup_limits(cgroup_file: bytes, table: MountTable, blocks: Blocks) -> Iterator[Limit]:
    """The limits that hold the group back, those of the groups above it included."""
    limits = Cgroup(cgroup_file, table).limits()
    if limits.cpus is not None:
        yield Limit("cpu.max", f"{limits.cpus:g} CPUs")
    if limits.memory_max_bytes is not None:
        yield Limit("memory.max", _bytes(limits.memory_max_bytes))
    if limits.memory_high_bytes is not None:
        yield Limit("memory.high", _bytes(limits.memory_high_bytes))
    for (major, minor), limit in limits.io.items():
        name = blocks.by_number(major, minor) or f"{major}:{minor}"
        yield Limit(f"io.max {name}", ", ".join(_io_words(limit)))


def _io_words(limit: IoLimit) -> Iterator[str]:
    if limit.read_bytes_per_s is not None:
        yield f"read {_bytes(limit.read_bytes_per_s)}/s"
    if limit.write_bytes_per_s is not None:
        yield f"write {_bytes(limit.write_bytes_per_s)}/s"
    if limit.reads_per_s is not None:
        yield f"{limit.reads_per_s} reads/s"
    if limit.writes_per_s is not None:
        yield f"{limit.writes_per_s} writes/s"


def _bytes(amount: int) -> str:
    return bytes_in_words(amount)
