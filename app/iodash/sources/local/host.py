"""The machine that the samples are from."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.model.sample import Host
from iodash.sources.local.containers import container_kind
from iodash.sources.local.kept_file import KeptFile, read_bytes
from iodash.sources.local.mounts import MountTable
from iodash.sources.local.trees import is_of_a_pid_namespace, is_own

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.sample import ContainerKind

_AGE_S = 5.0
_OF_THE_MACHINE = ("stat", "meminfo", "diskstats")
_VISIBLE_TO_ALL = ("0", "off")
_SLEW_S = 1.0
_SYS_PTRACE = 19  # include/uapi/linux/capability.h


def count_cpus(ranges: bytes) -> int | None:
    """How many CPUs a list such as `0-3,8` names (Documentation/admin-guide/cputopology.rst); None if it is none."""
    total = 0
    try:
        for part in ranges.strip().split(b","):
            first, _, last = part.partition(b"-")
            total += int(last or first) - int(first) + 1
    except ValueError:
        return None
    return total if total > 0 else None


def may_trace() -> bool:
    """Whether this process has CAP_SYS_PTRACE."""
    _, _, rest = (read_bytes("/proc/self/status") or b"").partition(b"\nCapEff:")
    return bool(int(rest.split(None, 1)[0], 16) >> _SYS_PTRACE & 1) if rest else False


def hiding_option(procfs: Path) -> str:
    """The `hidepid` of the mount of `procfs` where it hides something from this process (proc(5)), else empty."""
    if read_bytes(procfs / "1/stat") is not None:
        return ""
    mount = MountTable.parse(read_bytes("/proc/self/mountinfo") or b"").find(os.path.realpath(procfs))
    if mount is None or mount.file_system != "proc":
        return ""
    options = dict(option.partition("=")[::2] for option in mount.options.split(","))
    value = options.get("hidepid", "0")
    return "" if value in _VISIBLE_TO_ALL else value


def boot_time(stat: bytes, *, own: bool) -> float:
    """When the machine was booted, in Unix seconds; 0 where nothing tells.

    Start times count from it in hundredths. `btime` of /proc/stat is cut to whole seconds, so that only the tree of
    another machine has to do with it.
    """
    if own:
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    _, found, rest = stat.partition(b"\nbtime ")
    return float(rest.split(b"\n", 1)[0]) if found else 0.0


class _Changing(NamedTuple):
    """What can change while iodash runs: the boot time when somebody sets the clock."""

    name: bytes | Missing
    delay_accounting: bytes | Missing
    online: bytes | Missing
    hidepid: str
    only_processes: bool
    sysfs_hidden: bool
    boot_time: float
    listed_cpus: int


class HostReader:
    """Reads the host. What can change while iodash runs is read again every few seconds, the rest once."""

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._procfs = procfs
        self._blocks = sysfs / "class/block"
        self._name = KeptFile(procfs / "sys/kernel/hostname")
        self._delay_accounting = KeptFile(procfs / "sys/kernel/task_delayacct", Missing.UNSUPPORTED)
        self._stat = KeptFile(procfs / "stat")
        self._online = KeptFile(sysfs / "devices/system/cpu/online")
        self._kernel = safe_text(read_bytes(procfs / "sys/kernel/osrelease") or os.uname().release)
        self._container: ContainerKind | None = container_kind(procfs, here=is_own(procfs))
        self._pid_namespace = is_of_a_pid_namespace(procfs)
        self._boot_time = 0.0
        self._may_trace = may_trace()
        self._due = 0.0
        self._seen: _Changing | None = None
        self._host = Host(name="", kernel="")

    def read(self) -> Host:
        """The host as it is now; the same object while nothing changed."""
        now = time.monotonic()
        if now < self._due:
            return self._host
        self._due = now + _AGE_S
        content = self._stat.read()
        stat = b"" if isinstance(content, Missing) else content
        seen = _Changing(
            self._name.read(),
            self._delay_accounting.read(),
            self._online.read(),
            hiding_option(self._procfs),
            not any((self._procfs / name).exists() for name in _OF_THE_MACHINE),
            not self._blocks.is_dir(),
            self._booted(stat),
            stat.count(b"\ncpu"),
        )
        if seen != self._seen:
            self._seen = seen
            self._host = self._build(seen)
        return self._host

    def close(self) -> None:
        """Lets go of the kept descriptors."""
        for file in (self._name, self._delay_accounting, self._online, self._stat):
            file.close()

    def _booted(self, stat: bytes) -> float:
        """The boot time, which moves only when somebody sets the clock: slewing it moves no start time."""
        found = boot_time(stat, own=is_own(self._procfs))
        if abs(found - self._boot_time) > _SLEW_S:
            self._boot_time = found
        return self._boot_time

    def _build(self, seen: _Changing) -> Host:
        name, accounting, online = seen.name, seen.delay_accounting, seen.online
        cpus = None if isinstance(online, Missing) else count_cpus(online)
        return Host(
            name=safe_text(os.uname().nodename if isinstance(name, Missing) else name.strip()),
            kernel=self._kernel,
            container=self._container,
            pid_namespace=self._pid_namespace,
            cpu_count=cpus or max(1, seen.listed_cpus),
            boot_time=seen.boot_time,
            page_bytes=os.sysconf("SC_PAGE_SIZE"),
            clock_ticks=os.sysconf("SC_CLK_TCK"),
            delay_accounting=None if isinstance(accounting, Missing) else accounting.strip() != b"0",
            may_trace=self._may_trace,
            procfs=str(self._procfs),
            hidepid=seen.hidepid,
            only_processes=seen.only_processes,
            sysfs_hidden=seen.sysfs_hidden,
        )
