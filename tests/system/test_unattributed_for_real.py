"""Known amounts that nobody in the list did: they are left over in full, whatever else the machine does."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing, or_zero
from iodash.sampling.frames import FrameBuilder
from iodash.sources import Demand
from iodash.sources.local import LocalSource
from tests.system import needs
from tests.system.test_processes_for_real import Actor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iodash.model.frame import Frame

pytestmark = pytest.mark.system

MIB = 1 << 20
CHILD_MIB = 16
"""What each child reads or writes that comes and goes unseen."""


class Frames:
    """Frames of this machine between one look and the next, and what was left over in them, in bytes."""

    def __init__(self) -> None:
        self._source = LocalSource(Path("/proc"), Path("/sys"), gpu=False)
        self._builder = FrameBuilder()
        self._before = self._source.sample(Demand())

    def look(self) -> Frame:
        """A frame of about a second: the counters are not all read at one instant, which matters in a short one."""
        time.sleep(1)
        old, self._before = self._before, self._source.sample(Demand())
        return self._builder.frame(old, self._before)

    def read_left(self) -> float:
        frame = self.look()
        return or_zero(frame.unattributed.read_bytes_per_s) * frame.interval_s

    def written_left(self) -> float:
        frame = self.look()
        return or_zero(frame.unattributed.write_bytes_per_s) * frame.interval_s

    def close(self) -> None:
        self._source.close()


@pytest.fixture
def frames() -> Iterator[Frames]:
    made = Frames()
    yield made
    made.close()


@pytest.fixture
def actor() -> Iterator[Actor]:
    made = Actor()
    yield made
    made.end()


@pytest.fixture
def disk(tmp_path: Path, frames: Frames) -> Path:
    """A file of known size on a disk of the machine's sum, none of it in the page cache."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(MIB) * CHILD_MIB)
    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        pytest.skip("the temporary directory lies on a file system without direct I/O")
    os.fsync(file)
    os.close(file)
    frames.look()
    child_reads(path)
    if frames.look().system.disk_read_bytes_per_s in (0, Missing.NOT_MEASURED):
        pytest.skip("the temporary directory lies on no disk")
    return path


def child_reads(path: Path) -> None:
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"], check=True)


def child_writes(path: Path) -> None:
    count = f"count={CHILD_MIB}"
    options = ["bs=1M", count, "conv=notrunc", "oflag=direct", "status=none"]
    subprocess.run(["dd", "if=/dev/zero", f"of={path}", *options], check=True)


@pytest.fixture(params=["memory", "disk"])
def loop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A loop device upon an image in memory, or upon one on a disk that is read and written with direct I/O."""
    in_memory = request.param == "memory"
    image = Path(f"/dev/shm/iodash-test-{os.getpid()}") if in_memory else tmp_path / "image"
    image.write_bytes(os.urandom(MIB) * 64)
    subprocess.run(["sync", image], check=True)
    command = ["losetup", "--find", "--show", f"--direct-io={'off' if in_memory else 'on'}", str(image)]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    if made.returncode:
        image.unlink()
        pytest.skip(f"losetup: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
        image.unlink()


def test_direct_writes_of_children_show_while_others_pages_lie_dirty(
    actor: Actor, frames: Frames, disk: Path, tmp_path: Path
) -> None:
    actor.do(f"held = write({str(tmp_path / 'dirty')!r}, 100)")
    frames.look()
    frames.look()
    for _ in range(3):
        child_writes(disk)
        assert frames.written_left() >= 0.9 * CHILD_MIB * MIB


def test_what_was_dirty_shows_as_nobodys_neither_while_it_lies_nor_when_it_is_flushed(
    actor: Actor, frames: Frames, disk: Path, tmp_path: Path
) -> None:
    actor.do(f"held = write({str(tmp_path / 'dirty')!r}, 100)")
    assert frames.written_left() < 10 * MIB
    actor.do("os.fsync(held)")
    assert frames.written_left() < 10 * MIB


@needs.root()
@needs.program("losetup")
def test_what_a_process_reads_through_an_image_counts_once_and_hides_no_child(
    loop: Path, actor: Actor, frames: Frames, disk: Path
) -> None:
    frames.look()
    actor.do(f"file = os.open({str(loop)!r}, os.O_RDONLY | os.O_DIRECT)")
    actor.do("[os.preadv(file, [block], i * MIB) for i in range(48)]")
    assert frames.read_left() < 4 * MIB
    actor.do("[os.preadv(file, [block], i * MIB) for i in range(48)]")
    child_reads(disk)
    assert frames.read_left() == pytest.approx(CHILD_MIB * MIB, abs=4 * MIB)


@needs.root()
@needs.program("losetup")
def test_what_a_process_writes_through_an_image_hides_no_child(
    loop: Path, actor: Actor, frames: Frames, disk: Path
) -> None:
    os.sync()  # while a process writes, a child's writes may be taken for the flush of what lies dirty
    frames.look()
    actor.do(f"file = os.open({str(loop)!r}, os.O_WRONLY | os.O_DIRECT)")
    actor.do("[os.pwritev(file, [block], i * MIB) for i in range(48)]")
    child_writes(disk)
    assert 0.9 * CHILD_MIB * MIB <= frames.written_left() <= (CHILD_MIB + 10) * MIB
