"""The distribution's own iostat as the judge of the device rates."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.sampling.devices import device_rows
from iodash.sources.local.devices import DeviceReader
from tests.samples import sample
from tests.trees import disk_line, proc_tree, write

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.frame import DeviceRow
    from iodash.model.missing import Number

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("iostat") is None, reason="iostat is not installed (apt install sysstat)"),
]

WRAP = 1 << 32
LAST_DIGIT = 0.00501
"""Half of the last of two printed decimals, and a little for the rounding of halves."""

RATES = {
    "r/s": ("reads_per_s", 1),
    "w/s": ("writes_per_s", 1),
    "d/s": ("discards_per_s", 1),
    "f/s": ("flushes_per_s", 1),
    "rkB/s": ("read_bytes_per_s", 1024),
    "wkB/s": ("write_bytes_per_s", 1024),
    "dkB/s": ("discard_bytes_per_s", 1024),
    "rrqm/s": ("reads_merged_per_s", 1),
    "wrqm/s": ("writes_merged_per_s", 1),
    "drqm/s": ("discards_merged_per_s", 1),
    "aqu-sz": ("queue_length", 1),
    "util": ("util_percent", 1),
}
RATIOS = {
    "rrqm": ("reads_merged_percent", 1),
    "wrqm": ("writes_merged_percent", 1),
    "drqm": ("discards_merged_percent", 1),
    "r_await": ("read_await_ms", 1),
    "w_await": ("write_await_ms", 1),
    "d_await": ("discard_await_ms", 1),
    "f_await": ("flush_await_ms", 1),
    "rareq-sz": ("read_size_bytes", 1024),
    "wareq-sz": ("write_size_bytes", 1024),
    "dareq-sz": ("discard_size_bytes", 1024),
}
REFERENCE = 20_000_000
"""Reads of a device that tells the length of iostat's interval to more digits than it prints."""


def judged(folder: Path, before: str, after: str, *options: str) -> str:
    """What iostat prints of two readings of a diskstats file."""
    write(folder / "diskstats", before)
    process = subprocess.Popen(
        ["iostat", "-dxy", "-p", "ALL", "-f", str(folder), *options, "2", "1"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C", "S_COLORS": "never"},
    )
    time.sleep(1)
    write(folder / "next", after).rename(folder / "diskstats")
    return process.communicate(timeout=30)[0]


def iostat_json(folder: Path, before: str, after: str) -> dict[str, dict[str, float]]:
    printed = json.loads(judged(folder, before, after, "-o", "JSON"))
    (report,) = printed["sysstat"]["hosts"][0]["statistics"]
    return {disk["disk_device"]: disk for disk in report["disk"]}


def ours(root: Path, before: str, after: str, seconds: float) -> dict[str, DeviceRow]:
    procfs = proc_tree(root)
    reader = DeviceReader(procfs, root / "none")
    readings: list[Any] = []
    for content in (before, after):
        write(procfs / "diskstats", content)
        readings.append(reader.read())
    reader.close()
    old, new = sample(0, devices=readings[0]), sample(seconds, devices=readings[1])
    return {row.name: row for row in device_rows(old, new, seconds)}


def grown(rng: random.Random, fields: tuple[int, ...]) -> tuple[int, ...]:
    """The counters after two seconds of some work, times wrapped at 32 bits as the kernel prints them."""
    reads, writes, discards, flushes = (rng.choice((0, rng.randrange(1, 60_000))) for _ in range(4))
    added = (
        *(reads, rng.randrange(reads + 1), reads * rng.randrange(1, 512), rng.randrange(0, 40 * reads + 1)),
        *(writes, rng.randrange(3 * writes + 1), writes * rng.randrange(1, 512), rng.randrange(0, 40 * writes + 1)),
        *(rng.randrange(64) - fields[8], rng.randrange(2001), rng.randrange(100_000)),
        *(discards, rng.randrange(discards + 1), discards * 8, rng.randrange(0, 9 * discards + 1)),
        *(flushes, rng.randrange(0, 9 * flushes + 1)),
    )
    times = {3, 7, 9, 10, 14, 16}
    return tuple(
        (old + more) % WRAP if n in times else old + more
        for n, (old, more) in enumerate(zip(fields, added, strict=True))
    )


def same(printed: float, own: Number, unit: int) -> bool:
    """Whether iodash gives the printed number; where iostat prints 0.00 for a mean of nothing, iodash says so."""
    if isinstance(own, Missing):
        return own is Missing.NO_IO and printed == 0
    return abs(own / unit - printed) <= LAST_DIGIT


def test_every_number_of_two_hundred_devices_agrees_to_the_last_digit(tmp_path: Path) -> None:
    rng = random.Random(5)
    before, after = [disk_line("sda", "8:0", 1, *(0,) * 16)], [disk_line("sda", "8:0", 1 + REFERENCE, *(0,) * 16)]
    for number in range(200):
        start = tuple(rng.choice((0, 4_294_967_000, rng.randrange(WRAP))) for _ in range(17))
        name = f"nvme{number}n1"
        before.append(disk_line(name, f"259:{number}", *start))
        after.append(disk_line(name, f"259:{number}", *grown(rng, start)))
    printed = iostat_json(tmp_path, "".join(before), "".join(after))
    seconds = round(REFERENCE / printed["sda"]["r/s"], 2)
    rows = ours(tmp_path, "".join(before), "".join(after), seconds)
    wrong = [
        (name, column, printed[name][column], getattr(rows[name], field))
        for name in rows
        if name != "sda"
        for column, (field, unit) in (RATES | RATIOS).items()
        if not same(printed[name][column], getattr(rows[name], field), unit)
    ]
    assert len(rows) == 201
    assert not wrong, wrong[:10]


def test_the_percentages_and_waits_of_the_printed_table_agree_too(tmp_path: Path) -> None:
    start = (1000, 10, 80000, 500, 2000, 100, 160000, 4000, 3, 900, 4294967000, 5, 1, 4096, 7, 11, 33)
    end = (1200, 30, 96000, 900, 2100, 150, 168000, 4500, 7, 1300, 600, 9, 3, 8192, 19, 13, 53)
    before, after = disk_line("sda", "8:0", *start), disk_line("sda", "8:0", *end)
    lines = judged(tmp_path, before, after).splitlines()
    heading = next(line.split() for line in lines if line.startswith("Device"))
    values = next(line.split() for line in lines if line.startswith("sda"))
    printed = dict(zip(heading, values, strict=True))
    row = ours(tmp_path, before, after, 2.0)["sda"]
    for column, (field, unit) in RATIOS.items():
        heading_of = f"%{column}" if column.endswith("rqm") else column
        assert same(float(printed[heading_of]), getattr(row, field), unit), column


def test_where_iostat_is_known_to_be_wrong_iodash_says_why(tmp_path: Path) -> None:
    before = (
        disk_line("sda", "8:0", 1, 0, 8, 1, 0, 0, 0, 0, 1, 100, 1)
        + disk_line("sdb", "8:16", 500, 0, 4000, 100, 0, 0, 0, 0, 0, 100, 100)
        + disk_line("sdd", "8:48", 100, 0, 800, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        + disk_line("sde", "8:64", 100, 0, 800, 9, 0, 0, 0, 0, 4294967295, 9, 9)
    )
    after = (
        disk_line("sda", "8:0", 1, 0, 8, 1, 0, 0, 0, 0, 1, 2100, 1)
        + disk_line("sdb", "8:16", 100, 0, 800, 10, 0, 0, 0, 0, 0, 10, 10)
        + disk_line("sdc", "8:32", 40, 0, 320, 80, 0, 0, 0, 0, 0, 80, 80)
        + disk_line("sdd", "8:48", 300, 0, 2400, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        + disk_line("sde", "8:64", 300, 0, 2400, 49, 0, 0, 0, 0, 4294967295, 49, 49)
    )
    printed = iostat_json(tmp_path, before, after)
    rows = ours(tmp_path, before, after, 2.0)
    assert printed["sda"]["util"] == pytest.approx(100, rel=0.01)
    assert (rows["sda"].util_percent, rows["sda"].reads_per_s, rows["sda"].in_flight) == (100, 0, 1)
    assert rows["sda"].await_ms is Missing.NO_IO
    assert printed["sdb"]["r/s"] == pytest.approx(50, rel=0.01)
    assert rows["sdb"].reads_per_s is Missing.RESET
    assert printed["sdc"]["r/s"] == pytest.approx(20, rel=0.01)
    assert rows["sdc"].reads_per_s is Missing.NEW
    assert printed["sdd"]["r_await"] == 0
    assert rows["sdd"].reads_per_s == 100
    assert {rows["sdd"].read_await_ms, rows["sdd"].util_percent} == {Missing.UNSUPPORTED}
    assert rows["sde"].read_await_ms == pytest.approx(printed["sde"]["r_await"])
    assert rows["sde"].in_flight is Missing.UNSUPPORTED
