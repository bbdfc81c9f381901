from __future__ import annotations

import csv
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.failure import Failure
from iodash.model.frame import CpuRow, Frame, InterfaceRow
from iodash.model.missing import Missing
from iodash.outputs import dstat_csv
from iodash.outputs.dstat import DstatWriter, number
from iodash.outputs.dstat_columns import Layout, absent_members, blocks_of
from tests.ui import frames

if TYPE_CHECKING:
    from pathlib import Path

K, M, G = 1024.0, 1024.0**2, 1024.0**3


def frame(**values: Any) -> Frame:
    system = frames.system(
        cpu_user_percent=1.93,
        cpu_system_percent=0.8,
        cpu_idle_percent=97.0,
        cpu_iowait_percent=0.2,
        disk_read_bytes_per_s=1123.4 * K,
        disk_write_bytes_per_s=432.0 * K,
        interrupts_per_s=1290.4,
        context_switches_per_s=18824.0,
        memory_total_bytes=int(23.5 * G),
        memory_free_bytes=int(23.1 * G),
        memory_buffers_bytes=int(7088 * K),
        memory_cached_bytes=int(150 * M),
        memory_shmem_bytes=int(140 * M),
        memory_reclaimable_bytes=int(60 * M),
        load_1=0.69,
        load_5=0.26,
        load_15=0.09,
        processes_created_per_s=8.1,
    )
    known: dict[str, Any] = {
        "system": system,
        "devices": (
            frames.device("vda", total=True, reads_per_s=32.8, writes_per_s=6.39, read_bytes_per_s=5.0 * K),
            frames.device("vdb", total=True, reads_per_s=1.0),
            frames.device("loop0", kind="loop"),
        ),
        "cpus": (CpuRow(0, 1, 1, 98, 0, 0), CpuRow(1, 2, 1, 96, 1, 0)),
        "interfaces": (InterfaceRow("lo", 1.0, 1.0, False), InterfaceRow("eth0", 4242.0 * K, 18.0 * K, True)),
    }
    return replace(frames.frame(), **known | values)


def lines(layout: Layout) -> list[str]:
    return DstatWriter(layout, blocks_of(layout, frame())).lines(frame())


def test_the_default_groups_look_like_dstats() -> None:
    assert lines(Layout()) == [
        "--total-cpu-usage-- -dsk/total- -net/total- ---paging-- ---system--",
        "usr sys idl wai stl| read  writ| recv  send|  in   out | int   csw ",
        "  2   1  97   0   0|1123k  432k|   0     0 |   0     0 |1290    19k",
    ]


def test_other_groups_look_like_dstats() -> None:
    assert lines(Layout(groups="lmprs")) == [
        "---load-avg--- ------memory-usage----- ---procs--- --io/total- ----swap---",
        " 1m   5m  15m | used  free  buff  cach|run blk new| read  writ| used  free",
        "0.69 0.26 0.09| 333M 23.1G 7088k  150M|  0   0 8.1|33.8  6.39 |   0     0 ",
    ]


def test_the_order_is_that_of_the_options() -> None:
    assert lines(Layout(groups="yc"))[1].startswith(" int   csw |usr sys")


def test_time_and_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    title, names, values = lines(Layout(groups="tT"))
    assert title == "----system---- --epoch---"
    assert names == "     time     |  epoch   "
    assert re.fullmatch(r"\d\d-\d\d \d\d:\d\d:\d\d\|1790000000", values)
    monkeypatch.setenv("DSTAT_TIMEFMT", "%Y")
    assert lines(Layout(groups="t"))[2].strip().isdecimal()


def test_float_shows_the_decimals_that_fit() -> None:
    assert lines(Layout(groups="cd", numbers="float"))[2] == "1.9 0.8  97 0.2   0|1123k  432k"


def test_integer_shows_none() -> None:
    assert lines(Layout(groups="lr", numbers="integer"))[2] == "   1    0    0|  34     6 "


def test_kilobytes_are_forced() -> None:
    title, _, values = lines(Layout(groups="d", kilobytes=True))
    assert title == "-------dsk/total-------"
    assert values == "      1123k        432k"


def test_bits_are_decimal() -> None:
    assert lines(Layout(groups="d", bits=True))[2] == "9203k 3539k"


def test_several_members_of_a_group_stand_side_by_side() -> None:
    layout = Layout(groups="cdn", cpus=("0", "total"), disks=("vda", "total"), interfaces=("eth0",))
    assert lines(layout) == [
        "-----cpu0-usage---- --total-cpu-usage-- --dsk/vda-- -dsk/total- --net/eth0-",
        "usr sys idl wai stl:usr sys idl wai stl| read  writ: read  writ| recv  send",
        "  1   1  98   0   0:  2   1  97   0   0|5120B    0 :1123k  432k|4242k   18k",
    ]


def test_full_expands_every_group() -> None:
    title = lines(Layout(groups="cdn", full=True))[0]
    assert title.split() == [
        "-----cpu0-usage----",
        "-----cpu1-usage----",
        "--dsk/vda--",
        "--dsk/vdb--",
        "--net/eth0-",
    ]


def test_a_member_that_is_not_there_is_a_dash_and_told() -> None:
    layout = Layout(groups="dn", disks=("/dev/nope",), interfaces=("wlan9",), cpus=("7",))
    assert lines(layout)[0] == "--dsk/nope- -net/wlan9-"
    assert lines(layout)[2].split() == ["-", "-", "|", "-", "-"] or set(lines(layout)[2]) == set(" -|")
    assert absent_members(layout, frame()) == "there is no device /dev/nope and no interface wlan9 and no CPU 7"
    assert absent_members(Layout(disks=("total", "vda"), cpus=("0",)), frame()) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "   0 "),
        (0.3, "   0 "),
        (812.0, " 812B"),
        (4098.0, "4098B"),
        (9999.4, "9999B"),
        (9999.6, "  10k"),
        (9746.0 * K, "9746k"),
        (10240.0 * K, "  10M"),
        (2.0**62, "4096P"),
        (2.0**90, "1073741824E"),
    ],
)
def test_a_number_stays_in_the_smaller_unit_as_long_as_it_fits(value: float, text: str) -> None:
    assert number(value, 5, 1024, decimals=False) == text


def test_every_line_is_as_wide_as_its_headings() -> None:
    for layout in (Layout(groups="cdngylmprsiTt"), Layout(full=True), Layout(groups="dgmn", kilobytes=True)):
        assert len({len(line) for line in lines(layout)}) == 1


def test_headers_come_again_on_a_terminal_only() -> None:
    groups = blocks_of(Layout(), frame())
    for every, expected in ((0, [3, 1, 1, 1]), (2, [3, 1, 3, 1])):
        writer = DstatWriter(Layout(), groups, every)
        assert [len(writer.lines(frame())) for _ in range(4)] == expected


def test_what_does_not_fit_falls_off_at_the_right() -> None:
    writer = DstatWriter(Layout(), blocks_of(Layout(), frame()), 0, 40)
    assert writer.trimmed
    assert writer.lines(frame()) == [
        "--total-cpu-usage-- -dsk/total-",
        "usr sys idl wai stl| read  writ",
        "  2   1  97   0   0|1123k  432k>",
    ]


def test_csv_has_two_header_rows_and_bytes_whatever_the_screen_shows() -> None:
    layout = Layout(groups="cdtT", disks=("vda", "total"), kilobytes=True)
    groups = blocks_of(layout, frame())
    head = dstat_csv.preamble("vm", "root", 'dstat -C "x"', 1_790_000_000.0, version="9", new=True)
    text = head + dstat_csv.headers(groups) + dstat_csv.row(groups, frame())
    rows = list(csv.reader(text.splitlines(), strict=True))
    assert rows[0] == ["Dstat 0.8.0 CSV output, by iodash 9"]
    assert rows[2] == ["Host:", "vm", "", "", "", "User:", "root"]
    assert rows[3][:2] == ["Cmdline:", 'dstat -C "x"']
    assert rows[4] == ["total cpu usage", "", "", "", "", "dsk/vda", "", "dsk/total", "", "system", "epoch"]
    assert rows[5] == [
        *("usr", "sys", "idl", "wai", "stl"),
        *("dsk/vda:read", "dsk/vda:writ", "dsk/total:read", "dsk/total:writ", "time", "epoch"),
    ]
    assert rows[6][:5] == ["1.930", "0.800", "97.000", "0.200", "0"]
    assert rows[6][5:9] == ["5120.000", "0", f"{1123.4 * K:.3f}", f"{432.0 * K:.3f}"]
    assert text.splitlines()[4].startswith('"total cpu usage",,,,,"dsk/vda",,')


def test_csv_leaves_unknown_cells_empty() -> None:
    groups = blocks_of(Layout(groups="l"), frame())
    assert dstat_csv.row(groups, frame(system=frames.system(load_1=Missing.OFF, load_5=1.5))) == ",1.500,0\n"


def test_a_file_with_data_gets_two_empty_lines_and_new_headers() -> None:
    text = dstat_csv.preamble("vm", "root", "dstat", 1_790_000_000.0, version="9", new=False)
    assert text.startswith('\n\n"Host:","vm"')


def test_what_dstat_has_written_is_added_to_and_nothing_else(tmp_path: Path) -> None:
    for first in ('"Dstat 0.7.4 CSV output"', '"Dstat 0.8.0 CSV output, by iodash 9"'):
        own = tmp_path / "own.csv"
        own.write_text(f"{first}\n1,2\n")
        dstat_csv.DstatCsv(own, "dstat").close()
    for line in ("a,b", "time,epoch_s,interval_s", '"Dool 1.3.8 CSV output"', '"pcp-dstat 6.0.3 CSV output"', ""):
        foreign = tmp_path / "foreign.csv"
        foreign.write_text(f"{line}\n1,2\n")
        with pytest.raises(Failure, match=r"foreign\.csv: it is no CSV file of dstat's; name another file"):
            dstat_csv.DstatCsv(foreign, "dstat")
        assert foreign.read_text() == f"{line}\n1,2\n"


def test_requests_of_disks_of_which_nothing_is_known_are_no_zero() -> None:
    unknown = frames.device("vda", total=True, reads_per_s=Missing.OFF, writes_per_s=Missing.OFF)
    shown = frame(devices=(unknown,))
    layout = Layout(groups="r")
    assert DstatWriter(layout, blocks_of(layout, shown)).lines(shown)[-1].split() == ["-", "-"]
