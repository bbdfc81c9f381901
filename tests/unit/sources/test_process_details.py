"""Details of one process: each part is there, or says why not; no open file is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iodash.model.details import Limit, OpenFile
from iodash.model.missing import Missing
from iodash.model.sample import IoCounters, ProcessKey
from iodash.sources.local import details as details_module
from iodash.sources.local.details import DetailsReader, flag_words, parse_limits
from iodash.sources.local.process_files import parse_stat, read_file
from tests.fake_processes import add_process, io_file, put, stat_file

MOUNTINFO = b"21 1 254:1 / / rw - ext4 /dev/vda1 rw\n30 21 0:50 / /mnt/data rw - nfs4 nas:/data rw\n"
LIMITS = b"""Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max open files            1024                 1048576              files
Max locked memory         8388608              8388608              bytes
Max nice priority         0                    0
"""


def open_file(directory: Path, number: int, target: str, info: bytes) -> None:
    (directory / "fd").mkdir(exist_ok=True)
    (directory / "fdinfo").mkdir(exist_ok=True)
    (directory / "fd" / str(number)).symlink_to(target)
    (directory / "fdinfo" / str(number)).write_bytes(info)


def reader(root: Path) -> DetailsReader:
    return DetailsReader(root, root / "no-sys")


def test_all_parts(tmp_path: Path) -> None:
    directory = add_process(tmp_path, 42, b"train")
    put(directory, io=io_file(1, 2), limits=LIMITS, wchan=b"folio_wait_bit", mountinfo=MOUNTINFO)
    put(directory / "task" / "50", stat=stat_file(50, b"pt_data_pin", state="D"))
    (directory / "task" / "51").mkdir()
    open_file(directory, 3, "/mnt/data/a b\x1b[2J", b"pos:\t4096\nflags:\t0100002\nmnt_id:\t30\n")
    open_file(directory, 4, "socket:[77]", b"pos:\t0\nflags:\t02\nmnt_id:\t9\n")
    open_file(directory, 5, "/gone", b"nothing")
    (directory / "fd" / "6").symlink_to("/no-fdinfo")
    found = reader(tmp_path).read(ProcessKey(42, 1000))
    assert found is not None
    assert found.command == "train --flag"
    assert found.io == IoCounters(1, 2, 0, 0, 0, 0, 0)
    assert found.open_files == (
        OpenFile(3, "/mnt/data/a b\\x1b[2J", "/mnt/data", "nfs4", "nas:/data (nfs4)", 4096, "read+write"),
        OpenFile(4, "socket:[77]", "", "", "", None, "read+write"),
        OpenFile(5, "/gone", "", "", "", None, "read"),
    )
    assert found.cgroup == "/user.slice"
    assert found.limits == (
        Limit("cpu time", "unlimited"),
        Limit("open files", "1024 of 1048576 files"),
        Limit("locked memory", "8388608 bytes"),
        Limit("nice priority", "0"),
    )
    assert found.wait_channel == "folio_wait_bit"
    assert found.threads == ((42, "train", "S"), (50, "pt_data_pin", "D"))


def test_what_can_not_be_read_says_why(tmp_path: Path) -> None:
    directory = put(tmp_path / "42", stat=stat_file(42, b"odd"), io=b"nonsense", wchan=b"0", cmdline=b"")
    found = reader(tmp_path).read(ProcessKey(42, 1000))
    assert found is not None
    assert found.command == "odd"
    assert found.io is Missing.UNSUPPORTED
    assert found.open_files is found.cgroup is found.limits is found.threads is Missing.GONE
    assert (found.cgroup_limits, found.wait_channel) == ((), "")
    for name in ("io", "wchan", "cmdline"):
        (directory / name).unlink()
    found = reader(tmp_path).read(ProcessKey(42, 1000))
    assert found is not None
    assert (found.io, found.wait_channel, found.command) == (Missing.UNSUPPORTED, Missing.GONE, "odd")


def test_gone_or_another_one(tmp_path: Path) -> None:
    add_process(tmp_path, 42)
    assert reader(tmp_path).read(ProcessKey(43, 1000)) is None
    assert reader(tmp_path).read(ProcessKey(42, 999)) is None
    assert reader(tmp_path).read(ProcessKey(42, 1000, 42)) is not None
    put(tmp_path / "42", stat=b"")
    assert reader(tmp_path).read(ProcessKey(42, 1000)) is None


def test_of_many_files_the_rest_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details_module, "MOST_FILES", 2)
    directory = add_process(tmp_path, 42)
    for number in range(5):
        open_file(directory, number, "/x", b"pos:\t0\nflags:\t0\nmnt_id:\t1\n")
    found = reader(tmp_path).read(ProcessKey(42, 1000))
    assert found is not None
    assert not isinstance(found.open_files, Missing)
    assert (len(found.open_files), found.open_files_left_out) == (2, 3)


def test_limits_of_the_control_group(tmp_path: Path) -> None:
    group = tmp_path / "cgroup" / "job"
    put(group, **{"cpu.max": b"150000 100000\n", "memory.max": b"1073741824\n", "memory.high": b"536870912\n"})
    put(group, **{"io.max": b"259:0 rbps=1048576 wbps=2097152 riops=100 wiops=200\n"})
    mountinfo = b"21 1 0:5 / %s rw - cgroup2 cgroup rw\n" % os.fsencode(tmp_path / "cgroup")
    put(add_process(tmp_path, 42), cgroup=b"0::/job\n", mountinfo=mountinfo)
    found = reader(tmp_path).read(ProcessKey(42, 1000))
    assert found is not None
    assert found.cgroup_limits == (
        Limit("cpu.max", "1.5 CPUs"),
        Limit("memory.max", "1.00 GiB"),
        Limit("memory.high", "512 MiB"),
        Limit("io.max 259:0", "read 1.00 MiB/s, write 2.00 MiB/s, 100 reads/s, 200 writes/s"),
    )
    put(group, **{"io.max": b"259:0 rbps=1048576 wbps=max riops=max wiops=max\n"})
    found = reader(tmp_path).read(ProcessKey(42, 1000))
    assert found is not None
    assert found.cgroup_limits[-1] == Limit("io.max 259:0", "read 1.00 MiB/s")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (os.O_RDONLY, "read"),
        (os.O_WRONLY | os.O_APPEND, "write append"),
        (os.O_RDWR | os.O_DIRECT | os.O_NONBLOCK, "read+write direct nonblock"),
        (os.O_WRONLY | os.O_SYNC, "write sync"),
        (os.O_WRONLY | os.O_DSYNC, "write"),
    ],
)
def test_flags_as_words(flags: int, words: str) -> None:
    assert flag_words(flags) == words


def test_nonsense_is_no_limit() -> None:
    assert list(parse_limits(b"\xff\xff\nMax\n")) == []


def test_this_very_process(tmp_path: Path) -> None:
    own = parse_stat(read_file("/proc/self/stat"), 0.0)
    path = tmp_path / "data.bin"
    with path.open("wb") as file:
        file.write(bytes(5000))
        file.flush()
        found = DetailsReader(Path("/proc"), Path("/sys")).read(ProcessKey(os.getpid(), own.start_ticks))
    assert found is not None
    assert not isinstance(found.open_files, Missing)
    (opened,) = [one for one in found.open_files if one.path == str(path)]
    assert (opened.position, opened.flags) == (5000, "write")
    assert opened.mount
    assert opened.served_by
    assert not isinstance(found.limits, Missing)
    assert "open files" in [limit.name for limit in found.limits]
