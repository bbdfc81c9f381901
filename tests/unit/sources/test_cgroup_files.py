from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from iodash.model.members import QuotaPeriods
from iodash.model.missing import Missing
from iodash.sources.local.cgroups import Cgroup, IoAmount, IoLimit, parse_flat, parse_io_stat, parse_service
from iodash.sources.local.mounts import MountTable
from tests.trees import write

if TYPE_CHECKING:
    from pathlib import Path


def unified(root: Path, path: str = "/jobs/train", mounted: str = "/") -> Cgroup:
    mountinfo = f"1 0 0:30 {mounted} {root} rw - cgroup2 cgroup2 rw\n"
    return Cgroup(f"0::{path}\n".encode(), MountTable.parse(mountinfo.encode()))


def legacy(root: Path, cgroup: str) -> Cgroup:
    names = ("cpu,cpuacct", "memory", "blkio")
    lines = [f"{n} 0 0:3{n} / {root}/{name} rw - cgroup cgroup rw,{name}" for n, name in enumerate(names, 1)]
    return Cgroup(cgroup.encode(), MountTable.parse("\n".join(lines).encode()))


def test_the_tightest_limit_of_a_group_and_those_above_it(tmp_path: Path) -> None:
    write(tmp_path / "jobs/train/cpu.max", "800000 100000\n")
    write(tmp_path / "jobs/cpu.max", "400000 100000\n")
    write(tmp_path / "jobs/train/memory.max", "max\n")
    write(tmp_path / "jobs/memory.max", "1073741824\n")
    write(tmp_path / "jobs/train/memory.high", "536870912\n")
    write(tmp_path / "jobs/train/io.max", "259:0 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=max\n")
    write(tmp_path / "jobs/io.max", "259:0 rbps=1048576 wbps=max riops=500 wiops=max\n")
    limits = unified(tmp_path).limits()
    assert limits.cpus == 4
    assert (limits.memory_max_bytes, limits.memory_high_bytes) == (1 << 30, 1 << 29)
    assert limits.io == {(259, 0): IoLimit(read_bytes_per_s=1048576, reads_per_s=500, writes_per_s=120)}


def test_no_limits_are_none(tmp_path: Path) -> None:
    write(tmp_path / "jobs/train/cpu.max", "max 100000\n")
    limits = unified(tmp_path).limits()
    assert (limits.cpus, limits.memory_max_bytes, limits.io) == (None, None, {})


def test_limits_of_v1(tmp_path: Path) -> None:
    write(tmp_path / "cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n")
    write(tmp_path / "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n")
    write(tmp_path / "cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
    write(tmp_path / "cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    write(tmp_path / "memory/job/memory.limit_in_bytes", "2147483648\n")
    write(tmp_path / "memory/memory.limit_in_bytes", "9223372036854771712\n")
    write(tmp_path / "blkio/job/blkio.throttle.read_bps_device", "8:0 1048576\n")
    write(tmp_path / "blkio/job/blkio.throttle.write_iops_device", "8:0 100\nodd line\n")
    limits = legacy(tmp_path, "3:cpu,cpuacct:/job\n2:memory:/job\n4:blkio:/job\n0::/\n").limits()
    assert (limits.cpus, limits.memory_max_bytes) == (1.5, 2 << 30)
    assert limits.io == {(8, 0): IoLimit(read_bytes_per_s=1048576, writes_per_s=100)}


def test_a_hybrid_host_has_each_file_where_it_is(tmp_path: Path) -> None:
    mountinfo = (
        f"1 0 0:30 / {tmp_path}/unified rw - cgroup2 cgroup2 rw\n"
        f"2 0 0:31 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n"
    )
    write(tmp_path / "unified/svc/io.pressure", "some avg10=0 total=50\nfull avg10=0 total=40\n")
    write(tmp_path / "memory/svc/memory.usage_in_bytes", "4096\n")
    write(tmp_path / "memory/svc/memory.stat", "cache 1\ntotal_cache 100\nword\n")
    group = Cgroup(b"2:memory:/svc\n0::/svc\n", MountTable.parse(mountinfo.encode()))
    pressure = group.pressure()
    assert (pressure.io_some_us, pressure.io_full_us, pressure.memory_some_us) == (50, 40, Missing.UNSUPPORTED)
    assert group.memory() == (4096, Missing.UNSUPPORTED)


def test_memory_of_v2_and_v1(tmp_path: Path) -> None:
    write(tmp_path / "jobs/train/memory.current", "8192\n")
    write(tmp_path / "jobs/train/memory.stat", "file 5\nfile_writeback 6\nworkingset_refault_file 9\n")
    assert unified(tmp_path).memory() == (8192, 9)
    write(tmp_path / "memory/job/memory.stat", "cache 1\nworkingset_refault 4\ntotal_workingset_refault_file 7\n")
    assert legacy(tmp_path, "3:memory:/job\n").memory() == (Missing.UNSUPPORTED, 7)
    write(tmp_path / "jobs/train/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 700\n")
    group = unified(tmp_path)
    write(tmp_path / "jobs/cpu.stat", "usage_usec 9\nnr_periods 900\nnr_throttled 2\nthrottled_usec 60\n")
    write(tmp_path / "cpu.stat", "usage_usec 9\n")
    assert group.quota_periods() == {
        f"{tmp_path}/jobs/train": QuotaPeriods(10, 3),
        f"{tmp_path}/jobs": QuotaPeriods(900, 2),
    }
    write(tmp_path / "cpu,cpuacct/job/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 9000000\n")
    assert legacy(tmp_path, "3:cpu,cpuacct:/job\n").quota_periods() == {
        f"{tmp_path}/cpu,cpuacct/job": QuotaPeriods(10, 4)
    }
    write(tmp_path / "jobs/train/memory.current", "many\n")
    assert unified(tmp_path).memory() == (Missing.UNSUPPORTED, 9)


def test_what_a_group_did_on_each_device(tmp_path: Path) -> None:
    assert unified(tmp_path).io() is Missing.UNSUPPORTED
    write(tmp_path / "jobs/train/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 [BE] dispatched=9\n")
    assert unified(tmp_path).io() == {(8, 0): IoAmount(1, 2, 3, 4)}
    write(
        tmp_path / "blkio/job/blkio.throttle.io_service_bytes_recursive",
        "8:0 Read 10\n8:0 Write 20\n8:0 Sync 30\n8:0 Total 30\nTotal 30\n",
    )
    assert legacy(tmp_path, "4:blkio:/job\n").io() == {(8, 0): IoAmount(10, 20, 0, 0)}
    write(tmp_path / "blkio/job/blkio.throttle.io_serviced_recursive", "8:0 Read 1\n8:0 Write 2\n")
    assert legacy(tmp_path, "4:blkio:/job\n").io() == {(8, 0): IoAmount(10, 20, 1, 2)}


def test_in_a_container_the_path_is_cut_at_what_is_mounted(tmp_path: Path) -> None:
    write(tmp_path / "train/memory.current", "5\n")
    assert unified(tmp_path, "/docker/abc/train", "/docker/abc").memory()[0] == 5
    write(tmp_path / "memory.current", "6\n")
    assert unified(tmp_path, "/docker/abc", "/docker/abc").memory()[0] == 6


def test_a_group_out_of_sight_has_nothing(tmp_path: Path) -> None:
    write(tmp_path / "memory.current", "5\n")
    for group in (unified(tmp_path, "/other", "/docker/abc"), unified(tmp_path, "/../other")):
        assert group.memory() == (Missing.UNSUPPORTED, Missing.UNSUPPORTED)
        assert group.limits().io == {}
        assert group.quota_periods() == {}


@given(st.binary(max_size=300))
def test_no_content_breaks_a_parser(content: bytes) -> None:
    parse_io_stat(content)
    parse_service(content, content)
    parse_flat(content)
