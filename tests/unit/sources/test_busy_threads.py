"""Threads of a process that have work: found among those that only exist, and read by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import known
from iodash.model.sample import ProcessKey
from iodash.sources.local import busy_threads as module
from iodash.sources.local.busy_threads import MOST_CHOSEN, BusyThreads
from iodash.sources.local.members import MemberReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 20.0
PROGRAM = """
import os, sys, threading, time
def read():
    print("reads", threading.get_native_id(), flush=True)
    descriptor = os.open(sys.argv[1], os.O_RDONLY)
    while True:
        os.pread(descriptor, 65536, 0)
        time.sleep(0.01)
def sleep():
    print("sleeps", threading.get_native_id(), flush=True)
    time.sleep(1000)
for work in (read, sleep, sleep):
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.05)
sys.stdin.read()
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[tuple[ProcessKey, int]]:
    """A process and the thread of it that reads; its main thread and two more only wait."""
    data = tmp_path / "data"
    data.write_bytes(bytes(65536))
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        told = [child.stdout.readline().split() for _ in range(3)]
        yield ProcessKey(child.pid, 1), next(int(number) for word, number in told if word == "reads")
    finally:
        child.kill()
        child.communicate()


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SOON_S", 0.3)


@pytest.mark.usefixtures("_impatient")
def test_the_thread_that_works_is_chosen_among_those_that_wait(program: tuple[ProcessKey, int]) -> None:
    key, reading = program
    threads = BusyThreads(Path("/proc"))
    until(lambda: bool(threads.busy(frozenset({key}))))
    assert threads.busy(frozenset({key})) == {key._replace(tid=reading)}
    assert threads.busy(frozenset()) == frozenset()


@pytest.mark.usefixtures("_impatient")
def test_its_own_bytes_and_looks_are_in_the_readings(program: tuple[ProcessKey, int]) -> None:
    key, reading = program
    reader = MemberReader(Path("/proc"), Path("/sys"))
    one = frozenset({key})
    try:
        thread = key._replace(tid=reading)
        until(lambda: thread in reader.read(one, one).members)
        first = reader.read(one, one).members[thread]
        until(lambda: reader.read(one, one).members[thread].looks >= first.looks + 3)
        members = reader.read(one, one).members
        assert (known(members[thread].logical_read_bytes) or 0) >= (known(first.logical_read_bytes) or 0) + 65536
        assert members[thread].name == Path(f"/proc/{key.pid}/task/{reading}/comm").read_text().strip()
        assert members[key].name == ""
        before = members[key].logical_read_bytes
        assert reader.read(one, one).members[key].logical_read_bytes == before
        assert thread not in reader.read(one).members
    finally:
        reader.close()


def tasks(root: Path, runs: dict[int, int], cpu_ns: int = 0) -> None:
    for tid, count in runs.items():
        folder = root / "7" / "task" / str(tid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedstat").write_text(f"{cpu_ns} 0 {count}\n")


def test_a_process_of_many_busy_threads_gives_a_bounded_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    key = ProcessKey(7, 1)
    threads = BusyThreads(tmp_path)
    tasks(tmp_path, dict.fromkeys(range(7, 100), 0))
    assert threads.busy(frozenset({key})) == frozenset()
    now += 1.0
    tasks(tmp_path, {7: 500, **{tid: tid for tid in range(8, 100)}})
    chosen = threads.busy(frozenset({key}))
    assert {each.tid for each in chosen} == set(range(94, 100))
    assert len(chosen) == MOST_CHOSEN
    now += 0.5
    tasks(tmp_path, dict.fromkeys(range(7, 100), 9999))
    assert threads.busy(frozenset({key})) == chosen, "not counted again so soon"


def test_a_thread_that_is_stuck_in_a_read_has_work_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    key = ProcessKey(7, 1)
    threads = BusyThreads(tmp_path)
    tasks(tmp_path, dict.fromkeys(range(7, 20), 5))
    for tid in range(7, 20):
        state = "D" if tid in (9, 12) else "S"
        (tmp_path / "7/task" / str(tid) / "stat").write_text(f"{tid} (a) b) {state} 1 7")
    threads.busy(frozenset({key}))
    now += 1.0
    assert {each.tid for each in threads.busy(frozenset({key}))} == {9, 12}


def test_many_processes_are_counted_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def count(self: BusyThreads, key: ProcessKey, kept: module._Counted, now: float) -> int:
        counted.append(key.pid)
        kept.due = now + 4
        return 100

    monkeypatch.setattr(BusyThreads, "_count", count)
    threads = BusyThreads(tmp_path)
    keys = frozenset(ProcessKey(pid, 1) for pid in range(10))
    for _ in range(4):
        threads.busy(keys)
    assert sorted(counted) == list(range(10))


def test_a_process_that_is_gone_has_none(tmp_path: Path) -> None:
    assert BusyThreads(tmp_path).busy(frozenset({ProcessKey(os.getpid(), 1)})) == frozenset()
