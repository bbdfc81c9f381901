"""What is read of the members of training jobs while they are judged: counters, and what they did in an interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.model.missing import Count, Number
    from iodash.model.process_key import ProcessKey

WaitKind = Literal["block", "writeback", "network", "fuse", "socket", "queue", "memory", "other"]
"""What a waiting thread waits for, from its state and the kernel function it sleeps in (/proc/PID/wchan)."""


@dataclass(frozen=True, slots=True)
class MemberCounters:
    """One member of a job by its main thread, or, with `key.tid` set, another thread of it.

    `looks` counts how often the thread was looked at, `running`, `blocked` (state D) and `waits` (by kind) how often it
    was found so. `run_delay_ns` is the time that it was ready and had no CPU (/proc/PID/schedstat). `name` is that of
    another thread. The bytes are those of the thread alone, read only where other threads are looked at too.
    """

    key: ProcessKey
    read_at: float
    main_thread_cpu_s: Number
    run_delay_ns: Count
    looks: int
    running: int
    blocked: int
    waits: Mapping[WaitKind, int]
    waits_readable: bool
    name: str = ""
    logical_read_bytes: Count = Missing.NOT_MEASURED
    logical_write_bytes: Count = Missing.NOT_MEASURED
    read_bytes: Count = Missing.NOT_MEASURED


@dataclass(frozen=True, slots=True)
class IoLimit:
    """One line of a cgroup's io.max or v1 blkio.throttle: a ceiling on one device."""

    device: str
    direction: Literal["read", "write"]
    unit: Literal["bytes", "operations"]
    per_s: float


@dataclass(frozen=True, slots=True)
class QuotaPeriods:
    """How many periods a CPU quota was enforced in, and in how many of them it stopped the group."""

    periods: int
    throttled: int


@dataclass(frozen=True, slots=True)
class CgroupCounters:
    """A job's control group: limits as set, counters as they stand. Microseconds, bytes, pages.

    `read_bytes` and `write_bytes` are by device name, `cpu_periods` by folder: those of the group and of each one above
    it, empty where the kernel counts none. `cpu_quota` is in CPUs, missing (`off`) where there is none.
    """

    path: str
    cpu_quota: Number
    cpu_periods: Mapping[str, QuotaPeriods]
    io_limits: tuple[IoLimit, ...]
    read_bytes: Mapping[str, int]
    write_bytes: Mapping[str, int]
    read_operations: Mapping[str, int]
    write_operations: Mapping[str, int]
    memory_used_bytes: Count
    memory_limit_bytes: Number
    refault_pages: Count
    pressure_cpu_some_us: Count
    pressure_io_some_us: Count
    pressure_io_full_us: Count
    pressure_memory_some_us: Count
    pressure_memory_full_us: Count


@dataclass(frozen=True, slots=True)
class DataPlace:
    """A mount that a job has files of its own open on, with what serves it.

    `kind` is that of the bottommost device, of the network or FUSE mount, `memory`, or `unknown` where nobody tells.
    `devices` are the names of the device-table rows beneath it: block devices down to the disks, or the network mount.
    `probable` is true where a container hides the truth. `files` is how many open files lie there.
    """

    mount_point: str
    file_system: str
    kind: str
    devices: tuple[str, ...]
    served_by: str
    files: int
    probable: bool = False


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """What changes rarely: environment of the framework (RANK, LOCAL_RANK, WORLD_SIZE), the cgroup, the places of its
    data, whether it talks to other hosts over sockets, the fill of /dev/shm as this process sees it, and on how many
    CPUs it may run (affinity and cpuset).
    """

    environment: Mapping[str, str]
    cgroup: str
    places: tuple[DataPlace, ...] | Missing
    remote_sockets: Count
    shared_memory_used_bytes: Count
    shared_memory_total_bytes: Count
    cpus_allowed: Count = Missing.NOT_MEASURED


@dataclass(frozen=True, slots=True)
class JobReadings:
    """Everything read for jobs under judgement in one sample."""

    members: Mapping[ProcessKey, MemberCounters] = field(default_factory=dict)
    facts: Mapping[ProcessKey, MemberFacts] = field(default_factory=dict)
    cgroups: Mapping[str, CgroupCounters] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """What one member's main thread, or with `key.tid` set another thread of it, did in an interval: percent of time.

    `blocked_percent` is the share of looks that found it in state D, `waits` the share by kind of wait.
    """

    key: ProcessKey
    main_thread_cpu_percent: Number
    run_delay_percent: Number
    looks: int
    running_percent: Number
    blocked_percent: Number
    waits: Mapping[WaitKind, float]
    waits_readable: bool
    name: str = ""
    logical_read_bytes_per_s: Number = Missing.NOT_MEASURED
    logical_write_bytes_per_s: Number = Missing.NOT_MEASURED
    read_bytes_per_s: Number = Missing.NOT_MEASURED


@dataclass(frozen=True, slots=True)
class CgroupRow:
    """What a job's control group did in an interval, with its limits. Shares in percent, rates a second.

    `io_limits` pairs each limit with the rate measured against it. `cpu_throttled_percent` is the share of its periods
    in which a CPU quota stopped the group: of its own one and those of the groups above it the one that did so most.
    """

    path: str
    cpu_quota: Number
    cpu_throttled_percent: Number
    io_limits: tuple[tuple[IoLimit, Number], ...]
    read_bytes_per_s: Mapping[str, Number]
    write_bytes_per_s: Mapping[str, Number]
    memory_used_bytes: Count
    memory_limit_bytes: Number
    refault_bytes_per_s: Number
    pressure_cpu_some_percent: Number
    pressure_io_some_percent: Number
    pressure_io_full_percent: Number
    pressure_memory_some_percent: Number
    pressure_memory_full_percent: Number


@dataclass(frozen=True, slots=True)
class JobRows:
    """The rows of jobs under judgement in one frame."""

    members: Mapping[ProcessKey, MemberRow] = field(default_factory=dict)
    facts: Mapping[ProcessKey, MemberFacts] = field(default_factory=dict)
    cgroups: Mapping[str, CgroupRow] = field(default_factory=dict)
