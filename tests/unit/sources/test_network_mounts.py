from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.sources.local.network_mounts import NetworkMountReader
from iodash.sources.local.nfs import parse_mountstats
from iodash.sources.local.remote_stats import parse_cifs, parse_lustre
from tests.trees import proc_tree, write

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.sample import MountCounters

EXPORT = """device nas:/export mounted on /mnt\\040a with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,nconnect=2
\tage:\t3600
\tbytes:\t1 2 3 4 5000 6000 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 703 1 2 0 0 123 123 0 5 0
\txprt:\ttcp 704 1 2 0 0 321 320 0 5 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 10 12 1 100 5000 20 70 100 0
\t       WRITE: 4 4 0 6000 40 8 30 40 1
\t     GETATTR: 85 85 0 10 10 2 60 66
\t      BROKEN: x y

"""
OTHERS = """device proc mounted on /proc with fstype proc
device /dev/sda1 mounted on / with fstype ext4
device no mountpoint
"""


def read(root: Path, mountinfo: str, mountstats: str = "") -> list[MountCounters]:
    procfs = proc_tree(root)
    write(procfs / "1/mountinfo", mountinfo)
    write(procfs / "1/mountstats", mountstats)
    reader = NetworkMountReader(procfs, root / "sys")
    try:
        return list(reader.read())
    finally:
        reader.close()


def test_nfs_counts_all_operations_and_bytes_that_crossed_the_network(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "1 0 0:44 / /mnt\\040a rw - nfs4 nas:/export rw\n", OTHERS + EXPORT)
    assert (row.name, row.kind, row.major, row.minor) == ("nas:/export", "nfs", 0, 44)
    assert (row.mounts, row.file_system) == (("/mnt a",), "nfs4")
    assert (row.operations, row.retransmits) == (100, 2)
    assert (row.reads, row.writes, row.read_bytes, row.written_bytes) == (10, 4, 5000, 6000)
    assert (row.read_execute_ms, row.write_execute_ms) == (100, 40)
    assert (row.queue_ms, row.rtt_ms, row.execute_ms) == (30, 160, 206)
    assert row.in_flight is Missing.UNSUPPORTED


def test_a_file_system_mounted_twice_is_one_row(tmp_path: Path) -> None:
    mountinfo = (
        "1 0 0:44 / /mnt\\040a rw - nfs4 nas:/export rw\n2 1 0:44 /sub /home/ada/data rw - nfs4 nas:/export rw\n"
        "3 1 8:0 / /local rw - ext4 /dev/sda rw\n"
    )
    bound = EXPORT.replace("/mnt\\040a", "/home/ada/data")
    (row,) = read(tmp_path, mountinfo, EXPORT + bound)
    assert row.mounts == ("/mnt a", "/home/ada/data")
    assert row.operations == 100


def test_two_file_systems_of_one_source_are_told_apart(tmp_path: Path) -> None:
    mountinfo = "1 0 0:44 / /a rw - fuse.s3fs s3fs rw\n2 1 0:45 / /b rw - fuse.s3fs s3fs rw\n"
    assert [row.name for row in read(tmp_path, mountinfo)] == ["s3fs on /a", "s3fs on /b"]


def test_a_mount_whose_counters_are_not_found_has_none(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "1 0 0:44 / /mnt rw - nfs nas:/export rw\n", EXPORT)
    assert {row.operations, row.read_bytes, row.rtt_ms} == {Missing.UNSUPPORTED}


def test_operations_that_a_server_never_saw_are_not_known(tmp_path: Path) -> None:
    short = (
        "device nas:/x mounted on /x with fstype nfs statvers=1.0\n\tbytes:\t1 2\n\tper-op statistics\n NULL: 1 1 0\n"
    )
    (row,) = read(tmp_path, "1 0 0:44 / /x rw - nfs nas:/x rw\n", short)
    assert (row.operations, row.reads, row.read_bytes) == (0, Missing.UNSUPPORTED, Missing.UNSUPPORTED)
    assert row.write_execute_ms is Missing.UNSUPPORTED


def test_without_network_mounts_nothing_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:5 / /x rw - fuse.lxcfs lxcfs rw\n") == []


def test_without_mountstats_nfs_has_no_counters(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    write(procfs / "1/mountinfo", "1 0 0:44 / /mnt rw - nfs nas:/export rw\n")
    (row,) = NetworkMountReader(procfs, tmp_path / "sys").read()
    assert row.operations is Missing.UNSUPPORTED


@given(st.binary(max_size=400))
def test_no_content_breaks_a_parser(content: bytes) -> None:
    parse_mountstats(content)
    parse_mountstats(EXPORT.encode() + content)
    parse_cifs(b"1) \\\\nas\\a\n" + content)
    parse_lustre(content)


SMB2 = rb"""Resources in use
CIFS Session: 1
0 session 0 share reconnects
Total vfs operations: 16 maximum at one time: 2

1) \\Nas\Share One
SMBs: 90
Bytes read: 5000  Bytes written: 6000
Open files: 0 total (local), 0 open on server
TreeConnects: 1 total 0 failed
Reads: 10 total 0 failed
Writes: 4 total 0 failed

2) \\nas\other	DISCONNECTED
SMBs: 7
Bytes read: 1  Bytes written: 2
Reads: 3 total 0 failed
"""
SMB1 = rb"""1) \\nas\old
SMBs: 9 Oplocks breaks: 0
Reads:  11 Bytes: 4100
Writes: 3 Bytes: 300
Flushes: 0
"""


def test_both_dialects_of_cifs() -> None:
    shares = parse_cifs(SMB2)
    one, other = shares[rb"\\nas\share one"], shares[rb"\\nas\other"]
    assert (one.operations, one.reads, one.writes, one.read_bytes, one.written_bytes) == (90, 10, 4, 5000, 6000)
    assert (other.reads, other.writes, other.written_bytes) == (3, None, 2)
    old = parse_cifs(SMB1)[rb"\\nas\old"]
    assert (old.operations, old.reads, old.writes, old.read_bytes, old.written_bytes) == (9, 11, 3, 4100, 300)
    assert parse_cifs(b"1) \\\\nas\\bare\nSMBs: x\n")[b"\\\\nas\\bare"].read_bytes is None


def test_a_cifs_mount_finds_its_share(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    write(
        procfs / "1/mountinfo", "1 0 0:44 / /mnt rw - cifs //nas/Share\\040One rw\n2 1 0:45 / /b rw - smb3 //x/y rw\n"
    )
    write(procfs / "fs/cifs/Stats", SMB2)
    known, unknown = NetworkMountReader(procfs, tmp_path / "sys").read()
    assert (known.kind, known.reads, known.read_bytes, known.operations) == ("cifs", 10, 5000, 90)
    assert known.read_execute_ms is Missing.UNSUPPORTED
    assert unknown.reads is Missing.UNSUPPORTED


LUSTRE = b"""snapshot_time 1700000000.1 secs.nsecs
read_bytes 10 samples [bytes] 4096 1048576 5000000 99
write_bytes 4 samples [bytes] 1 2 600 7
read 10 samples [usecs] 5 9000 70000 1
open 5 samples [usec] 1 2 3
"""


@pytest.mark.parametrize("where", ["sys/kernel/debug/lustre", "proc/fs/lustre"])
def test_lustre(tmp_path: Path, where: str) -> None:
    procfs = proc_tree(tmp_path)
    write(procfs / "1/mountinfo", "1 0 0:44 / /scratch rw - lustre 10.0.0.1@tcp:/work rw\n")
    reader = NetworkMountReader(procfs, tmp_path / "sys")
    assert reader.read()[0].reads is Missing.UNSUPPORTED
    write(tmp_path / where / "llite/work-ffff9a/stats", LUSTRE)
    (row,) = reader.read()
    assert (row.kind, row.reads, row.writes, row.read_bytes, row.written_bytes) == ("other", 10, 4, 5000000, 600)
    assert (row.read_execute_ms, row.write_execute_ms) == (70, Missing.UNSUPPORTED)


def test_fuse_tells_what_waits_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "sys/fs/fuse/connections/44/waiting", "3\n")
    mountinfo = (
        "1 0 0:44 / /bucket rw - fuse.gcsfuse train-data rw\n2 1 0:45 / /host rw - virtiofs host rw\n"
        "3 1 0:46 / /plan9 rw - 9p host9 rw\n"
    )
    bucket, host, plan9 = read(tmp_path, mountinfo)
    assert (bucket.kind, bucket.name, bucket.in_flight) == ("fuse", "train-data", 3)
    assert bucket.reads is Missing.UNSUPPORTED
    assert (host.kind, host.in_flight) == ("other", Missing.UNSUPPORTED)
    assert (plan9.kind, plan9.in_flight) == ("other", Missing.UNSUPPORTED)
