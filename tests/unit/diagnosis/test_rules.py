"""Each cause is told from the others by what the job's own parts do; each confounder must not be blamed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from iodash.diagnosis.causes import NO_BLAME
from iodash.model.members import DataPlace, IoLimit
from iodash.model.missing import Missing
from tests.ui.frames import device, gpu, process
from tests.unit.diagnosis.stories import FIRST_WORKER, FUSE, MIB, NFS, Story, cgroup

if TYPE_CHECKING:
    from iodash.model.frame import Frame

BUSY_DISK = device(
    state="saturated",
    state_reason="at 98 % of the best seen, queue 63",
    util_percent=100.0,
    reads_per_s=8000.0,
    read_bytes_per_s=1900.0 * MIB,
    read_size_bytes=240_000.0,
    read_await_ms=5.2,
    total=True,
)
IDLE_DISK = device(
    state="idle", util_percent=1.0, read_size_bytes=Missing.NO_IO, read_await_ms=Missing.NO_IO, total=True
)

WAITING_FOR_DISK = {"blocked_percent": 75.0, "waits": {"block": 75.0}, "main_thread_cpu_percent": 10.0}
COMPUTING = {"running_percent": 95.0, "waits": {}, "main_thread_cpu_percent": 95.0}

SATURATED = Story(
    util=38.0,
    worker={"read_bytes_per_s": 450.0 * MIB, "cpu_percent": 12.0},
    worker_member=WAITING_FOR_DISK,
    devices=(BUSY_DISK,),
)
CPU_WORKERS = Story(
    util=45.0,
    worker={"cpu_percent": 97.0, "logical_read_bytes_per_s": 20.0 * MIB},
    worker_member=COMPUTING,
    devices=(IDLE_DISK,),
)
INLINE_IO = Story(
    util=40.0,
    workers=0,
    main={"read_bytes_per_s": 90.0 * MIB, "logical_read_bytes_per_s": 90.0 * MIB, "cpu_percent": 20.0},
    main_member={"blocked_percent": 50.0, "waits": {"block": 50.0}, "main_thread_cpu_percent": 20.0},
    devices=(replace(BUSY_DISK, state="ok", state_reason="", util_percent=55.0),),
)

STORIES: dict[str, tuple[Story, str, str]] = {
    "the job saturates its disk": (SATURATED, "device_saturated", "high"),
    "a neighbour saturates the disk": (
        replace(
            SATURATED,
            worker={"read_bytes_per_s": 5.0 * MIB, "cpu_percent": 5.0},
            neighbours=(process(901, "fio", read_bytes_per_s=1800.0 * MIB),),
        ),
        "device_saturated",
        "high",
    ),
    "a cgroup limit holds reads down": (
        Story(
            util=30.0,
            worker={"read_bytes_per_s": 5.0 * MIB, "cpu_percent": 3.0},
            worker_member=WAITING_FOR_DISK,
            devices=(replace(IDLE_DISK, util_percent=12.0),),
            cgroup=cgroup(io_limits=((IoLimit("nvme0n1", "read", "bytes", 20.0 * MIB), 19.6 * MIB),)),
        ),
        "io_throttled",
        "high",
    ),
    "many small cold files": (
        replace(
            SATURATED,
            worker={"read_bytes_per_s": 5.0 * MIB, "cpu_percent": 15.0},
            devices=(
                replace(
                    BUSY_DISK, state="busy", read_bytes_per_s=21.0 * MIB, reads_per_s=3000.0, read_size_bytes=7000.0
                ),
            ),
        ),
        "small_reads",
        "high",
    ),
    "inline loading bound by I/O": (INLINE_IO, "inline_loading", "high"),
    "inline loading bound by the CPU": (
        Story(
            util=35.0,
            workers=0,
            main={"cpu_percent": 98.0, "logical_read_bytes_per_s": 15.0 * MIB},
            main_member=COMPUTING,
            devices=(IDLE_DISK,),
        ),
        "inline_loading",
        "high",
    ),
    "workers bound by the CPU": (CPU_WORKERS, "cpu_preprocessing", "high"),
    "a CPU quota": (
        replace(
            CPU_WORKERS,
            worker={"cpu_percent": 25.0},
            worker_member={**COMPUTING, "main_thread_cpu_percent": 25.0, "run_delay_percent": 70.0},
            cgroup=cgroup(cpu_quota=1.0, cpu_throttled_percent=95.0),
        ),
        "cpu_limited",
        "high",
    ),
    "too few cores": (
        replace(
            CPU_WORKERS,
            worker={"cpu_percent": 30.0},
            worker_member={**COMPUTING, "main_thread_cpu_percent": 30.0, "run_delay_percent": 65.0},
            machine={"cpu_idle_percent": 1.0, "cpu_count": 2},
        ),
        "cpu_limited",
        "high",
    ),
    "a data set larger than the page cache": (
        replace(SATURATED, machine={"refault_bytes_per_s": 1500.0 * MIB, "memory_available_bytes": 4 * 1024 * MIB}),
        "page_cache_thrash",
        "high",
    ),
    "swapping": (
        replace(
            SATURATED,
            machine={
                "swap_in_bytes_per_s": 40.0 * MIB,
                "pressure_memory_some_percent": 40.0,
                "pressure_memory_full_percent": 20.0,
                "memory_available_bytes": 200 * MIB,
            },
        ),
        "memory_pressure",
        "high",
    ),
    "a slow FUSE mount": (
        Story(
            util=20.0,
            places=(FUSE,),
            worker={"logical_read_bytes_per_s": 3.0 * MIB, "cpu_percent": 2.0},
            worker_member={"waits": {"fuse": 90.0}},
            devices=(IDLE_DISK,),
        ),
        "network_storage",
        "high",
    ),
    "a slow NFS mount": (
        Story(
            util=20.0,
            places=(NFS,),
            worker={"read_bytes_per_s": 3.0 * MIB, "cpu_percent": 2.0},
            worker_member={"blocked_percent": 80.0, "waits": {"network": 80.0}},
            devices=(IDLE_DISK, device("nas:/data", kind="nfs", rtt_ms=45.0, state="slow")),
        ),
        "network_storage",
        "high",
    ),
    "object storage over sockets": (
        Story(
            util=20.0,
            worker={"cpu_percent": 5.0},
            worker_member={"waits": {"socket": 85.0}},
            devices=(IDLE_DISK,),
            remote_sockets=8,
            machine={"network_receive_bytes_per_s": 30.0 * MIB},
        ),
        "network_storage",
        "high",
    ),
    "/dev/shm is full": (
        Story(util=0.0, shared_memory=99.0, worker={"cpu_percent": 1.0}, devices=(IDLE_DISK,)),
        "shared_memory_full",
        "high",
    ),
    "heat": (
        Story(util=97.0, gpu={"throttle_reasons": ("hw_thermal",), "temperature_celsius": 91.0}, devices=(IDLE_DISK,)),
        "gpu_throttled",
        "high",
    ),
    "a kernel that waits for another rank": (
        Story(util=100.0, gpu={"power_watts": 130.0, "sm_active_percent": 6.0}, devices=(IDLE_DISK,)),
        "gpu_resident_idle",
        "medium",
    ),
    "a kernel that does next to nothing, where power alone tells": (
        Story(util=98.0, gpu={"power_watts": 140.0, "sm_active_percent": Missing.UNSUPPORTED}, devices=(IDLE_DISK,)),
        "gpu_resident_idle",
        "medium",
    ),
    "a fed GPU that draws little power": (
        Story(util=98.0, gpu={"power_watts": 250.0, "sm_active_percent": Missing.UNSUPPORTED}, devices=(IDLE_DISK,)),
        "gpu_fed",
        "high",
    ),
    "launching too slowly": (
        Story(
            util=60.0,
            main={"cpu_percent": 100.0},
            main_member=COMPUTING,
            worker={"cpu_percent": 4.0},
            devices=(IDLE_DISK,),
        ),
        "host_dispatch",
        "high",
    ),
    "copies fill PCIe": (
        Story(
            util=70.0,
            gpu={"pcie_receive_bytes_per_s": 13.5e9, "pcie_generation": 3, "pcie_width": 16},
            devices=(IDLE_DISK,),
        ),
        "gpu_copy_bound",
        "high",
    ),
    "a disk that doesn't answer": (
        replace(
            SATURATED,
            util=0.0,
            devices=(replace(BUSY_DISK, state="stalled", state_reason="64 in flight, nothing completed for 12 s"),),
        ),
        "device_stalled",
        "high",
    ),
    "all is well": (Story(util=98.0, gpu={"power_watts": 650.0}, devices=(IDLE_DISK,)), "gpu_fed", "high"),
    "nearly all is well": (Story(util=92.0, gpu={"power_watts": 650.0}, devices=(IDLE_DISK,)), "gpu_fed", "low"),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_cause_is_named(name: str) -> None:
    story, cause, confidence = STORIES[name]
    verdict = story.verdict()
    assert (verdict.cause, verdict.confidence) == (cause, confidence), verdict
    assert 1 <= len(verdict.evidence) <= 4
    assert verdict.summary
    assert verdict.advice
    assert verdict.job == "train.py:4120"


@pytest.mark.parametrize("name", STORIES)
def test_where_no_gpu_is_seen_nothing_is_said_of_one(name: str) -> None:
    story = replace(STORIES[name][0], util=None)
    verdict = story.verdict()
    assert verdict.confidence != "high"
    before, told, _ = verdict.summary.partition("no GPU was seen")
    assert told
    assert "GPU" not in before


def test_waiting_for_pages_that_were_thrown_out_is_a_thrashed_cache_and_not_short_memory() -> None:
    story = replace(
        SATURATED,
        cgroup=cgroup(
            refault_bytes_per_s=1700.0 * MIB,
            pressure_memory_some_percent=70.0,
            pressure_memory_full_percent=40.0,
            memory_used_bytes=1000 * MIB,
            memory_limit_bytes=1001.0 * MIB,
        ),
    )
    assert (story.verdict().cause, story.verdict().confidence) == ("page_cache_thrash", "high")


def test_launching_that_takes_as_long_as_the_gpu_idles_is_dispatch() -> None:
    story = Story(
        util=50.0,
        main={"cpu_percent": 48.0},
        main_member={"running_percent": 48.0, "waits": {"other": 50.0}, "main_thread_cpu_percent": 48.0},
        worker={"cpu_percent": 4.0},
        devices=(IDLE_DISK,),
    )
    assert (story.verdict().cause, story.verdict().confidence) == ("host_dispatch", "high")


def test_a_main_thread_that_spins_while_the_gpu_works_is_not_surely_dispatch() -> None:
    story = Story(
        util=60.0,
        main={"cpu_percent": 60.0},
        main_member={"running_percent": 60.0, "waits": {"queue": 40.0}, "main_thread_cpu_percent": 60.0},
        worker={"cpu_percent": 4.0},
        worker_member={"waits": {"other": 95.0}},
        devices=(IDLE_DISK,),
    )
    assert story.verdict().confidence != "high"


CONFOUNDERS: dict[str, Story] = {
    "a busy disk beside fed GPUs": replace(
        SATURATED, util=98.0, gpu={"power_watts": 650.0}, worker={"cpu_percent": 5.0}, worker_member={}
    ),
    "workers that are ahead": Story(util=60.0, devices=(BUSY_DISK,), worker={"cpu_percent": 5.0}),
    "a trainer that sleeps": Story(util=0.0, workers=0, devices=(IDLE_DISK,), main={"cpu_percent": 1.0}),
    "a trainer that sleeps beside a busy disk": Story(
        util=0.0, workers=0, devices=(BUSY_DISK,), main={"cpu_percent": 1.0}, main_member={"waits": {"other": 100.0}}
    ),
}


@pytest.mark.parametrize("name", CONFOUNDERS)
def test_a_confounder_is_not_blamed(name: str) -> None:
    verdict = CONFOUNDERS[name].verdict()
    assert verdict.cause in NO_BLAME, verdict


ASLEEP = CONFOUNDERS["a trainer that sleeps"]
UNKNOWNS = {
    "it sleeps": (replace(ASLEEP, util=30.0), "the main process neither computes (0 % CPU) nor waits for storage"),
    "it computes a little": (
        replace(ASLEEP, util=40.0, main_member={"main_thread_cpu_percent": 15.0}),
        "the main process hardly computes (15 % CPU) and does not wait for storage: it sleeps",
    ),
    "nothing runs": (ASLEEP, "nothing of this job runs: it hangs, or waits for somebody (a notebook, a debugger)"),
    "it starts": (
        replace(ASLEEP, main={"cpu_percent": 99.0}, main_member={"main_thread_cpu_percent": 99.0}),
        "the main process computes (99 % CPU) and uses no GPU: it starts, compiles or evaluates",
    ),
    "it waits for other ranks": (
        replace(ASLEEP, util=30.0, main_member={"waits": {"socket": 90.0}}),
        "the main process waits for a server or for other ranks 90 % of the time",
    ),
}


@pytest.mark.parametrize(
    ("main", "worker", "summary", "advice"),
    [
        ({"state": "Z"}, {}, "the main process (4120) has ended", "look into its log"),
        ({}, {"state": "T"}, "pt_data_worker (4131) of this job is stopped (state T)", "kill -CONT 4131"),
    ],
)
def test_who_is_dead_or_stopped_is_told(
    main: dict[str, str], worker: dict[str, str], summary: str, advice: str
) -> None:
    verdict = replace(ASLEEP, workers=1, main=main, worker=worker).verdict()
    assert verdict.cause == "unknown"
    assert verdict.summary.startswith(summary)
    assert verdict.advice.startswith(advice)
    assert verdict.processes


def test_a_gpu_without_work_is_told_beside_one_that_is_fed() -> None:
    frames = [replace(one, gpus=(*one.gpus, gpu(1, util_percent=0.0))) for one in map(FED.frame, range(10))]
    assert FED.verdict(frames).summary == "GPU 0 is fed: utilisation 98 %; GPU 1 has no work"
    assert FED.verdict().summary == "the GPU is fed: utilisation 98 %"


@pytest.mark.parametrize("name", UNKNOWNS)
def test_unknown_says_what_is_seen(name: str) -> None:
    story, words = UNKNOWNS[name]
    verdict = story.verdict()
    assert verdict.cause == "unknown"
    assert words in verdict.summary
    assert "py-spy" in verdict.advice


FED = Story(util=98.0, gpu={"power_watts": 650.0}, devices=(IDLE_DISK,))
SAVING = replace(
    FED,
    util=3.0,
    main={"write_bytes_per_s": 300.0 * MIB, "logical_write_bytes_per_s": 300.0 * MIB},
    main_member={"blocked_percent": 60.0, "waits": {"writeback": 60.0}},
)
FLUSHING = replace(
    FED,
    util=5.0,
    devices=(replace(BUSY_DISK, write_bytes_per_s=200.0 * MIB, read_bytes_per_s=0.0),),
    main_member={"blocked_percent": 100.0, "waits": {"block": 100.0}},
)


def test_a_synchronous_checkpoint_explains_the_gaps_that_its_writes_fall_into() -> None:
    frames = [(SAVING if second % 5 == 4 else FED).frame(second) for second in range(10)]
    verdict = FED.verdict(frames)
    assert (verdict.cause, verdict.confidence) == ("checkpoint_write", "high")


def test_a_checkpoint_lasts_until_what_was_written_is_on_the_disk() -> None:
    """The bytes count as written in one second; the next ones pass in fsync."""
    frames = [(SAVING, FLUSHING, FLUSHING, FED, FED)[second % 5].frame(second) for second in range(10)]
    verdict = FED.verdict(frames)
    assert (verdict.cause, verdict.confidence) == ("checkpoint_write", "high")


def test_a_reader_that_waits_for_its_disk_after_a_write_is_no_checkpoint() -> None:
    late = replace(INLINE_IO, util=40.0)
    frames = [(SAVING if second == 1 else late).frame(second) for second in range(10)]
    assert replace(late).verdict(frames).cause == "inline_loading"


def test_checkpoints_with_a_long_period_are_remembered_between_them() -> None:
    frames = [(SAVING if second % 20 in (7, 8, 9) else FED).frame(second) for second in range(43)]
    assert FED.verdict(frames).cause == "checkpoint_write"


def test_what_holds_a_gpu_for_fed_is_the_limit_that_stands_beside_it() -> None:
    for util, limit in ((98.0, 95.0), (92.0, 90.0)):
        evidence = Story(util=util, gpu={"power_watts": 650.0}, devices=(IDLE_DISK,)).verdict().evidence
        (found,) = (item for item in evidence if item.signal == "util_percent")
        assert (found.value, found.threshold) == (util, limit)


def test_disk_and_cpu_together_are_no_more_than_all_the_time() -> None:
    story = replace(INLINE_IO, main_member={**INLINE_IO.main_member, "main_thread_cpu_percent": 60.0})
    (found,) = (item for item in story.verdict().evidence if item.signal == "main_busy_percent")
    assert found.value == 100.0


def test_an_asynchronous_checkpoint_leaves_the_gpu_fed() -> None:
    story = Story(util=98.0, gpu={"power_watts": 650.0}, devices=(IDLE_DISK,), main={"write_bytes_per_s": 300.0 * MIB})
    assert story.verdict().cause == "gpu_fed"


def test_the_neighbour_is_named() -> None:
    verdict = STORIES["a neighbour saturates the disk"][0].verdict()
    assert "fio (901)" in verdict.summary
    assert [key.pid for key in verdict.processes] == [901]
    assert verdict.devices == ("nvme0n1",)


def test_a_kernel_thread_that_carries_out_writes_is_no_neighbour() -> None:
    story = replace(
        SATURATED,
        worker={"read_bytes_per_s": 5.0 * MIB, "cpu_percent": 5.0},
        neighbours=(
            process(21199, "kworker/u8:1-loop1", kernel_thread=True, write_bytes_per_s=1800.0 * MIB),
            process(901, "rsync", write_bytes_per_s=900.0 * MIB),
        ),
    )
    assert "by a neighbour, rsync (901)" in story.verdict().summary


def test_a_disk_that_is_asked_for_one_read_after_the_other_may_be_able_to_do_more() -> None:
    story = replace(
        SATURATED,
        workers=1,
        devices=(replace(BUSY_DISK, state="busy", state_reason="", queue_length=1.0, read_await_ms=10.9),),
        worker={"read_bytes_per_s": 1900.0 * MIB, "cpu_percent": 5.0},
    )
    verdict = story.verdict()
    assert (verdict.cause, verdict.confidence) == ("device_saturated", "medium")
    assert "one read after the other" in verdict.summary
    assert verdict.advice.startswith("more workers")


def test_small_reads_of_others_are_not_blamed_on_a_job_that_reads_in_bulk() -> None:
    others = replace(BUSY_DISK, name="vda", read_bytes_per_s=35.0 * MIB, reads_per_s=8900.0, read_size_bytes=4096.0)
    bulk = {"read_bytes_per_s": 10.0 * MIB, "logical_read_bytes_per_s": 10.0 * MIB, "read_calls_per_s": 10.0}
    story = replace(SATURATED, worker={**bulk, "cpu_percent": 5.0}, devices=(others, BUSY_DISK))
    assert story.verdict().cause == "device_saturated"
    small = {**bulk, "read_calls_per_s": 2560.0}
    assert replace(story, worker={**small, "cpu_percent": 5.0}).verdict().cause == "small_reads"


def test_others_that_take_the_cpus_are_named() -> None:
    story = Story(
        util=30.0,
        worker={"cpu_percent": 10.0},
        worker_member={
            "run_delay_percent": 60.0,
            "running_percent": 70.0,
            "main_thread_cpu_percent": 10.0,
            "waits": {},
        },
        devices=(IDLE_DISK,),
        machine={"cpu_idle_percent": 0.0, "cpu_count": 2},
        neighbours=(process(900, "ffmpeg", cpu_percent=150.0), process(901, "idle")),
    )
    verdict = story.verdict()
    assert verdict.cause == "cpu_limited"
    assert "ffmpeg (900)" in verdict.advice
    assert any(evidence.text == "ffmpeg (900) uses 150 %" for evidence in verdict.evidence)
    assert [key.pid for key in verdict.processes] == [900]


def test_who_loads_before_anything_has_run_on_the_gpu_may_be_starting() -> None:
    verdict = replace(INLINE_IO, util=0.0).verdict()
    assert (verdict.cause, verdict.confidence) == ("inline_loading", "medium")
    assert "nothing has run on the GPU yet" in verdict.summary


def test_a_main_thread_that_uses_no_gpu_at_all_dispatches_nothing() -> None:
    story = Story(util=0.0, workers=0, main={"cpu_percent": 99.0}, main_member={"main_thread_cpu_percent": 99.0})
    assert story.verdict().cause == "unknown"


def test_local_storage_whose_device_nobody_names_is_no_network_storage() -> None:
    hidden = DataPlace("/data", "ext4", "unknown", (), "unknown (ext4)", 3)
    assert replace(SATURATED, devices=(IDLE_DISK,), places=(hidden,)).verdict().cause != "network_storage"


def test_workers_that_wait_for_a_server_on_this_host_are_seen() -> None:
    story = Story(
        util=42.0,
        worker={"cpu_percent": 3.0},
        worker_member={"waits": {"socket": 95.0}},
        main_member={"waits": {"queue": 95.0}},
        devices=(IDLE_DISK,),
    )
    verdict = story.verdict()
    assert (verdict.cause, verdict.confidence) == ("network_storage", "high")
    assert verdict.summary.startswith("a server on this host (sockets) is too slow")


SELDOM = 18
"""Seconds from one checkpoint to the next, more than the window holds."""


def _seldom(seconds: int, *, last: int = 3) -> list[Frame]:
    """Saving that takes four seconds: the bytes are written in the first, then the main process waits."""
    frames = []
    for second in range(seconds):
        phase = second % SELDOM
        story = SAVING if phase == 5 else FLUSHING if 5 < phase <= 5 + last else FED
        frames.append(story.frame(second))
    return frames


@pytest.mark.parametrize("seconds", range(30, 58, 3))
def test_seldom_checkpoints_are_blamed_between_them_too_once_they_came_back(seconds: int) -> None:
    verdict = FED.verdict(_seldom(seconds))
    assert (verdict.cause, verdict.confidence) == ("checkpoint_write", "high")
    assert 15 <= float(verdict.summary.rpartition("; ")[2].split(" ")[0]) <= 30


def test_what_a_checkpoint_wrote_is_counted_over_all_of_it() -> None:
    summary = FED.verdict(_seldom(27)).summary
    assert "75.0 MiB/s" in summary, summary


def test_a_checkpoint_on_a_slow_fuse_mount_is_one() -> None:
    saving = replace(
        FED,
        util=0.0,
        places=(FUSE,),
        main={"logical_write_bytes_per_s": 2.0 * MIB},
        main_member={"waits": {"fuse": 98.0}, "logical_read_bytes_per_s": 0.0},
    )
    verdict = FED.verdict([(FED if second < 4 else saving).frame(second) for second in range(14)])
    assert (verdict.cause, verdict.confidence) == ("checkpoint_write", "high")


def test_without_a_gpu_the_waits_are_judged_and_confidence_is_at_most_medium() -> None:
    verdict = replace(SATURATED, util=None).verdict()
    assert (verdict.cause, verdict.confidence) == ("device_saturated", "medium")
    assert "no GPU was seen" in verdict.summary


def test_a_first_glance_is_low_confidence() -> None:
    verdict = SATURATED.verdict([SATURATED.frame(second) for second in range(3)])
    assert (verdict.cause, verdict.confidence) == ("device_saturated", "low")


def test_thresholds_are_part_of_the_evidence() -> None:
    verdict = SATURATED.verdict()
    by_signal = {item.signal: item for item in verdict.evidence}
    assert by_signal["blocked_percent"].value == 75.0
    assert by_signal["blocked_percent"].threshold == 30.0
    assert FIRST_WORKER not in {key.pid for key in verdict.processes}
