"""iodash's own heap moves into huge pages after some ticks, and only what is filled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from iodash.sources.local.huge_pages import filled_areas

SETTINGS = Path("/sys/kernel/mm/transparent_hugepage")
MIB = 2**20

CHILD = """
import sys
from pathlib import Path
from iodash.sources.local.huge_pages import FIRST_AFTER, HugePages

def in_huge_pages():
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("AnonHugePages:"):
            return int(line.split()[1])

def resident():
    return int(open("/proc/self/statm").read().split()[1])

heap = [bytes(400) for _ in range(50_000)]
pages = HugePages(Path(sys.argv[1]))
before = resident()
for _ in range(FIRST_AFTER - 1):
    pages.tick()
early = in_huge_pages()
pages.tick()
print(early, in_huge_pages(), resident() / before)
"""


def area(line: str, size_kib: int, resident_kib: int) -> str:
    sizes = {"Size": size_kib, "KernelPageSize": 4, "MMUPageSize": 4, "Rss": resident_kib, "Referenced": resident_kib}
    return line + "\n" + "".join(f"{name + ':':<16}{kib:>8} kB\n" for name, kib in sizes.items())


def test_whole_huge_pages_within_a_filled_area_are_found() -> None:
    smaps = area("100100000-100900000 rw-p 00000000 00:00 0                          [heap]", 8192, 8000)
    assert list(filled_areas(smaps, 2 * MIB)) == [(0x100200000, 6 * MIB)]


@pytest.mark.parametrize(
    ("line", "resident_kib"),
    [
        pytest.param("100000000-100800000 rw-p 00000000 00:00 0 ", 4096, id="half empty, as the stack of a thread"),
        pytest.param("100000000-100800000 rw-p 00000000 00:00 0          [stack]", 8192, id="the stack"),
        pytest.param("100000000-100800000 rw-p 00000000 fe:00 26933      /lib/libpython.so", 8192, id="of a file"),
        pytest.param("100000000-100800000 r--p 00000000 00:00 0 ", 8192, id="not writable"),
        pytest.param("100000000-100800000 rw-s 00000000 00:01 77         /dev/shm/x", 8192, id="shared"),
        pytest.param("100100000-100300000 rw-p 00000000 00:00 0 ", 2048, id="two MiB across a border"),
    ],
)
def test_other_areas_stay_as_they_are(line: str, resident_kib: int) -> None:
    low, high = (int(part, 16) for part in line.split()[0].split("-"))
    assert list(filled_areas(area(line, (high - low) // 1024, resident_kib), 2 * MIB)) == []


def test_areas_are_told_apart() -> None:
    heap = area("100000000-100200000 rw-p 00000000 00:00 0 ", 2048, 2048)
    library = area("200000000-200200000 r-xp 00000000 fe:00 7 /lib/x.so", 2048, 2048)
    named = area("300000000-300200000 rw-p 00000000 00:00 0 [anon: cpython:arena]", 2048, 2048)
    assert [start for start, _ in filled_areas(heap + library + named, 2 * MIB)] == [0x100000000, 0x300000000]


def moved(settings: Path) -> tuple[int, int, float]:
    done = subprocess.run([sys.executable, "-c", CHILD, str(settings)], capture_output=True, text=True, check=True)
    early, late, growth = done.stdout.split()
    return int(early), int(late), float(growth)


def test_the_heap_of_a_running_program_moves_and_does_not_grow() -> None:
    if not _can_move():
        pytest.skip("this kernel has no huge pages of 2 MiB that a program may ask for")
    early, late, growth = moved(SETTINGS)
    assert early == 0 or "[always]" in (SETTINGS / "enabled").read_text()
    assert late >= 8 * 1024
    assert growth < 1.15


def test_huge_pages_that_were_switched_off_stay_off(tmp_path: Path) -> None:
    (tmp_path / "enabled").write_text("always madvise [never]\n")
    (tmp_path / "hpage_pmd_size").write_text(f"{2 * MIB}\n")
    early, late, _ = moved(tmp_path)
    assert late == early


def test_a_machine_that_does_not_tell_is_left_alone(tmp_path: Path) -> None:
    early, late, _ = moved(tmp_path)
    assert late == early


def _can_move() -> bool:
    try:
        enabled, size = (SETTINGS / "enabled").read_text(), int((SETTINGS / "hpage_pmd_size").read_text())
    except (OSError, ValueError):
        return False
    release = Path("/proc/sys/kernel/osrelease").read_text().split(".")
    return "[never]" not in enabled and size == 2 * MIB and (int(release[0]), int(release[1].split("-")[0])) >= (6, 1)
