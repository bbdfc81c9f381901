"""Data that threads of the training process load: who they are, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from iodash.model.missing import Missing
from tests.unit.diagnosis.stories import FUSE, MIB, Story
from tests.unit.diagnosis.test_rules import BUSY_DISK, IDLE_DISK

READS: dict[str, Any] = {
    "name": "python3",
    "blocked_percent": 90.0,
    "waits": {"block": 90.0},
    "main_thread_cpu_percent": 3.0,
    "logical_read_bytes_per_s": 8.0 * MIB,
    "logical_write_bytes_per_s": 0.0,
    "read_bytes_per_s": 8.0 * MIB,
}
MAIN_WAITS: dict[str, Any] = {"waits": {"queue": 99.0}, "logical_read_bytes_per_s": 0.0, "read_bytes_per_s": 0.0}
ON_DISK = Story(
    util=33.0,
    workers=0,
    main={"read_bytes_per_s": 32.0 * MIB, "logical_read_bytes_per_s": 32.0 * MIB, "cpu_percent": 12.0},
    main_member=MAIN_WAITS,
    threads=(READS,) * 4,
    devices=(BUSY_DISK,),
)
COMPUTES = {**READS, "blocked_percent": 0.0, "waits": {}, "main_thread_cpu_percent": 95.0, "read_bytes_per_s": 0.0}
ON_CPU = replace(
    ON_DISK,
    main={"logical_read_bytes_per_s": 10.0 * MIB, "cpu_percent": 96.0},
    threads=(COMPUTES,),
    devices=(IDLE_DISK,),
)


def test_threads_on_a_busy_disk_wait_for_the_disk() -> None:
    verdict = ON_DISK.verdict()
    assert (verdict.cause, verdict.confidence) == ("device_saturated", "high")
    assert "the loader threads wait 90 %" in [evidence.text for evidence in verdict.evidence]
    assert "num_workers" not in verdict.advice


def test_threads_on_a_fuse_mount_wait_for_it_though_the_kernel_calls_that_sleep() -> None:
    thread = {**READS, "blocked_percent": 0.0, "waits": {"fuse": 95.0}, "read_bytes_per_s": 0.0}
    verdict = replace(ON_DISK, threads=(thread,) * 3, devices=(IDLE_DISK,), places=(FUSE,)).verdict()
    assert (verdict.cause, verdict.confidence) == ("network_storage", "high")


def test_small_files_read_by_threads() -> None:
    small = replace(BUSY_DISK, state="busy", read_bytes_per_s=32.0 * MIB, reads_per_s=4000.0, read_size_bytes=8192.0)
    verdict = replace(ON_DISK, devices=(small,)).verdict()
    assert (verdict.cause, verdict.confidence) == ("small_reads", "high")


def test_a_thread_that_prepares_data_is_bound_by_its_cpu() -> None:
    verdict = ON_CPU.verdict()
    assert (verdict.cause, verdict.confidence) == ("cpu_preprocessing", "high")
    assert verdict.summary.startswith("the loader thread is CPU-bound (95 %)")


def test_threads_of_one_python_share_its_lock() -> None:
    half = {**COMPUTES, "main_thread_cpu_percent": 48.0}
    verdict = replace(ON_CPU, threads=(half, half)).verdict()
    assert verdict.cause == "cpu_preprocessing"
    assert "worker processes" in verdict.advice


NO_LOADERS: dict[str, dict[str, Any]] = {
    "it serves NCCL": {**COMPUTES, "name": "pt_nccl_watchdg", "logical_read_bytes_per_s": 0.0},
    "it pins memory": {**COMPUTES, "name": "pt_data_pin"},
    "it writes a checkpoint": {**READS, "logical_write_bytes_per_s": 90.0 * MIB},
    "it does next to nothing": {**READS, "blocked_percent": 5.0, "waits": {"queue": 95.0}},
}


@pytest.mark.parametrize("name", NO_LOADERS)
def test_a_thread_that_does_something_else_loads_nothing(name: str) -> None:
    assert replace(ON_DISK, threads=(NO_LOADERS[name],)).scene().loaders == "ranks"


def test_a_thread_of_the_main_process_s_name_may_load() -> None:
    assert replace(ON_DISK, threads=({**READS, "name": "pt_main_thread"},)).scene().loaders == "threads"


def test_where_bytes_of_threads_are_hidden_their_waits_tell() -> None:
    hidden = {**READS, **dict.fromkeys(("logical_read_bytes_per_s", "read_bytes_per_s"), Missing.NOT_MEASURED)}
    assert replace(ON_DISK, threads=(hidden,)).scene().loaders == "threads"


def test_worker_processes_come_before_threads() -> None:
    assert replace(ON_DISK, workers=2).scene().loaders == "workers"


def test_a_main_thread_that_reads_most_of_it_loads_inline() -> None:
    main = {**MAIN_WAITS, "logical_read_bytes_per_s": 30.0 * MIB}
    assert replace(ON_DISK, main_member=main).scene().loaders == "ranks"


def test_what_threads_read_is_not_said_of_the_main_thread() -> None:
    quiet = {**READS, "blocked_percent": 2.0, "waits": {"queue": 98.0}}
    assert replace(ON_DISK, threads=(quiet,), devices=(IDLE_DISK,)).verdict().cause == "unknown"


def test_the_backward_pass_in_a_thread_of_its_own_counts_as_dispatch() -> None:
    backward = {"name": "pt_autograd_0", "main_thread_cpu_percent": 46.0, "waits": {}, "logical_read_bytes_per_s": 0.0}
    story = Story(
        util=55.0,
        main={"cpu_percent": 92.0},
        main_member={"main_thread_cpu_percent": 46.0, "waits": {"queue": 50.0}, "logical_read_bytes_per_s": 0.0},
        worker={"cpu_percent": 4.0},
        threads=(backward,),
        devices=(IDLE_DISK,),
    )
    verdict = story.verdict()
    assert verdict.cause == "host_dispatch"
    assert "92 % CPU" in verdict.summary
