"""Whatever a process calls itself, its stat file is read right; what is no such file is refused."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.sample import IoCounters
from iodash.sources.local.process_files import add_io, live_threads, parse_io, parse_stat, read_file
from tests.fake_processes import add_process, io_file, put, stat_file

COUNTER = st.integers(0, 2**64 - 1)


@given(st.binary(max_size=15), st.integers(0, 2**40), st.tuples(*(st.integers(0, 2**31),) * 4))
def test_any_name_leaves_the_fields_where_they_are(name: bytes, ticks: int, reaped: tuple[int, int, int, int]) -> None:
    stat = parse_stat(stat_file(42, name, ppid=7, cpu=ticks, reaped=reaped, start=99, delay=3, threads=5), 1.5, 0.5)
    assert (stat.name, stat.start_ticks) == (name, 99)
    counters = stat.counters
    assert (counters.ppid, counters.cpu_ticks, counters.reaped) == (7, ticks, reaped)
    assert (counters.io_delay_ticks, counters.threads, counters.state) == (3, 5, "S")
    assert (counters.read_at, counters.previous_read_at) == (1.5, 0.5)


@given(st.binary(max_size=300))
def test_anything_else_is_refused_as_a_value_error_or_read(raw: bytes) -> None:
    for parse in (lambda: parse_stat(raw, 0.0), lambda: parse_io(raw)):
        try:
            parse()
        except ValueError:
            continue


@given(st.tuples(*(COUNTER,) * 7))
def test_io_counters_of_any_size(values: tuple[int, ...]) -> None:
    assert parse_io(io_file(*values)) == IoCounters(*values)


def test_kernel_threads_are_told_by_their_flag() -> None:
    assert parse_stat(stat_file(2, b"kswapd0", flags=0x208040), 0.0).kernel_thread
    assert not parse_stat(stat_file(2), 0.0).kernel_thread


@pytest.mark.parametrize(
    ("nice", "policy", "expected"), [(0, 0, "be/4"), (-20, 0, "be/0"), (19, 3, "be/7"), (0, 1, "rt/4"), (0, 5, "idle")]
)
def test_priority_that_cpu_priority_stands_for(nice: int, policy: int, expected: str) -> None:
    assert parse_stat(stat_file(2, nice=nice, policy=policy), 0.0).nice_class == expected


def test_an_old_kernels_shorter_line_is_enough() -> None:
    raw = b" ".join(stat_file(2, delay=4).split()[:42])
    assert parse_stat(raw, 0.0).counters.io_delay_ticks == 4


def test_live_threads_are_summed_and_vanished_ones_left_out(tmp_path: Path) -> None:
    directory = add_process(tmp_path, 9)
    put(directory / "task" / "9", io=io_file(1, 2, 3, 4, 5, 6, 7), stat=stat_file(9, major_faults=3))
    put(directory / "task" / "10", io=io_file(10, 20, 30, 40, 50, 60, 70), stat=stat_file(10))
    (directory / "task" / "11").mkdir()
    put(directory / "task" / "12", io=io_file(1))
    assert live_threads(str(directory)) == (IoCounters(11, 22, 33, 44, 55, 66, 77), 10 + 3 + 10)
    put(directory / "task" / "10", io=b"nonsense")
    assert live_threads(str(directory)) is None
    assert live_threads(str(tmp_path / "12")) is None
    assert add_io([]) == IoCounters(0, 0, 0, 0, 0, 0, 0)


def test_a_table_of_the_kernel_is_read_beyond_the_page_that_one_call_gives() -> None:
    whole = Path("/proc/self/smaps").read_bytes()
    assert len(whole) > 4 * mmap.PAGESIZE
    assert len(read_file("/proc/self/smaps", 1 << 22)) > len(whole) / 2
    assert len(read_file("/proc/self/smaps", 3 * mmap.PAGESIZE)) == 3 * mmap.PAGESIZE


def test_a_short_file_is_read_whole_and_no_more_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 3500)
    assert len(read_file(str(tmp_path / "file"))) == 3500
    assert read_file(str(tmp_path / "file"), 10) == b"x" * 10
