from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.sources.local import devices as devices_module
from iodash.sources.local.devices import REFRESH_S, DeviceReader, InFlightPeeks, parse_line
from tests.trees import SysTree, disk_line, proc_tree, write

if TYPE_CHECKING:
    from iodash.model.sample import DeviceCounters

FULL = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)


def read(root: Path, lines: str, mountinfo: str | None = None) -> dict[str, DeviceCounters]:
    procfs = proc_tree(root)
    write(procfs / "diskstats", lines)
    if mountinfo is not None:
        write(procfs / "1/mountinfo", mountinfo)
    reader = DeviceReader(procfs, root / "sys")
    try:
        rows = reader.read()
    finally:
        reader.close()
    assert not isinstance(rows, Missing)
    return {row.name: row for row in rows}


def totals(rows: dict[str, DeviceCounters]) -> set[str]:
    return {name for name, row in rows.items() if row.total}


def test_all_seventeen_fields(tmp_path: Path) -> None:
    row = read(tmp_path, disk_line("sda", "8:0", *FULL))["sda"]
    assert (row.major, row.minor) == (8, 0)
    assert (row.reads, row.reads_merged, row.sectors_read, row.read_ms) == (1, 2, 3, 4)
    assert (row.writes, row.writes_merged, row.sectors_written, row.write_ms) == (5, 6, 7, 8)
    assert (row.in_flight, row.io_ticks_ms, row.queue_ms) == (9, 10, 11)
    assert (row.discards, row.discards_merged, row.sectors_discarded, row.discard_ms) == (12, 13, 14, 15)
    assert (row.flushes, row.flush_ms) == (16, 17)


@pytest.mark.parametrize(
    ("length", "discards", "flushes"),
    [(11, None, None), (15, 12, None), (16, 12, None), (17, 12, 16), (25, 12, 16)],
)
def test_lines_of_every_kernel(length: int, discards: int | None, flushes: int | None) -> None:
    line = parse_line(disk_line("sda", "8:0", *range(1, length + 1)).encode())
    assert line is not None
    assert (line.fields["reads"], line.fields["queue_ms"]) == (1, 11)
    assert line.fields["discards"] == (Missing.UNSUPPORTED if discards is None else discards)
    assert line.fields["flushes"] == (Missing.UNSUPPORTED if flushes is None else flushes)


def test_a_partition_of_linux_2_6_has_four_fields() -> None:
    line = parse_line(b"   8       1 sda1 10 20 30 40")
    assert line is not None
    assert [line.fields[name] for name in ("reads", "sectors_read", "writes", "sectors_written")] == [10, 20, 30, 40]
    assert line.fields["read_ms"] is Missing.UNSUPPORTED


def test_a_line_of_lxcfs_has_no_times_rather_than_zeros() -> None:
    line = parse_line(b"8       0 sda 110 0 20008 0 5 0 40 0 0 0 0 0 0 0")
    assert line is not None
    assert (line.fields["reads"], line.fields["sectors_read"]) == (110, 20008)
    for name in ("read_ms", "write_ms", "io_ticks_ms", "queue_ms", "in_flight", "reads_merged", "discards"):
        assert line.fields[name] is Missing.UNSUPPORTED
    timed = parse_line(b"8       0 sda 110 3 20008 7 5 0 40 0 0 9 9 0 0 0")
    assert timed is not None
    assert (timed.fields["read_ms"], timed.fields["reads_merged"]) == (7, 3)


def test_a_negative_number_in_flight_is_not_known() -> None:
    for bogus in (4294967295, -1):
        line = parse_line(disk_line("sda", "8:0", *FULL[:8], bogus, 10, 11).encode())
        assert line is not None
        assert line.fields["in_flight"] is Missing.UNSUPPORTED


def test_lines_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    rows = read(tmp_path, "nonsense\n8 0\n8 x sdb 1\n8 0 sdc 1 2 three\n" + disk_line("sda", "8:0"))
    assert list(rows) == ["sda"]


@given(st.binary(max_size=200))
def test_no_line_breaks_the_parser(line: bytes) -> None:
    parse_line(line)


@given(st.lists(st.integers(0, 1 << 64), max_size=30))
def test_any_number_of_numbers_is_read(numbers: list[int]) -> None:
    line = parse_line(f"8 0 sda {' '.join(map(str, numbers))}".encode())
    assert line is not None
    if len(numbers) >= 11:
        assert line.fields["reads"] == numbers[0]


def test_no_list_has_a_reason(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    (procfs / "diskstats").unlink()
    reader = DeviceReader(procfs, tmp_path / "sys")
    assert reader.read() is Missing.NOT_IN_CONTAINER
    reader.close()


def test_statistics_switched_off(tmp_path: Path) -> None:
    SysTree(tmp_path).add("sda", "8:0", queue__iostats="0")
    row = read(tmp_path, disk_line("sda", "8:0", *FULL))["sda"]
    assert {row.reads, row.in_flight, row.flush_ms, row.io_ticks_ms} == {Missing.OFF}


def test_a_partition_has_its_disk_the_disk_its_mounts_and_flushes_are_the_disks(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("nvme0n1", "259:0", diskseq="7", queue__nr_requests="64", mq__0__x="", mq__1__x="")
    tree.add("nvme0n1p1", "259:1", partition_of="nvme0n1")
    lines = disk_line("nvme0n1", "259:0", *FULL) + disk_line("nvme0n1p1", "259:1", *FULL[:15], 0, 0)
    rows = read(tmp_path, lines, "1 0 259:1 / /data rw - ext4 /dev/nvme0n1p1 rw\n")
    disk, part = rows["nvme0n1"], rows["nvme0n1p1"]
    assert (disk.kind, disk.generation, disk.slots, disk.backed_by) == ("disk", 7, 128, ())
    assert (part.kind, part.generation, part.backed_by) == ("partition", 7, ("nvme0n1",))
    assert disk.mounts == part.mounts == ("/data",)
    assert (part.flushes, disk.flushes) == (Missing.UNSUPPORTED, 16)
    assert totals(rows) == {"nvme0n1"}


def test_totals_with_partitions_of_odd_names(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    for disk, part, major in (("mmcblk0", "mmcblk0p1", 179), ("cciss/c0d0", "cciss/c0d0p1", 104), ("sdq", "sdq12", 65)):
        tree.add(disk, f"{major}:0")
        tree.add(part, f"{major}:1", partition_of=disk)
    tree.add("xvda1", "202:1")
    tree.add("xvdq", "202:4096")
    names = ("mmcblk0", "mmcblk0p1", "cciss/c0d0", "cciss/c0d0p1", "sdq", "sdq12", "xvda1", "xvdq")
    numbers = ("179:0", "179:1", "104:0", "104:1", "65:0", "65:1", "202:1", "202:4096")
    rows = read(tmp_path, "".join(map(disk_line, names, numbers)))
    assert totals(rows) == {"mmcblk0", "cciss/c0d0", "sdq", "xvda1", "xvdq"}
    assert rows["cciss/c0d0p1"].backed_by == ("cciss/c0d0",)


STACK = (
    ("nvme0n1", "259:0"),
    ("nvme0n1p1", "259:1"),
    ("nvme1n1", "259:2"),
    ("md0", "9:0"),
    ("dm-0", "253:0"),
    ("zram0", "252:0"),
    ("ram0", "1:0"),
    ("loop0", "7:0"),
    ("sr0", "11:0"),
)


def stack(root: Path) -> SysTree:
    """A logical volume on RAID on two disks, of which one is partitioned, and a loop device."""
    tree = SysTree(root)
    tree.add("nvme0n1", "259:0")
    tree.add("nvme0n1p1", "259:1", partition_of="nvme0n1")
    tree.add("nvme1n1", "259:2")
    tree.add("md0", "9:0", slaves=("nvme0n1p1", "nvme1n1"))
    tree.add("dm-0", "253:0", slaves=("md0",), dm__name="vg-da\x1bta")
    tree.add("zram0", "252:0")
    tree.add("ram0", "1:0")
    tree.add("sr0", "11:0")
    tree.add("loop0", "7:0", loop__backing_file="/data/image.sqsh (deleted)")
    return tree


def test_a_stack_counts_its_disks_alone_and_names_them(tmp_path: Path) -> None:
    stack(tmp_path)
    mountinfo = "1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n2 1 253:0 / /data rw - xfs /dev/mapper/vg-data rw\n"
    rows = read(tmp_path, "".join(disk_line(*each) for each in STACK), mountinfo)
    assert totals(rows) == {"nvme0n1", "nvme1n1", "sr0"}
    assert rows["dm-0"].backed_by == ("nvme0n1", "nvme1n1")
    assert rows["dm-0"].label == "vg-da\\x1bta"
    assert rows["md0"].backed_by == ("nvme0n1", "nvme1n1")
    assert rows["loop0"].backed_by == ("nvme0n1", "nvme1n1")
    assert rows["dm-0"].mounts == ("/data",)
    assert [rows[name].kind for name in ("md0", "dm-0", "zram0", "ram0", "loop0")] == [
        "md",
        "dm",
        "zram",
        "ram",
        "loop",
    ]


def test_an_image_on_a_server_or_in_memory(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("loop0", "7:0", loop__backing_file="/nas/image.sqsh")
    tree.add("loop1", "7:1", loop__backing_file="/dev/shm/image")
    tree.add("loop2", "7:2")
    mountinfo = (
        "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:50 / /nas rw - nfs4 nas:/export rw\n"
        "3 1 0:51 / /dev/shm rw - tmpfs tmpfs rw\n"
    )
    rows = read(tmp_path, "".join(disk_line(f"loop{n}", f"7:{n}") for n in range(3)), mountinfo)
    assert [rows[f"loop{n}"].backed_by for n in range(3)] == [("nas:/export",), (), ()]


def test_paths_of_a_multipath_device_are_hidden_and_count_only_where_the_head_does_not(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("nvme0n1", "259:0", hidden="0")
    tree.add("nvme0c0n1", "0:0", hidden="1")
    tree.add("nvme0c1n1", "0:0", hidden="1")
    paths = disk_line("nvme0c0n1", "0:0", *FULL) + disk_line("nvme0c1n1", "0:0", *FULL)
    rows = read(tmp_path, disk_line("nvme0n1", "259:0", *FULL) + paths)
    assert totals(rows) == {"nvme0n1"}
    assert rows["nvme0c0n1"].hidden
    rows = read(tmp_path, disk_line("nvme0n1", "259:0") + paths)
    assert totals(rows) == {"nvme0c0n1", "nvme0c1n1"}


@pytest.mark.parametrize(
    ("counts", "files", "hidden"),
    [
        ((0,) * 17, {"size": "0"}, True),
        ((0,) * 17, {"size": "0", "queue__iostats": "0"}, True),
        ((0,) * 17, {"size": "8192"}, True),
        (FULL, {"size": "8192"}, False),
        ((0,) * 17, {"size": "8192", "queue__iostats": "0"}, False),
        ((0,) * 17, None, True),
        (FULL, None, False),
    ],
)
def test_zram_is_hidden_while_it_is_unused(
    tmp_path: Path, counts: tuple[int, ...], files: dict[str, str] | None, hidden: bool
) -> None:
    if files is not None:
        SysTree(tmp_path).add("zram0", "253:0", partition_of=None, slaves=(), **files)
    rows = read(tmp_path, disk_line("zram0", "253:0", *counts) + disk_line("sda", "8:0"))
    assert (rows["zram0"].hidden, rows["sda"].hidden) == (hidden, False)


def test_zram_appears_when_it_is_first_used(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    write(procfs / "diskstats", disk_line("zram0", "253:0"))
    reader = DeviceReader(procfs, tmp_path / "sys")
    unused = reader.read()
    write(procfs / "diskstats", disk_line("zram0", "253:0", *FULL))
    used = reader.read()
    reader.close()
    assert not isinstance(unused, Missing)
    assert not isinstance(used, Missing)
    assert [row.hidden for row in (*unused, *used)] == [True, False]


def test_without_sysfs_names_tell(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    names = "sda sda1 nvme0n1 nvme0n1p2 nvme0c0n1 dm-0 md127 loop0 loop0p1 zram0 ram3 xvda1 mmcblk0 mmcblk0p1 zd16"
    write(procfs / "diskstats", "".join(disk_line(name, f"8:{n}", *FULL) for n, name in enumerate(names.split())))
    reader = DeviceReader(procfs, tmp_path / "none")
    found = reader.read()
    assert not isinstance(found, Missing)
    rows = {row.name: row for row in found}
    assert totals(rows) == {"sda", "nvme0n1", "xvda1", "mmcblk0"}
    assert [name for name, row in rows.items() if row.kind == "partition"] == [
        "sda1",
        "nvme0n1p2",
        "loop0p1",
        "mmcblk0p1",
    ]
    assert (rows["zd16"].kind, rows["nvme0c0n1"].hidden) == ("other", True)
    reader.close()


def test_without_sysfs_mounts_are_told_by_number(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    write(procfs / "diskstats", disk_line("sda", "8:0") + disk_line("sda1", "8:1") + disk_line("dm-0", "253:0"))
    write(procfs / "1/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 253:0 / /data rw - xfs /dev/mapper/x rw\n")
    reader = DeviceReader(procfs, tmp_path / "none")
    found = reader.read()
    assert not isinstance(found, Missing)
    assert {row.name: row.mounts for row in found} == {"sda": ("/",), "sda1": ("/",), "dm-0": ("/data",)}
    reader.close()


def test_bind_mounts_are_left_out_where_the_root_is_mounted(tmp_path: Path) -> None:
    SysTree(tmp_path).add("sda", "8:0")
    binds = "".join(f"{n} 1 8:0 /d{n} /bind{n} rw - ext4 /dev/sda rw\n" for n in range(2, 15))
    line = disk_line("sda", "8:0")
    rows = read(tmp_path, line, "1 0 8:0 / /data rw - ext4 /dev/sda rw\n" + binds)
    assert rows["sda"].mounts == ("/data",)
    rows = read(tmp_path, line, binds)
    assert rows["sda"].mounts[0] == "/bind2"
    assert len(rows["sda"].mounts) == 8


def test_btrfs_mounts_belong_to_all_members(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("sda", "8:0")
    tree.add("sdb", "8:16")
    tree.add("dm-1", "253:1", dm__name="crypt")
    for member in ("sda", "sdb"):
        write(tree.path / "fs/btrfs/uuid-1/devices" / member / "x", "")
    mountinfo = (
        "1 0 0:40 /@ /data rw - btrfs /dev/sda rw\n2 1 0:41 / /home rw - btrfs /dev/mapper/crypt rw\n"
        "3 1 0:42 / /odd rw - btrfs none rw\n4 1 0:43 / /gone rw - btrfs /dev/mapper/none rw\n"
    )
    lines = disk_line("sda", "8:0") + disk_line("sdb", "8:16") + disk_line("dm-1", "253:1")
    rows = read(tmp_path, lines, mountinfo)
    assert (rows["sda"].mounts, rows["sdb"].mounts, rows["dm-1"].mounts) == (("/data",), ("/data",), ("/home",))


def test_rows_are_reused_until_a_line_or_the_machine_changes(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("sda", "8:0")
    tree.add("sdb", "8:16")
    procfs = proc_tree(tmp_path)
    write(procfs / "diskstats", disk_line("sda", "8:0") + disk_line("sdb", "8:16"))
    reader = DeviceReader(procfs, tmp_path / "sys")
    first = reader.read()
    second = reader.read()
    assert not isinstance(first, Missing)
    assert not isinstance(second, Missing)
    assert first[0] is second[0]
    write(procfs / "diskstats", disk_line("sda", "8:0", *FULL) + disk_line("sdb", "8:16"))
    third = reader.read()
    assert not isinstance(third, Missing)
    assert third[0].reads == 1
    assert third[1] is first[1]
    write(procfs / "diskstats", disk_line("sdb", "8:16"))
    gone = reader.read()
    assert not isinstance(gone, Missing)
    assert [row.name for row in gone] == ["sdb"]
    reader.close()


def test_sysfs_is_read_again_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = SysTree(tmp_path)
    folders = [tree.add(f"sd{letter}", f"8:{16 * n}", diskseq="1") for n, letter in enumerate("abcde")]
    procfs = proc_tree(tmp_path)
    write(procfs / "diskstats", "".join(disk_line(f"sd{letter}", f"8:{16 * n}") for n, letter in enumerate("abcde")))
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    reader = DeviceReader(procfs, tmp_path / "sys")
    reader.read()
    for folder in folders:
        write(folder / "diskseq", "2\n")
    seen = []
    for _ in range(6):
        now += 1.0
        rows = reader.read()
        assert not isinstance(rows, Missing)
        seen.append(sum(row.generation == 2 for row in rows))
    assert seen == [1, 2, 3, 4, 5, 5]
    reader.close()


def test_what_rarely_changes_is_read_again_too_and_at_once_after_a_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = SysTree(tmp_path)
    tree.add("sda", "8:0", diskseq="1")
    folder = tree.add("sdb", "8:16", diskseq="2", queue__nr_requests="64", mq__0__cpu_list="0", queue__iostats="1")
    procfs = proc_tree(tmp_path)
    write(procfs / "diskstats", disk_line("sda", "8:0") + disk_line("sdb", "8:16"))
    write(tmp_path / "sys/kernel/uevent_seqnum", "2173\n")
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    reader = DeviceReader(procfs, tmp_path / "sys")

    def disk() -> DeviceCounters:
        nonlocal now
        now += REFRESH_S
        rows = reader.read()
        assert not isinstance(rows, Missing)
        return rows[1]

    assert disk().slots == 64
    write(folder / "queue/nr_requests", "32\n")
    seen = [disk().slots for _ in range(14)]
    assert (seen[0], seen[-1]) == (64, 32)
    write(folder / "queue/nr_requests", "16\n")
    reader._mounts.changes += 1  # which only the kernel's own mountinfo tells by poll(2)
    assert disk().slots == 16
    write(folder / "queue/nr_requests", "8\n")
    write(tmp_path / "sys/kernel/uevent_seqnum", "2174\n")  # something happened to a device
    assert disk().slots == 8
    write(folder / "queue/nr_requests", "4\n")
    (tmp_path / "sys/kernel/uevent_seqnum").unlink()
    reader._events.close()
    assert disk().slots == 4  # where nobody tells of events
    write(folder / "queue/iostats", "0\n")
    assert disk().reads is Missing.OFF
    reader.close()


def test_the_most_requests_seen_in_flight_between_two_samples(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    peeks = InFlightPeeks(procfs)

    def look(*values: int) -> None:
        lines = "".join(disk_line(f"sd{n}", f"8:{n}", *FULL[:8], value, 0, 0) for n, value in enumerate(values))
        write(procfs / "diskstats", lines + "short 1\n")
        peeks.peek()

    look(3, 0, 4294967295)
    look(1, 2, 0)
    assert peeks.take() == {b"sd0": 3, b"sd1": 2}
    assert peeks.take() == {}
    (procfs / "diskstats").unlink()
    fresh = InFlightPeeks(procfs)
    fresh.peek()
    assert fresh.take() == {}
    peeks.close()


def test_nobody_looks_for_requests_in_flight_while_no_device_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    procfs = proc_tree(tmp_path)
    wanted: list[bool] = []
    monkeypatch.setattr(InFlightPeeks, "look", lambda self, on: wanted.append(on))
    reader = DeviceReader(procfs, tmp_path / "none")
    for reads in (1, 1, 2, 2, 2):
        write(procfs / "diskstats", disk_line("sda", "8:0", reads, *FULL[1:]))
        reader.read()
    assert wanted == [True, False, True, False, False]
    reader.close()


def test_looking_for_requests_in_flight_goes_on_and_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "PEEK_S", 0.001)
    looked = threading.Semaphore(0)
    monkeypatch.setattr(InFlightPeeks, "peek", lambda self: looked.release())
    peeks = InFlightPeeks(proc_tree(tmp_path))
    peeks.start()
    assert not looked.acquire(timeout=0.05)
    peeks.look(True)
    assert looked.acquire(timeout=10)
    assert looked.acquire(timeout=10)
    peeks.close()
    assert peeks._thread is not None
    peeks._thread.join(10)
    assert not peeks._thread.is_alive()


def test_a_peak_between_samples_shows_in_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    procfs = proc_tree(tmp_path)
    write(procfs / "diskstats", disk_line("sda", "8:0") + disk_line("sdb", "8:1", *FULL[:8], 9, 0, 0))
    monkeypatch.setattr(InFlightPeeks, "take", lambda self: {b"sda": 5, b"sdb": 2, b"gone": 7})
    reader = DeviceReader(procfs, tmp_path / "none")
    rows = reader.read()
    assert not isinstance(rows, Missing)
    assert [row.in_flight for row in rows] == [5, 9]
    reader.close()


def test_this_machine(tmp_path: Path) -> None:
    reader = DeviceReader(Path("/proc"), Path("/sys"))
    rows = reader.read()
    reader.close()
    if not isinstance(rows, Missing):
        names = Path("/proc/diskstats").read_text().split("\n")[:-1]
        assert {row.name for row in rows} == {line.split()[2] for line in names}
