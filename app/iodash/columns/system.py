"""The fields of the whole machine, in the order of the JSON. Headings are dstat's where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.columns.column import Column, plain
from iodash.formatting.units import byte_amount, count, decimal, network_rate, percent, whole

if TYPE_CHECKING:
    from iodash.model.frame import SystemRow

SYSTEM_COLUMNS: tuple[Column[SystemRow], ...] = (
    Column("cpu_user_percent", "usr", "%", 5, percent, "Time of user code, nice included."),
    Column("cpu_system_percent", "sys", "%", 5, percent, "Time of the kernel, interrupts included."),
    Column("cpu_idle_percent", "idl", "%", 5, percent, "Idle time."),
    Column(
        "cpu_iowait_percent",
        "wai",
        "%",
        5,
        percent,
        "Idle time while I/O was outstanding. Means little on a busy machine.",
    ),
    Column("cpu_steal_percent", "stl", "%", 5, percent, "Time that the hypervisor gave to others."),
    Column("cpu_count", "cpus", "", 5, whole, "Online CPUs of the host."),
    Column("memory_total_bytes", "total", "B", 5, byte_amount, "Memory of the host."),
    Column("memory_used_bytes", "used", "B", 5, byte_amount, "Memory total less available."),
    Column("memory_available_bytes", "avail", "B", 5, byte_amount, "What new programs could get without swapping."),
    Column("memory_cached_bytes", "cach", "B", 5, byte_amount, "Page cache."),
    Column("memory_buffers_bytes", "buff", "B", 5, byte_amount, "Buffers."),
    Column("memory_dirty_bytes", "dirty", "B", 5, byte_amount, "Written by programs, not yet sent to storage."),
    Column("memory_writeback_bytes", "wback", "B", 5, byte_amount, "On its way to storage now."),
    Column("swap_total_bytes", "swap", "B", 5, byte_amount, "Swap space."),
    Column("swap_used_bytes", "used", "B", 5, byte_amount, "Swap in use."),
    Column("swap_in_bytes_per_s", "si", "B/s", 5, byte_amount, "Read from swap."),
    Column("swap_out_bytes_per_s", "so", "B/s", 5, byte_amount, "Written to swap."),
    Column(
        "page_in_bytes_per_s", "pgin", "B/s", 5, byte_amount, "Read from block devices by the kernel, swap included."
    ),
    Column(
        "page_out_bytes_per_s", "pgout", "B/s", 5, byte_amount, "Written to block devices by the kernel, swap included."
    ),
    Column("major_faults_per_s", "majf", "/s", 5, count, "Page faults that waited for storage."),
    Column(
        "refault_bytes_per_s",
        "refault",
        "B/s",
        5,
        byte_amount,
        "File data read again soon after it was dropped from the page cache.",
    ),
    Column("disk_read_bytes_per_s", "read", "B/s", 5, byte_amount, "Physical disks together, each byte once."),
    Column("disk_write_bytes_per_s", "writ", "B/s", 5, byte_amount, "Physical disks together, each byte once."),
    Column("disk_devices", "disks", "", 5, plain, "The disks in that sum."),
    Column(
        "network_receive_bytes_per_s",
        "recv",
        "B/s",
        5,
        network_rate,
        "Physical interfaces together, InfiniBand included.",
    ),
    Column(
        "network_transmit_bytes_per_s",
        "send",
        "B/s",
        5,
        network_rate,
        "Physical interfaces together, InfiniBand included.",
    ),
    Column("interrupts_per_s", "int", "/s", 5, count, "Interrupts."),
    Column("context_switches_per_s", "csw", "/s", 5, count, "Context switches."),
    Column("processes_running", "run", "", 5, whole, "Threads running or ready."),
    Column("processes_blocked", "blk", "", 5, whole, "Threads waiting for I/O."),
    Column("processes_created_per_s", "new", "/s", 5, count, "Processes and threads created."),
    Column("load_1", "1m", "", 5, decimal, "Load average over 1 minute."),
    Column("load_5", "5m", "", 5, decimal, "Load average over 5 minutes."),
    Column("load_15", "15m", "", 5, decimal, "Load average over 15 minutes."),
    Column("pressure_cpu_some_percent", "CPU stall", "%", 5, percent, "Share of time that some task waited for a CPU."),
    Column("pressure_io_some_percent", "IO stall", "%", 5, percent, "Share of time that some task waited for I/O."),
    Column("pressure_io_full_percent", "IO full", "%", 5, percent, "Share of time that every task waited for I/O."),
    Column(
        "pressure_memory_some_percent", "MEM stall", "%", 5, percent, "Share of time that some task waited for memory."
    ),
    Column(
        "pressure_memory_full_percent", "MEM full", "%", 5, percent, "Share of time that every task waited for memory."
    ),
    Column("memory_free_bytes", "free", "B", 5, byte_amount, "Memory not used for anything."),
    Column(
        "shared_memory_used_bytes",
        "shm",
        "B",
        5,
        byte_amount,
        "In use of /dev/shm, where loader workers hand over tensors.",
    ),
    Column("shared_memory_total_bytes", "shm max", "B", 5, byte_amount, "Size of /dev/shm."),
    Column("cpu_nice_percent", "nice", "%", 5, percent, "The part of user time that had a lowered priority."),
    Column(
        "memory_shmem_bytes", "shmem", "B", 5, byte_amount, "Shared memory and tmpfs files; the page cache counts them."
    ),
    Column(
        "memory_reclaimable_bytes", "recl", "B", 5, byte_amount, "Memory of the kernel that it gives up under pressure."
    ),
)
