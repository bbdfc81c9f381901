"""Limits, pressure and I/O of a control group, in v1, v2 and both together (Documentation/admin-guide/cgroup-v2.rst).

Hybrid hosts have some controllers in either hierarchy, so that each file is looked up by itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from iodash.model.members import QuotaPeriods
from iodash.model.missing import Count, Missing
from iodash.sources.local.containers import controllers
from iodash.sources.local.kept_file import read_bytes
from iodash.sources.local.pressure import parse_pressure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from iodash.sources.local.mounts import MountTable

_UNIFIED = "cgroup2"
_NO_LIMIT = 1 << 62
"""v1 writes `no limit` as a number close to 2^63."""

_THROTTLES = {
    "read_bytes_per_s": "blkio.throttle.read_bps_device",
    "write_bytes_per_s": "blkio.throttle.write_bps_device",
    "reads_per_s": "blkio.throttle.read_iops_device",
    "writes_per_s": "blkio.throttle.write_iops_device",
}
_IO_MAX = {"rbps": "read_bytes_per_s", "wbps": "write_bytes_per_s", "riops": "reads_per_s", "wiops": "writes_per_s"}

DeviceNumber = tuple[int, int]


@dataclass(frozen=True, slots=True)
class IoLimit:
    """What a group may do on one device a second; None where it is not limited."""

    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    reads_per_s: int | None = None
    writes_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """The tightest limits of a group and the groups above it, as far as they are in sight; None where there is none.

    `cpus` is the CPU quota in CPUs. `io` is by device number.
    """

    cpus: float | None = None
    memory_max_bytes: int | None = None
    memory_high_bytes: int | None = None
    io: Mapping[DeviceNumber, IoLimit] = field(default_factory=dict)


class IoAmount(NamedTuple):
    """Bytes and requests of a group on one device."""

    read_bytes: int = 0
    written_bytes: int = 0
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True, slots=True)
class GroupPressure:
    """Microseconds that tasks of a group waited."""

    cpu_some_us: Count
    io_some_us: Count
    io_full_us: Count
    memory_some_us: Count
    memory_full_us: Count


class Cgroup:
    """Where the files of one control group are.

    Args:
        cgroup_file: the contents of /proc/PID/cgroup.
        table: the mount table, which tells where each hierarchy is mounted and from which group on it is in sight.
    """

    def __init__(self, cgroup_file: bytes, table: MountTable) -> None:
        paths = controllers(cgroup_file)
        self._unified: tuple[str, str] | None = None
        self._legacy: dict[str, tuple[str, str]] = {}
        for mount in table:
            if mount.file_system == _UNIFIED and b"" in paths:
                self._unified = _folder(mount.point, mount.root_path, paths[b""]) or self._unified
            elif mount.file_system == "cgroup":
                for controller in mount.options.split(","):
                    path = paths.get(controller.encode())
                    folder = None if path is None else _folder(mount.point, mount.root_path, path)
                    if folder is not None:
                        self._legacy[controller] = folder

    def read(self, name: str, legacy: tuple[str, str] | None = None) -> bytes | Missing:
        """A file of the group: `name` in the unified hierarchy, else the (controller, file) pair of v1."""
        for folder, _, file in self._places(name, legacy):
            content = read_bytes(f"{folder}/{file}")
            if content is not None:
                return content
        return Missing.UNSUPPORTED

    def upwards(self, name: str, legacy: tuple[str, str] | None = None) -> Iterator[tuple[str, bytes]]:
        """The folder and the same file in it of the group and then of each group above it that is in sight."""
        for folder, top, file in self._places(name, legacy):
            while True:
                content = read_bytes(f"{folder}/{file}")
                if content is not None:
                    yield folder, content
                if len(folder) <= len(top):
                    break
                folder = os.path.dirname(folder)

    def limits(self) -> CgroupLimits:
        """What holds the group back by intention."""
        return CgroupLimits(
            cpus=_least(self._quotas()),
            memory_max_bytes=_least(
                _bytes_limit(limit) for _, limit in self.upwards("memory.max", ("memory", "memory.limit_in_bytes"))
            ),
            memory_high_bytes=_least(_bytes_limit(limit) for _, limit in self.upwards("memory.high")),
            io=self._io_limits(),
        )

    def pressure(self) -> GroupPressure:
        """How long tasks of the group waited, in whichever hierarchy has the pressure files."""
        io_some, io_full = parse_pressure(self.read("io.pressure"))
        memory_some, memory_full = parse_pressure(self.read("memory.pressure"))
        return GroupPressure(
            cpu_some_us=parse_pressure(self.read("cpu.pressure"))[0],
            io_some_us=io_some,
            io_full_us=io_full,
            memory_some_us=memory_some,
            memory_full_us=memory_full,
        )

    def memory(self) -> tuple[Count, Count]:
        """Bytes in use, and how many pages of files were dropped and read again."""
        used = _whole(self.read("memory.current", ("memory", "memory.usage_in_bytes")))
        stat = parse_flat(self.read("memory.stat", ("memory", "memory.stat")))
        names = ("workingset_refault_file", "total_workingset_refault_file", "workingset_refault")
        return used, next((stat[name] for name in names if name in stat), Missing.UNSUPPORTED)

    def quota_periods(self) -> dict[str, QuotaPeriods]:
        """What the CPU quota of the group, and of each one above it, did to it, by folder."""
        stats = ((folder, parse_flat(content)) for folder, content in self.upwards("cpu.stat", ("cpu", "cpu.stat")))
        return {
            folder: QuotaPeriods(stat["nr_periods"], stat.get("nr_throttled", 0))
            for folder, stat in stats
            if "nr_periods" in stat
        }

    def io(self) -> dict[DeviceNumber, IoAmount] | Missing:
        """Bytes and requests by device. Stacked devices are listed beside what they stand on: never add them up."""
        unified = self.read("io.stat")
        if not isinstance(unified, Missing):
            return parse_io_stat(unified)
        sizes = self.read("", ("blkio", "blkio.throttle.io_service_bytes_recursive"))
        if isinstance(sizes, Missing):
            return sizes
        counts = self.read("", ("blkio", "blkio.throttle.io_serviced_recursive"))
        return parse_service(sizes, b"" if isinstance(counts, Missing) else counts)

    def _places(self, name: str, legacy: tuple[str, str] | None) -> Iterator[tuple[str, str, str]]:
        if self._unified is not None and name:
            yield (*self._unified, name)
        if legacy is not None and legacy[0] in self._legacy:
            yield (*self._legacy[legacy[0]], legacy[1])

    def _quotas(self) -> Iterator[float | None]:
        for _, content in self.upwards("cpu.max"):
            quota, _, period = content.partition(b" ")
            yield _cpus(quota, period)
        periods = dict(self.upwards("", ("cpu", "cpu.cfs_period_us")))
        for folder, quota in self.upwards("", ("cpu", "cpu.cfs_quota_us")):
            yield _cpus(quota, periods.get(folder, b""))

    def _io_limits(self) -> dict[DeviceNumber, IoLimit]:
        found: dict[DeviceNumber, dict[str, int]] = {}
        for _, content in self.upwards("io.max"):
            for number, pairs in _by_device(content):
                for key, value in pairs:
                    if key in _IO_MAX and value.isdigit():
                        _tighten(found, number, _IO_MAX[key], int(value))
        for name, file in _THROTTLES.items():
            for _, content in self.upwards("", ("blkio", file)):
                for line in content.splitlines():
                    words = line.split()
                    number_v1 = _number(words[0]) if len(words) == 2 and words[1].isdigit() else None
                    if number_v1 is not None:
                        _tighten(found, number_v1, name, int(words[1]))
        return {number: IoLimit(**limits) for number, limits in found.items()}


def _cpus(quota: bytes, period: bytes) -> float | None:
    """The quota in CPUs; None where there is none (`max`, -1)."""
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _folder(point: str, root: str, path: bytes) -> tuple[str, str] | None:
    """The folder of a group and the top one in sight, None for a group outside of what is mounted."""
    group = os.fsdecode(path)
    if "/.." in group:
        return None
    if root != "/":
        if group != root and not group.startswith(root + "/"):
            return None
        group = group[len(root) :]
    return point + group.rstrip("/"), point


def _number(text: bytes) -> DeviceNumber | None:
    major, colon, minor = text.partition(b":")
    return (int(major), int(minor)) if colon and major.isdigit() and minor.isdigit() else None


def _by_device(content: bytes) -> Iterator[tuple[DeviceNumber, list[tuple[str, bytes]]]]:
    """The `key=value` pairs of each `MAJOR:MINOR` line; other words, such as a scheduler's own, are passed over."""
    for line in content.splitlines():
        words = line.split()
        number = _number(words[0]) if words else None
        if number is not None:
            pairs = [word.partition(b"=") for word in words[1:]]
            yield number, [(key.decode("ascii", "replace"), value) for key, equals, value in pairs if equals]


def parse_io_stat(content: bytes) -> dict[DeviceNumber, IoAmount]:
    """The io.stat of v2 by device number."""
    amounts = {}
    for number, pairs in _by_device(content):
        values = {key: int(value) for key, value in pairs if value.isdigit()}
        amounts[number] = IoAmount(*(values.get(key, 0) for key in ("rbytes", "wbytes", "rios", "wios")))
    return amounts


def parse_service(sizes: bytes, counts: bytes) -> dict[DeviceNumber, IoAmount]:
    """The blkio.throttle.io_service_bytes and io_serviced files of v1: Read and Write alone, the rest repeats them."""
    values: dict[DeviceNumber, dict[str, int]] = {}
    for content, read, write in ((sizes, "read_bytes", "written_bytes"), (counts, "reads", "writes")):
        for line in content.splitlines():
            words = line.split()
            number = _number(words[0]) if len(words) == 3 and words[2].isdigit() else None
            if number is not None and words[1] in (b"Read", b"Write"):
                values.setdefault(number, {})[read if words[1] == b"Read" else write] = int(words[2])
    return {number: IoAmount(**amounts) for number, amounts in values.items()}


def parse_flat(content: bytes | Missing) -> dict[str, int]:
    """A file of `key value` lines, such as memory.stat and cpu.stat."""
    if isinstance(content, Missing):
        return {}
    pairs = (line.split() for line in content.splitlines())
    return {
        words[0].decode("ascii", "replace"): int(words[1]) for words in pairs if len(words) == 2 and words[1].isdigit()
    }


def _whole(content: bytes | Missing) -> Count:
    if isinstance(content, Missing):
        return content
    return int(content) if content.isdigit() else Missing.UNSUPPORTED


def _bytes_limit(content: bytes) -> int | None:
    return int(content) if content.isdigit() and int(content) < _NO_LIMIT else None


def _least(values: Iterator[float | None] | Iterator[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)  # type: ignore[return-value]


def _tighten(found: dict[DeviceNumber, dict[str, int]], number: DeviceNumber, name: str, value: int) -> None:
    limits = found.setdefault(number, {})
    limits[name] = min(value, limits.get(name, value))
