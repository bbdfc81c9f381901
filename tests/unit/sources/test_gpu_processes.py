"""Which process is on which GPU, when the driver's pids and ours may be of different namespaces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.sources.local.gpu.holders import Holders, device_holders
from iodash.sources.local.gpu.processes import SEE_THE_REST, ProcessJoin, version_of

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.sample import GpuProcess

GIB = 1 << 30
OLD, MIDDLE, NEW = "535.54.03", "550.54.15", "570.124.06"


def record(processes: Any, samples: Any = (), **values: Any) -> dict[str, Any]:
    return {
        "uuid": "GPU-a",
        "processes": None if processes is None else [list(entry) for entry in processes],
        "process_samples": None if samples is None else [list(entry) for entry in samples],
        "processes_note": "",
        "missing": {},
        **values,
    }


@pytest.fixture
def procfs(tmp_path: Path) -> Path:
    return tmp_path


def give_birth(procfs: Path, pid: int, at_s: float) -> None:
    (procfs / str(pid)).mkdir()
    fields = ["S", *["0"] * 18, str(int(at_s * 100)), "0"]
    (procfs / str(pid) / "stat").write_text(f"{pid} (a) b) {' '.join(fields)}\n")


def listed(joined: Any) -> list[GpuProcess]:
    assert not isinstance(joined.processes, Missing)
    return list(joined.processes)


def test_on_the_host_pids_are_pids(procfs: Path) -> None:
    join = ProcessJoin(procfs, apart=False)
    joined = join.join(record([(7, GIB), (8, None)], [(7, 30), (7, 50)]), NEW, {7}, ())
    seven, eight = listed(joined)
    assert (seven.memory_bytes, seven.sm_percent, seven.visible) == (GIB, 40, True)
    assert (eight.memory_bytes, eight.sm_percent, eight.visible) == (Missing.UNSUPPORTED, 0, False)
    assert joined.note == ""


def test_usage_that_the_driver_refuses_is_missing_not_zero(procfs: Path) -> None:
    (process,) = listed(ProcessJoin(procfs, apart=False).join(record([(7, GIB)], None), NEW, {7}, ()))
    assert process.sm_percent is Missing.UNSUPPORTED


def test_a_list_that_can_not_be_had_says_why(procfs: Path) -> None:
    joined = ProcessJoin(procfs, apart=True).join(
        record(None, None, missing={"processes": "no_permission"}), NEW, (), ()
    )
    assert joined.processes is Missing.NO_PERMISSION
    assert ProcessJoin(procfs, apart=True).join(record(None), NEW, (), ()).processes is Missing.NOT_MEASURED


def test_before_535_113_a_container_is_shown_host_pids_that_are_never_ours(procfs: Path) -> None:
    give_birth(procfs, 7, 1)
    joined = ProcessJoin(procfs, apart=True).join(record([(7, GIB)]), OLD, {7}, ())
    assert [process.visible for process in listed(joined)] == [False]
    assert SEE_THE_REST in joined.note


def test_a_local_process_younger_than_the_entry_only_shares_its_number(procfs: Path) -> None:
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    give_birth(procfs, 7, now - 5)
    give_birth(procfs, 8, now + 5)
    processes = listed(ProcessJoin(procfs, apart=True).join(record([(7, GIB), (8, GIB), (9, GIB)]), NEW, {7, 8, 9}, ()))
    assert [process.visible for process in processes] == [True, False, False]


def test_a_foreign_sample_is_not_joined_to_anybody(procfs: Path) -> None:
    join = ProcessJoin(procfs, apart=True)
    processes = listed(join.join(record([(7, GIB), (8, GIB)], [(645400, 99), (7, 12)]), MIDDLE, {7, 8}, ()))
    assert [process.sm_percent for process in processes] == [12, Missing.NOT_IN_CONTAINER]
    assert 645400 not in [process.pid for process in processes]


def test_two_samples_of_one_pid_may_be_of_two_processes(procfs: Path) -> None:
    join = ProcessJoin(procfs, apart=True)
    (process,) = listed(join.join(record([(7, GIB)], [(7, 12), (7, 90)]), NEW, {7}, ()))
    assert process.sm_percent is Missing.NOT_IN_CONTAINER


def test_the_only_sample_belongs_to_the_only_process(procfs: Path) -> None:
    joined = ProcessJoin(procfs, apart=True).join(record([(324, GIB)], [(645400, 88)]), "560.35.03", {324}, ())
    assert listed(joined)[0].sm_percent == 88
    assert "only process" in joined.note


def test_memory_that_nobody_listed_holds_is_told(procfs: Path) -> None:
    join = ProcessJoin(procfs, apart=False)
    told = join.join(record([(7, GIB)], memory_used_bytes=3 * GIB), NEW, {7}, ())
    assert told.note == "2.00 GiB are held by no process that is listed"
    unknown = join.join(record([(7, None)], memory_used_bytes=3 * GIB), NEW, {7}, ())
    assert unknown.note == ""


def test_an_empty_list_in_a_container_names_those_who_hold_the_device_as_a_guess(procfs: Path) -> None:
    join = ProcessJoin(procfs, apart=True)
    joined = join.join(record([], memory_used_bytes=3 * GIB), MIDDLE, {7, 8}, {7, 99})
    (process,) = listed(joined)
    assert (process.pid, process.guess, process.visible) == (7, True, True)
    assert process.memory_bytes is Missing.NOT_IN_CONTAINER
    assert "guess" in joined.note
    assert SEE_THE_REST in joined.note
    assert listed(ProcessJoin(procfs, apart=False).join(record([]), NEW, {7}, {7})) == []


def test_an_entry_that_went_and_came_back_is_seen_anew(procfs: Path) -> None:
    join = ProcessJoin(procfs, apart=True)
    assert not listed(join.join(record([(7, GIB)]), NEW, {7}, ()))[0].visible
    join.forget_all_but(set())
    give_birth(procfs, 7, time.clock_gettime(time.CLOCK_BOOTTIME) - 0.01)
    assert listed(join.join(record([(7, GIB)]), NEW, {7}, ()))[0].visible


def test_versions_compare_as_numbers() -> None:
    assert version_of("535.54.03") < (535, 113, 1) <= version_of("535.113.01") < version_of("1000.1")
    assert version_of(None) == version_of("r535") == ()


def open_files(procfs: Path, pid: int, *targets: str) -> None:
    (procfs / str(pid) / "fd").mkdir(parents=True)
    for number, target in enumerate(targets):
        (procfs / str(pid) / "fd" / str(number)).symlink_to(target)


def test_holders_are_those_that_compute_when_there_are_any(procfs: Path) -> None:
    open_files(procfs, 7, "/dev/null", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm")
    open_files(procfs, 8, "/dev/nvidia0", "/dev/nvidia1", "socket:[1]")
    (procfs / "self").mkdir()
    (procfs / "9").mkdir()
    assert device_holders(procfs) == {0: {7}, 1: {8}}


def test_holders_are_looked_for_beside_the_sampler(procfs: Path) -> None:
    open_files(procfs, 7, "/dev/nvidia3")
    holders = Holders(procfs)
    deadline = time.monotonic() + 10
    while not (found := holders.read()) and time.monotonic() < deadline:
        time.sleep(0.01)
    holders.close()
    assert found == {3: {7}}
