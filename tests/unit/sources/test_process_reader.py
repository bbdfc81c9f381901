"""The sweep over a proc tree: what is read when, who is the same, who is gone."""

from __future__ import annotations

import os
import pwd
import threading
import time
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import Host, IoCounters, LiveThreads, ProcessKey
from iodash.sources import Demand
from iodash.sources.local import beside as beside_module
from iodash.sources.local import names as names_module
from iodash.sources.local.pace import IDLE_TURNS, SEARCH_TURNS
from iodash.sources.local.process_files import live_threads
from iodash.sources.local.processes import ACTIVE_TURNS, ProcessReader
from iodash.sources.local.tracked import Budget
from iodash.sources.local.users import UserNames
from tests.fake_processes import add_process, io_file, put, remove_process, stat_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from iodash.model.missing import Count
    from iodash.model.sample import ProcessCounters

HOST = Host("node", "6.18", boot_time=1000.0)
FULL = Demand(every_field=True)


class Reader:
    """A reader of one tree with everything it needs."""

    def __init__(self, procfs: Path, descriptors: int, threads: bool) -> None:
        self.descriptors = descriptors
        self.budget = Budget(descriptors)
        self.users = UserNames()
        self.reader = ProcessReader(procfs, self.users, self.budget, local=False, threads=threads)

    def read(
        self,
        demand: Demand = FULL,
        host: Host = HOST,
        *,
        created: Count = Missing.NOT_MEASURED,
        busy_ticks: Count = Missing.NOT_MEASURED,
    ) -> Mapping[int, ProcessCounters]:
        self.reader.find(demand, host, created)
        return self.reader.sweep(demand, busy_ticks)

    def until(self, condition: Callable[[Mapping[int, ProcessCounters]], bool]) -> Mapping[int, ProcessCounters]:
        """Reads until something that is read beside has arrived."""
        deadline = time.monotonic() + 10
        while not condition(found := self.read()):
            assert time.monotonic() < deadline
        return found


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Reader]]:
    made: list[Reader] = []

    def build(descriptors: int = 1000, *, threads: bool = False) -> Reader:
        made.append(Reader(tmp_path, descriptors, threads))
        return made[-1]

    yield build
    for reader in made:
        reader.reader.close()
        reader.users.close()
        assert reader.budget.left == reader.descriptors


def test_a_process_as_it_is(tmp_path: Path, make: Callable[..., Reader]) -> None:
    put(add_process(tmp_path, 42, b"train", start=250), io=io_file(1, 2, 3, 4, 5, 6, 7))
    (tmp_path / "meminfo").write_text("not a process")
    found = make().read()
    assert list(found) == [42]
    row = found[42]
    assert row.key == ProcessKey(42, 250)
    assert row.io == IoCounters(1, 2, 3, 4, 5, 6, 7)
    assert (row.name, row.command, row.uid, row.cgroup) == ("train", "train --flag", 65534, "/user.slice")
    assert row.user == pwd.getpwuid(65534).pw_name
    assert row.start_time == 1002.5
    assert row.io_priority is Missing.NOT_MEASURED


def test_who_did_nothing_is_the_same_object(tmp_path: Path, make: Callable[..., Reader]) -> None:
    add_process(tmp_path, 42)
    reader = make()
    first = reader.read()[42]
    assert reader.read()[42] is first
    assert reader.read(Demand())[42] is first


def test_io_that_moved_makes_a_new_row_and_leaves_the_old_sample_alone(
    tmp_path: Path, make: Callable[..., Reader]
) -> None:
    directory = add_process(tmp_path, 42)
    add_process(tmp_path, 43)
    reader = make()
    before = reader.read(Demand())
    put(directory, io=io_file(0, 0, 0, 0, 4096))
    after = reader.read(Demand())
    assert after[42].io == IoCounters(0, 0, 0, 0, 4096, 0, 0)
    assert before[42].io == IoCounters(0, 0, 0, 0, 0, 0, 0)
    assert after[43] is before[43]


@pytest.mark.parametrize("descriptors", [1000, 0, 1])
def test_births_and_deaths(tmp_path: Path, make: Callable[..., Reader], descriptors: int) -> None:
    add_process(tmp_path, 42)
    reader = make(descriptors)
    assert set(reader.read()) == {42}
    add_process(tmp_path, 43)
    assert set(reader.read()) == {42, 43}
    remove_process(tmp_path, 42)
    assert set(reader.read()) == {43}
    assert set(reader.read(Demand())) == {43}


@pytest.mark.parametrize("descriptors", [0, 1])
def test_without_descriptors_files_are_opened_each_time(
    tmp_path: Path, make: Callable[..., Reader], descriptors: int
) -> None:
    directories = [add_process(tmp_path, pid) for pid in (42, 43)]
    reader = make(descriptors)
    first = reader.read(Demand())
    for directory in directories:
        put(directory, io=io_file(0, 0, 0, 0, 4096))
    second = reader.read(Demand())
    for pid in (42, 43):
        assert second[pid].io == IoCounters(0, 0, 0, 0, 4096, 0, 0)
    assert reader.read(Demand())[42] is second[42]
    assert first[42] is not second[42]


def test_a_descriptor_that_becomes_free_is_used(tmp_path: Path, make: Callable[..., Reader]) -> None:
    add_process(tmp_path, 42)
    add_process(tmp_path, 43)
    reader = make(1)
    reader.read(Demand())
    remove_process(tmp_path, 42)
    for _ in range(3):
        reader.read(Demand())
    assert reader.budget.left == 0


def test_a_reused_number_is_another_process(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42, b"first")
    reader = make(0)
    reader.read()
    put(directory, io=io_file(9), stat=stat_file(42, b"second", start=5000), cmdline=b"second\0")
    row = reader.until(lambda found: found[42].command == "second")[42]
    assert row.key == ProcessKey(42, 5000)
    assert row.name == "second"


def test_an_idle_process_that_starts_to_burn_cpu_is_found(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    for _ in range(ACTIVE_TURNS + 3):
        reader.read(Demand())
    put(directory, stat=stat_file(42, cpu=500))
    turns = 0
    while (stat := reader.read(Demand())[42].stat) and not isinstance(stat, Missing) and stat.cpu_ticks == 0:
        turns += 1
        assert turns <= IDLE_TURNS
    for ticks in range(501, 505):
        put(directory, stat=stat_file(42, cpu=ticks))
        stat = reader.read(Demand())[42].stat
        assert not isinstance(stat, Missing)
        assert stat.cpu_ticks == ticks


def _turns_until_found(directory: Path, reader: Reader, ticks_of_all: int) -> int:
    """How many sweeps it takes to find that an idle process computes, on a machine that is busy so many ticks each."""
    for _ in range(ACTIVE_TURNS + 3):
        reader.read(Demand(), busy_ticks=0)
    put(directory, stat=stat_file(42, cpu=500))
    for turn in range(1, IDLE_TURNS + 2):
        reader.reader._pace._at = time.monotonic() - 1.0
        stat = reader.read(Demand(), busy_ticks=turn * ticks_of_all)[42].stat
        if not isinstance(stat, Missing) and stat.cpu_ticks:
            return turn
    raise AssertionError("never found")


@pytest.mark.parametrize("ticks", [50, 200])
def test_while_somebody_unseen_computes_idle_processes_are_searched_sooner(
    tmp_path: Path, make: Callable[..., Reader], ticks: int
) -> None:
    directories = [add_process(tmp_path, pid) for pid in range(42, 42 + 2 * SEARCH_TURNS)]
    assert _turns_until_found(directories[0], make(), ticks) <= SEARCH_TURNS + 1


def test_what_those_in_sight_compute_starts_no_search(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    visible = Demand(visible=frozenset({reader.read()[42].key}))
    for turn in range(1, 4):
        put(directory, stat=stat_file(42, cpu=100 * turn))
        reader.reader._pace._at = time.monotonic() - 1.0
        reader.read(visible, busy_ticks=1000 + 100 * turn)
    assert reader.reader._pace.turns == IDLE_TURNS


@pytest.mark.parametrize("shown", ["visible", "members"])
def test_who_is_looked_at_is_read_each_time(tmp_path: Path, make: Callable[..., Reader], shown: str) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    key = reader.read()[42].key
    keys = frozenset({key, ProcessKey(99, 1)})
    demand = Demand(visible=keys) if shown == "visible" else Demand(members=keys)
    for ticks in range(1, 30):
        put(directory, stat=stat_file(42, cpu=0, resident=ticks))
        stat = reader.read(demand)[42].stat
        assert not isinstance(stat, Missing)
        assert stat.resident_pages == ticks


def test_a_reading_names_the_last_one_that_still_showed_the_old_counters(
    tmp_path: Path, make: Callable[..., Reader]
) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    reader.read()
    between = time.monotonic()
    reader.read()
    put(directory, stat=stat_file(42, cpu=5))
    stat = reader.read()[42].stat
    assert not isinstance(stat, Missing)
    assert between <= stat.previous_read_at <= stat.read_at


def test_proc_is_not_listed_while_nobody_was_born(
    tmp_path: Path, make: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_process(tmp_path, 42)
    reader = make()
    reader.read(Demand(), created=100)
    listings: list[str] = []
    real = os.listdir

    def listdir(path: str) -> list[str]:
        listings.append(path)
        return real(path)

    monkeypatch.setattr(os, "listdir", listdir)
    for _ in range(3):
        reader.read(Demand(), created=100)
    assert listings == []
    add_process(tmp_path, 43)
    assert set(reader.read(Demand(), created=101)) == {42, 43}
    for _ in range(2):
        reader.read(Demand(), created=0)
    assert len(listings) == 3


def test_start_times_follow_a_clock_that_is_set(tmp_path: Path, make: Callable[..., Reader]) -> None:
    add_process(tmp_path, 42, start=100)
    reader = make()
    assert reader.read(Demand())[42].start_time == 1001.0
    assert reader.read(Demand(), Host("node", "6.18", boot_time=4600.0))[42].start_time == 4601.0


@pytest.mark.parametrize("created", [0, *Missing])
def test_proc_is_listed_every_time_where_nobody_counts_the_born(
    tmp_path: Path, make: Callable[..., Reader], created: int | Missing
) -> None:
    add_process(tmp_path, 42)
    reader = make()
    for pid in range(43, 48):
        reader.read(Demand(), created=created)
        add_process(tmp_path, pid)
        assert pid in reader.read(Demand(), created=created)


# --- who it is --------------------------------------------------------------------------------------------------------


def test_name_and_command_are_read_again_after_an_exec(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42, b"sh")
    reader = make()
    reader.read()
    put(directory, stat=stat_file(42, b"python3"), cmdline=b"python3\0train.py\0")
    row = reader.until(lambda found: "train.py" in found[42].command)[42]
    assert row.name == "python3"


def test_an_exec_of_the_same_program_is_seen_by_its_addresses(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    reader.read()
    put(directory, stat=stat_file(42, code=8192), cmdline=b"python3\0second.py\0")
    reader.until(lambda found: "second.py" in found[42].command)


def test_everything_else_that_changes_without_a_sign_is_noticed_in_turn(
    tmp_path: Path, make: Callable[..., Reader]
) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    reader.read()
    put(directory, cgroup=b"0::/elsewhere\n", status=b"Name:\tx\nUid:\t0\t4242\t0\t0\n")
    row = reader.until(lambda found: found[42].cgroup == "/elsewhere")[42]
    assert (row.uid, row.user) == (4242, "4242")


def test_a_kernel_thread_has_its_name_for_a_command(tmp_path: Path, make: Callable[..., Reader]) -> None:
    put(add_process(tmp_path, 2, b"kswapd0"), cmdline=b"", stat=stat_file(2, b"kswapd0", flags=0x200000))
    row = make().read()[2]
    assert (row.command, row.kernel_thread) == ("kswapd0", True)


def test_hostile_names_come_out_harmless(tmp_path: Path, make: Callable[..., Reader]) -> None:
    name = b"a) R 1\x1b[2J\n\xff"
    put(add_process(tmp_path, 42, name), cmdline=b"\x1b]0;x\x07\0" + b"A" * 100_000)
    row = make().read()[42]
    assert row.name == "a) R 1\\x1b[2J\\n\\xff"
    assert "\x1b" not in row.command
    assert len(row.command) > 4096


def test_a_hanging_command_line_costs_that_name_and_nothing_else(
    tmp_path: Path, make: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_module, "TIME_LIMIT_S", 0.1)
    hung = add_process(tmp_path, 42, b"stuck")
    (hung / "cmdline").unlink()
    os.mkfifo(hung / "cmdline")  # opening it for reading blocks, as the kernel does on a held memory lock
    add_process(tmp_path, 43)
    reader = make()
    found = reader.until(lambda found: found[43].command == "python3 --flag" and found[42].uid == 65534)
    assert found[42].command == "stuck"
    assert found[42].cgroup == "/user.slice"
    add_process(tmp_path, 44, b"later")
    assert reader.until(lambda found: found[44].command == "later --flag")[42].command == "stuck"
    release = threading.Thread(target=lambda: (hung / "cmdline").write_bytes(b"free\0"))
    release.start()
    release.join()


def test_a_process_that_begins_to_hang_keeps_its_command_line_until_it_executes_another_program(
    tmp_path: Path, make: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_module, "TIME_LIMIT_S", 0.05)
    stuck, executes = add_process(tmp_path, 42), add_process(tmp_path, 43)
    reader = make()
    reader.until(lambda found: all(found[pid].command == "python3 --flag" for pid in (42, 43)))
    for directory in (stuck, executes):
        (directory / "cmdline").unlink()
        os.mkfifo(directory / "cmdline")
        put(directory, cgroup=b"0::/elsewhere\n")
    put(executes, stat=stat_file(43, b"other"))
    found = reader.until(lambda found: all(found[pid].cgroup == "/elsewhere" for pid in (42, 43)))
    assert (found[42].command, found[43].command) == ("python3 --flag", "other")
    (stuck / "cmdline").write_bytes(b"python3\0--answered\0")
    reader.until(lambda found: found[42].command == "python3 --answered")
    for directory in (stuck, executes):
        os.close(os.open(directory / "cmdline", os.O_RDWR | os.O_NONBLOCK))


def test_after_many_hung_reads_command_lines_are_left_alone(
    tmp_path: Path, make: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_module, "TIME_LIMIT_S", 0.02)
    monkeypatch.setattr(beside_module, "MOST_HUNG", 2)
    pipes = []
    for pid in (42, 43):
        pipes.append(add_process(tmp_path, pid, b"stuck") / "cmdline")
        pipes[-1].unlink()
        os.mkfifo(pipes[-1])
    reader = make()
    reader.until(
        lambda found: all(found[pid].uid == 65534 for pid in (42, 43)) and len(reader.reader._names._hung) == 2
    )
    add_process(tmp_path, 44, b"later")
    assert reader.until(lambda found: found[44].uid == 65534)[44].command == "later"
    for pipe in pipes:
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))


def test_before_anything_is_known_the_directory_tells_the_owner(
    tmp_path: Path, make: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_process(tmp_path, 42)
    (tmp_path / "42" / "status").unlink()
    row = make().read()[42]
    assert row.uid == os.geteuid()
    assert row.name == row.command == "python3"


# --- what may not be read ---------------------------------------------------------------------------------------------


def test_a_kernel_without_io_files(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    (directory / "io").unlink()
    reader = make()
    assert reader.read()[42].io is Missing.UNSUPPORTED
    assert reader.read()[42].io is Missing.UNSUPPORTED
    assert reader.reader.unreadable == (0, 0)


def test_io_that_may_not_be_read_is_tried_again_after_an_exec_and_only_then(
    tmp_path: Path, make: Callable[..., Reader]
) -> None:
    directory = add_process(tmp_path, 42)
    (directory / "io").unlink()
    (directory / "io").mkdir()  # opens, but does not read, for root too
    reader = make()
    assert reader.read()[42].io is Missing.NO_PERMISSION
    reader.read()
    assert reader.reader.unreadable == (1, 1)
    (directory / "io").rmdir()
    put(directory, io=io_file(7))
    assert reader.read()[42].io is Missing.NO_PERMISSION
    put(directory, stat=stat_file(42, b"other"))
    reader.read()
    assert reader.read()[42].io == IoCounters(7, 0, 0, 0, 0, 0, 0)
    reader.read()
    assert reader.reader.unreadable == (0, 0)


def test_those_who_have_ended_are_no_longer_counted_as_hidden(tmp_path: Path, make: Callable[..., Reader]) -> None:
    for pid in (42, 43, 44):
        directory = add_process(tmp_path, pid)
        (directory / "io").unlink()
        (directory / "io").mkdir()
    reader = make()
    reader.read()
    assert reader.reader.unreadable == (3, 3)
    for pid in (42, 43):
        (tmp_path / str(pid) / "io").rmdir()
        remove_process(tmp_path, pid)
    assert len(reader.read()) == 1
    assert reader.reader.unreadable == (1, 1)


@pytest.mark.parametrize("threads", [False, True])
def test_only_programs_count_as_hidden_and_their_threads_once(
    tmp_path: Path, make: Callable[..., Reader], threads: bool
) -> None:
    for pid, flags in ((2, 0x200000), (42, 0x400000), (43, 0x400000)):
        directory = put(add_process(tmp_path, pid), stat=stat_file(pid, flags=flags))
        put(directory / "task" / str(pid), stat=stat_file(pid, flags=flags))
        if pid != 43:
            for folder in (directory, directory / "task" / str(pid)):
                (folder / "io").unlink()
                (folder / "io").mkdir()
    thread = put(tmp_path / "42/task/52", stat=stat_file(52))
    (thread / "io").mkdir()
    reader = make(threads=threads)
    assert len(reader.read()) == (4 if threads else 3)
    reader.read()
    assert reader.reader.unreadable == (1, 2)


def test_nonsense_in_the_files_is_no_error(tmp_path: Path, make: Callable[..., Reader]) -> None:
    put(add_process(tmp_path, 42), io=b"rchar: x\n")
    put(add_process(tmp_path, 43), stat=b"43 (x")
    directory = add_process(tmp_path, 44)
    reader = make()
    found = reader.read()
    assert found[42].io is Missing.UNSUPPORTED
    assert set(found) == {42, 44}
    put(directory, stat=b"")
    assert set(reader.read()) == {42}


def test_no_tree_is_an_error(tmp_path: Path, make: Callable[..., Reader]) -> None:
    reader = make()
    tmp_path.rename(tmp_path.with_name("moved"))
    with pytest.raises(FileNotFoundError):
        reader.read()


# --- children and threads ---------------------------------------------------------------------------------------------


def test_live_threads_are_read_when_a_child_was_waited_for(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    put(directory / "task" / "42", io=io_file(5))
    reader = make()
    assert reader.read()[42].live_threads is None
    put(directory, io=io_file(1000), stat=stat_file(42, minor_faults=17, reaped=(3, 0, 0, 0)))
    assert reader.read()[42].live_threads == LiveThreads(IoCounters(5, 0, 0, 0, 0, 0, 0), 7, 7, (3, 0, 0, 0))
    put(directory, io=io_file(1010))
    assert reader.read()[42].live_threads is None


def test_a_process_that_ends_while_its_threads_are_read_tells_what_it_told(
    tmp_path: Path, make: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = add_process(tmp_path, 42)
    reader = make()
    reader.read()
    put(directory, io=io_file(1000), stat=stat_file(42, minor_faults=17, reaped=(3, 0, 0, 0)))

    def read_and_end(folder: str) -> tuple[IoCounters, int] | None:
        found = live_threads(folder)
        put(directory, stat=b"")
        return found

    monkeypatch.setattr("iodash.sources.local.tracked.live_threads", read_and_end)
    assert reader.read()[42].live_threads == LiveThreads(IoCounters(0, 0, 0, 0, 0, 0, 0), 7, 7, (3, 0, 0, 0))


def test_threads_that_may_not_be_read_are_left_out(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    put(directory / "task" / "42", io=b"nonsense")
    put(directory, io=io_file(1000), stat=stat_file(42, reaped=(3, 0, 0, 0)))
    assert make().read()[42].live_threads is None


def test_who_has_had_children_before_is_read_with_its_threads_at_first_sight(
    tmp_path: Path, make: Callable[..., Reader]
) -> None:
    put(add_process(tmp_path, 42), io=io_file(1000), stat=stat_file(42, reaped=(3, 0, 0, 0)))
    found = make().read()[42].live_threads
    assert found is not None
    assert found.io == IoCounters(0, 0, 0, 0, 0, 0, 0)


def test_threads_have_rows_by_their_own_numbers(tmp_path: Path, make: Callable[..., Reader]) -> None:
    directory = add_process(tmp_path, 42)
    put(directory / "task" / "77", io=io_file(7), stat=stat_file(77, b"pt_data_pin", start=1200))
    (tmp_path / "43").mkdir()
    reader = make(threads=True)
    found = reader.read(Demand(threads=True))
    assert set(found) == {42, 77}
    assert found[77].key == ProcessKey(42, 1200, 77)
    assert (found[77].name, found[77].io) == ("pt_data_pin", IoCounters(7, 0, 0, 0, 0, 0, 0))
    put(directory / "task" / "77", io=io_file(8))
    again = reader.read(Demand(threads=True, visible=frozenset({found[77].key})))
    assert again[77].io == IoCounters(8, 0, 0, 0, 0, 0, 0)
    assert again[42] is found[42]


def test_of_a_process_whose_threads_are_shown_the_main_one_is_looked_at(
    tmp_path: Path, make: Callable[..., Reader]
) -> None:
    directory = add_process(tmp_path, 42)
    reader = make(threads=True)
    process = reader.read(Demand(threads=True))[42].key._replace(tid=0)
    for _ in range(12):
        reader.read(Demand(threads=True))
    put(directory / "task" / "42", stat=stat_file(42, state="D"))
    rows = reader.read(Demand(threads=True, members=frozenset({process})))
    assert getattr(rows[42].stat, "state", None) == "D"
