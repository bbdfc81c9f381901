"""What stands in the row of a job, where it stands, and which jobs show their members."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.diagnosis import Diagnosis
from iodash.model.missing import Missing, known
from iodash.model.sample import GpuDriver, ProcessKey
from iodash.model.settings import Settings
from iodash.ui.panels.job_rows import JobGroup, OpenJobs, list_processes, member_words, sum_words, whole_job
from tests.ui.frames import MIB, frame, gpu, process
from tests.ui.jobs import FIRST_RANK, LAUNCHER, job_of, members

if TYPE_CHECKING:
    from iodash.model.frame import Frame, ProcessRow
    from iodash.ui.panels.job_rows import Listing, TableRow

ROWS = members()
JOB = job_of(ROWS, read_bytes_total=900, write_bytes_total=7)


def scene(*others: ProcessRow, rows: tuple[ProcessRow, ...] = ROWS) -> Frame:
    return frame(processes=(*others, *rows), jobs=(job_of(rows, read_bytes_total=900),))


def only_group(listing: Listing) -> JobGroup:
    (group,) = listing.groups.values()
    return group


def pids(rows: list[TableRow] | tuple[TableRow, ...]) -> list[int | str]:
    return [row.job.name if isinstance(row, JobGroup) else row.pid for row in rows]


def test_everything_is_added_up_once() -> None:
    total = whole_job(JOB, ROWS)
    assert total.read_bytes_per_s == (1 + 2 + 3 + 4 + 5 + 6) * MIB
    assert total.logical_read_bytes_per_s == 42 * MIB
    assert total.cpu_percent == 200.0
    assert total.io_delay_percent == 60.0
    assert total.threads == 8 + 8 + 6
    assert total.resident_bytes == 2000 * MIB
    assert total.gpus == (0, 1)
    assert total.cache_hit_percent == 50.0
    assert (total.pid, total.user, total.name) == (LAUNCHER, "ada", "train.py")
    assert total.role == "2 ranks, 6 workers, 1 other"


def test_totals_are_the_jobs_own_and_survive_workers_that_end() -> None:
    total = whole_job(JOB, ROWS[:3])
    assert (total.read_bytes_total, total.write_bytes_total) == (900, 7)


def test_a_sum_is_over_what_is_known_and_missing_only_when_all_is() -> None:
    hidden: dict[str, Any] = {"read_bytes_per_s": Missing.NO_PERMISSION, "cpu_percent": Missing.NEW}
    some = (replace(ROWS[0], **hidden), replace(ROWS[1], read_bytes_per_s=5.0, cpu_percent=1.0))
    assert whole_job(JOB, some).read_bytes_per_s == 5.0
    assert whole_job(JOB, some).cpu_percent == 1.0
    none = [replace(row, **hidden) for row in some]
    assert whole_job(JOB, none).read_bytes_per_s is Missing.NO_PERMISSION
    assert whole_job(JOB, none).cache_hit_percent is Missing.NO_PERMISSION


@pytest.mark.parametrize(
    ("fetched", "asked", "hits"),
    [(25.0, 100.0, 75.0), (0.0, 0.0, Missing.NO_IO), (9.0, 5.0, Missing.NO_IO), (0.0, 8.0, 100.0)],
)
def test_cache_hits_follow_from_the_sums(fetched: float, asked: float, hits: float | Missing) -> None:
    rows = [
        replace(ROWS[0], read_bytes_per_s=fetched, logical_read_bytes_per_s=0.0),
        replace(ROWS[1], read_bytes_per_s=0.0, logical_read_bytes_per_s=asked),
    ]
    assert whole_job(JOB, rows).cache_hit_percent == hits


def test_a_job_that_reads_from_fuse_has_no_cache_hits() -> None:
    rows = [replace(ROWS[0], cache_hit_percent=Missing.UNSUPPORTED), *ROWS[1:]]
    assert whole_job(JOB, rows).cache_hit_percent is Missing.UNSUPPORTED


def test_texts_in_which_the_processes_differ_say_so() -> None:
    rows = [replace(ROWS[0], container="a", io_priority="be/4"), replace(ROWS[1], container="a", io_priority="be/0")]
    total = whole_job(JOB, rows)
    assert (total.container, total.io_priority) == ("a", "mixed")


@pytest.mark.parametrize(
    ("states", "state"), [("SDS", "D"), ("SRS", "R"), ("SSS", "S"), ("RDS", "D")], ids=lambda value: str(value)
)
def test_a_job_waits_for_io_when_one_of_it_does(states: str, state: str) -> None:
    rows = [replace(row, state=one) for row, one in zip(ROWS, states, strict=False)]
    assert whole_job(JOB, rows).state == state


def test_a_job_stands_where_its_sum_belongs_and_its_members_are_in_the_same_order() -> None:
    busier, quieter = process(1, read_bytes_per_s=99.0 * MIB), process(2, read_bytes_per_s=7.0 * MIB)
    listing = list_processes(scene(quieter, busier), Settings())
    assert pids(list(listing.rows)) == [1, JOB.name, 2]
    reads = [known(row.read_bytes_per_s) or 0.0 for row in only_group(listing).members]
    assert reads == sorted(reads, reverse=True)
    assert listing.count == len(ROWS) + 2


def test_equal_rows_keep_their_place() -> None:
    idle = [replace(row, read_bytes_per_s=0.0, io_delay_percent=0.0, cpu_percent=0.0) for row in ROWS]
    shown = frame(processes=(process(1), *idle[:4], process(2), *idle[4:], process(9)), jobs=(JOB,))
    listing = list_processes(shown, Settings())
    assert pids(list(listing.rows)) == [1, JOB.name, 2, 9]
    assert only_group(listing).members == tuple(idle)


def test_a_filter_shows_matching_members_beneath_the_whole_job() -> None:
    listing = list_processes(scene(process(1)), Settings(filter="pt_data_worker"))
    group = only_group(listing)
    assert len(group.members) == listing.count == 6
    assert group.size == len(ROWS)
    assert group.total.cpu_percent == 200.0


def test_a_single_listed_member_stands_alone() -> None:
    listing = list_processes(scene(process(1)), Settings(pid=(FIRST_RANK,)))
    assert pids(list(listing.rows)) == [FIRST_RANK]
    assert not listing.groups


def test_threads_and_machines_without_jobs_have_no_job_rows() -> None:
    assert not list_processes(replace(scene(), threads=True), Settings()).groups
    assert not list_processes(replace(scene(), jobs=()), Settings()).groups


def test_a_job_whose_root_is_not_listed_stands_on_its_first_process() -> None:
    rows = members(launcher=False)
    listing = list_processes(frame(processes=rows, jobs=(job_of(rows, root=None),)), Settings())
    assert only_group(listing).total.pid == FIRST_RANK


def test_the_identity_of_a_job_is_that_of_no_process() -> None:
    group = only_group(list_processes(scene(), Settings()))
    assert group.total.key == ROWS[0].key
    identities: set[object] = {row.key for row in ROWS}
    assert group.key not in identities


def test_members_say_their_part_only() -> None:
    group = only_group(list_processes(scene(), Settings()))
    words = {row.pid: member_words(row, group) for row in ROWS}
    assert words[LAUNCHER] == "torchrun  launcher"
    assert words[FIRST_RANK] == "rank 0, 3 workers"
    assert words[4300] == "loader worker 0 of rank 1"


def test_a_single_rank_is_the_main_process() -> None:
    rows = members(ranks=1, launcher=False)
    group = only_group(list_processes(scene(rows=rows), Settings()))
    assert [member_words(row, group) for row in rows[:2]] == ["main process, 3 workers", "loader worker 0"]
    assert group.total.role == "3 workers"


def test_the_footer_says_what_a_job_row_is() -> None:
    group = only_group(list_processes(scene(), Settings()))
    assert sum_words(group, is_open=False) == "train.py: sum of 9 processes; Enter opens"
    some = only_group(list_processes(scene(), Settings(filter="^42")))
    assert sum_words(some, is_open=True) == "train.py: sum of 9 processes, 3 of them listed; Enter closes"


def listing_of(workers: int, *, generation: int = 0, **choice: str) -> Listing:
    rows = members(ranks=1, workers=workers, launcher=False, generation=generation)
    return list_processes(frame(processes=(*rows, process(1)), jobs=(job_of(rows),)), Settings(**choice))  # type: ignore[arg-type]


def test_a_job_is_open_unless_it_fills_more_than_half_of_the_table() -> None:
    jobs = OpenJobs()
    jobs.look(listing_of(9), 20)
    assert jobs.is_open(only_group(listing_of(9)))
    jobs.look(listing_of(10), 20)
    assert not jobs.is_open(only_group(listing_of(10)))


def test_workers_that_come_and_go_open_and_close_nothing() -> None:
    jobs = OpenJobs()
    for workers in (12, 1, 12, 0, 12):
        listing = listing_of(workers, generation=workers)
        if listing.groups:
            jobs.look(listing, 20)
            assert not jobs.is_open(only_group(listing))


def test_a_line_more_or_less_opens_nothing_but_a_larger_terminal_does() -> None:
    jobs = OpenJobs()
    listing = listing_of(9)
    for room, is_open in ((19, False), (20, False), (22, False), (40, True), (20, True), (19, False)):
        jobs.look(listing, room)
        assert jobs.is_open(only_group(listing)) is is_open, room


def test_what_a_filter_leaves_of_a_large_job_is_shown() -> None:
    jobs = OpenJobs()
    jobs.look(listing_of(64), 20)
    few = listing_of(64, filter="^420[0-3]$")
    jobs.look(few, 20)
    assert jobs.is_open(only_group(few))


def test_the_users_choice_lasts() -> None:
    jobs = OpenJobs()
    for workers in (3, 30, 5):
        listing = listing_of(workers)
        jobs.look(listing, 20)
        if workers == 3:
            jobs.toggle(only_group(listing))
        assert not jobs.is_open(only_group(listing))
        assert pids(list(jobs.laid_out(listing)))[-1] in (1, "train.py:4120")
    jobs.toggle(only_group(listing_of(30)))
    jobs.look(listing_of(30), 20)
    assert len(jobs.laid_out(listing_of(30))) == 33


def test_members_stand_beneath_their_job() -> None:
    jobs = OpenJobs()
    listing = list_processes(scene(process(1, read_bytes_per_s=99.0 * MIB), process(2)), Settings())
    jobs.look(listing, 40)
    laid_out = pids(list(jobs.laid_out(listing)))
    assert laid_out[:2] == [1, JOB.name]
    assert laid_out[-1] == 2
    assert sorted(laid_out[2:-1], key=str) == sorted((row.pid for row in ROWS), key=str)


def test_before_the_table_has_its_size_nothing_is_closed() -> None:
    jobs = OpenJobs()
    jobs.look(listing_of(64), 0)
    assert jobs.is_open(only_group(listing_of(64)))


def test_a_job_of_another_root_is_another_job() -> None:
    rows = members(ranks=1)
    one = only_group(list_processes(scene(rows=rows), Settings()))
    moved = [replace(row, key=ProcessKey(row.pid, 999_999)) for row in rows]
    two = only_group(list_processes(frame(processes=tuple(moved), jobs=(job_of(moved),)), Settings()))
    assert one.key != two.key


def test_what_the_diagnosis_finds_is_what_is_grouped() -> None:
    train = "python train.py"
    rows = (
        process(100, "torchrun", command="torchrun train.py"),
        process(101, "pt_main_thread", command=train, ppid=100, gpus=(0,)),
        process(102, "pt_main_thread", command=train, ppid=100, gpus=(1,)),
        process(110, "pt_data_worker", command=train, ppid=102, read_bytes_per_s=5.0 * MIB),
        process(900, "bash"),
    )
    shown = frame(processes=rows, gpus=(gpu(0), gpu(1)), gpu_driver=GpuDriver("ok", "570", ""))
    listing = list_processes(Diagnosis().complete(shown), Settings())
    group = only_group(listing)
    assert group.total.pid == 100
    assert group.total.role == "2 ranks, 1 worker, 1 other"
    assert group.total.read_bytes_per_s == group.job.read_bytes_per_s == 5.0 * MIB
    assert member_words(group.members[0], group) == "loader worker 0 of rank 1"
    assert len(listing.rows) == 2
