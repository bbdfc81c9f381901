"""What is read of a job's members: looks at real children, kinds of waits, facts, control groups by hierarchy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.sampling.members import job_rows
from iodash.sources.local import beside as beside_module
from iodash.sources.local import members as members_module
from iodash.sources.local.containers import limits_path
from iodash.sources.local.job_facts import member_facts
from iodash.sources.local.looks import Looks
from iodash.sources.local.members import MemberReader
from iodash.sources.local.topology import Blocks
from iodash.sources.local.wait_kinds import wait_kind
from tests.fake_processes import stat_file
from tests.trees import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from iodash.model.members import MemberFacts

PROC, SYS = Path("/proc"), Path("/sys")
PATIENCE_S = 20.0

WAITS_IN_A_PIPE = "import sys; print('ready', flush=True); sys.stdin.read()"
COMPUTES = "print('ready', flush=True)\nwhile True: pass"


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


@pytest.fixture
def looks() -> Iterator[Looks]:
    made = Looks(PROC)
    yield made
    made.close()


@pytest.mark.parametrize(("code", "running"), [(WAITS_IN_A_PIPE, False), (COMPUTES, True)])
def test_a_child_is_seen_running_or_waiting(looks: Looks, code: str, running: bool) -> None:
    child = start(code)
    key = ProcessKey(child.pid, 1)
    try:
        looks.watch(frozenset({key}))
        deadline = time.monotonic() + PATIENCE_S
        while (seen := looks.read()[key]).looks < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert seen.looks >= 5
        assert (seen.running > seen.looks / 2) is running
        if not running:
            assert seen.waits.get("queue", 0) > 0
            assert seen.waits_readable
    finally:
        end(child)


def test_a_child_that_ends_is_no_longer_read(looks: Looks) -> None:
    child = start(WAITS_IN_A_PIPE)
    key = ProcessKey(child.pid, 1)
    looks.watch(frozenset({key}))
    end(child)
    deadline = time.monotonic() + PATIENCE_S
    while looks.read() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert looks.read() == {}


def test_who_becomes_a_rank_while_being_watched_has_its_bytes_read_from_then_on(looks: Looks) -> None:
    child = start(WAITS_IN_A_PIPE)
    key = ProcessKey(child.pid, 1)
    try:
        looks.watch(frozenset({key}))
        deadline = time.monotonic() + PATIENCE_S
        while (seen := looks.read()[key]).looks < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert seen.logical_read_bytes is Missing.NOT_MEASURED
        looks.watch(frozenset({key}), with_io=frozenset({key}))
        ranked = looks.read()[key]
        assert not isinstance(ranked.logical_read_bytes, Missing)
        assert ranked.logical_read_bytes > 0
        assert ranked.looks >= seen.looks
        looks.watch(frozenset({key}))
        assert looks.read()[key].logical_read_bytes is Missing.NOT_MEASURED
    finally:
        end(child)


def test_a_member_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    key = ProcessKey(7, 1)
    try:
        looks.watch(frozenset({key}))
        assert looks.read() == {}
        thread = tmp_path / "7/task/7"
        thread.mkdir(parents=True)
        (thread / "stat").write_bytes(stat_file(7))
        looks.watch(frozenset({key}))
        assert looks.read().keys() == {key}
    finally:
        looks.close()


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (b"request_wait_answer", "fuse"),
        (b"nfs_wait_bit_killable", "network"),
        (b"folio_wait_bit_common", "block"),
        (b"folio_wait_writeback", "writeback"),
        (b"wait_woken", "socket"),
        (b"futex_wait_queue", "queue"),
        (b"__futex_wait", "queue"),
        (b"hrtimer_nanosleep", "other"),
        (b"0", None),
        (b"", None),
    ],
)
def test_a_kernel_function_says_what_is_waited_for(function: bytes, kind: str | None) -> None:
    assert wait_kind(function) == kind


def test_the_facts_of_a_child(tmp_path: Path) -> None:
    data = tmp_path / "shard.bin"
    data.write_bytes(b"x" * 4096)
    child = start(f"file = open({str(data)!r})\n{WAITS_IN_A_PIPE}", RANK="3")
    try:
        *_, facts = member_facts(PROC, Blocks(PROC, SYS), ProcessKey(child.pid, 1))
    finally:
        end(child)
    assert facts.environment == {"RANK": "3"}
    assert not isinstance(facts.places, Missing)
    assert any(tmp_path.is_relative_to(place.mount_point) for place in facts.places)
    assert facts.remote_sockets == 0
    assert facts.cpus_allowed == len(os.sched_getaffinity(0))


def test_the_facts_of_nobody_are_missing(tmp_path: Path) -> None:
    *_, facts = member_facts(tmp_path, Blocks(tmp_path, tmp_path), ProcessKey(1, 1))
    assert isinstance(facts.places, Missing)
    assert isinstance(facts.cpus_allowed, Missing)


def test_groups_that_limit_differently_have_different_names() -> None:
    hybrid = b"7:blkio:%s\n4:memory:/pod/a\n1:cpu:%s\n0::/\n"
    free, throttled = limits_path(hybrid % (b"/", b"/")), limits_path(hybrid % (b"/slow", b"/"))
    assert (free, throttled) == ("/pod/a", "/pod/a blkio=/slow")
    assert limits_path(b"0::/user.slice\n") == "/user.slice"


def test_members_have_counters_facts_and_a_group_and_nobody_costs_nothing() -> None:
    child = start(WAITS_IN_A_PIPE)
    key = ProcessKey(child.pid, 1)
    reader = MemberReader(PROC, SYS)
    try:
        assert reader.read(frozenset()).members == {}
        deadline = time.monotonic() + PATIENCE_S
        while not (read := reader.read(frozenset({key}))).facts and time.monotonic() < deadline:
            time.sleep(0.05)
        assert read.members.keys() == read.facts.keys() == {key}
        assert read.facts[key].cgroup in read.cgroups
    finally:
        reader.close()
        end(child)


def test_a_mount_whose_device_nobody_names_is_of_unknown_kind(tmp_path: Path) -> None:
    child = start(f"file = open({str(tmp_path / 'data')!r}, 'w')\n{WAITS_IN_A_PIPE}")
    try:
        *_, facts = member_facts(PROC, Blocks(tmp_path, tmp_path / "no sys"), ProcessKey(child.pid, 1))
    finally:
        end(child)
    assert not isinstance(facts.places, Missing)
    assert {place.kind for place in facts.places} <= {"unknown", "memory"}


def test_periods_of_a_quota_are_never_compared_with_those_of_another_group(tmp_path: Path) -> None:
    """The group above was stopped more often in all, but only the job's own quota stops it now; then it turns."""
    groups = tmp_path / "groups"
    procfs = tmp_path / "proc"
    write(procfs / "7/cgroup", "0::/pod/job\n")
    write(procfs / "1/mountinfo", f"1 0 0:30 / {groups} rw - cgroup2 cgroup2 rw\n")
    key = ProcessKey(7, 1)
    reader = MemberReader(procfs, tmp_path)
    try:
        readings = []
        for job, pod in (((0, 40), (8000, 39)), ((10, 40), (8010, 49)), ((20, 50), (8020, 49))):
            write(groups / "pod/job/cpu.stat", f"nr_periods {job[0]}\nnr_throttled {job[1]}\n")
            write(groups / "pod/cpu.stat", f"nr_periods {pod[0]}\nnr_throttled {pod[1]}\n")
            readings.append(reader.read(frozenset({key})))
        rows = [job_rows(old, new, 1.0, 4096).cgroups["/pod/job"] for old, new in pairwise(readings)]
        assert [row.cpu_throttled_percent for row in rows] == [100.0, 100.0]
    finally:
        reader.close()


@pytest.fixture
def hanging() -> Iterator[Callable[[Path], None]]:
    """Makes files whose reading hangs, as the kernel lets it while a process's memory lock is held."""
    pipes: list[Path] = []

    def hang(path: Path) -> None:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        pipes.append(path)

    yield hang
    for pipe in pipes:
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))


def facts_until(
    reader: MemberReader, members: frozenset[ProcessKey], done: Callable[[Mapping[ProcessKey, MemberFacts]], bool]
) -> Mapping[ProcessKey, MemberFacts]:
    deadline = time.monotonic() + PATIENCE_S
    while not done(facts := reader.read(members).facts) and time.monotonic() < deadline:
        time.sleep(0.02)
    return facts


def add_member(procfs: Path, rank: int) -> ProcessKey:
    key = ProcessKey(100 + rank, 1)
    directory = procfs / str(key.pid)
    write(directory / "environ", f"RANK={rank}\0")
    write(directory / "cgroup", "0::/job\n")
    write(directory / "mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n9 1 0:50 / /data rw - nfs4 server:/data rw\n")
    (directory / "fd").mkdir()
    (directory / "fd/3").symlink_to("/data/shard-0.tar")
    return key


def mount_points(facts: MemberFacts) -> list[str]:
    assert not isinstance(facts.places, Missing)
    return [place.mount_point for place in facts.places]


def test_a_member_that_hangs_costs_no_facts_but_its_own(
    tmp_path: Path, hanging: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members_module, "_FACTS_LIMIT_S", 0.1)
    keys = [add_member(tmp_path, rank) for rank in range(5)]
    hanging(tmp_path / f"{keys[1].pid}/environ")
    reader = MemberReader(tmp_path, tmp_path)
    try:
        facts = facts_until(reader, frozenset(keys), lambda facts: len(facts) == 5)
        assert {key.pid: facts[key].environment for key in keys if key in facts} == {
            100: {"RANK": "0"},
            101: {},
            102: {"RANK": "2"},
            103: {"RANK": "3"},
            104: {"RANK": "4"},
        }
        assert mount_points(facts[keys[1]]) == ["/data"], "what it has open is known without its memory"
    finally:
        reader.close()


def test_a_member_that_begins_to_hang_is_still_known_by_its_rank_and_read_when_it_answers(
    tmp_path: Path, hanging: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members_module, "_FACTS_LIMIT_S", 0.1)
    monkeypatch.setattr(members_module, "_FACTS_AGE_S", 0.1)
    key = add_member(tmp_path, 3)
    members = frozenset({key})
    reader = MemberReader(tmp_path, tmp_path)
    try:
        facts_until(reader, members, lambda facts: key in facts)
        environ = tmp_path / f"{key.pid}/environ"
        hanging(environ)
        write(tmp_path / f"{key.pid}/cgroup", "0::/elsewhere\n")
        facts = facts_until(reader, members, lambda facts: facts[key].cgroup == "/elsewhere")
        assert (facts[key].cgroup, facts[key].environment) == ("/elsewhere", {"RANK": "3"})
        environ.write_bytes(b"RANK=4\0")
        facts = facts_until(reader, members, lambda facts: facts[key].environment != {"RANK": "3"})
        assert facts[key].environment == {"RANK": "4"}
    finally:
        reader.close()


def test_a_member_that_is_moved_to_another_group_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members_module, "_FACTS_AGE_S", 0.05)
    key = add_member(tmp_path, 0)
    members = frozenset({key})
    reader = MemberReader(tmp_path, tmp_path)
    try:
        assert reader.read(members).cgroups.keys() == {"/job"}
        write(tmp_path / f"{key.pid}/cgroup", "0::/step\n")
        facts_until(reader, members, lambda facts: key in facts and facts[key].cgroup == "/step")
        assert reader.read(members).cgroups.keys() == {"/step"}
    finally:
        reader.close()


def test_when_many_members_hang_the_others_are_known_by_what_can_not_hang(
    tmp_path: Path, hanging: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members_module, "_FACTS_LIMIT_S", 0.02)
    monkeypatch.setattr(beside_module, "MOST_HUNG", 2)
    keys = [add_member(tmp_path, rank) for rank in range(12)]
    for key in keys:
        hanging(tmp_path / f"{key.pid}/environ")
    reader = MemberReader(tmp_path, tmp_path)
    try:
        facts = facts_until(reader, frozenset(keys), lambda facts: len(facts) == 12)
        assert all(mount_points(facts[key]) == ["/data"] for key in keys)
        assert sum(thread.name == "iodash-facts" for thread in threading.enumerate()) <= 4
    finally:
        reader.close()
