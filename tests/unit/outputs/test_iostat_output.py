from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.outputs.iostat import JsonDocument, Layout, Reports, absent_names, header_line
from iodash.outputs.iostat_fields import group_row
from tests.ui import frames

if TYPE_CHECKING:
    from iodash.model.frame import DeviceRow

EXTENDED = (
    "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz"
    "     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz"
    "     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util"
)


def busy(name: str = "vda", **values: Any) -> DeviceRow:
    known: dict[str, Any] = {
        "reads_per_s": 100.0,
        "read_bytes_per_s": 4000.0 * 1024,
        "reads_merged_per_s": 10.0,
        "reads_merged_percent": 9.0909,
        "read_await_ms": 2.0,
        "read_size_bytes": 40960.0,
        "writes_per_s": 25.0,
        "write_bytes_per_s": 2000.0 * 1024,
        "write_await_ms": Missing.NO_IO,
        "await_ms": 2.0,
        "queue_length": 0.45,
        "util_percent": 100.59,
    }
    return frames.device(name, **known | values)


def report(layout: Layout, *rows: DeviceRow, seconds: float = 2.0) -> list[str]:
    return Reports(layout).lines(frames.frame(devices=rows, interval_s=seconds))


def test_a_report_has_the_shape_of_iostats() -> None:
    system = frames.system(
        cpu_user_percent=34.0,
        cpu_nice_percent=1.0,
        cpu_system_percent=6.0,
        cpu_iowait_percent=22.5,
        cpu_idle_percent=37.5,
    )
    lines = Reports(Layout(extended=True)).lines(frames.frame(system=system, devices=(busy(),)))
    assert lines[:4] == [
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
        "          33.00    1.00    6.00   22.50    0.00   37.50",
        "",
        EXTENDED,
    ]
    assert lines[4].startswith("vda            100.00   4000.00    10.00   9.09    2.00    40.00   25.00   2000.00 ")
    assert lines[4].endswith("    0.45 100.59")
    assert lines[5:] == ["", ""]


def test_an_undefined_wait_prints_as_iostat_prints_it() -> None:
    assert report(Layout(cpu=False, extended=True), busy())[1].split()[11] == "0.00"


@pytest.mark.parametrize("reason", [Missing.NEW, Missing.RESET, Missing.OFF])
def test_what_is_unknown_for_another_reason_is_a_dash(reason: Missing) -> None:
    assert report(Layout(cpu=False, extended=True, devices=("vda",)), busy(reads_per_s=reason))[1].split()[1] == "-"


def test_the_plain_table_has_rates_and_the_amounts_of_the_interval() -> None:
    heading, row = report(Layout(cpu=False), busy(discards_per_s=Missing.UNSUPPORTED))[:2]
    assert heading == ("Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd")
    assert row.split() == ["vda", "125.00", "4000.00", "2000.00", "0.00", "8000", "4000", "0"]
    assert len(row) == len(heading)


@pytest.mark.parametrize(
    ("layout", "headings", "cells"),
    [
        (Layout(cpu=False, megabytes=True), "tps MB_read/s MB_wrtn/s", ["125.00", "3.91", "1.95"]),
        (Layout(cpu=False, short=True), "tps kB_read/s kB_w+d/s", ["125.00", "4000.00", "2000.00"]),
        (Layout(cpu=False, extended=True, short=True), "tps kB/s rqm/s await", ["125.00", "6000.00", "10.00", "2.00"]),
        (Layout(cpu=False, human=True), "tps kB_read/s", ["125.00", "3.9M"]),
        (Layout(cpu=False, decimals=0), "tps kB_read/s", ["125", "4000"]),
    ],
)
def test_units_and_short_forms(layout: Layout, headings: str, cells: list[str]) -> None:
    lines = report(layout, busy())
    assert " ".join(lines[0].split()[1:]).startswith(headings)
    assert lines[1].split()[1 : 1 + len(cells)] == cells


def test_pretty_puts_the_device_last_in_four_tables() -> None:
    lines = report(Layout(cpu=False, extended=True, human=True, pretty=True), busy())
    assert lines[0] == "     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device"
    assert lines[1] == "  100.00      3.9M    10.00   9.1%    2.00    40.0k vda"
    assert [line.split()[0] for line in lines if line.endswith("Device")] == ["r/s", "w/s", "d/s", "f/s"]


ROWS = (
    busy("vda"),
    busy("vda1", kind="partition"),
    frames.device("vdb"),
    frames.device("loop0", kind="loop"),
    frames.device("nas:/x", kind="nfs", reads_per_s=5.0),
    busy("dm-0", kind="dm", label="vg-data"),
    frames.device("vdb1", kind="partition"),
)


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        (Layout(), ["vda", "dm-0"]),
        (Layout(devices=("ALL",)), ["vda", "vdb", "loop0", "dm-0"]),
        (Layout(devices=("vdb", "vda1")), ["vda1", "vdb"]),
        (Layout(devices=("nope",)), []),
        (Layout(partitions=()), ["vda", "vda1", "dm-0"]),
        (Layout(partitions=("vda",)), ["vda", "vda1"]),
        (Layout(partitions=("ALL",)), ["vda", "vda1", "vdb", "loop0", "dm-0", "vdb1"]),
        (Layout(devices=("ALL",), only_active=True), ["vda", "dm-0"]),
    ],
)
def test_which_devices_are_listed(layout: Layout, names: list[str]) -> None:
    assert [row.name for row in Reports(layout).rows(frames.frame(devices=ROWS))] == names


def test_a_device_that_was_ever_used_stays_listed() -> None:
    reports = Reports(Layout())
    reports.learn(frames.frame(devices=(busy("vda"),)))
    assert [row.name for row in reports.rows(frames.frame(devices=(frames.device("vda"),)))] == ["vda"]


def test_a_hanging_request_keeps_a_device_from_being_idle() -> None:
    hung = frames.device("vda", in_flight=3, util_percent=100.0)
    layout = Layout(devices=("ALL",), only_active=True)
    assert [row.name for row in Reports(layout).rows(frames.frame(devices=(hung,)))] == ["vda"]


def test_labels_stand_in_for_device_mapper_names() -> None:
    lines = report(Layout(cpu=False, labels=True, devices=("dm-0",)), *ROWS)
    assert lines[1].split()[0] == "vg-data"


def test_a_group_adds_up_and_weighs_waits_by_requests() -> None:
    one = busy("vda", reads_per_s=10.0, read_await_ms=1.0, read_bytes_per_s=10 * 4096.0, util_percent=40.0)
    two = busy("vdb", reads_per_s=30.0, read_await_ms=5.0, read_bytes_per_s=30 * 8192.0, util_percent=60.0)
    row = group_row("g", [one, two])
    assert row.reads_per_s == 40
    assert row.read_await_ms == pytest.approx(4.0)
    assert row.read_size_bytes == pytest.approx(7168.0)
    assert row.util_percent == 50
    assert row.queue_length == pytest.approx(0.9)


def test_a_group_stands_under_its_members_or_alone() -> None:
    layout = Layout(cpu=False, groups=(("both", ("vda", "dm-0")),))
    assert [line.split()[0] for line in report(layout, *ROWS)[1:4]] == ["vda", "dm-0", "both"]
    alone = Layout(cpu=False, groups=(("both", ("vda", "dm-0")),), only_groups=True)
    assert [line.split()[0] for line in report(alone, *ROWS)[1:2]] == ["both"]


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        (Layout(groups=(("g", ("loop0", "vda", "nope", "vda")),)), ["loop0", "vda", " g"]),
        (Layout(groups=(("g", ("vdb", "vda")), ("h", ("loop0",)))), ["vdb", "vda", " g", "loop0", " h"]),
        (Layout(groups=(("g", ("ALL",)),)), ["vda", "vdb", "loop0", "dm-0", " g"]),
        (Layout(devices=("vdb", "vda"), groups=(("g", ("loop0",)),)), ["vda", "vdb", "loop0", " g"]),
        (Layout(devices=("vda",), groups=(("g", ("loop0",)),), only_groups=True), ["vda", " g"]),
        (Layout(partitions=("vda",), groups=(("g", ("loop0",)),)), ["vda", "vda1", "loop0", " g"]),
        (Layout(groups=(("g", ("vdb", "vda")), ("h", ("loop0",))), only_active=True), ["vda", " g"]),
    ],
)
def test_the_rows_of_a_group_stand_in_the_order_of_their_names(layout: Layout, names: list[str]) -> None:
    assert [row.name for row in Reports(layout).rows(frames.frame(devices=ROWS))] == names


def test_json_is_valid_after_any_number_of_reports() -> None:
    frame = frames.frame(devices=(busy(write_await_ms=Missing.NEW),))
    for count in range(3):
        document = JsonDocument(frame)
        reports = Reports(Layout(extended=True))
        elements = [document.element(reports.object(frame)) for _ in range(count)]
        parsed = json.loads(document.opening + "".join(elements) + document.closing)
        host = parsed["sysstat"]["hosts"][0]
        assert host["nodename"] == "gpu-node-07"
        assert len(host["statistics"]) == count
    disk = host["statistics"][0]["disk"][0]
    assert list(disk)[:9] == ["disk_device", "r/s", "w/s", "d/s", "f/s", "rkB/s", "wkB/s", "dkB/s", "rrqm/s"]
    assert (disk["r/s"], disk["rrqm"], disk["util"], disk["w_await"]) == (100.0, 9.09, 100.59, None)


def test_absent_names_are_told() -> None:
    layout = Layout(devices=("vda", "nope"), partitions=("ALL", "gone"), groups=(("g", ("dm-0", "no2")),))
    assert absent_names(ROWS, layout) == ["nope", "gone", "no2"]


def test_the_line_above_is_iostats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert header_line(frames.frame()).startswith("Linux 6.18.0 (gpu-node-07) \t09/21/26 \t_")
    assert header_line(frames.frame()).endswith("_\t(16 CPU)")
    monkeypatch.setenv("S_TIME_FORMAT", "ISO")
    assert "\t2026-09-21 \t" in header_line(frames.frame())


def test_a_number_of_cpus_that_is_not_counted_is_the_hosts_and_never_0() -> None:
    host = replace(frames.frame().host, cpu_count=4)
    frame = frames.frame(host=host, system=frames.system(cpu_count=Missing.NOT_IN_CONTAINER))
    assert header_line(frame).endswith("(4 CPU)")
    assert '"number-of-cpus": 4' in JsonDocument(frame).opening
