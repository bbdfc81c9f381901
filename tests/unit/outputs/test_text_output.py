from __future__ import annotations

import re

import pytest

from iodash.model.frame import UnattributedRow
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver, ProcessKey
from iodash.model.settings import Settings
from iodash.outputs.text import TextWriter
from tests.ui import frames

FRAME = frames.frame(
    devices=(
        frames.device("vda", read_bytes_per_s=2.0 * frames.MIB, util_percent=12.0),
        frames.device("loop0", kind="loop"),
    ),
    processes=(
        frames.process(7, "idle"),
        frames.process(4120, "python3", command="python3 train.py --lr 0.1", read_bytes_per_s=1536.0 * 1024),
    ),
    gpu_driver=GpuDriver("ok"),
)


def lines(settings: Settings | None = None, *extra: object) -> list[str]:
    return TextWriter(settings or Settings()).lines(FRAME)


def process_lines(text: list[str]) -> list[str]:
    return [line for line in text if re.match(r"\d+ ", line)]


def test_a_system_line_then_devices_then_processes() -> None:
    text = lines()
    headings = [index for index, line in enumerate(text) if line.startswith(("CPU us", "DEVICE ", "PID "))]
    assert len(headings) == 3
    assert [text[index].split()[0] for index in headings] == ["CPU", "DEVICE", "PID"]


def test_a_process_line_begins_with_its_pid_and_nothing_else_does() -> None:
    with_gpu = TextWriter(Settings()).lines(frames.frame(processes=FRAME.processes, gpus=(frames.gpu(0),)))
    assert [line.split()[0] for line in process_lines(with_gpu)] == ["4120", "7"]


def test_the_whole_command_line_is_shown() -> None:
    assert process_lines(lines())[0].endswith("python3 train.py --lr 0.1")


def test_a_command_line_stands_behind_the_part_in_a_job() -> None:
    worker = frames.process(9, "pt_data_worker", command="python3 train.py", role="loader worker 0")
    text = TextWriter(Settings()).lines(frames.frame(processes=(worker,)))
    assert process_lines(text)[0].endswith("  loader worker 0  python3 train.py")


def test_devices_are_chosen() -> None:
    assert not any(line.startswith("loop0") for line in lines())
    assert any(line.startswith("loop0") for line in lines(Settings(all_devices=True)))


def test_kilobytes_are_plain_numbers_under_a_heading_that_says_so() -> None:
    text = lines(Settings(kilobytes=True))
    heading = next(line for line in text if line.startswith("PID"))
    assert "READ K/s" in heading
    assert float(process_lines(text)[0].split()[3]) == 1536


@pytest.mark.parametrize(
    ("quiet", "headings"), [(0, [True, True]), (1, [True, False]), (2, [False, False]), (3, [False, False])]
)
def test_quiet_is_that_of_iotop(quiet: int, headings: list[bool]) -> None:
    writer = TextWriter(Settings(quiet=quiet))
    shown = [writer.lines(FRAME) for _ in range(2)]
    assert [any(line.startswith("PID") for line in text) for text in shown] == headings
    assert all(any(line.startswith("CPU us") for line in text) is (quiet < 3) for text in shown)
    assert all(len(process_lines(text)) == 2 for text in shown)


def test_thrice_quiet_leaves_process_lines_alone() -> None:
    text = lines(Settings(quiet=3))
    assert text == process_lines(text)


def test_time_stands_before_every_line() -> None:
    text = [line for line in lines(Settings(time=True)) if line]
    assert all(re.match(r"\d\d:\d\d:\d\d \S", line) for line in text)


def test_accumulated_shows_amounts() -> None:
    frame = frames.frame(processes=(frames.process(9, read_bytes_total=3 * frames.MIB),))
    text = TextWriter(Settings(accumulated=True)).lines(frame)
    assert process_lines(text)[0].split()[3] == "3.00M"


def test_no_rate_stands_among_amounts() -> None:
    frame = frames.frame(unattributed=UnattributedRow(4096.0, 0, ("exited",)))
    shown = {
        accumulated: any("UNATTRIBUTED" in line for line in TextWriter(Settings(accumulated=accumulated)).lines(frame))
        for accumulated in (False, True)
    }
    assert shown == {False: True, True: False}


def test_threads_have_their_own_column() -> None:
    frame = frames.frame(processes=(frames.process(9, key=ProcessKey(9, 1, 11)),), threads=True)
    text = TextWriter(Settings()).lines(frame)
    assert next(line for line in text if line.startswith("PID")).split()[:2] == ["PID", "TID"]
    assert process_lines(text)[0].split()[:2] == ["9", "11"]


def test_what_is_missing_is_a_dash() -> None:
    frame = frames.frame(processes=(frames.process(9, read_bytes_per_s=Missing.NO_PERMISSION),))
    assert process_lines(TextWriter(Settings()).lines(frame))[0].split()[3] == "-"


def test_what_no_process_accounts_for_is_told_with_the_reasons() -> None:
    row = UnattributedRow(4096.0, 0, ("exited", "no_permission"))
    text = TextWriter(Settings()).lines(frames.frame(unattributed=row))
    assert "UNATTRIBUTED r 4.00K w 0  (exited, no permission)" in text


def test_instances_of_a_divided_gpu_are_told_apart() -> None:
    lines = TextWriter(Settings()).lines(frames.frame(gpus=(*frames.divided_gpu(71, 72), frames.gpu(1))))
    assert [line.split()[0] for line in lines if "H200" in line] == ["gpu0", "gpu0.mig0", "gpu0.mig1", "gpu1"]


def test_a_note_is_said_once() -> None:
    writer = TextWriter(Settings())
    frame = frames.frame(notes=("processes of others are hidden",))
    shown = [sum("processes of others" in line for line in writer.lines(frame)) for _ in range(3)]
    assert shown == [1, 0, 0]


def test_why_there_is_no_gpu_is_said_once_unless_gpus_are_left_alone() -> None:
    assert any("--gpus all" in line for line in TextWriter(Settings()).lines(frames.frame()))
    assert not any("--gpus all" in line for line in TextWriter(Settings(gpu=False)).lines(frames.frame()))


def test_a_terminal_cuts_command_lines_alone() -> None:
    note = "a note that is longer than the terminal is wide, with its remedy at the end"
    long = frames.process(9, command="x" * 500)
    frame = frames.frame(processes=(long,), notes=(note,))
    for settings in (Settings(), Settings(time=True)):
        text = TextWriter(settings).lines(frame, 100)
        (row,) = [line for line in text if "xxx" in line]
        assert len(row) == 100
        assert row.endswith("x…")
        assert any(line.endswith(note) for line in text)
        assert any("x" * 500 in line for line in TextWriter(settings).lines(frame))
