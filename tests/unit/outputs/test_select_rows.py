from __future__ import annotations

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.model.settings import Settings
from iodash.outputs.select import (
    absence,
    absent_devices,
    absent_pids,
    pick_processes,
    select_devices,
    select_processes,
)
from tests.ui import frames

ROWS = (
    frames.process(1, "init", user="root", uid=0),
    frames.process(20, "python3", command="python3 train.py", read_bytes_per_s=5.0, read_bytes_total=50),
    frames.process(21, "dd", command="dd if=/data", write_bytes_per_s=9.0, write_bytes_total=9, container="abc123"),
    frames.process(22, "waiter", io_delay_percent=40.0),
    frames.process(23, "past", read_bytes_total=1000),
    frames.process(24, "secret", read_bytes_per_s=Missing.NO_PERMISSION, read_bytes_total=Missing.NO_PERMISSION),
)


def pids(settings: Settings) -> list[int]:
    return [row.pid for row in select_processes(ROWS, settings)]


def test_the_busiest_comes_first_then_delay_and_the_unknown_last() -> None:
    assert pids(Settings()) == [21, 20, 22, 1, 23, 24]


def test_accumulated_rows_are_ordered_by_amount() -> None:
    assert pids(Settings(accumulated=True))[:3] == [23, 20, 21]


def test_only_active_means_bytes_or_delay() -> None:
    assert sorted(pids(Settings(only=True))) == [20, 21, 22]


def test_only_active_means_any_bytes_so_far_when_accumulated() -> None:
    assert sorted(pids(Settings(only=True, accumulated=True))) == [20, 21, 23]


def test_reversed_order_keeps_the_unknown_last() -> None:
    assert pids(Settings(sort="READ/s", reverse=True))[-2:] == [20, 24]


@pytest.mark.parametrize(("user", "expected"), [("root", [1]), ("0", [1, 20, 21, 22, 23, 24]), ("nobody", [])])
def test_users_are_names_or_numbers(user: str, expected: list[int]) -> None:
    assert sorted(pids(Settings(user=(user,)))) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("TRAIN", [20]),
        ("^dd$", [21]),
        ("abc1", [21]),
        ("^2[13]$", [21, 23]),
        ("root", [1]),
        ("if=/d", [21]),
        ("[", []),
        ("python3 (train", []),
        ("", [1, 20, 21, 22, 23, 24]),
    ],
)
def test_the_filter_looks_at_name_command_user_container_and_pid(pattern: str, expected: list[int]) -> None:
    assert sorted(pids(Settings(filter=pattern))) == expected


def test_picked_rows_stay_in_their_order() -> None:
    assert [row.pid for row in pick_processes(ROWS, Settings(only=True))] == [20, 21, 22]


def test_pids_and_filters_narrow_together() -> None:
    assert pids(Settings(pid=(20, 21), filter="dd")) == [21]


def test_the_threads_of_a_pid_belong_to_it() -> None:
    threads = tuple(frames.process(7, key=ProcessKey(7, 1, tid)) for tid in (7, 8))
    assert len(select_processes(threads, Settings(pid=(7,)))) == 2
    assert [row.tid for row in select_processes(threads, Settings(pid=(8,)))] == [8]


DEVICES = (
    frames.device("vda", mounts=("/",)),
    frames.device("vda1", kind="partition"),
    frames.device("loop0", kind="loop"),
    frames.device("ram0", kind="ram"),
    frames.device("dm-3", kind="dm", label="vg-data"),
    frames.device("nvme0c0n1", hidden=True),
    frames.device("nas:/ckpt", kind="nfs", mounts=("/ckpt",)),
)


def names(settings: Settings) -> list[str]:
    return [row.name for row in select_devices(DEVICES, settings)]


def test_common_devices_are_shown() -> None:
    assert names(Settings()) == ["vda", "dm-3", "nas:/ckpt"]


def test_all_devices_are_all() -> None:
    assert len(names(Settings(all_devices=True))) == len(DEVICES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vda1", "vda1"),
        ("/dev/vda", "vda"),
        ("vg-data", "dm-3"),
        ("/dev/mapper/vg-data", "dm-3"),
        ("/ckpt", "nas:/ckpt"),
        ("nas:/ckpt", "nas:/ckpt"),
    ],
)
def test_a_device_is_found_by_any_of_its_names(name: str, expected: str) -> None:
    assert names(Settings(device=(name,))) == [expected]


def test_what_is_not_there_is_told() -> None:
    assert absent_pids(ROWS, (20, 99)) == [99]
    assert absent_devices(DEVICES, ("vda", "/dev/sdz")) == ["/dev/sdz"]


def test_one_sentence_names_everything_that_is_not_there() -> None:
    assert absence(process=[], device=[]) == ""
    assert absence(process=[123]) == "there is no process 123"
    assert absence(process=[123, 456]) == "there are no processes 123, 456"
    assert absence(process=[123], device=["sdx", "sdy"]) == "there is no process 123 and no devices sdx, sdy"
