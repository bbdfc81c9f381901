from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from iodash.model.settings import Settings
from iodash.outputs.iotop import IotopWriter, amount
from tests.ui import frames

if TYPE_CHECKING:
    from iodash.model.frame import ProcessRow

HEADING = "  PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND"


def lines(settings: Settings | None = None, **values: Any) -> list[str]:
    row = frames.process(123, "dd", command="dd if=/data", read_bytes_per_s=3.0 * frames.MIB, **values)
    system = frames.system(page_in_bytes_per_s=4096.0)
    return IotopWriter(settings or Settings()).lines(frames.frame(processes=(row,), system=system))


def test_totals_headings_and_rows_stand_as_in_iotop() -> None:
    text = lines(io_delay_percent=12.3)
    assert text == [
        "Total DISK READ:         3.00 M/s | Total DISK WRITE:         0.00 B/s",
        "Current DISK READ:    4096.00 B/s | Current DISK WRITE:       0.00 B/s".replace("4096.00 B", "   4.00 K"),
        HEADING,
        "  123 be/4 ada         3.00 M/s    0.00 B/s     - % 12.30 %  dd if=/data",
    ]


def test_the_fields_of_a_row_stand_where_scripts_look() -> None:
    row = lines(io_delay_percent=12.3)[-1].split(maxsplit=11)
    assert row[:3] == ["123", "be/4", "ada"]
    assert row[3:7] == ["3.00", "M/s", "0.00", "B/s"]
    assert row[9:11] == ["12.30", "%"]
    assert row[11] == "dd if=/data"


def test_without_delay_accounting_the_delays_are_unavailable() -> None:
    assert " ?unavailable?  dd if=/data" in lines(io_delay_percent=Missing.OFF)[-1]


def test_bytes_that_may_not_be_seen_are_a_dash() -> None:
    row = frames.process(5, read_bytes_per_s=Missing.NO_PERMISSION)
    assert IotopWriter(Settings()).lines(frames.frame(processes=(row,)))[-1].split()[3:5] == ["-", "B/s"]


def test_a_total_never_takes_what_may_not_be_seen_for_nothing() -> None:
    hidden = frames.process(5, read_bytes_per_s=Missing.NO_PERMISSION, write_bytes_per_s=Missing.NO_PERMISSION)
    known = frames.process(6, read_bytes_per_s=3.0 * frames.MIB)

    def total(*rows: ProcessRow) -> str:
        return IotopWriter(Settings()).lines(frames.frame(processes=rows))[0]

    assert total(hidden) == "Total DISK READ:            - B/s | Total DISK WRITE:            - B/s"
    assert total(hidden, known) == "Total DISK READ:        ≥3.00 M/s | Total DISK WRITE:        ≥0.00 B/s"
    assert "≥" not in total(known)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00 B"), (2047.0, "2047.00 B"), (2048.0, "2.00 K"), (2047 * 1024.0, "2047.00 K"), (2.0**21, "2.00 M")],
)
def test_the_unit_changes_at_twice_its_size(value: float, text: str) -> None:
    assert amount(value) == text


def test_kilobytes_are_forced() -> None:
    assert lines(Settings(kilobytes=True))[-1].split()[3:5] == ["3072.00", "K/s"]


def test_accumulated_amounts_have_no_second() -> None:
    assert lines(Settings(accumulated=True), read_bytes_total=4096)[-1].split()[3:5] == ["4.00", "K"]


@pytest.mark.parametrize(("quiet", "count"), [(0, [4, 4]), (1, [4, 3]), (2, [3, 3]), (3, [1, 1])])
def test_quiet_leaves_out_headings_and_totals(quiet: int, count: list[int]) -> None:
    writer = IotopWriter(Settings(quiet=quiet))
    frame = frames.frame(processes=(frames.process(1),))
    assert [len(writer.lines(frame)) for _ in range(2)] == count


def test_time_stands_before_every_line() -> None:
    text = lines(Settings(time=True))
    assert text[2].split()[:2] == ["TIME", "PID"]
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in text[:2] + text[3:])


def test_threads_are_listed_under_their_own_number() -> None:
    row = frames.process(9, "worker", command="python3 x", key=ProcessKey(9, 1, 11))
    text = IotopWriter(Settings(threads=True)).lines(frames.frame(processes=(row,), threads=True))
    assert text[2].split()[0] == "TID"
    assert text[3].split()[0] == "11"
    assert text[3].endswith("python3 x [worker]")


def test_a_kernel_thread_stands_in_brackets() -> None:
    row = frames.process(2, "kthreadd", command="kthreadd", kernel_thread=True)
    assert IotopWriter(Settings()).lines(frames.frame(processes=(row,)))[-1].endswith("  [kthreadd]")


@pytest.mark.parametrize("settings", [Settings(), Settings(time=True)])
def test_a_terminal_cuts_command_lines(settings: Settings) -> None:
    frame = frames.frame(processes=(frames.process(9, command="x" * 500),))
    assert len(IotopWriter(settings).lines(frame, 100)[-1]) == 100
    assert IotopWriter(settings).lines(frame, 20)[-1].endswith("% " + " " + "x" * 9 + "…")
    assert "x" * 500 in IotopWriter(settings).lines(frame)[-1]
