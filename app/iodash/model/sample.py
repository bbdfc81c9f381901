"""A Sample: the machine's counters at one instant, as the machine gives them. Nothing here is a rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from iodash.model.members import JobReadings
from iodash.model.missing import Missing
from iodash.model.process_key import ProcessKey as ProcessKey  # noqa: TC001 - offered here too, also at run time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.model.missing import Count, Number, Text

ContainerKind = Literal["docker", "podman", "kubernetes", "lxc", "other"]

DeviceKind = Literal["disk", "partition", "loop", "dm", "md", "zram", "ram", "nfs", "cifs", "fuse", "other"]


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that a sample is from.

    `boot_time` is in Unix seconds. `page_bytes` and `clock_ticks` (per second) are the units of the kernel's page and
    tick counters. `pid_namespace` is true where other processes of the machine are out of sight, `may_trace` where
    iodash may look into every process (CAP_SYS_PTRACE). `hidepid` is the mount option by which the tree `procfs` hides
    the processes of other users (proc(5)), empty where it doesn't; `only_processes` is true where it shows nothing of
    the machine (`subset=pid`), `sysfs_hidden` where no block device is in sight in sysfs.
    """

    name: str
    kernel: str
    container: ContainerKind | None = None
    pid_namespace: bool = False
    cpu_count: int = 1
    boot_time: float = 0.0
    page_bytes: int = 4096
    clock_ticks: int = 100
    delay_accounting: bool | None = None
    may_trace: bool = False
    procfs: str = "/proc"
    hidepid: str = ""
    only_processes: bool = False
    sysfs_hidden: bool = False


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """Clock ticks of one CPU or of all, /proc/stat. `user` and `nice` include guest time, as the kernel adds it."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int


@dataclass(frozen=True, slots=True)
class InterfaceCounters:
    """Bytes of one network interface (/proc/net/dev) or InfiniBand port. `physical`: a device stands behind it."""

    name: str
    receive_bytes: int
    transmit_bytes: int
    physical: bool


@dataclass(frozen=True, slots=True)
class SystemCounters:
    """The whole machine: gauges in bytes or plain numbers, counters since boot. Pressure totals are microseconds."""

    cpu: CpuTicks | Missing
    cpus: Mapping[int, CpuTicks]
    cpu_count: Count
    memory_total_bytes: Count
    memory_free_bytes: Count
    memory_available_bytes: Count
    memory_cached_bytes: Count
    memory_buffers_bytes: Count
    memory_dirty_bytes: Count
    memory_writeback_bytes: Count
    swap_total_bytes: Count
    swap_free_bytes: Count
    swap_in_pages: Count
    swap_out_pages: Count
    page_in_kib: Count
    page_out_kib: Count
    major_faults: Count
    refault_pages: Count
    interrupts: Count
    context_switches: Count
    processes_created: Count
    processes_running: Count
    processes_blocked: Count
    load_1: Number
    load_5: Number
    load_15: Number
    pressure_cpu_some_us: Count
    pressure_io_some_us: Count
    pressure_io_full_us: Count
    pressure_memory_some_us: Count
    pressure_memory_full_us: Count
    interfaces: tuple[InterfaceCounters, ...] | Missing
    uptime_s: Number
    shared_memory_total_bytes: Count
    shared_memory_used_bytes: Count
    memory_shmem_bytes: Count = Missing.NOT_MEASURED
    memory_reclaimable_bytes: Count = Missing.NOT_MEASURED

    @property
    def busy_ticks(self) -> Count:
        """Clock ticks in which the CPUs ran processes, the kernel's own work for them included."""
        cpu = self.cpu
        return cpu if isinstance(cpu, Missing) else cpu.user + cpu.nice + cpu.system


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """One line of /proc/diskstats with what sysfs and the mount table say of the device.

    Times are milliseconds, sectors are 512 bytes whatever the disk's own block size
    (Documentation/admin-guide/iostats.rst). `generation` tells one use of a name from the next (diskseq).
    `in_flight` is the largest of the readings taken since the previous sample. `slots` is how many requests the
    device takes at once (nr_requests times hardware queues). `total` is true for a device whose bytes count in the
    machine's sum: a physical disk, once.
    """

    name: str
    major: int
    minor: int
    generation: int
    kind: DeviceKind
    reads: Count
    reads_merged: Count
    sectors_read: Count
    read_ms: Count
    writes: Count
    writes_merged: Count
    sectors_written: Count
    write_ms: Count
    in_flight: Count
    io_ticks_ms: Count
    queue_ms: Count
    discards: Count
    discards_merged: Count
    sectors_discarded: Count
    discard_ms: Count
    flushes: Count
    flush_ms: Count
    total: bool = False
    hidden: bool = False
    label: str | None = None
    mounts: tuple[str, ...] = ()
    backed_by: tuple[str, ...] = ()
    slots: int | None = None


@dataclass(frozen=True, slots=True)
class MountCounters:
    """A network or FUSE mount: what its client counts. Times are milliseconds summed over operations.

    `name` is the source (`server:/export`). Byte counters are payload that crossed the network for NFS
    (/proc/PID/mountstats `bytes:` fields 5 and 6), missing where the kernel keeps none. `execute_ms` of reads and of
    writes lies between the request and its answer, queueing included.
    """

    name: str
    kind: DeviceKind
    major: int
    minor: int
    mounts: tuple[str, ...]
    file_system: str
    operations: Count
    retransmits: Count
    reads: Count
    writes: Count
    read_bytes: Count
    written_bytes: Count
    read_execute_ms: Count
    write_execute_ms: Count
    rtt_ms: Count
    queue_ms: Count
    execute_ms: Count
    in_flight: Count


@dataclass(frozen=True, slots=True)
class IoCounters:
    """/proc/PID/io: bytes and calls of a process since its start, with those of every child it has waited for."""

    logical_read_bytes: int
    logical_write_bytes: int
    read_calls: int
    write_calls: int
    read_bytes: int
    write_bytes: int
    cancelled_write_bytes: int


@dataclass(frozen=True, slots=True)
class StatCounters:
    """The fields of /proc/PID/stat that iodash uses, with the moment they were read.

    Ticks are clock ticks. `reaped` holds the four counters that change when the process waits for a child
    (cminflt, cmajflt, cutime, cstime). `minor_faults` are page faults that needed no storage. `io_delay_ticks` stays 0
    while kernel.task_delayacct is 0. `previous_read_at` is the moment of the last reading that still showed the
    counters of the reading before this one; 0 when unknown.
    """

    read_at: float
    state: str
    ppid: int
    threads: int
    cpu_ticks: int
    major_faults: int
    resident_pages: int
    io_delay_ticks: int
    reaped: tuple[int, int, int, int]
    previous_read_at: float = 0.0
    minor_faults: int = 0


@dataclass(frozen=True, slots=True)
class LiveThreads:
    """What the live threads of a process tell of those that have ended and of its children.

    `io` is the sum over the live threads alone. The page faults of all threads that have ended lie between
    `ended_faults_least` and `ended_faults_most`, which differ where the process ran while it was read. `reaped` are the
    counters of the children that it had waited for when everything else had been read.
    """

    io: IoCounters
    ended_faults_least: int = 0
    ended_faults_most: int = 0
    reaped: tuple[int, int, int, int] = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ProcessCounters:
    """One process (or thread). The same object in two samples means that nothing of it was seen to change.

    `io` is why not, where /proc/PID/io can't be read. `live_threads` are read only when the process may have waited for
    a child, to tell its own bytes from the child's.
    """

    key: ProcessKey
    name: str
    command: str
    user: str
    uid: int
    kernel_thread: bool
    start_time: float
    io: IoCounters | Missing
    stat: StatCounters | Missing
    live_threads: LiveThreads | None = None
    cgroup: Text = ""
    container: str | None = None
    io_priority: Text = ""
    reads_fuse: bool = False
    role: str | None = None


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process on a GPU as the driver names it. `visible`: the pid is one of this host's process list."""

    pid: int
    memory_bytes: Count
    sm_percent: Number
    visible: bool = True
    guess: bool = False


GpuStatus = Literal["ok", "lost", "asleep", "no_permission", "error"]

DriverStatus = Literal[
    "ok", "starting", "no_library", "not_loaded", "version_mismatch", "not_answering", "off", "error"
]


@dataclass(frozen=True, slots=True)
class GpuDriver:
    """The state of the GPU driver's library, with one sentence for people."""

    status: DriverStatus
    version: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class EngineCounters:
    """How long one DRM client kept one kind of engine busy (Documentation/gpu/drm-usage-stats.rst).

    `busy` is in nanoseconds where `total` is None, else in cycles out of `total`. `capacity` engines are of the kind.
    """

    pid: int
    client: int
    engine: str
    busy: int
    total: int | None = None
    capacity: int = 1


@dataclass(frozen=True, slots=True)
class GpuCounters:
    """One GPU (or MIG instance) at one instant. Gauges as the driver gives them; `*_total` are counters.

    `read_at` is the monotonic time of this GPU's reading, `util_samples` the driver's own samples since the previous
    poll as (monotonic seconds, percent). Energy is in joules, PCIe and NVLink totals in bytes. `instance` is the number
    of a MIG instance on its GPU (the `Device N` of `nvidia-smi -L`), None for a whole GPU.
    """

    index: int
    uuid: str
    name: str
    vendor: str
    status: GpuStatus
    message: str
    read_at: float
    util_percent: Number
    util_samples: tuple[tuple[float, float], ...]
    memory_util_percent: Number
    memory_used_bytes: Count
    memory_total_bytes: Count
    power_watts: Number
    power_limit_watts: Number
    energy_joules_total: Number
    temperature_celsius: Number
    sm_clock_mhz: Number
    memory_clock_mhz: Number
    sm_active_percent: Number
    pcie_receive_bytes_total: Number
    pcie_transmit_bytes_total: Number
    pcie_receive_bytes_per_s: Number
    pcie_transmit_bytes_per_s: Number
    nvlink_receive_bytes_total: Number
    nvlink_transmit_bytes_total: Number
    nvlink_receive_bytes_per_s: Number
    nvlink_transmit_bytes_per_s: Number
    throttle_reasons: tuple[str, ...] | Missing
    mig: Text
    encoder_percent: Number
    decoder_percent: Number
    ecc_errors: Count
    xid: Count
    pcie_generation: Count
    pcie_width: Count
    processes: tuple[GpuProcess, ...] | Missing
    processes_note: str = ""
    instance: int | None = None
    engines: tuple[EngineCounters, ...] = ()

    def unmeasured(self, reason: Missing, status: GpuStatus, message: str) -> GpuCounters:
        """What the GPU is, without how it does: every reading that changes is missing for `reason`."""
        return GpuCounters(
            index=self.index,
            uuid=self.uuid,
            name=self.name,
            vendor=self.vendor,
            status=status,
            message=message,
            read_at=self.read_at,
            util_percent=reason,
            util_samples=(),
            memory_util_percent=reason,
            memory_used_bytes=reason,
            memory_total_bytes=self.memory_total_bytes,
            power_watts=reason,
            power_limit_watts=self.power_limit_watts,
            energy_joules_total=reason,
            temperature_celsius=reason,
            sm_clock_mhz=reason,
            memory_clock_mhz=reason,
            sm_active_percent=reason,
            pcie_receive_bytes_total=reason,
            pcie_transmit_bytes_total=reason,
            pcie_receive_bytes_per_s=reason,
            pcie_transmit_bytes_per_s=reason,
            nvlink_receive_bytes_total=reason,
            nvlink_transmit_bytes_total=reason,
            nvlink_receive_bytes_per_s=reason,
            nvlink_transmit_bytes_per_s=reason,
            throttle_reasons=reason,
            mig=self.mig,
            encoder_percent=reason,
            decoder_percent=reason,
            ecc_errors=reason,
            xid=reason,
            pcie_generation=reason,
            pcie_width=reason,
            processes=reason,
            instance=self.instance,
        )


@dataclass(frozen=True, slots=True)
class OwnCounters:
    """What iodash itself has used. `workers_*` is its GPU worker."""

    cpu_s: float
    resident_bytes: int
    workers_cpu_s: float = 0.0
    workers_resident_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything that was read at one instant.

    `time` is Unix seconds for people, `monotonic` the clock that intervals come from, taken beside the files that
    hold device and system counters. `processes` maps pid (or tid) to counters. `notes` are sentences about what could
    not be read and how to change that, one a kind. `short_of_files`: so few files may be open that any part may be
    missing.
    """

    time: float
    monotonic: float
    host: Host
    system: SystemCounters
    devices: tuple[DeviceCounters, ...] | Missing
    mounts: tuple[MountCounters, ...]
    processes: Mapping[int, ProcessCounters]
    gpu_driver: GpuDriver
    gpus: tuple[GpuCounters, ...]
    own: OwnCounters
    sample_ms: float = 0.0
    threads: bool = False
    notes: tuple[str, ...] = field(default=())
    readings: JobReadings = field(default_factory=JobReadings)
    short_of_files: bool = False
