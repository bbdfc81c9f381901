"""The peers' own command lines, with `iodash ` in front, beside the real programs on the same load."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
IODASH = [sys.executable, "-m", "iodash"]

LOAD = """
import mmap, os, random, sys, time
block = mmap.mmap(-1, 65536)
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
for place in range(256):
    os.pwrite(descriptor, block, place * 65536)
print("ready", flush=True)
while True:
    os.preadv(descriptor, [block], random.randrange(256) * 65536)
    os.pwrite(descriptor, block, random.randrange(256) * 65536)
    time.sleep(0.002)
"""


def run(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "app"), "LC_ALL": "C"}
    return subprocess.run(
        list(command), env=environment, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None and not Path("/usr/sbin", program).exists():
            pytest.skip(f"{program} is not installed")


@pytest.fixture
def load() -> Iterator[int]:
    """A process that reads and writes 64 KiB at a time past the page cache; its PID."""
    with _load(Path(os.environ.get("IODASH_TEST_DISK", "/var/tmp")) / f"iodash-load-{os.getpid()}") as pid:
        yield pid


@contextmanager
def _load(file: Path) -> Iterator[int]:
    running = subprocess.Popen(
        [sys.executable, "-c", LOAD, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout is not None
        if running.stdout.readline() != "ready\n":
            pytest.skip("no direct I/O in /var/tmp")
        yield running.pid
    finally:
        running.kill()
        running.communicate()
        file.unlink(missing_ok=True)


def together(*commands: tuple[str, ...]) -> list[subprocess.CompletedProcess[str]]:
    """Runs commands at the same time."""
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda command: run(*command), commands))


@pytest.mark.parametrize(
    ("words", "headings"),
    [
        ("iotop -b -n 2 -d 0.2", ["PID", "PRIO", "USER"]),
        ("iotop -b -n 1 -d 0.2 -p PID PID", ["PID", "PRIO", "USER"]),
        ("iotop -b -o -P -a -k -t -q -n 1 -d 0.2 -u root", ["TIME", "PID", "PRIO"]),
        ("iostat -x 0.2 3", ["Device", "r/s", "rkB/s"]),
        ("iostat -x /dev/vda 0.2 2", ["Device", "r/s", "rkB/s"]),
        ("iostat -dkzpt 0.2 2", ["Device", "tps", "kB_read/s"]),
        ("dstat -cdsk --float --time 1 2", ["usr", "sys", "idl"]),
        ("dstat -cndsk --time 1 2", ["usr", "sys", "idl"]),
        ("dstat -cdgk 1 2", ["usr", "sys", "idl"]),
        ("dstat -n 0.2 2", ["recv", "send"]),
        ("dstat -af --bits --noupdate --nocolor 0.2 2", ["usr", "sys", "idl"]),
        ("dstat -vltTpri --integer 0.2 2", ["run", "blk", "new"]),
    ],
)
def test_the_lines_people_have_in_their_notes_work(words: str, headings: list[str]) -> None:
    done = run(*IODASH, *words.replace("PID", str(os.getpid())).split())
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert any(
        line.replace("|", " ").replace(":", " ").split()[: len(headings)] == headings
        for line in done.stdout.splitlines()
    )
    assert done.stderr == "" or "there is no device" in done.stderr


def test_dstat_with_output_writes_both(tmp_path: Path) -> None:
    done = run(*IODASH, *["dstat", "-cdsk", "--output", "dstat_report.csv", "0.2", "3"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 5
    rows = list(csv.reader((tmp_path / "dstat_report.csv").read_text().splitlines(), strict=True))
    assert rows[5] == ["usr", "sys", "idl", "wai", "stl", "read", "writ", "used", "free"]
    assert [len(row) for row in rows[6:]] == [9, 9, 9]


def test_the_header_rows_are_those_of_the_real_dstat(tmp_path: Path) -> None:
    need("dstat")
    ours = run(*IODASH, *["dstat", "-cdngy", "1", "1"])
    theirs = run(*["dstat", "-cdngy", "--nocolor", "1", "1"])
    assert ours.stdout.splitlines()[:2] == theirs.stdout.splitlines()[:2]
    assert [len(line) for line in ours.stdout.splitlines()] == [len(line) for line in theirs.stdout.splitlines()]


def test_every_layout_of_iostat_has_its_headings() -> None:
    need("iostat")
    for options in ("", "-x", "-s", "-xs", "-m", "-dk", "-c", "-xm", "-h", "-hx", "-xh --compact", "-p", "ALL"):
        ours = run(*IODASH, "iostat", *options.split())
        theirs = run("iostat", *options.split())
        assert [_shape(line) for line in ours.stdout.splitlines()] == [
            _shape(line) for line in theirs.stdout.splitlines()
        ], options


def _shape(line: str) -> str:
    """A line with its numbers masked: headings and names must be equal, numbers be in the same places.

    A dash is what iodash prints for a device that keeps no statistics, such as zram.
    """
    return " ".join(
        "#" if word == "-" or word.strip("%kMG-").replace(".", "", 1).isdigit() else word for word in line.split()
    )


def _disk(document: str) -> dict[str, Any]:
    statistics = json.loads(document)["sysstat"]["hosts"][0]["statistics"]
    return {disk["disk_device"]: disk for disk in statistics[-1]["disk"]}


def test_rates_agree_with_iostat_on_the_same_load(load: int) -> None:
    need("iostat")
    words = ("-dxy", "-o", "JSON", "4", "1")
    ours, theirs = (_disk(done.stdout) for done in together((*IODASH, "iostat", *words), ("iostat", *words)))
    busiest = max(theirs, key=lambda name: theirs[name]["r/s"])
    for field in ("r/s", "w/s", "rkB/s", "wkB/s"):
        assert ours[busiest][field] == pytest.approx(theirs[busiest][field], rel=0.15), field
    for field in ("rareq-sz", "wareq-sz"):
        assert ours[busiest][field] == pytest.approx(theirs[busiest][field], rel=0.1), field
    for field in ("r_await", "w_await"):
        assert ours[busiest][field] == pytest.approx(theirs[busiest][field], rel=0.3, abs=0.1), field


def test_rates_agree_with_iotop_on_the_same_load(load: int) -> None:
    need("iotop-c")
    words = ("-b", "-n", "3", "-d", "2", "-P", "-k", "-qqq", "-p", str(load))
    ours, theirs = together((*IODASH, "iotop", *words), ("iotop-c", *words))
    if not theirs.stdout.strip():
        pytest.skip(f"iotop-c cannot run here: {theirs.stderr.strip()}")
    rows = [done.stdout.splitlines()[-1].split() for done in (ours, theirs)]
    assert rows[0][:3] == [str(load), rows[1][1], rows[1][2]]
    for place in (3, 5):
        assert float(rows[0][place]) == pytest.approx(float(rows[1][place]), rel=0.25)
        assert float(rows[0][place]) > 100


def test_rates_agree_with_dstat_on_the_same_load(load: int) -> None:
    need("dstat")
    words = ("-d", "--integer", "--nocolor", "4", "2")
    for attempt in range(3):  # the two count from different moments of a load that breathes
        ours, theirs = (
            done.stdout.splitlines()[-1].split() for done in together((*IODASH, "dstat", *words), ("dstat", *words))
        )
        pairs = [(_bytes(one), _bytes(other)) for one, other in zip(ours, theirs, strict=True)]
        if attempt == 2 or all(one == pytest.approx(other, rel=0.25) for one, other in pairs):
            break
    for one, other in pairs:
        assert one == pytest.approx(other, rel=0.25)


def _bytes(text: str) -> float:
    return float(text.rstrip("BkMG")) * float(1024 ** "BkMG".index(text[-1]))
