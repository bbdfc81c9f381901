from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.model.sample import CpuTicks, InterfaceCounters
from iodash.sources.local.kept_file import KeptFile, list_names, read_bytes, read_int, reason
from iodash.sources.local.mounts import MountReader
from iodash.sources.local.network import parse_interfaces
from iodash.sources.local.pressure import parse_pressure
from iodash.sources.local.system import SharedMemory, SystemReader, parse_load, parse_memory, parse_paging, parse_stat
from tests.trees import MEMINFO, STAT, VMSTAT, proc_tree, write

MIB = 1 << 20


def reader(root: Path) -> SystemReader:
    return SystemReader(root / "proc", root / "sys")


def test_every_field_of_a_whole_tree(tmp_path: Path) -> None:
    proc_tree(tmp_path)
    write(tmp_path / "sys/devices/system/cpu/online", "0-3,8\n")
    write(tmp_path / "sys/class/net/eth0/device/vendor", "x")
    system = reader(tmp_path).read()
    assert system.cpu == CpuTicks(100, 10, 50, 800, 20, 5, 5, 10)
    assert system.cpus[1] == CpuTicks(40, 5, 20, 400, 10, 2, 2, 6)
    assert system.cpu_count == 5
    assert (system.memory_total_bytes, system.memory_available_bytes) == (1000000 << 10, 600000 << 10)
    assert (system.memory_cached_bytes, system.memory_buffers_bytes) == (300000 << 10, 10000 << 10)
    assert (system.memory_shmem_bytes, system.memory_reclaimable_bytes) == (40000 << 10, 25000 << 10)
    assert (system.memory_dirty_bytes, system.memory_writeback_bytes) == (1234 << 10, 56 << 10)
    assert (system.swap_total_bytes, system.swap_free_bytes) == (500000 << 10, 400000 << 10)
    assert (system.swap_in_pages, system.swap_out_pages) == (30, 40)
    assert (system.page_in_kib, system.page_out_kib, system.major_faults) == (1000, 2000, 12)
    assert system.refault_pages == 77
    assert (system.interrupts, system.context_switches, system.processes_created) == (123456, 654321, 4321)
    assert (system.processes_running, system.processes_blocked) == (3, 1)
    assert (system.load_1, system.load_5, system.load_15, system.uptime_s) == (0.5, 0.25, 0.1, 1000.5)
    assert (system.pressure_cpu_some_us, system.pressure_io_some_us, system.pressure_io_full_us) == (1000, 2000, 1500)
    assert (system.pressure_memory_some_us, system.pressure_memory_full_us) == (30, 20)
    assert system.interfaces == (
        InterfaceCounters("lo", 500, 500, physical=False),
        InterfaceCounters("eth0", 123456789, 987654321, physical=True),
        InterfaceCounters("veth1", 700, 800, physical=False),
    )


@pytest.mark.parametrize(
    ("gone", "fields"),
    [
        ("meminfo", ["memory_total_bytes", "swap_free_bytes"]),
        ("vmstat", ["page_in_kib", "refault_pages"]),
        ("loadavg", ["load_1", "load_15"]),
        ("uptime", ["uptime_s"]),
        ("net/dev", ["interfaces"]),
        ("stat", ["cpu", "interrupts", "processes_running", "cpu_count"]),
    ],
)
def test_a_hidden_file_costs_its_own_fields_only(tmp_path: Path, gone: str, fields: list[str]) -> None:
    procfs = proc_tree(tmp_path)
    (procfs / gone).unlink()
    system = reader(tmp_path).read()
    missing = {name for name in system.__slots__ if isinstance(getattr(system, name), Missing)}
    assert set(fields) <= missing
    assert all(getattr(system, name) is Missing.NOT_IN_CONTAINER for name in fields)
    rest = {"memory_total_bytes", "page_in_kib", "load_1", "uptime_s", "interfaces", "interrupts"} - set(fields)
    assert not rest & missing


def test_a_kernel_without_pressure_and_a_tree_that_hides_it_differ(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    for name in ("cpu", "io", "memory"):
        (procfs / "pressure" / name).unlink()
    assert reader(tmp_path).read().pressure_io_some_us is Missing.UNSUPPORTED
    (procfs / "stat").unlink()
    assert reader(tmp_path).read().pressure_io_some_us is Missing.NOT_IN_CONTAINER


def test_a_file_covered_by_a_device_is_hidden(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    (procfs / "meminfo").unlink()
    (procfs / "meminfo").symlink_to("/dev/null")
    assert reader(tmp_path).read().memory_total_bytes is Missing.NOT_IN_CONTAINER


def test_new_contents_are_seen_through_the_kept_descriptor(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    system = reader(tmp_path)
    assert system.read().load_1 == 0.5
    write(procfs / "loadavg", b"7.25 0.25 0.10 2/300 4321\n")
    assert system.read().load_1 == 7.25
    system.close()
    assert system.read().load_1 == 7.25


def test_without_a_device_all_interfaces_but_the_loopback_count(tmp_path: Path) -> None:
    proc_tree(tmp_path)
    interfaces = reader(tmp_path).read().interfaces
    assert not isinstance(interfaces, Missing)
    assert {row.name: row.physical for row in interfaces} == {"lo": False, "eth0": True, "veth1": True}


def test_a_new_interface_is_looked_up(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    write(tmp_path / "sys/class/net/eth0/device/vendor", "x")
    system = reader(tmp_path)
    system.read()
    write(tmp_path / "sys/class/net/eth1/device/vendor", "x")
    with (procfs / "net/dev").open("ab") as file:
        file.write(b"  eth1: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n")
    interfaces = system.read().interfaces
    assert not isinstance(interfaces, Missing)
    assert interfaces[-1] == InterfaceCounters("eth1", 1, 3, physical=True)


def test_infiniband_ports_count_words_and_their_ip_interface_not_twice(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    with (procfs / "net/dev").open("ab") as file:
        file.write(b"   ib0: 900 2 0 0 0 0 0 0 800 4 0 0 0 0 0 0\n")
    write(tmp_path / "sys/class/net/ib0/device/vendor", "x")
    write(tmp_path / "sys/class/net/ib0/type", "32\n")
    write(tmp_path / "sys/class/net/eth0/device/vendor", "x")
    counters = tmp_path / "sys/class/infiniband/mlx5_0/ports/1/counters"
    write(counters / "port_rcv_data", "1000\n")
    write(counters / "port_xmit_data", "2000\n")
    system = reader(tmp_path)
    interfaces = system.read().interfaces
    assert not isinstance(interfaces, Missing)
    by_name = {row.name: row for row in interfaces}
    assert by_name["mlx5_0:1"] == InterfaceCounters("mlx5_0:1", 4000, 8000, physical=True)
    assert not by_name["ib0"].physical
    assert by_name["eth0"].physical
    write(counters / "port_rcv_data", "nonsense\n")
    interfaces = system.read().interfaces
    assert not isinstance(interfaces, Missing)
    assert "mlx5_0:1" not in {row.name for row in interfaces}
    system.close()


def test_old_kernels_lack_columns_and_lines() -> None:
    stat = parse_stat(b"cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 x\nctxt 9\n")
    assert stat.cpu == CpuTicks(1, 2, 3, 4, 0, 0, 0, 0)
    assert list(stat.cpus) == [0]
    assert stat.context_switches == 9
    assert stat.interrupts is Missing.UNSUPPORTED
    assert parse_stat(b"cpu 1 2\n").cpu is Missing.NOT_IN_CONTAINER
    assert parse_stat(b"cpu  1 2 3 4\nctxt ?\n").context_switches is Missing.UNSUPPORTED
    assert parse_stat(b"").running is Missing.NOT_IN_CONTAINER
    assert parse_memory(b"MemTotal: 5 kB\n")[b"MemAvailable"] is Missing.UNSUPPORTED
    assert parse_memory(b"")[b"MemTotal"] is Missing.NOT_IN_CONTAINER
    assert parse_paging(b"workingset_refault 8\npgpgin 1")[b"workingset_refault_file"] == 8
    assert parse_load(b"") == (Missing.NOT_IN_CONTAINER,) * 3


def test_names_that_are_the_end_of_others_are_told_apart() -> None:
    assert parse_paging(b"xpgpgin 5\npgpgin 6\n")[b"pgpgin"] == 6
    assert parse_memory(MEMINFO)[b"Cached"] == 300000 << 10


def test_pressure_off_or_partial() -> None:
    assert parse_pressure(b"some avg10=0.00 total=5\n") == (5, Missing.UNSUPPORTED)
    assert parse_pressure(Missing.OFF) == (Missing.OFF, Missing.OFF)
    assert parse_pressure(b"some total=x\n") == (Missing.UNSUPPORTED, Missing.UNSUPPORTED)


@given(st.binary(max_size=400))
def test_no_content_breaks_a_parser(content: bytes) -> None:
    parse_stat(content)
    parse_memory(content)
    parse_paging(content)
    parse_pressure(content)
    parse_load(content)
    parse_interfaces(content)


@given(st.integers(0, len(STAT)), st.integers(0, len(VMSTAT)))
def test_a_file_cut_short_breaks_nothing(stat_length: int, vmstat_length: int) -> None:
    parse_stat(STAT[:stat_length])
    parse_paging(VMSTAT[:vmstat_length])


def test_an_interface_name_may_hold_a_colon() -> None:
    assert parse_interfaces(b"eth0:1: 5 0 0 0 0 0 0 0 6 0\nbroken: 1 2\n") == {b"eth0:1": (5, 6)}


def test_shared_memory_is_asked_only_where_it_is_a_tmpfs(tmp_path: Path) -> None:
    mounts = MountReader(Path("/proc"))
    total, used = SharedMemory("/dev/shm").read(mounts)
    there = mounts.table().find("/dev/shm")
    if there is not None and there.file_system == "tmpfs" and there.point == "/dev/shm":
        assert isinstance(total, int)
        assert isinstance(used, int)
        assert 0 <= used <= total
    else:
        assert total is Missing.UNSUPPORTED
    assert SharedMemory("/").read(mounts) == (Missing.UNSUPPORTED, Missing.UNSUPPORTED)
    mounts.close()


def test_shared_memory_of_another_machine_is_not_measured(tmp_path: Path) -> None:
    proc_tree(tmp_path)
    assert reader(tmp_path).read().shared_memory_total_bytes is Missing.NOT_MEASURED


def test_this_machine_reads_without_a_gap_in_cpu_and_memory() -> None:
    system = SystemReader(Path("/proc"), Path("/sys"))
    try:
        read = system.read()
    finally:
        system.close()
    assert not isinstance(read.cpu, Missing)
    assert isinstance(read.memory_total_bytes, int)
    assert read.memory_total_bytes > MIB


def test_small_files(tmp_path: Path) -> None:
    assert read_bytes(tmp_path) is None
    assert read_bytes(tmp_path / "none") is None
    assert read_int(write(tmp_path / "n", "12\n")) == 12
    assert read_int(write(tmp_path / "word", "many\n")) is None
    assert list_names(tmp_path) == ["n", "word"]
    assert list_names(tmp_path / "none") == []
    assert reason(PermissionError(1, "no")) is Missing.NO_PERMISSION
    assert reason(OSError(95, "off")) is Missing.OFF
    assert reason(FileNotFoundError(2, "no"), Missing.GONE) is Missing.GONE


def test_a_kept_file_longer_than_one_read(tmp_path: Path) -> None:
    content = os.urandom(200_000)
    file = KeptFile(write(tmp_path / "long", content))
    assert file.read() == content
    assert file.fileno() >= 0
    file.close()
    file.close()
    assert file.fileno() == -1


def test_a_kept_file_that_appears_later(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "later", Missing.UNSUPPORTED)
    assert file.read() is Missing.UNSUPPORTED
    write(tmp_path / "later", b"now")
    assert file.read() == b"now"
