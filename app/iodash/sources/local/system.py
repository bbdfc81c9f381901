"""The whole machine: CPU time, memory, swap, paging, network, pressure and load, from kept-open files of /proc."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from iodash.model.missing import Count, Missing, Number
from iodash.model.sample import CpuTicks, SystemCounters
from iodash.sources.local.host import count_cpus
from iodash.sources.local.kept_file import KeptFile, reason
from iodash.sources.local.mounts import MountReader
from iodash.sources.local.network import NetworkReader
from iodash.sources.local.pressure import parse_pressure
from iodash.sources.local.trees import is_own

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SHARED_MEMORY = "/dev/shm"
_MEMORY_NAMES = (
    b"MemTotal",
    b"MemFree",
    b"MemAvailable",
    b"Buffers",
    b"Cached",
    b"SwapTotal",
    b"SwapFree",
    b"Dirty",
    b"Writeback",
    b"Shmem",
    b"SReclaimable",
)


class SystemReader:
    """Reads the machine's counters. Each file that is missing costs its own fields and nothing else.

    Args:
        procfs: the proc tree.
        sysfs: the sys tree, which may be missing.
        mounts: the mount table, where somebody else reads it already.
    """

    def __init__(self, procfs: Path, sysfs: Path, mounts: MountReader | None = None) -> None:
        self._stat = KeptFile(procfs / "stat")
        self._memory = KeptFile(procfs / "meminfo")
        self._paging = KeptFile(procfs / "vmstat")
        self._load = KeptFile(procfs / "loadavg")
        self._uptime = KeptFile(procfs / "uptime")
        pressure = procfs / "pressure"
        # Without a /proc/stat the tree is a partial one; with it the kernel itself has no pressure files.
        absent = Missing.UNSUPPORTED if (procfs / "stat").exists() else Missing.NOT_IN_CONTAINER
        self._pressure = {name: KeptFile(pressure / name, absent) for name in ("cpu", "io", "memory")}
        self._online = KeptFile(sysfs / "devices/system/cpu/online")
        self._network = NetworkReader(procfs, sysfs)
        self._mounts = mounts or MountReader(procfs)
        self._shared = SharedMemory(_SHARED_MEMORY) if is_own(procfs) else None

    def read(self) -> SystemCounters:
        """Everything once."""
        stat = parse_stat(self._stat.read())
        memory = parse_memory(self._memory.read())
        paging = parse_paging(self._paging.read())
        load = parse_load(self._load.read())
        cpu_some, _ = parse_pressure(self._pressure["cpu"].read())
        io_some, io_full = parse_pressure(self._pressure["io"].read())
        memory_some, memory_full = parse_pressure(self._pressure["memory"].read())
        shared = self._shared.read(self._mounts) if self._shared else (Missing.NOT_MEASURED, Missing.NOT_MEASURED)
        online = self._online.read()
        counted = None if isinstance(online, Missing) else count_cpus(online)
        return SystemCounters(
            cpu=stat.cpu,
            cpus=stat.cpus,
            cpu_count=counted or len(stat.cpus) or Missing.NOT_IN_CONTAINER,
            memory_total_bytes=memory[b"MemTotal"],
            memory_free_bytes=memory[b"MemFree"],
            memory_available_bytes=memory[b"MemAvailable"],
            memory_cached_bytes=memory[b"Cached"],
            memory_buffers_bytes=memory[b"Buffers"],
            memory_dirty_bytes=memory[b"Dirty"],
            memory_writeback_bytes=memory[b"Writeback"],
            swap_total_bytes=memory[b"SwapTotal"],
            swap_free_bytes=memory[b"SwapFree"],
            swap_in_pages=paging[b"pswpin"],
            swap_out_pages=paging[b"pswpout"],
            page_in_kib=paging[b"pgpgin"],
            page_out_kib=paging[b"pgpgout"],
            major_faults=paging[b"pgmajfault"],
            refault_pages=paging[b"workingset_refault_file"],
            interrupts=stat.interrupts,
            context_switches=stat.context_switches,
            processes_created=stat.created,
            processes_running=stat.running,
            processes_blocked=stat.blocked,
            load_1=load[0],
            load_5=load[1],
            load_15=load[2],
            pressure_cpu_some_us=cpu_some,
            pressure_io_some_us=io_some,
            pressure_io_full_us=io_full,
            pressure_memory_some_us=memory_some,
            pressure_memory_full_us=memory_full,
            interfaces=self._network.read(),
            uptime_s=parse_load(self._uptime.read(), 1)[0],
            shared_memory_total_bytes=shared[0],
            shared_memory_used_bytes=shared[1],
            memory_shmem_bytes=memory[b"Shmem"],
            memory_reclaimable_bytes=memory[b"SReclaimable"],
        )

    def close(self) -> None:
        """Lets go of the kept descriptors."""
        kept = (self._stat, self._memory, self._paging, self._load, self._uptime, self._online)
        for file in (*kept, *self._pressure.values()):
            file.close()
        self._network.close()
        self._mounts.close()
        if self._shared is not None:
            self._shared.close()


class StatFile:
    """The parts of /proc/stat that iodash uses (Documentation/filesystems/proc.rst, 1.7)."""

    __slots__ = ("blocked", "context_switches", "cpu", "cpus", "created", "interrupts", "running")

    def __init__(self, cpu: CpuTicks | Missing, cpus: Mapping[int, CpuTicks], counts: tuple[Count, ...]) -> None:
        self.cpu = cpu
        self.cpus = cpus
        self.interrupts, self.context_switches, self.created, self.running, self.blocked = counts


_STAT_COUNTS = (b"\nintr ", b"\nctxt ", b"\nprocesses ", b"\nprocs_running ", b"\nprocs_blocked ")


def parse_stat(content: bytes | Missing) -> StatFile:
    """/proc/stat. Columns that old kernels don't have count as 0 ticks, missing lines are `Missing`."""
    if isinstance(content, Missing):
        return StatFile(content, {}, (content,) * len(_STAT_COUNTS))
    cpu: CpuTicks | Missing = Missing.NOT_IN_CONTAINER
    cpus: dict[int, CpuTicks] = {}
    for line in content.split(b"\n", content.count(b"\ncpu") + 1):
        if not line.startswith(b"cpu"):
            break
        ticks = _cpu_ticks(line)
        number = line[3 : line.find(b" ")]
        if ticks is None:
            continue
        if number.isdigit():
            cpus[int(number)] = ticks
        elif not number:
            cpu = ticks
    return StatFile(cpu, cpus, tuple(_number_after(content, key) for key in _STAT_COUNTS))


def _cpu_ticks(line: bytes) -> CpuTicks | None:
    try:
        values = [int(field) for field in line.split()[1:9]]
    except ValueError:
        return None
    if len(values) < 4:
        return None
    return CpuTicks(*values, *(0,) * (8 - len(values)))


def _number_after(content: bytes, key: bytes) -> Count:
    start = content.find(key)
    if start < 0:
        return Missing.UNSUPPORTED if content else Missing.NOT_IN_CONTAINER
    start += len(key)
    end = content.find(b"\n", start)
    words = content[start : end if end >= 0 else None].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else Missing.UNSUPPORTED


def parse_memory(content: bytes | Missing) -> dict[bytes, Count]:
    """The fields of /proc/meminfo that iodash uses, in bytes."""
    if isinstance(content, Missing):
        return dict.fromkeys(_MEMORY_NAMES, content)
    if not content:
        return dict.fromkeys(_MEMORY_NAMES, Missing.NOT_IN_CONTAINER)
    lines = b"\n" + content
    return {name: _number_after(lines, b"\n" + name + b":") * 1024 for name in _MEMORY_NAMES}


_PAGING_NAMES = (b"pgpgin", b"pgpgout", b"pswpin", b"pswpout", b"pgmajfault", b"workingset_refault_file")


def parse_paging(content: bytes | Missing) -> dict[bytes, Count]:
    """The fields of /proc/vmstat that iodash uses. Before Linux 5.9 only refaults of files were counted, unnamed so."""
    if isinstance(content, Missing):
        return dict.fromkeys(_PAGING_NAMES, content)
    lines = b"\n" + content
    fields = {name: _number_after(lines, b"\n" + name + b" ") for name in _PAGING_NAMES}
    if isinstance(fields[b"workingset_refault_file"], Missing):
        fields[b"workingset_refault_file"] = _number_after(lines, b"\nworkingset_refault ")
    return fields


def parse_load(content: bytes | Missing, count: int = 3) -> tuple[Number, ...]:
    """The first `count` decimal numbers of /proc/loadavg or /proc/uptime."""
    if isinstance(content, Missing):
        return (content,) * count
    fields = content.split(None, count)[:count]
    try:
        numbers = tuple(map(float, fields))
    except ValueError:
        numbers = ()
    return numbers if len(numbers) == count else (Missing.NOT_IN_CONTAINER,) * count


class SharedMemory:
    """Size and use of a tmpfs. Nothing else is ever asked, since another file system's answer may not come."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._changes = -1
        self._absent = Missing.UNSUPPORTED

    def read(self, mounts: MountReader) -> tuple[Count, Count]:
        """Total and used bytes, unsupported where no tmpfs is mounted there."""
        table = mounts.table()
        if mounts.changes != self._changes:
            self._changes = mounts.changes
            self.close()
            mount = table.find(self._path)
            if mount is not None and mount.file_system == "tmpfs" and mount.point == self._path:
                self._open()
        if self._fd < 0:
            return self._absent, self._absent
        numbers = os.fstatvfs(self._fd)
        return numbers.f_blocks * numbers.f_frsize, (numbers.f_blocks - numbers.f_bfree) * numbers.f_frsize

    def close(self) -> None:
        """Lets go of the kept descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        try:
            self._fd = os.open(self._path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self._absent = reason(error, Missing.UNSUPPORTED)
