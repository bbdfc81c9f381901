from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.formatting.units import Units
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver, Host
from iodash.sources.local.gpu.library import absence
from iodash.ui.panels.gpu_lines import (
    absence_lines,
    condition,
    driver_lines,
    gpu_lines,
    process_words,
    resident_not_working,
    status_line,
    utilisation_cells,
)
from iodash.ui.panels.gpus import rule_info
from iodash.ui.panels.lines import Line, plain_text, width_of
from tests.trees import write
from tests.ui.frames import MIB, NOW, divided_gpu, frame, gpu, gpu_process, process, view

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = GpuDriver("ok", "570.86.15", "")
OUTSIDE = Host(name="bare", kernel="6.18")


def texts(lines: list[Line]) -> list[str]:
    return [plain_text(line).rstrip() for line in lines]


@pytest.mark.parametrize("count", [1, 2, 8, 16, 72])
@pytest.mark.parametrize("width", [10, 38, 58, 78, 118, 198])
@pytest.mark.parametrize("most", [1, 2, 5, 10])
@pytest.mark.parametrize("ascii", [False, True])
def test_any_number_of_gpus_fits_any_panel(count: int, width: int, most: int, ascii: bool) -> None:
    one = frame(gpus=tuple(gpu(index) for index in range(count)), gpu_driver=DRIVER)
    lines = gpu_lines(one, view(one, ascii=ascii), width, most)
    assert 1 <= len(lines) <= most
    assert all(width_of(line) <= width for line in lines)
    assert not ascii or all(plain_text(line).isascii() for line in lines)
    shown = [int(number) for line in texts(lines) for number in re.findall(r"(?:^|   ) ?(\d+)(?=  )", line)]
    left_out = sum(int(number) for line in texts(lines) for number in re.findall(r"\+(\d+) more", line))
    if width >= 38:
        assert len(set(shown) & set(range(count))) + left_out >= count


def test_sixteen_gpus_are_readable_at_120_by_40() -> None:
    one = frame(gpus=tuple(gpu(index, util_percent=index * 6.0) for index in range(16)), gpu_driver=DRIVER)
    lines = texts(gpu_lines(one, view(one), 118, 10))
    assert len(lines) == 8
    for index, line in enumerate(lines):
        assert re.match(rf" {index}  .* {index * 6}%  64.0G/141G +412/700W", line)
        assert f"{(index + 8) * 6}%" in line


def test_one_gpu_with_everything() -> None:
    one = frame(
        gpus=(gpu(processes=(gpu_process(4120),)),),
        processes=(process(4120, "train.py", role="train.py rank 0, 8 workers"),),
    )
    text = texts(gpu_lines(one, view(one), 198, 1))[0]
    assert re.fullmatch(
        r" 0  H200 +▃▃  +31%  64.0G/141G +412/700W +62C  PCIe r 1.20G  s +0  SM  80   train.py rank 0", text
    )


def test_columns_stand_above_each_other() -> None:
    rows = (gpu(0), gpu(10, name="NVIDIA A100-SXM4-80GB", util_percent=100.0, power_watts=Missing.UNSUPPORTED))
    one = frame(gpus=rows)
    lines = texts(gpu_lines(one, view(one), 150, 2))
    assert lines[0].index("PCIe") == lines[1].index("PCIe")
    assert lines[0].index("%  ") == lines[1].index("%  ")


def test_what_the_disks_did_stands_beneath_the_sparklines() -> None:
    frames = [
        frame(time=NOW + tick, gpus=(gpu(util_percent=100.0 * (tick % 2)),), system=_disk(tick % 2 == 0))
        for tick in range(8)
    ]
    upper, reads, writes = texts(gpu_lines(frames[-1], view(*frames), 118, 3))
    assert upper.index("█") - reads.index("█") in (2, -2)
    assert re.search(r"disk r .* 0  of 1.00M", reads)
    assert re.search(r"disk w ", writes)
    assert len(gpu_lines(frames[-1], view(*frames), 118, 1)) == 1
    _, both = texts(gpu_lines(frames[-1], view(*frames), 78, 2))
    assert re.search(r"r .* of 1.00M  disk reads  writes +0", both)


def _disk(busy: bool) -> object:
    from tests.ui.frames import system

    return system(disk_read_bytes_per_s=float(MIB) if busy else 0.0)


def test_the_drivers_samples_make_the_line_and_a_gap_stays_a_gap() -> None:
    frames = [
        frame(
            time=NOW + tick,
            gpus=(gpu(util_percent=50.0, util_samples=((0.75, 100.0), (0.25, 0.0), (0.0, 0.0))),),
        )
        for tick in (0, 1, 4)
    ]
    one = frames[-1]
    values = utilisation_cells(one.gpus[0], one, view(*frames), 10)
    assert values[-2:] != [50.0, 50.0]
    assert values[2:6] == [None] * 4 or values.count(None) >= 4
    silent = [replace(each, gpus=(replace(each.gpus[0], util_samples=()),)) for each in frames]
    assert utilisation_cells(silent[-1].gpus[0], silent[-1], view(*silent), 2) == [50.0, 50.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"util_percent": 100.0, "sm_active_percent": 49.0}, True),
        ({"util_percent": 100.0, "sm_active_percent": 80.0, "power_watts": 100.0}, False),
        ({"util_percent": 95.0, "sm_active_percent": Missing.UNSUPPORTED, "power_watts": 300.0}, True),
        ({"util_percent": 95.0, "sm_active_percent": Missing.UNSUPPORTED, "power_watts": 400.0}, False),
        ({"util_percent": 89.0, "sm_active_percent": 1.0}, False),
        ({"util_percent": Missing.UNSUPPORTED, "sm_active_percent": 1.0}, False),
        ({"util_percent": 95.0, "sm_active_percent": Missing.NEW, "power_watts": Missing.NEW}, False),
        ({"util_percent": 95.0, "sm_active_percent": Missing.NEW, "power_limit_watts": 0.0}, False),
    ],
)
def test_a_resident_kernel_is_not_yet_work(values: dict[str, Any], expected: bool) -> None:
    row = gpu(**values)
    assert resident_not_working(row) is expected
    assert ("RESIDENT, NOT WORKING" in plain_text(condition(row))) is expected


def test_what_slows_a_gpu_is_loud_and_its_normal_limit_is_not() -> None:
    line = condition(gpu(throttle_reasons=("idle", "power_cap", "hw_thermal"), xid=79, ecc_errors=2))
    assert line[0] == ("power cap", "quiet")
    assert ("HW THERMAL", "warn") in line
    assert ("XID 79", "alarm") in line
    assert ("ECC 2", "alarm") in line
    assert "idle" not in plain_text(line)
    unknown = gpu(throttle_reasons=Missing.UNSUPPORTED, xid=Missing.NO_PERMISSION, ecc_errors=Missing.UNSUPPORTED)
    assert condition(unknown) == []


@pytest.mark.parametrize(
    ("status", "word", "look"),
    [
        ("lost", "LOST", "alarm"),
        ("error", "ERROR", "alarm"),
        ("asleep", "asleep", "quiet"),
        ("no_permission", "no permission", "warn"),
    ],
)
def test_a_gpu_without_numbers_says_why_and_leaves_the_others_alone(status: str, word: str, look: str) -> None:
    bad = gpu(1, status=status, message="fell off the bus", util_percent=Missing.GONE)
    assert status_line(bad) is not None
    one = frame(gpus=(gpu(0), bad, gpu(2)))
    lines = gpu_lines(one, view(one), 118, 3)
    assert (word, look) in lines[1]
    assert "fell off the bus" in texts(lines)[1]
    assert "%" not in texts(lines)[1]
    assert "31%" in texts(lines)[0]
    assert "31%" in texts(lines)[2]


def test_a_mig_instance_has_no_utilisation_and_no_zero() -> None:
    one = frame(gpus=(gpu(0, mig="1g.18gb", util_percent=Missing.UNSUPPORTED),))
    for width in (118, 58):
        text = texts(gpu_lines(one, view(one), width, 1))[0]
        assert "n/a (MIG)" in text
        assert " 0%" not in text
        assert "64.0G" in text


def test_instances_of_a_divided_gpu_are_told_apart() -> None:
    one = frame(gpus=(*divided_gpu(71, 72), gpu(1)))
    for width in (198, 118, 38):
        first_words = [text.split()[0] for text in texts(gpu_lines(one, view(one), width, 4))]
        assert first_words == ["0", "0.mig0", "0.mig1", "1"]


def test_processes_are_named_and_foreign_ones_are_placed() -> None:
    row = gpu(
        processes=(gpu_process(645400, visible=False), gpu_process(7), gpu_process(8, guess=True), gpu_process(9)),
        processes_note="1.0G of others",
    )
    names = {7: process(7, "train.py", role="train.py rank 0, 8 workers"), 8: process(8, "serve")}
    inside = plain_text(process_words(row, names, frame()))
    assert inside == "train.py rank 0, ~serve, pid 9, pid 645400 (outside this container)  1.0G of others"
    assert "pid 645400 (not in /proc)" in plain_text(process_words(row, names, frame(host=OUTSIDE)))
    reason = process_words(gpu(processes=Missing.NO_PERMISSION), {}, frame())
    assert plain_text(reason) == "processes: no permission"


def test_a_colliding_foreign_pid_is_not_given_a_local_name() -> None:
    row = gpu(processes=(gpu_process(7, visible=False),))
    assert "train.py" not in plain_text(process_words(row, {7: process(7, "train.py")}, frame()))


@pytest.mark.parametrize("name", ["[/x][red]evil", "\\x1b[31m", "漢字" * 40, "a" * 400])
def test_hostile_names_are_only_text(name: str) -> None:
    one = frame(gpus=(gpu(name=name, processes=(gpu_process(5),)),), processes=(process(5, name),))
    for width in (38, 78, 198):
        assert all(width_of(line) <= width for line in gpu_lines(one, view(one), width, 3))
    assert name[:10] in texts(gpu_lines(one, view(one), 198, 1))[0]


@pytest.mark.parametrize(
    ("driver", "expected", "look"),
    [
        (GpuDriver("no_library", None, "no NVIDIA library: add --gpus all"), "no NVIDIA library: add --gpus", "quiet"),
        (GpuDriver("version_mismatch", None, "driver was upgraded: reboot"), "driver was upgraded: reboot", "warn"),
        (GpuDriver("not_answering", None, "no answer for 8 s"), "no answer for 8 s", "warn"),
        (GpuDriver("starting"), "asking the driver", "quiet"),
        (GpuDriver("ok", "570"), "none in this machine", "quiet"),
        (GpuDriver("off"), "off", "quiet"),
    ],
)
def test_without_a_gpu_one_line_says_why(driver: GpuDriver, expected: str, look: str) -> None:
    (line,) = driver_lines(frame(gpu_driver=driver), 60, 2)
    assert plain_text(line).startswith(f"GPU  {expected}")
    assert line[-1][1] == look
    assert all(width_of(line) <= 12 for line in driver_lines(frame(gpu_driver=driver), 12, 2))


def test_whole_kib_are_for_tables_alone() -> None:
    one = frame(gpus=(gpu(0),))
    assert gpu_lines(one, view(one, units=Units.KIB), 118, 3) == gpu_lines(one, view(one), 118, 3)


@pytest.mark.parametrize("width", [58, 78])
def test_what_to_type_against_a_missing_gpu_is_readable_on_a_narrow_screen(width: int, tmp_path: Path) -> None:
    for name in (".dockerenv", "dev/nvidiactl"):
        write(tmp_path / name, "")
        message = absence(tmp_path / "proc", tmp_path / "sys", tmp_path)
        lines = texts(driver_lines(frame(gpu_driver=GpuDriver("no_library", None, message)), width, 2))
        assert len(lines) <= 2
        assert "--gpus all" in " ".join(" ".join(lines).split())


def test_a_sentence_that_takes_more_lines_than_there_are_ends_with_an_ellipsis() -> None:
    one = frame(gpu_driver=GpuDriver("error", None, "a long story " * 20))
    for most in (1, 2, 3):
        lines = texts(driver_lines(one, 40, most))
        assert len(lines) == most
        assert lines[-1].endswith("…")
        assert all(len(line) <= 40 for line in lines)
    assert texts(driver_lines(one, 40, 1, ascii=True))[0].endswith("~")
    assert "".join(texts(driver_lines(one, 40, None))).count("long") == 20


def test_the_full_panel_without_a_gpu_says_why_and_what_goes_on() -> None:
    missing = " ".join(texts(absence_lines(frame(gpu_driver=GpuDriver("no_library", None, "no driver")), 60)))
    assert "no driver" in missing
    assert "goes on looking" in missing
    off = " ".join(texts(absence_lines(frame(gpu_driver=GpuDriver("off", None, "GPUs are not read (--no-gpu)")), 60)))
    assert "--no-gpu" in off
    assert "looking" not in off


def test_the_rule_names_the_driver_and_its_trouble() -> None:
    assert rule_info(frame(gpu_driver=DRIVER)) == "driver 570.86.15"
    stuck = GpuDriver("not_answering", "570", "no answer for 8 s")
    assert rule_info(frame(gpu_driver=stuck)) == "driver 570  no answer for 8 s"
