"""What help and details say."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from iodash.columns import DEVICE_COLUMNS, PROCESS_COLUMNS
from iodash.diagnosis.causes import CAUSES, NO_BLAME
from iodash.model.details import Limit, OpenFile, ProcessDetails
from iodash.model.frame import DeviceState
from iodash.model.missing import Missing
from iodash.model.sample import IoCounters, ProcessKey
from iodash.ui.keys import KEYS
from iodash.ui.panels.lines import Line, plain_text, width_of
from iodash.ui.screens.details_lines import details_lines
from iodash.ui.screens.help import STATES, help_lines
from iodash.ui.screens.too_small import too_small, too_small_lines

DETAILS = ProcessDetails(
    key=ProcessKey(4120, 99),
    command="python3 train.py --data /data/imagenet",
    io=IoCounters(2**40, 5, 1200, 3, 123_456_789, 4096, 0),
    open_files=(
        OpenFile(3, "/data/imagenet/shard-000.tar", "/data", "ext4", "nvme0n1", 2**20, "read"),
        OpenFile(7, "socket:[1234]", "", "", ""),
    ),
    open_files_left_out=12,
    cgroup="/system.slice/docker-abc.scope",
    cgroup_limits=(Limit("io.max", "nvme0n1 rbps=100M"),),
    limits=(Limit("open files", "2 of 1048576"),),
    wait_channel="io_schedule",
    threads=((4120, "pt_main_thread", "S"),),
)


def text_of(lines: list[Line]) -> str:
    return "\n".join(plain_text(line) for line in lines)


@pytest.mark.parametrize("width", [36, 60, 100, 190])
def test_the_help_holds_every_key_column_state_and_reason(width: int) -> None:
    lines = help_lines(width)
    text = " ".join(text_of(lines).split())
    for key in KEYS:
        assert key.shown in text
    for heading in [*(one.heading for one in PROCESS_COLUMNS), *(one.heading for one in DEVICE_COLUMNS)]:
        assert heading in text
    for reason in Missing:
        assert reason.words in text
    for cause, meaning in CAUSES.items():
        assert (cause if cause in NO_BLAME else cause.upper()).replace("_", " ") in text
        assert width < 60 or meaning in text
    for state in ("SATURATED", "STALLED", "idle"):
        assert state in text
    assert all(width_of(line) <= max(width, 60) for line in lines)


def test_the_help_fits_a_narrow_page() -> None:
    assert all(width_of(line) <= 60 for line in help_lines(60))


def test_the_help_keeps_to_ascii() -> None:
    assert text_of(help_lines(80, ascii=True)).isascii()


def test_every_state_of_a_device_is_explained() -> None:
    assert set(STATES) == set(get_args(DeviceState))


def test_details_show_the_counters_files_and_limits() -> None:
    text = text_of(details_lines(DETAILS, 140))
    assert "python3 train.py --data /data/imagenet" in text
    assert "123,456,789" in text
    assert "1.00T" in text
    assert "/data (ext4)" in text
    assert "nvme0n1" in text
    assert "/data/imagenet/shard-000.tar" in text
    assert "2, 12 more not listed" in text
    assert "/system.slice/docker-abc.scope" in text
    assert "nvme0n1 rbps=100M" in text
    assert "2 of 1048576" in text
    assert "io_schedule" in text
    assert "pt_main_thread" in text


def test_each_part_that_cant_be_read_says_why() -> None:
    denied = replace(
        DETAILS,
        io=Missing.NO_PERMISSION,
        open_files=Missing.NO_PERMISSION,
        limits=Missing.NO_PERMISSION,
        cgroup=Missing.NOT_IN_CONTAINER,
        wait_channel=Missing.NO_PERMISSION,
        threads=Missing.GONE,
    )
    text = text_of(details_lines(denied, 100))
    assert text.count("no permission") == 4
    assert "not in container" in text
    assert "gone" in text
    assert "123,456,789" not in text


@pytest.mark.parametrize("width", [36, 53, 71, 190])
def test_explanations_paths_and_limits_can_be_read_at_every_width(width: int) -> None:
    long = replace(DETAILS, cgroup="/kubepods.slice/" + "pod-1234/" * 12, limits=(Limit("open files", "2 of " * 20),))
    text = " ".join(text_of(details_lines(long, width)).split())
    for meaning in (
        "children it waited for included (/proc/PID/io)",
        "asked for by read calls, the page cache included",
    ):
        assert meaning in text
    assert "/data/imagenet/shard-000.tar" in text
    assert ("/kubepods.slice/" + "pod-1234/" * 12) in text.replace(" ", "")
    assert text.count("2 of") == 20
    assert "…" not in text or width < 53


@pytest.mark.parametrize("width", [1, 5, 36, 78, 190])
def test_details_keep_to_their_width_whatever_the_names(width: int) -> None:
    nasty = replace(
        DETAILS,
        command="漢字 [/x] " * 5000,
        open_files=(OpenFile(3, "[red]" * 900, "漢" * 90, "ext4", "x" * 90, 1, "read"),) * 3,
        cgroup="/" + "a" * 4000,
        threads=((1, "[/]", "R"),),
    )
    lines = details_lines(nasty, width, ascii=True)
    assert all(width_of(line) <= width for line in lines)
    assert len(lines) < 150


def test_a_process_without_open_files_or_command_is_not_an_error() -> None:
    bare = replace(DETAILS, command="", open_files=(), open_files_left_out=0, threads=(), wait_channel="")
    text = text_of(details_lines(bare, 80))
    assert "Open files  0" in text
    assert "Waiting in" not in text
    assert "Threads" not in text


def test_the_notice_of_a_small_terminal() -> None:
    assert too_small_lines(38, 8) == ["iodash: 38x8, needs 40x10"]
    assert too_small_lines(12, 4) == ["iodash:", "12x4,", "needs", "40x10"]
    assert too_small(39, 50)
    assert too_small(200, 9)
    assert not too_small(40, 10)


@pytest.mark.parametrize("width", range(1, 42))
@pytest.mark.parametrize("height", [1, 2, 3, 9])
def test_the_notice_fits_any_terminal(width: int, height: int) -> None:
    lines = too_small_lines(width, height)
    assert 1 <= len(lines) <= height
    assert all(len(line) <= width for line in lines)
