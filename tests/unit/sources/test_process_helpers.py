"""User names, I/O priorities, FUSE readers and descriptor limits."""

from __future__ import annotations

import ctypes
import os
import platform
import pwd
import resource
import threading
import time
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.sources import descriptors
from iodash.sources.local import fuse as fuse_module
from iodash.sources.local import io_priority as priority_module
from iodash.sources.local import users as users_module
from iodash.sources.local.fuse import FuseReaders, has_fuse_files
from iodash.sources.local.io_priority import io_priority
from iodash.sources.local.users import UserNames
from tests.fake_processes import put

if TYPE_CHECKING:
    from pathlib import Path

FUSE = b"21 1 0:5 / / rw - ext4 /dev/vda1 rw\n44 21 0:60 / /mnt/s3 rw,nosuid shared:3 - fuse.mountpoint-s3 s3 rw\n"


def test_names_of_users() -> None:
    users = UserNames()
    assert users.name(0, 5.0) == pwd.getpwuid(0).pw_name
    assert users.name(4_242_424, 5.0) == "4242424"
    assert users.arrived() == {0: pwd.getpwuid(0).pw_name, 4_242_424: "4242424"}
    assert users.arrived() == {}
    assert users.name(0) == pwd.getpwuid(0).pw_name
    users.close()
    assert users.name(1) == "1"
    assert users.arrived() == {}


def test_a_slow_name_service_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()

    def slow(uid: int) -> str:
        assert answer.wait(10)
        return "ada"

    monkeypatch.setattr(users_module, "_look_up", slow)
    users = UserNames()
    assert users.name(1000) == "1000"
    assert users.arrived() == {}
    answer.set()
    assert users.name(1000, 10) == "ada"
    assert users.arrived() == {1000: "ada"}
    users.close()


def test_a_user_whose_server_is_silent_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users_module, "TIME_LIMIT_S", 0.05)
    monkeypatch.setattr(users_module, "MOST_HUNG", 2)
    answer = threading.Event()

    def look_up(uid: int) -> str:
        assert uid < 1000 or answer.wait(10)
        return f"user-{uid}"

    monkeypatch.setattr(users_module, "_look_up", look_up)
    users = UserNames()
    for uid in (1000, 1001, 7, 1002, 8):
        assert users.name(uid) == str(uid)
    seen: dict[int, str] = {}

    def wait_for(*uids: int) -> None:
        deadline = time.monotonic() + 10
        while not seen.keys() >= set(uids):
            assert time.monotonic() < deadline
            time.sleep(0.01)
            seen.update(users.arrived())

    wait_for(7)
    assert {1000, 1001}.isdisjoint(seen)
    answer.set()
    wait_for(1000, 1001, 1002, 8)
    assert users.name(1000) == "user-1000"
    users.close()


def test_own_io_priority() -> None:
    assert str(io_priority(os.getpid(), "be/4")).split("/")[0] in ("be", "rt", "idle", "none")
    assert io_priority(2**22 + 7, "be/4") is Missing.GONE


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "be/2"), (2 << 13 | 7, "be/7"), (1 << 13, "rt/0"), (3 << 13, "idle"), (-1, Missing.GONE)],
)
def test_priority_words(monkeypatch: pytest.MonkeyPatch, value: int, expected: object) -> None:
    monkeypatch.setattr(priority_module, "_syscall", lambda *_: value)
    monkeypatch.setattr(ctypes, "get_errno", lambda: 3)
    assert io_priority(1, "be/2") == expected


def test_priority_where_it_may_not_or_can_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority_module, "_syscall", lambda *_: -1)
    monkeypatch.setattr(ctypes, "get_errno", lambda: 1)
    assert io_priority(1, "be/4") is Missing.NO_PERMISSION
    monkeypatch.setattr(priority_module, "_syscall", None)
    assert io_priority(1, "be/4") is Missing.UNSUPPORTED
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    assert priority_module._load() is None


def fuse_process(procfs: Path, pid: int, mount: int, mountinfo: bytes = FUSE) -> Path:
    directory = put(procfs / str(pid), mountinfo=mountinfo)
    put(directory / "fdinfo", **{"0": b"pos:\t0\nmnt_id:\t9\n", "3": b"pos:\t0\nflags:\t0\nmnt_id:\t%d\n" % mount})
    (directory / "fdinfo" / "4").mkdir()
    return directory


@pytest.mark.parametrize(
    ("mount", "mountinfo", "expected"),
    [
        (44, FUSE, True),
        (21, FUSE, False),
        (44, FUSE.replace(b"fuse.mountpoint-s3", b"fuseblk"), True),
        (44, FUSE.replace(b"fuse.mountpoint-s3", b"fuse"), True),
        (44, FUSE.replace(b"fuse.mountpoint-s3", b"fuse.lxcfs"), False),
        (44, FUSE.replace(b"fuse.mountpoint-s3", b"fusectl"), False),
        (44, FUSE.replace(b"fuse.mountpoint-s3", b"nfs4"), False),
    ],
)
def test_files_on_fuse_are_told_by_their_mount(tmp_path: Path, mount: int, mountinfo: bytes, expected: bool) -> None:
    assert has_fuse_files(str(fuse_process(tmp_path, 7, mount, mountinfo))) is expected


def test_a_process_that_is_gone_reads_nothing(tmp_path: Path) -> None:
    assert not has_fuse_files(str(tmp_path / "7"))


def test_the_answer_comes_later_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuse_process(tmp_path, 7, 44)
    readers, key = FuseReaders(tmp_path), ProcessKey(7, 1)
    assert not readers.reads(key)
    deadline = time.monotonic() + 10
    while not readers.reads(key):
        assert time.monotonic() < deadline
    monkeypatch.setattr(fuse_module, "has_fuse_files", lambda _: pytest.fail("asked again too soon"))
    assert readers.reads(key)
    readers.close()


def test_old_answers_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse_module, "_MOST_KEPT", 20)
    monkeypatch.setattr(fuse_module, "_AGE_S", -1.0)
    readers = FuseReaders(tmp_path)
    for pid in range(50):
        readers.reads(ProcessKey(pid, 1))
    deadline = time.monotonic() + 10
    later = ProcessKey(5000, 1)
    while not readers._asked <= {later}:
        readers.reads(later)
        assert time.monotonic() < deadline
    while len(readers._answers) + len(readers._asked) >= 20:
        readers.reads(later)
        assert time.monotonic() < deadline
    readers.close()


def test_a_process_that_hangs_hides_no_other_reader_of_fuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse_module, "TIME_LIMIT_S", 0.05)
    stuck = fuse_process(tmp_path, 7, 44) / "fdinfo/3"
    stuck.unlink()
    os.mkfifo(stuck)
    fuse_process(tmp_path, 8, 44)
    readers = FuseReaders(tmp_path)
    readers.reads(ProcessKey(7, 1))
    deadline = time.monotonic() + 10
    while not readers.reads(ProcessKey(8, 1)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.close(os.open(stuck, os.O_RDWR | os.O_NONBLOCK))
    readers.close()


@pytest.mark.parametrize(
    ("soft", "hard", "kept", "raised"),
    [
        (1024, 4096, 4096 - descriptors.RESERVE, 4096),
        (4096, 4096, 4096 - descriptors.RESERVE, None),
        (1024, resource.RLIM_INFINITY, (1 << 20) - descriptors.RESERVE, 1 << 20),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, (1 << 20) - descriptors.RESERVE, None),
        (64, 64, 0, None),
    ],
)
def test_the_soft_limit_is_raised_to_the_hard_one(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, kept: int, raised: int | None
) -> None:
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: calls.append(limits))
    assert descriptors.raise_limit() == kept
    assert calls == ([(raised, hard)] if raised else [])


def test_a_limit_that_may_not_be_raised_is_lived_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert descriptors.raise_limit() == 1024 - descriptors.RESERVE
