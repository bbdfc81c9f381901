"""Process rows: exact amounts, no spikes, no child's I/O on its parent, and no work for those that do nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.model.missing import Missing
from iodash.model.sample import (
    GpuDriver,
    GpuProcess,
    IoCounters,
    LiveThreads,
    ProcessCounters,
    ProcessKey,
    StatCounters,
)
from iodash.sampling.gpus import GpuRates
from iodash.sampling.processes import ProcessRates
from tests.gpu_counters import gpu_counters
from tests.samples import BOOT, process_counters, sample

if TYPE_CHECKING:
    from iodash.model.frame import ProcessRow
    from iodash.model.sample import Sample

MIB = 1 << 20
OLD = {"start_time": BOOT + 1}


def io(read: int = 0, written: int = 0, **values: int) -> IoCounters:
    zero = IoCounters(0, 0, 0, 0, 0, 0, 0)
    return replace(zero, read_bytes=read, write_bytes=written, **values)


def stat(at: float, **values: Any) -> StatCounters:
    return replace(StatCounters(at, "S", 1, 1, 0, 0, 100, 0, (0, 0, 0, 0)), **values)


def process(pid: int = 50, **values: Any) -> ProcessCounters:
    return process_counters(pid, **{**OLD, **values})


def rows(*samples: Sample, rates: ProcessRates | None = None) -> list[dict[int, ProcessRow]]:
    """The rows of each pair of successive samples, by pid or tid."""
    rates = rates or ProcessRates()
    made = []
    for old, new in pairwise(samples):
        gpus = GpuRates().rows(old, new)
        found = rates.rows(old, new, new.monotonic - old.monotonic, gpus)
        made.append({row.tid or row.pid: row for row in found})
    return made


def last(*samples: Sample, pid: int = 50) -> ProcessRow:
    return rows(*samples)[-1][pid]


def test_bytes_and_calls_a_second_come_from_the_measured_interval() -> None:
    before = process(io=IoCounters(10, 20, 1, 2, 1000, 2000, 0))
    after = process(io=IoCounters(4010, 2020, 5, 4, 3000, 6000, 500))
    row = last(sample(100, before), sample(102, after))
    assert (row.read_bytes_per_s, row.write_bytes_per_s, row.cancelled_write_bytes_per_s) == (1000, 2000, 250)
    assert (row.logical_read_bytes_per_s, row.logical_write_bytes_per_s) == (2000, 1000)
    assert (row.read_calls_per_s, row.write_calls_per_s) == (2, 1)
    assert (row.read_bytes_total, row.write_bytes_total) == (2000, 4000)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 60), st.lists(st.integers(0, 1 << 40), min_size=7, max_size=7)),
        min_size=1,
        max_size=20,
    )
)
def test_rate_times_interval_adds_up_to_what_the_counters_grew(steps: list[tuple[float, list[int]]]) -> None:
    counters = [7] * 7
    samples = [sample(100, process(io=IoCounters(*counters)))]
    for seconds, growth in steps:
        counters = [a + b for a, b in zip(counters, growth, strict=True)]
        samples.append(sample(samples[-1].monotonic + seconds, process(io=IoCounters(*counters))))
    made = [found[50] for found in rows(*samples)]
    spans = [new.monotonic - old.monotonic for old, new in pairwise(samples)]
    rates = [row.read_bytes_per_s for row in made if not isinstance(row.read_bytes_per_s, Missing)]
    read = sum(rate * span for rate, span in zip(rates, spans, strict=True))
    assert read == pytest.approx(counters[4] - 7, rel=1e-9)
    assert made[-1].read_bytes_total == counters[4] - 7
    assert made[-1].write_bytes_total == counters[5] - 7


def test_an_unchanged_process_gives_the_same_row_again() -> None:
    idle = process()
    first, second = rows(sample(1, idle), sample(2, idle), sample(3, idle))
    assert second[50] is first[50]
    assert second[50].read_bytes_per_s == 0


def test_a_busy_row_is_not_repeated_when_its_process_falls_silent() -> None:
    quiet = process(io=io(MIB))
    busy, silent = rows(sample(1, process()), sample(2, quiet), sample(3, quiet))
    assert busy[50].read_bytes_per_s == MIB
    assert silent[50].read_bytes_per_s == 0
    assert silent[50].read_bytes_total == MIB


def test_a_process_born_since_the_last_sample_is_measured_from_zero() -> None:
    born = process(io=io(3 * MIB), stat=stat(101, cpu_ticks=20), start_time=BOOT + 100.5)
    row = last(sample(100), sample(102, born))
    assert row.read_bytes_per_s == 1.5 * MIB
    assert row.cpu_percent == 10
    assert row.read_bytes_total == 3 * MIB


def test_a_start_time_that_was_rounded_down_still_counts_as_born() -> None:
    row = last(sample(100.5), sample(101.5, process(io=io(MIB), start_time=BOOT + 99.6)))
    assert row.read_bytes_per_s == MIB


def test_an_old_process_seen_for_the_first_time_is_new_and_then_measured() -> None:
    seen = process(io=io(900 * MIB), stat=stat(101, cpu_ticks=500))
    again = process(io=io(901 * MIB), stat=stat(102, cpu_ticks=550))
    first, second = rows(sample(100), sample(101, seen), sample(102, again))
    assert first[50].read_bytes_per_s is Missing.NEW
    assert first[50].cpu_percent is Missing.NEW
    assert first[50].cache_hit_percent is Missing.NEW
    assert first[50].read_bytes_total == 0
    assert second[50].read_bytes_per_s == MIB
    assert second[50].cpu_percent == 50


def test_a_new_row_is_not_repeated() -> None:
    seen = process()
    assert rows(sample(100), sample(101, seen), sample(102, seen))[1][50].read_bytes_per_s == 0


def test_a_reused_pid_is_another_process() -> None:
    other = process(key=ProcessKey(50, 99_999), io=io(4096), start_time=BOOT + 100.7)
    row = last(sample(100, process(io=io(500 * MIB))), sample(101, other))
    assert row.read_bytes_per_s == 4096
    assert row.read_bytes_total == 4096


def test_a_counter_that_fell_is_a_reset_and_never_a_spike() -> None:
    samples = [sample(1, process(io=io(100, 700))), sample(2, process(io=io(90, 800))), sample(3, process(io=io(95)))]
    first, _ = rows(*samples)
    assert first[50].read_bytes_per_s is Missing.RESET
    assert first[50].write_bytes_per_s is Missing.RESET
    assert first[50].read_bytes_total == 0
    after = rows(*samples[:2], sample(3, process(io=io(95, 800))))[1][50]
    assert after.read_bytes_per_s == 5


def test_unreadable_io_says_so_and_leaves_the_rest() -> None:
    hidden: Any = {"io": Missing.NO_PERMISSION}
    row = last(
        sample(1, process(**hidden, stat=stat(1))),
        sample(2, process(**hidden, stat=stat(2, cpu_ticks=100, major_faults=3))),
    )
    assert row.read_bytes_per_s is Missing.NO_PERMISSION
    assert row.read_bytes_total is Missing.NO_PERMISSION
    assert row.cpu_percent == 100
    assert row.major_faults_per_s == 3


def test_io_that_becomes_readable_starts_a_baseline() -> None:
    first, second = rows(
        sample(1, process(io=Missing.NO_PERMISSION)), sample(2, process(io=io(MIB))), sample(3, process(io=io(2 * MIB)))
    )
    assert first[50].read_bytes_per_s is Missing.NEW
    assert second[50].read_bytes_per_s == MIB


def test_an_unreadable_stat_file_leaves_the_bytes() -> None:
    hidden: Any = {"stat": Missing.NO_PERMISSION}
    row = last(sample(1, process(**hidden)), sample(2, process(**hidden, io=io(10))))
    assert row.read_bytes_per_s == 10
    assert row.cpu_percent is row.state is row.threads is row.resident_bytes is Missing.NO_PERMISSION
    back = last(sample(1, process(**hidden)), sample(2, process()))
    assert back.cpu_percent is Missing.NEW


# --- over the row's own readings -------------------------------------------------------------------------------------


def test_cpu_is_over_the_two_readings_of_the_stat_file() -> None:
    row = last(sample(10, process(stat=stat(10.1))), sample(12, process(stat=stat(11.1, cpu_ticks=80))))
    assert row.cpu_percent == pytest.approx(80)


def test_time_in_which_the_stat_file_was_read_without_change_does_not_thin_the_rate() -> None:
    """The kept reading is of long ago, but a second before this one nothing had changed yet."""
    row = last(
        sample(99, process(stat=stat(10))), sample(100, process(stat=stat(100, cpu_ticks=100, previous_read_at=99.0)))
    )
    assert row.cpu_percent == pytest.approx(100)


def test_delay_needs_accounting_and_may_pass_a_hundred() -> None:
    before, after = process(stat=stat(1)), process(stat=stat(2, io_delay_ticks=150))
    for accounting, expected in ((False, Missing.OFF), (True, 150), (None, 150)):
        host = replace(sample(1).host, delay_accounting=accounting)
        row = last(sample(1, before, host=host), sample(2, after, host=host))
        assert row.io_delay_percent == expected


def test_delay_of_a_kernel_that_does_not_say_whether_it_counts_is_not_made_up() -> None:
    row = last(sample(1, process(stat=stat(1))), sample(2, process(stat=stat(2, cpu_ticks=1))))
    assert row.io_delay_percent is Missing.NOT_MEASURED


def test_switching_accounting_on_reaches_quiet_rows() -> None:
    idle = process()
    off, on = (replace(sample(1).host, delay_accounting=value) for value in (False, True))
    first, second = rows(sample(1, idle, host=off), sample(2, idle, host=off), sample(3, idle, host=on))
    assert (first[50].io_delay_percent, second[50].io_delay_percent) == (Missing.OFF, 0)


@pytest.mark.parametrize(
    ("asked", "fetched", "fuse", "expected"),
    [
        (1000, 0, False, 100),
        (1000, 250, False, 75),
        (1000, 1000, False, 0),
        (0, 0, False, Missing.NO_IO),
        (0, 4096, False, Missing.NO_IO),
        (1000, 4096, False, Missing.NO_IO),
        (1000, 0, True, Missing.UNSUPPORTED),
    ],
)
def test_cache_hits(asked: int, fetched: int, fuse: bool, expected: float | Missing) -> None:
    after = process(io=io(fetched, logical_read_bytes=asked), reads_fuse=fuse)
    assert last(sample(1, process()), sample(2, after)).cache_hit_percent == expected


def test_no_time_gives_no_rate() -> None:
    same = sample(1, process())
    row = last(same, same)
    assert row.read_bytes_per_s is Missing.NOT_MEASURED
    moved = last(sample(1, process()), sample(1, process(io=io(5))))
    assert moved.read_bytes_per_s is Missing.NOT_MEASURED


# --- children ---------------------------------------------------------------------------------------------------------


def reaping(
    at: float,
    total: int,
    live: int | None,
    *,
    reaps: int,
    ended: int | tuple[int, int] = 0,
    ticks: int = 0,
    major: int = 0,
    pid: int = 50,
) -> ProcessCounters:
    """A process whose children have had `reaps` minor faults, and whose ended threads have had `ended`."""
    least, most = ended if isinstance(ended, tuple) else (ended, ended)
    used = (reaps, major, 0, ticks)
    threads = None if live is None else LiveThreads(io(0, live), least, most, used)
    return process(pid, io=io(0, total), live_threads=threads, stat=stat(at, reaped=used))


def child(written: int, pid: int = 60) -> ProcessCounters:
    return process(pid, io=io(0, written), stat=stat(1, ppid=50))


def test_a_reaped_child_never_shows_on_its_parent() -> None:
    parent = process(io=io(0, 100), stat=stat(1))
    row = last(
        sample(1, parent, child(20 * MIB)),
        sample(2, reaping(2, 20 * MIB + 164, live=164, reaps=9)),
    )
    assert row.write_bytes_per_s == 64
    assert row.write_bytes_total == 64


def test_two_parents_that_reap_in_one_frame_lose_only_their_own_children() -> None:
    parents = [process(pid, stat=stat(1)) for pid in (50, 51)]
    children = [child(MIB), process(61, io=io(0, 2 * MIB), stat=stat(1, ppid=51))]
    after = [reaping(2, MIB + 1, live=1, reaps=1), reaping(2, 2 * MIB + 3, live=3, reaps=1, pid=51)]
    found = rows(sample(1, *parents, *children), sample(2, *after))[0]
    assert (found[50].write_bytes_per_s, found[51].write_bytes_per_s) == (1, 3)


def test_a_child_that_was_never_seen_does_not_show_either() -> None:
    row = last(sample(1, process(io=io(0, 100), stat=stat(1))), sample(2, reaping(2, MIB + 100, live=100, reaps=9)))
    assert row.write_bytes_per_s == 0


def test_after_a_child_the_parents_own_bytes_count_in_full() -> None:
    made = rows(
        sample(1, process(io=io(0, 100), stat=stat(1))),
        sample(2, reaping(2, MIB + 100, live=100, reaps=9)),
        sample(3, reaping(3, MIB + 600, live=None, reaps=9)),
        sample(4, reaping(4, 3 * MIB + 700, live=700, reaps=12)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [0, 500, 100]


def test_a_parent_that_had_children_before_iodash_starts_from_its_live_threads() -> None:
    made = rows(
        sample(1, reaping(1, 50 * MIB, live=1000, reaps=5)), sample(2, reaping(2, 60 * MIB, live=1200, reaps=6))
    )
    assert made[0][50].write_bytes_per_s == 200


def test_without_the_live_threads_the_known_part_of_the_child_is_taken_out() -> None:
    made = rows(
        sample(1, process(io=io(0, 0), stat=stat(1)), child(MIB)),
        sample(2, reaping(2, MIB + 300, live=None, reaps=1)),
        sample(3, reaping(3, MIB + 350, live=50, reaps=2)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [300, 0]


def test_a_parent_with_an_unknown_past_learns_its_own_part_at_the_first_reap() -> None:
    made = rows(
        sample(1, reaping(1, MIB, live=None, reaps=5)),
        sample(2, reaping(2, MIB + 40, live=30, reaps=6)),
        sample(3, reaping(3, MIB + 50, live=35, reaps=7)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [40, 5]
    unknown = rows(sample(1, reaping(1, MIB, live=None, reaps=5)), sample(2, reaping(2, MIB + 4, live=None, reaps=6)))
    assert unknown[0][50].write_bytes_per_s == 4


def test_an_exited_thread_is_not_credited_twice() -> None:
    """Its bytes stay in the whole but leave the live threads: the parent's rate is never negative, nor too high."""
    made = rows(
        sample(1, process(io=io(0, 5000), stat=stat(1))),
        sample(2, reaping(2, 5000 + MIB, live=1000, reaps=1)),
        sample(3, reaping(3, 5100 + MIB, live=None, reaps=1)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [0, 100]


def test_a_child_that_is_still_there_is_not_taken_out() -> None:
    alive = child(MIB)
    stays, unreadable = child(7, pid=61), process(62, io=Missing.NO_PERMISSION, stat=stat(1, ppid=50))
    row = last(
        sample(1, process(stat=stat(1)), alive, stays, unreadable),
        sample(2, reaping(2, 900, live=900, reaps=1), process(60, key=alive.key, io=io(0, 2 * MIB)), stays),
    )
    assert row.write_bytes_per_s == 900


def test_a_process_born_in_the_frame_is_not_credited_with_its_child_either() -> None:
    born = replace(reaping(2, MIB + 10, live=10, reaps=3), start_time=BOOT + 1.5)
    assert last(sample(1), sample(2, born)).write_bytes_per_s == 10


# --- threads that have ended, beside children ------------------------------------------------------------------------


def parent(written: int = 0) -> ProcessCounters:
    return process(io=io(0, written), stat=stat(1))


def test_what_ended_threads_did_is_the_processs_own_when_its_child_can_have_done_nothing() -> None:
    row = last(sample(1, parent(100)), sample(2, reaping(2, 100 + 10 * MIB, live=100, ended=12, reaps=50)))
    assert row.write_bytes_per_s == row.write_bytes_total == 10 * MIB


def test_it_stays_so_from_child_to_child() -> None:
    made = rows(
        sample(1, parent()),
        sample(2, reaping(2, 10 * MIB, live=0, ended=12, reaps=50)),
        sample(3, reaping(3, 30 * MIB, live=0, ended=30, reaps=150, ticks=1)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [10 * MIB, 20 * MIB]


def test_without_an_ended_thread_even_the_smallest_child_keeps_its_own() -> None:
    made = rows(
        sample(1, parent()),
        sample(2, reaping(2, 10 * MIB, live=MIB, ended=12, reaps=50)),
        sample(3, reaping(3, 30 * MIB, live=2 * MIB, ended=12, reaps=100)),
        sample(4, reaping(4, 50 * MIB, live=3 * MIB, ended=(9, 15), reaps=150)),
        sample(5, reaping(5, 70 * MIB, live=4 * MIB, ended=(15, 15), reaps=200)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [10 * MIB, MIB, MIB, MIB]


@pytest.mark.parametrize("use", [{"reaps": 257}, {"reaps": 1, "ticks": 2}, {"reaps": 1, "major": 1}])
def test_where_ended_threads_or_a_child_may_have_done_it_nobody_is_credited(use: dict[str, int]) -> None:
    row = last(sample(1, parent(100)), sample(2, reaping(2, 100 + 10 * MIB, live=150, ended=12, **use)))
    assert row.write_bytes_per_s is row.read_bytes_per_s is Missing.NOT_MEASURED
    assert row.write_bytes_total == 50


def test_bounds_that_lie_close_together_are_a_number() -> None:
    row = last(sample(1, parent()), sample(2, reaping(2, 10 * MIB, live=9 * MIB + MIB // 2, ended=12, reaps=900)))
    assert row.write_bytes_per_s == 9 * MIB + MIB // 2


def test_what_was_seen_of_a_child_is_its_own_and_only_its_rest_is_weighed() -> None:
    seen = process(60, io=io(0, 20 * MIB), stat=stat(1, ppid=50, minor_faults=900, major_faults=2, cpu_ticks=40))
    other = process(61, io=io(0, MIB), stat=stat(1, ppid=50, minor_faults=90, reaped=(10, 1, 2, 3)))
    use: dict[str, Any] = {"reaps": 1100, "major": 3, "ticks": 46}
    row = last(sample(1, parent(), seen, other), sample(2, reaping(2, 31 * MIB, live=0, ended=12, **use)))
    assert row.write_bytes_per_s == 10 * MIB


def test_a_child_that_went_on_after_it_was_seen_is_not_credited_to_its_parent() -> None:
    seen = process(60, io=io(0, 20 * MIB), stat=stat(1, ppid=50, minor_faults=900, cpu_ticks=40))
    row = last(sample(1, parent(), seen), sample(2, reaping(2, 31 * MIB, live=0, ended=12, reaps=950, ticks=60)))
    assert row.write_bytes_per_s is Missing.NOT_MEASURED
    assert row.write_bytes_total == 0


def test_threads_that_ended_before_iodash_began_are_no_sign() -> None:
    made = rows(
        sample(1, reaping(1, 50 * MIB, live=0, ended=12, reaps=50)),
        sample(2, reaping(2, 60 * MIB, live=0, ended=12, reaps=100)),
        sample(3, reaping(3, 70 * MIB, live=0, ended=13, reaps=150)),
    )
    assert [found[50].write_bytes_per_s for found in made] == [0, 10 * MIB]


# --- GPUs -------------------------------------------------------------------------------------------------------------


def on_gpus(at: float, *processes: ProcessCounters, **lists: Any) -> Sample:
    gpus = tuple(
        gpu_counters(at, index=index, uuid=f"GPU-{index}", processes=listed) for index, listed in enumerate(lists["of"])
    )
    return sample(at, *processes, gpus=gpus, gpu_driver=GpuDriver("ok"))


def test_gpu_columns_are_joined_by_pid() -> None:
    idle = process()
    listed = (
        (GpuProcess(50, MIB, 30.0), GpuProcess(51, MIB, 1.0, visible=False)),
        (GpuProcess(50, 2 * MIB, 20.0, guess=True),),
    )
    first, second = rows(
        on_gpus(1, idle, process(51), of=listed),
        on_gpus(2, idle, process(51), of=listed),
        on_gpus(3, idle, process(51), of=((), ())),
    )
    assert (first[50].gpus, first[50].gpu_memory_bytes, first[50].gpu_sm_percent) == ((0, 1), 3 * MIB, 50)
    assert first[50].gpus_guessed
    assert (first[51].gpus, first[51].gpu_memory_bytes, first[51].gpu_sm_percent) == ((), 0, 0)
    assert second[50].gpus == ()


def test_two_entries_for_one_gpu_name_it_once() -> None:
    listed = ((GpuProcess(50, MIB, Missing.UNSUPPORTED), GpuProcess(50, MIB, 5.0)),)
    row = last(on_gpus(1, process(), of=listed), on_gpus(2, process(), of=listed))
    assert (row.gpus, row.gpu_memory_bytes, row.gpu_sm_percent) == ((0,), 2 * MIB, Missing.UNSUPPORTED)


def test_an_unknown_list_does_not_mean_no_gpu() -> None:
    listed = ((GpuProcess(50, MIB, 5.0),), Missing.NO_PERMISSION)
    found = rows(on_gpus(1, process(), process(51), of=listed), on_gpus(2, process(), process(51), of=listed))[0]
    assert found[50].gpus == (0,)
    assert found[51].gpus is found[51].gpu_memory_bytes is Missing.NO_PERMISSION


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("ok", ()),
        ("starting", Missing.STARTING),
        ("off", Missing.OFF),
        ("not_answering", Missing.NOT_MEASURED),
        ("no_library", Missing.NO_DRIVER),
        ("version_mismatch", Missing.NO_DRIVER),
    ],
)
def test_without_gpus_the_drivers_state_tells(status: Any, expected: object) -> None:
    driver = GpuDriver(status)
    row = last(sample(1, process(), gpu_driver=driver), sample(2, process(), gpu_driver=driver))
    assert row.gpus == expected


def test_processes_on_no_gpu_are_repeated_while_others_are_on_one() -> None:
    idle, trainer = process(51), process()
    listed = ((GpuProcess(50, MIB, 5.0),),)
    first, second = rows(*(on_gpus(at, idle, trainer, of=listed) for at in (1, 2, 3)))
    assert second[51] is first[51]
    assert second[50] == first[50]


STEPS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(("rests", "reads", "is_gone")), min_size=5, max_size=5), st.sets(st.integers(50, 54))
    ),
    min_size=2,
    max_size=12,
)


@given(STEPS)
def test_what_is_reused_is_what_would_be_made_anew(steps: list[tuple[list[str], set[int]]]) -> None:
    known: dict[int, ProcessCounters] = {}
    samples = []
    for at, (fates, users) in enumerate(steps):
        for pid, fate in enumerate(fates, 50):
            if fate == "is_gone":
                known.pop(pid, None)
            elif pid not in known:
                known[pid] = process(pid)
            elif fate == "reads":
                known[pid] = replace(known[pid], io=io(known[pid].io.read_bytes + MIB))  # type: ignore[union-attr]
        listed = tuple(GpuProcess(pid, MIB, 5.0) for pid in sorted(users))
        samples.append(on_gpus(at, *known.values(), of=(listed,)))
    reusing, anew = ProcessRates(), ProcessRates()
    for old, new in pairwise(samples):
        (found,) = rows(old, new, rates=reusing)
        apart = [replace(each, processes={n: replace(p) for n, p in each.processes.items()}) for each in (old, new)]
        (expected,) = rows(*apart, rates=anew)
        assert found == expected
        moving = {row.pid for row in reusing.moving}
        assert moving >= {pid for pid, row in found.items() if row.read_bytes_per_s or row.gpus}


def test_moving_rows_are_those_that_did_something() -> None:
    rates = ProcessRates()
    idle, reader = process(51), process()
    later = [process(io=io(read * MIB)) for read in (1, 2)]
    rows(sample(1, idle, reader), sample(2, idle, later[0]), sample(3, idle, later[1]), rates=rates)
    assert [row.pid for row in rates.moving] == [50]


# --- threads and gaps -------------------------------------------------------------------------------------------------


def thread(tid: int, written: int, started: float = 1.0) -> ProcessCounters:
    return process(key=ProcessKey(50, 10, tid), io=io(0, written), start_time=BOOT + started)


def test_threads_have_rows_of_their_own_and_totals_go_on_behind_them() -> None:
    made = rows(
        sample(100, process()),
        sample(101, process(io=io(0, 10))),
        sample(102, thread(50, 5), thread(55, 9), threads=True),
        sample(103, thread(50, 6), thread(55, 9), threads=True),
        sample(104, process(io=io(0, 40))),
        sample(105, process(io=io(0, 41))),
    )
    assert made[1][55].write_bytes_per_s is Missing.NEW
    assert (made[2][50].write_bytes_per_s, made[2][55].write_bytes_per_s) == (1, 0)
    assert made[3][50].write_bytes_per_s is Missing.NEW
    assert [made[3][50].write_bytes_total, made[4][50].write_bytes_total] == [40, 41]


def test_a_thread_born_while_threads_are_shown_is_measured_from_zero() -> None:
    first, second = (
        sample(100, thread(50, 0), threads=True),
        sample(101, thread(50, 0), thread(55, 8, started=100.3), threads=True),
    )
    assert rows(first, second)[0][55].write_bytes_per_s == 8


def test_vanished_processes_are_forgotten() -> None:
    rates = ProcessRates()
    gone = process()
    rows(sample(1, gone), sample(2, gone), sample(3), rates=rates)
    back = rows(sample(3), sample(4, replace(gone, io=io(0, 77))), rates=rates)[0][50]
    assert back.write_bytes_total == 0
