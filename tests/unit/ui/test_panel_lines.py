"""What header, verdict and strip say at which width."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.formatting.units import Units
from iodash.model.frame import InterfaceRow, OwnCost, Verdict
from iodash.model.missing import Missing
from iodash.model.sample import Host
from iodash.ui.panels.header import header_line
from iodash.ui.panels.lines import Line, fitted, plain_text, spread, width_of
from iodash.ui.panels.strip import GROUPS, interface_lines, strip_lines
from iodash.ui.panels.verdict import cut_at_word, verdict_line
from tests.ui.frames import GIB, MIB, NOW, device, frame, system, view

WIDTHS = (1, 2, 10, 20, 38, 58, 78, 118, 198)


def words(line: Line, word: str) -> list[str]:
    return [text.strip() for text, look in line if look == word]


@given(st.lists(st.tuples(st.text("ab 漢é", max_size=8), st.just("")), max_size=6), st.integers(0, 30))
def test_fitted_keeps_to_the_width_and_crops_only_what_is_too_long(line: Line, width: int) -> None:
    result = fitted(line, width)
    assert width_of(result) <= width
    if width_of(line) <= width:
        assert plain_text(result) == plain_text(line)
    elif width:
        assert plain_text(result).endswith("…")


@given(st.text("ab漢", max_size=20), st.text("cd漢", max_size=20), st.integers(1, 40))
def test_spread_fills_the_width_exactly(left: str, right: str, width: int) -> None:
    assert width_of(spread([(left, "")], [(right, "")], width)) == width


@pytest.mark.parametrize("width", WIDTHS)
def test_the_header_never_overflows(width: int) -> None:
    long_name = frame(host=Host(name="节点" * 40, kernel="6", container="docker"))
    for one in (frame(), long_name):
        for shown in (view(), view(paused_s=3725.0)):
            assert width_of(header_line(one, shown, width)) <= width
    assert width_of(header_line(None, None, width)) <= width


def test_the_header_of_a_live_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = plain_text(header_line(frame(), view(delay=2.0), 118))
    assert re.fullmatch(r"iodash  gpu-node-07 \(docker\)   \d\d:\d\d:\d\d  every 2 s  live +self  2.1% 44.0M", text)


def test_the_header_says_what_goes_wrong_beside_the_screen_where_there_is_room() -> None:
    for width in (118, 78, 58):
        assert "CSV lost 12 rows" in plain_text(header_line(frame(), view(trouble="CSV lost 12 rows"), width))
    for width in WIDTHS:
        assert width_of(header_line(frame(), view(trouble="CSV lost 12 rows"), width)) <= width


def test_the_header_says_how_old_a_paused_screen_is_as_long_as_it_can() -> None:
    for width in (118, 78, 38, 24):
        line = header_line(frame(), view(paused_s=12.4), width)
        assert words(line, "banner") == ["PAUSED 12 s old"]
        assert "live" not in plain_text(line)


def test_the_header_gives_up_its_own_cost_before_host_and_time() -> None:
    text = plain_text(header_line(frame(), view(), 46))
    assert "gpu-node-07" in text
    assert "live" in text
    assert "self" not in text


def test_the_header_names_missed_ticks_and_an_unknown_cost() -> None:
    own = OwnCost(Missing.NEW, 44 * MIB, 12.0, 400, 3)
    text = plain_text(header_line(frame(own=own), view(), 118))
    assert "missed 3" in text
    assert text.endswith("self     - 44.0M")


def test_before_the_first_sample_the_header_says_so() -> None:
    assert plain_text(header_line(None, None, 60)).rstrip() == "iodash  collecting the first sample"


JOB = "train.py:4120"


def verdict(cause: str = "device_saturated", **values: Any) -> Verdict:
    summary = "nvme0n1 is at its limit: GPUs idle 62 % of the time, reads wait 5.21 ms (usually 0.3)"
    return replace(Verdict(cause, "high", summary, (), "", 10.0, JOB), **values)


def test_a_verdict_is_its_cause_in_capitals_with_its_confidence() -> None:
    line = verdict_line(frame(verdict=verdict(), verdicts=(verdict(), verdict(job="other:1"))), 80)
    assert words(line, "alarm") == ["DEVICE SATURATED"]
    assert plain_text(line).startswith("DEVICE SATURATED  train.py:4120: nvme0n1 is at its limit")
    assert plain_text(line).endswith("+1 more  high")


def test_a_long_job_name_gives_way_to_what_is_said_of_it() -> None:
    worst = verdict(job="tests.lab.trainer:23956")
    line = plain_text(verdict_line(frame(verdict=worst, verdicts=(worst, verdict())), 60))
    assert line.startswith("DEVICE SATURATED  nvme0n1 is at its limit")


def test_a_word_that_fills_the_line_is_cut_with_a_sign_where_more_follows() -> None:
    assert cut_at_word("tests.lab.trainer: the worker", 18, "…") == "tests.lab.trainer…"


@pytest.mark.parametrize(
    ("cause", "text"), [("gpu_fed", "GPU fed"), ("unknown", "unknown"), ("no_gpu_work", "no GPU work")]
)
def test_a_verdict_without_a_culprit_is_calm(cause: str, text: str) -> None:
    one = verdict(cause, job=None if cause == "no_gpu_work" else JOB)
    line = verdict_line(frame(verdict=one, verdicts=(one,)), 80)
    assert line[0] == (text, "")
    assert not [look for _, look in line if look not in ("", "quiet")]


def test_a_verdict_is_cut_between_words_and_never_in_a_number() -> None:
    for width in range(24, 110):
        line = plain_text(verdict_line(frame(verdict=verdict(), verdicts=(verdict(),)), width))
        summary = line.removeprefix("DEVICE SATURATED").removesuffix("high").strip()
        kept = summary.removesuffix("…")
        whole = verdict().summary
        assert whole.startswith(kept)
        assert kept == whole or not kept or whole[len(kept)] in " :,"
        assert kept == whole or not kept.split(" ")[-1].isdigit()
        assert line.rstrip().endswith("high")


def test_a_job_seen_for_a_moment_is_only_watched() -> None:
    one = verdict(confidence="low", window_s=3.0)
    line = verdict_line(frame(verdict=one, verdicts=(one,)), 80)
    assert plain_text(line).startswith("watching…  train.py:4120 for 3 s; first signs: device saturated")
    assert {look for text, look in line if text.strip()} == {"quiet"}


def test_a_doubtful_accusation_is_no_alarm() -> None:
    one = verdict(confidence="low")
    assert words(verdict_line(frame(verdict=one, verdicts=(one,)), 80), "warn") == ["DEVICE SATURATED"]


def test_while_nobody_trains_a_device_in_trouble_is_named() -> None:
    nobody = verdict("no_gpu_work", job=None)
    rows = (device("vda", state="saturated", state_reason="64 requests wait"),)
    text = plain_text(verdict_line(frame(devices=rows, verdict=nobody, verdicts=(nobody,)), 80))
    assert text.startswith("vda SATURATED  64 requests wait")
    assert text.endswith("no GPU work")


def test_without_a_verdict_a_device_in_trouble_is_named() -> None:
    rows = (device(), device("vda", state="saturated", state_reason="64 requests wait"), device("vdb", state="stalled"))
    text = plain_text(verdict_line(frame(devices=rows), 80))
    assert text.startswith("vda SATURATED  64 requests wait")
    assert text.rstrip().endswith("+1 more")


@pytest.mark.parametrize("state", ["idle", "ok", "busy", Missing.OFF])
def test_without_a_verdict_and_trouble_the_line_is_quiet(state: object) -> None:
    line = verdict_line(frame(devices=(device(state=state),)), 60)
    assert {look for text, look in line if text.strip()} == {"quiet"}


@pytest.mark.parametrize("width", WIDTHS)
def test_the_verdict_keeps_to_its_width(width: int) -> None:
    for summary in ("the data set outgrows the page cache " * 9, "漢" * 300, "[/x]" * 90, ""):
        for job in (JOB, "x" * 300, None):
            one = verdict("page_cache_thrash", summary=summary, job=job)
            shown = frame(verdict=one, verdicts=(one, one))
            assert width_of(verdict_line(shown, width)) == width
            if summary.isascii():
                assert plain_text(verdict_line(shown, width, ascii=True)).isascii()


@pytest.mark.parametrize("width", [38, 58, 78, 98, 118, 158, 198, 400])
@pytest.mark.parametrize("units", list(Units))
def test_the_strip_takes_at_most_two_lines_and_never_overflows(width: int, units: Units) -> None:
    lines = strip_lines(system(disk_read_bytes_per_s=2 * GIB), units, width)
    assert 1 <= len(lines) <= 2
    assert all(width_of(line) <= width for line in lines)


def test_disks_and_stalls_stay_when_the_strip_has_no_room() -> None:
    text = "\n".join(plain_text(line) for line in strip_lines(system(), Units.IEC, 40))
    assert "DISK r" in text
    assert "IO stall" in text
    assert "LOAD" not in text
    assert "NET" not in text


@pytest.mark.parametrize(
    ("width", "there"),
    [(36, ""), (58, "CPU us   0 id 100"), (70, "CPU us   0 sy   0 wa   0 id 100"), (83, "SWAP"), (90, "MEM")],
)
def test_where_the_strip_has_one_line_the_disks_the_stall_and_the_cpus_go_last(width: int, there: str) -> None:
    (line,) = strip_lines(system(), Units.IEC, width, most=1)
    assert "DISK r" in plain_text(line)
    assert "IO stall" in plain_text(line)
    assert there in plain_text(line)  # what is left over goes to the next that fits


def test_a_very_wide_strip_holds_every_group_in_one_line() -> None:
    (line,) = strip_lines(system(), Units.IEC, 400)
    assert all(group.title in plain_text(line) for group in GROUPS)


rates = st.one_of(st.sampled_from([0, Missing.RESET, 1e15]), st.floats(0, 1e12))


@given(rates, rates, st.floats(0, 100), st.sampled_from([38, 78, 118]))
def test_numbers_keep_their_place(read: float, received: float, stall: float, width: int) -> None:
    def places(lines: list[Line]) -> list[list[int]]:
        return [[match.start() for match in re.finditer("[A-Z]{2,}|dirty", plain_text(line))] for line in lines]

    moving = system(
        disk_read_bytes_per_s=read,
        network_receive_bytes_per_s=received,
        pressure_io_some_percent=stall,
        cpu_iowait_percent=stall,
    )
    assert places(strip_lines(moving, Units.IEC, width)) == places(strip_lines(system(), Units.IEC, width))


def test_what_is_over_its_limit_stands_out_and_what_is_nothing_is_quiet() -> None:
    row = system(cpu_iowait_percent=22, pressure_io_some_percent=61, swap_in_bytes_per_s=4096, cpu_user_percent=34)
    (line,) = strip_lines(row, Units.IEC, 400)
    assert words(line, "warn") == ["22", "4.00K"]
    assert words(line, "alarm") == ["61%"]
    assert "0" in words(line, "quiet")


def test_an_unknown_number_is_a_dash_without_a_unit() -> None:
    (line,) = strip_lines(system(pressure_io_some_percent=Missing.UNSUPPORTED), Units.IEC, 400)
    assert "IO stall    -" in plain_text(line)


def test_reads_and_writes_have_their_colours() -> None:
    row = system(disk_read_bytes_per_s=2 * GIB, disk_write_bytes_per_s=12 * MIB)
    (line,) = strip_lines(row, Units.IEC, 400)
    assert words(line, "read") == ["2.00G"]
    assert words(line, "write") == ["12.0M"]


def test_interfaces_with_traffic_come_first_and_bits_are_only_for_the_network() -> None:
    interfaces = (
        InterfaceRow("lo", 0, 0, False),
        InterfaceRow("eth0", 125_000, Missing.RESET, True),
        InterfaceRow("ib0", 1_000_000, 0, True),
    )
    lines = interface_lines(frame(interfaces=interfaces), Units.BITS, 200)
    text = plain_text(lines[0])
    assert text.index("ib0") < text.index("lo")
    assert "ib0 bit/s r 8.00M s     0" in text
    assert "eth0 bit/s r 1.00M s     -" in text
    assert NOW > 0
    assert "bit/s" not in plain_text(interface_lines(frame(interfaces=interfaces), Units.IEC, 200)[0])


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_a_network_in_bits_says_so_at_every_width(width: int) -> None:
    row = system(network_receive_bytes_per_s=1181.25, network_transmit_bytes_per_s=872_500)
    for most in (None, 2):
        for units, words in ((Units.BITS, "NET bit/s r 9.45k s 6.98M"), (Units.IEC, "NET r 1.15K s  852K")):
            lines = [plain_text(line) for line in strip_lines(row, units, width, most=most)]
            (shown,) = [line for line in lines if "NET" in line] or [words]
            assert words in shown
            assert all(len(line) <= width for line in lines)
            assert most is None or len(lines) <= most
            assert any("DISK" in line for line in lines)
