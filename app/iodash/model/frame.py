"""A Frame: what happened during one interval. Screen, batch, files and rules read frames and nothing else.

The field names and units are those of the JSON schema `iodash.frame/1`; the order of the fields is its order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from iodash.model.members import JobRows
from iodash.model.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Container

    from iodash.model.missing import Count, Number, Text
    from iodash.model.sample import DeviceKind, GpuDriver, GpuProcess, GpuStatus, Host, ProcessKey

SCHEMA = "iodash.frame/1"

DeviceState = Literal["idle", "ok", "busy", "queued", "saturated", "slow", "throttled", "stalled"]

Confidence = Literal["low", "medium", "high"]

UnattributedReason = Literal["exited", "no_permission", "kernel", "other_container", "writeback", "network"]


@dataclass(frozen=True, slots=True)
class CpuRow:
    """Shares of one CPU's time in percent; they sum to 100."""

    cpu: int
    user_percent: float
    system_percent: float
    idle_percent: float
    iowait_percent: float
    steal_percent: float


@dataclass(frozen=True, slots=True)
class InterfaceRow:
    """One network interface."""

    name: str
    receive_bytes_per_s: Number
    transmit_bytes_per_s: Number
    physical: bool


@dataclass(frozen=True, slots=True)
class SystemRow:
    """The whole machine."""

    cpu_user_percent: Number
    cpu_system_percent: Number
    cpu_idle_percent: Number
    cpu_iowait_percent: Number
    cpu_steal_percent: Number
    cpu_count: Count
    memory_total_bytes: Count
    memory_used_bytes: Count
    memory_available_bytes: Count
    memory_cached_bytes: Count
    memory_buffers_bytes: Count
    memory_dirty_bytes: Count
    memory_writeback_bytes: Count
    swap_total_bytes: Count
    swap_used_bytes: Count
    swap_in_bytes_per_s: Number
    swap_out_bytes_per_s: Number
    page_in_bytes_per_s: Number
    page_out_bytes_per_s: Number
    major_faults_per_s: Number
    refault_bytes_per_s: Number
    disk_read_bytes_per_s: Number
    disk_write_bytes_per_s: Number
    disk_devices: tuple[str, ...]
    network_receive_bytes_per_s: Number
    network_transmit_bytes_per_s: Number
    interrupts_per_s: Number
    context_switches_per_s: Number
    processes_running: Count
    processes_blocked: Count
    processes_created_per_s: Number
    load_1: Number
    load_5: Number
    load_15: Number
    pressure_cpu_some_percent: Number
    pressure_io_some_percent: Number
    pressure_io_full_percent: Number
    pressure_memory_some_percent: Number
    pressure_memory_full_percent: Number
    memory_free_bytes: Count
    shared_memory_used_bytes: Count
    shared_memory_total_bytes: Count
    cpu_nice_percent: Number = Missing.NOT_MEASURED
    memory_shmem_bytes: Count = Missing.NOT_MEASURED
    memory_reclaimable_bytes: Count = Missing.NOT_MEASURED


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A block device, or a network or FUSE mount. Formulas are those of `iostat -x`; waits are in milliseconds.

    `label` is a device-mapper name, `hidden` marks path devices behind a multipath head and unused zram, `slots` is how
    many requests the device takes at once. `total` marks a device that counts in the machine's sum. `state_reason` is
    one short sentence, `stalled_s` the seconds for which requests have been in flight without a completion.
    """

    name: str
    kind: DeviceKind
    major: int
    minor: int
    mounts: tuple[str, ...]
    backed_by: tuple[str, ...]
    reads_per_s: Number
    writes_per_s: Number
    discards_per_s: Number
    flushes_per_s: Number
    read_bytes_per_s: Number
    write_bytes_per_s: Number
    discard_bytes_per_s: Number
    reads_merged_per_s: Number
    writes_merged_per_s: Number
    discards_merged_per_s: Number
    reads_merged_percent: Number
    writes_merged_percent: Number
    discards_merged_percent: Number
    await_ms: Number
    read_await_ms: Number
    write_await_ms: Number
    discard_await_ms: Number
    flush_await_ms: Number
    read_size_bytes: Number
    write_size_bytes: Number
    discard_size_bytes: Number
    queue_length: Number
    in_flight: Count
    util_percent: Number
    operations_per_s: Number
    rtt_ms: Number
    queue_ms: Number
    retransmits_per_s: Number
    state: DeviceState | Missing
    state_reason: str
    label: str | None = None
    total: bool = False
    hidden: bool = False
    slots: int | None = None
    stalled_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process, or one of its threads in thread mode (`key.tid` is set then).

    Byte rates are of the process alone, never of children it waited for. Totals are since iodash started.
    `gpus` are GPU indexes; it is missing where no driver answers, `gpus_guessed` where only open device files tell. A
    thread has the `job` and `role` of its process. A `kernel_thread` is a part of the kernel and no program.
    """

    key: ProcessKey
    ppid: Count
    name: str
    command: str
    user: str
    uid: int
    state: Text
    threads: Count
    start_time: float
    read_bytes_per_s: Number
    write_bytes_per_s: Number
    cancelled_write_bytes_per_s: Number
    logical_read_bytes_per_s: Number
    logical_write_bytes_per_s: Number
    read_calls_per_s: Number
    write_calls_per_s: Number
    cache_hit_percent: Number
    io_delay_percent: Number
    cpu_percent: Number
    resident_bytes: Count
    read_bytes_total: Count
    write_bytes_total: Count
    major_faults_per_s: Number
    io_priority: Text
    cgroup: Text
    container: str | None
    gpus: tuple[int, ...] | Missing
    gpu_memory_bytes: Count
    gpu_sm_percent: Number
    job: str | None = None
    role: str | None = None
    kernel_thread: bool = False
    gpus_guessed: bool = False

    @property
    def pid(self) -> int:
        """The process id, as this host's /proc names it."""
        return self.key.pid

    @property
    def tid(self) -> int:
        """The thread id in thread mode, else 0."""
        return self.key.tid


@dataclass(frozen=True, slots=True)
class UnattributedRow:
    """What the devices did beyond what the listed processes account for, and why that may be."""

    read_bytes_per_s: Number
    write_bytes_per_s: Number
    reasons: tuple[UnattributedReason, ...]


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU or MIG instance. `util_samples` are (seconds before the frame's end, percent), oldest first.

    An instance has the `index` of the GPU that it is a part of; `instance` is its number there, None for a whole GPU.
    `message` says why it gives no numbers, `processes` who is on it, `processes_note` what is not known of that.
    """

    index: int
    uuid: str
    name: str
    status: GpuStatus
    util_percent: Number
    util_samples: tuple[tuple[float, float], ...]
    memory_util_percent: Number
    memory_used_bytes: Count
    memory_total_bytes: Count
    power_watts: Number
    power_limit_watts: Number
    temperature_celsius: Number
    sm_clock_mhz: Number
    memory_clock_mhz: Number
    sm_active_percent: Number
    pcie_receive_bytes_per_s: Number
    pcie_transmit_bytes_per_s: Number
    throttle_reasons: tuple[str, ...] | Missing
    mig: Text
    encoder_percent: Number
    decoder_percent: Number
    ecc_errors: Count
    xid: Count
    pcie_generation: Count
    pcie_width: Count
    nvlink_receive_bytes_per_s: Number
    nvlink_transmit_bytes_per_s: Number
    vendor: str
    processes: tuple[GpuProcess, ...] | Missing
    message: str = ""
    processes_note: str = ""
    instance: int | None = None

    @property
    def number(self) -> str:
        """What tells it from the others of its host: `0`, or `0.mig1` for an instance."""
        return str(self.index) if self.instance is None else f"{self.index}.mig{self.instance}"

    def concerns(self, gpus: Container[int], pids: Container[int]) -> bool:
        """Whether processes `pids`, which are on the GPUs of indexes `gpus`, are on this one.

        A GPU that is divided concerns those on any of its instances, an instance only those on itself.
        """
        if self.index not in gpus or self.instance is None:
            return self.index in gpus
        return not isinstance(self.processes, Missing) and any(
            one.visible and one.pid in pids for one in self.processes
        )


@dataclass(frozen=True, slots=True)
class JobRow:
    """A training job: its ranks (the processes on GPUs), their loader workers, and everything else of its trees.

    Rates and totals add up every member once. Totals are since the job was first seen and survive workers that come
    and go. `stragglers` are workers far behind their siblings, or ranks that the others wait for. `root` is the topmost
    process that belongs to it. Keys are those of processes, also where the rows of the frame are threads.
    """

    name: str
    label: str
    ranks: tuple[ProcessKey, ...]
    workers: tuple[ProcessKey, ...]
    others: tuple[ProcessKey, ...]
    gpus: tuple[int, ...]
    read_bytes_per_s: Number
    write_bytes_per_s: Number
    logical_read_bytes_per_s: Number
    cpu_percent: Number
    worker_cpu_percent: Number
    worker_blocked_percent: Number
    read_bytes_total: Count
    write_bytes_total: Count
    stragglers: tuple[ProcessKey, ...] = ()
    root: ProcessKey | None = None

    @property
    def members(self) -> tuple[ProcessKey, ...]:
        """Every process of the job."""
        return self.ranks + self.workers + self.others


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measured fact behind a verdict, with the threshold it was held against."""

    signal: str
    value: Number
    unit: str
    threshold: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What holds the GPUs (of one job) back, with its proof and what to try. `job` is None for the whole machine.

    `devices` and `processes` name the rows that the verdict is about.
    """

    cause: str
    confidence: Confidence
    summary: str
    evidence: tuple[Evidence, ...]
    advice: str
    window_s: float
    job: str | None = None
    devices: tuple[str, ...] = ()
    processes: tuple[ProcessKey, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What iodash itself cost in this interval, its GPU worker included. 100 percent is one CPU."""

    cpu_percent: Number
    resident_bytes: int
    sample_ms: float
    processes_seen: int
    missed_ticks: int


@dataclass(frozen=True, slots=True)
class Frame:
    """What happened in the `interval_s` seconds before `time` (Unix seconds).

    `switched` says that the rows are of another kind than in the frame before, threads instead of processes or the
    other way round, so that nothing is measured of them yet.
    """

    time: float
    interval_s: float
    host: Host
    system: SystemRow
    devices: tuple[DeviceRow, ...]
    processes: tuple[ProcessRow, ...]
    unattributed: UnattributedRow
    gpu_driver: GpuDriver
    gpus: tuple[GpuRow, ...]
    own: OwnCost
    verdict: Verdict | None = None
    verdicts: tuple[Verdict, ...] = ()
    cpus: tuple[CpuRow, ...] = ()
    interfaces: tuple[InterfaceRow, ...] = ()
    threads: bool = False
    notes: tuple[str, ...] = ()
    readings: JobRows = field(default_factory=JobRows)
    jobs: tuple[JobRow, ...] = ()
    short_of_files: bool = False
    switched: bool = False

    @property
    def gpu_count(self) -> int:
        """How many GPUs there are, instances not counted."""
        return len({gpu.index for gpu in self.gpus})


Row: TypeAlias = SystemRow | DeviceRow | ProcessRow | GpuRow
