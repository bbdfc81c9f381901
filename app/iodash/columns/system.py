"""The fields of the whole machine, in the order of the JSON. Headings are dstat's where it has one."""

from __future__ import annotations

from iodash.columns.column import Column, plain
from iodash.formatting.units import byte_amount, count, decimal, network_rate, percent, whole
from iodash.model.frame import SystemRow

SYSTEM_COLUMNS: tuple[Column[SystemRow], ...] = (
    Column("cpu_user_percent", "usr", "%", 5, percent, "Time of user code, nice included.", lambda r: r.cpu_user_percent),
    Column("cpu_system_percent", "sys", "%", 5, percent, "Time of the kernel, interrupts included.", lambda r: r.cpu_system_percent),
    Column("cpu_idle_percent", "idl", "%", 5, percent, "Idle time.", lambda r: r.cpu_idle_percent),
    Column("cpu_iowait_percent", "wai", "%", 5, percent, "Idle time while I/O was outstanding. Means little on a busy machine.", lambda r: r.cpu_iowait_percent),
    Column("cpu_steal_percent", "stl", "%", 5, percent, "Time that the hypervisor gave to others.", lambda r: r.cpu_steal_percent),
    Column("cpu_count", "cpus", "", 5, whole, "Online CPUs of the host.", lambda r: r.cpu_count),
    Column("memory_total_bytes", "total", "B", 5, byte_amount, "Memory of the host.", lambda r: r.memory_total_bytes),
    Column("memory_used_bytes", "used", "B", 5, byte_amount, "Memory total less available.", lambda r: r.memory_used_bytes),
    Column("memory_available_bytes", "avail", "B", 5, byte_amount, "What new programs could get without swapping.", lambda r: r.memory_available_bytes),
    Column("memory_cached_bytes", "cach", "B", 5, byte_amount, "Page cache.", lambda r: r.memory_cached_bytes),
    Column("memory_buffers_bytes", "buff", "B", 5, byte_amount, "Buffers.", lambda r: r.memory_buffers_bytes),
    Column("memory_dirty_bytes", "dirty", "B", 5, byte_amount, "Written by programs, not yet sent to storage.", lambda r: r.memory_dirty_bytes),
    Column("memory_writeback_bytes", "wback", "B", 5, byte_amount, "On its way to storage now.", lambda r: r.memory_writeback_bytes),
    Column("swap_total_bytes", "swap", "B", 5, byte_amount, "Swap space.", lambda r: r.swap_total_bytes),
    Column("swap_used_bytes", "used", "B", 5, byte_amount, "Swap in use.", lambda r: r.swap_used_bytes),
    Column("swap_in_bytes_per_s", "si", "B/s", 5, byte_amount, "Read from swap.", lambda r: r.swap_in_bytes_per_s),
    Column("swap_out_bytes_per_s", "so", "B/s", 5, byte_amount, "Written to swap.", lambda r: r.swap_out_bytes_per_s),
    Column("page_in_bytes_per_s", "pgin", "B/s", 5, byte_amount, "Read from block devices by the kernel, swap included.", lambda r: r.page_in_bytes_per_s),
    Column("page_out_bytes_per_s", "pgout", "B/s", 5, byte_amount, "Written to block devices by the kernel, swap included.", lambda r: r.page_out_bytes_per_s),
    Column("major_faults_per_s", "majf", "/s", 5, count, "Page faults that waited for storage.", lambda r: r.major_faults_per_s),
    Column("refault_bytes_per_s", "refault", "B/s", 5, byte_amount, "File data read again soon after it was dropped from the page cache.", lambda r: r.refault_bytes_per_s),
    Column("disk_read_bytes_per_s", "read", "B/s", 5, byte_amount, "Physical disks together, each byte once.", lambda r: r.disk_read_bytes_per_s),
    Column("disk_write_bytes_per_s", "writ", "B/s", 5, byte_amount, "Physical disks together, each byte once.", lambda r: r.disk_write_bytes_per_s),
    Column("disk_devices", "disks", "", 5, plain, "The disks in that sum.", lambda r: r.disk_devices),
    Column("network_receive_bytes_per_s", "recv", "B/s", 5, network_rate, "Physical interfaces together, InfiniBand included.", lambda r: r.network_receive_bytes_per_s),
    Column("network_transmit_bytes_per_s", "send", "B/s", 5, network_rate, "Physical interfaces together, InfiniBand included.", lambda r: r.network_transmit_bytes_per_s),
    Column("interrupts_per_s", "int", "/s", 5, count, "Interrupts.", lambda r: r.interrupts_per_s),
    Column("context_switches_per_s", "csw", "/s", 5, count, "Context switches.", lambda r: r.context_switches_per_s),
    Column("processes_running", "run", "", 5, whole, "Threads running or ready.", lambda r: r.processes_running),
    Column("processes_blocked", "blk", "", 5, whole, "Threads waiting for I/O.", lambda r: r.processes_blocked),
    Column("processes_created_per_s", "new", "/s", 5, count, "Processes and threads created.", lambda r: r.processes_created_per_s),
    Column("load_1", "1m", "", 5, decimal, "Load average over 1 minute.", lambda r: r.load_1),
    Column("load_5", "5m", "", 5, decimal, "Load average over 5 minutes.", lambda r: r.load_5),
    Column("load_15", "15m", "", 5, decimal, "Load average over 15 minutes.", lambda r: r.load_15),
    Column("pressure_cpu_some_percent", "CPU stall", "%", 5, percent, "Share of time that some task waited for a CPU.", lambda r: r.pressure_cpu_some_percent),
    Column("pressure_io_some_percent", "IO stall", "%", 5, percent, "Share of time that some task waited for I/O.", lambda r: r.pressure_io_some_percent),
    Column("pressure_io_full_percent", "IO full", "%", 5, percent, "Share of time that every task waited for I/O.", lambda r: r.pressure_io_full_percent),
    Column("pressure_memory_some_percent", "MEM stall", "%", 5, percent, "Share of time that some task waited for memory.", lambda r: r.pressure_memory_some_percent),
    Column("pressure_memory_full_percent", "MEM full", "%", 5, percent, "Share of time that every task waited for memory.", lambda r: r.pressure_memory_full_percent),
    Column("memory_free_bytes", "free", "B", 5, byte_amount, "Memory not used for anything.", lambda r: r.memory_free_bytes),
    Column("shared_memory_used_bytes", "shm", "B", 5, byte_amount, "In use of /dev/shm, where loader workers hand over tensors.", lambda r: r.shared_memory_used_bytes),
    Column("shared_memory_total_bytes", "shm max", "B", 5, byte_amount, "Size of /dev/shm.", lambda r: r.shared_memory_total_bytes),
)
