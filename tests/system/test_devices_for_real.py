"""Devices, mounts and stacks of this machine, made for the purpose and taken down again."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing
from iodash.sampling.devices import device_rows
from iodash.sampling.system import system_row
from iodash.sources.local.devices import DeviceReader
from tests.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iodash.model.frame import DeviceRow, SystemRow
    from iodash.model.sample import Sample

pytestmark = pytest.mark.system

MIB = 1 << 20
CHECKOUT = Path(__file__).parents[2]


def needs(*programs: str) -> pytest.MarkDecorator:
    lacking = [program for program in programs if shutil.which(program) is None]
    reason = f"{', '.join(lacking)} not installed" if lacking else "needs root"
    return pytest.mark.skipif(bool(lacking) or os.geteuid() != 0, reason=reason)


@pytest.fixture
def loop_on_disk(tmp_path: Path) -> Iterator[Path]:
    yield from loop_device(tmp_path / "image", 128)


@pytest.fixture
def loop_in_memory() -> Iterator[Path]:
    image = Path(f"/dev/shm/iodash-test-{os.getpid()}")
    try:
        yield from loop_device(image, 128)
    finally:
        image.unlink(missing_ok=True)


def loop_device(image: Path, size_mib: int) -> Iterator[Path]:
    with image.open("wb") as file:
        for _ in range(size_mib):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    made = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"losetup: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", str(device)], check=True)


class Machine:
    """Readings of this machine's devices, and what happened between the last two."""

    def __init__(self) -> None:
        self._reader = DeviceReader(Path("/proc"), Path("/sys"))
        self._old = self._new = self._read()

    def _read(self) -> Sample:
        devices = self._reader.read()
        return replace(sample(time.monotonic()), devices=devices)

    def step(self) -> tuple[dict[str, DeviceRow], SystemRow, float]:
        self._old, self._new = self._new, self._read()
        seconds = self._new.monotonic - self._old.monotonic
        rows = device_rows(self._old, self._new, seconds)
        return {row.name: row for row in rows}, system_row(self._old, self._new, seconds, rows), seconds

    def close(self) -> None:
        self._reader.close()


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.close()


def known(value: float | Missing) -> float:
    assert not isinstance(value, Missing)
    return value


@needs("losetup", "fio", "iostat")
def test_under_load_rates_and_waits_are_those_of_iostat(loop_in_memory: Path, machine: Machine) -> None:
    options = (
        "--direct=1 --rw=randrw --bs=16k --iodepth=8 --ioengine=libaio --rate_iops=600,400 --time_based --runtime=60"
    )
    load = subprocess.Popen(
        ["fio", "--name=load", f"--filename={loop_in_memory}", "--norandommap", *options.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(1.5)
        judge = subprocess.Popen(
            ["iostat", "-dxy", "-o", "JSON", loop_in_memory.name, "5", "1"], stdout=subprocess.PIPE, text=True
        )
        machine.step()
        printed = json.loads(judge.communicate(timeout=60)[0])["sysstat"]["hosts"][0]["statistics"][0]["disk"][0]
        rows, _, _ = machine.step()
    finally:
        load.terminate()
        load.wait()
    row = rows[loop_in_memory.name]
    assert printed["r/s"] > 300
    for column, value, unit in (
        ("r/s", row.reads_per_s, 1),
        ("w/s", row.writes_per_s, 1),
        ("rkB/s", row.read_bytes_per_s, 1024),
        ("wkB/s", row.write_bytes_per_s, 1024),
    ):
        assert known(value) / unit == pytest.approx(printed[column], rel=0.02), column
    for column, value in (("r_await", row.read_await_ms), ("w_await", row.write_await_ms)):
        assert known(value) == pytest.approx(printed[column], rel=0.05, abs=0.006), column
    for column, value in (("rareq-sz", row.read_size_bytes), ("wareq-sz", row.write_size_bytes)):
        assert known(value) / 1024 == pytest.approx(printed[column], abs=0.01), column


@needs("losetup")
def test_what_is_read_through_a_loop_device_counts_once(loop_on_disk: Path, machine: Machine) -> None:
    image = Path(Path(f"/sys/block/{loop_on_disk.name}/loop/backing_file").read_text().strip())
    with image.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    machine.step()
    descriptor = os.open(loop_on_disk, os.O_RDONLY | os.O_DIRECT)
    with open(descriptor, "rb", buffering=0) as file:
        page = mmap.mmap(-1, MIB)
        while file.readinto(page):
            pass
    rows, system, seconds = machine.step()
    assert known(rows[loop_on_disk.name].read_bytes_per_s) * seconds == pytest.approx(128 * MIB, rel=1e-9)
    assert loop_on_disk.name not in system.disk_devices
    disks = sum(known(row.read_bytes_per_s) for row in rows.values() if row.total)
    assert known(system.disk_read_bytes_per_s) == pytest.approx(disks)
    assert rows[loop_on_disk.name].backed_by
    assert set(rows[loop_on_disk.name].backed_by) <= set(system.disk_devices)


@needs("losetup")
def test_a_loop_device_attached_anew_is_another_one(loop_in_memory: Path) -> None:
    sequence = Path(f"/sys/block/{loop_in_memory.name}/diskseq")
    if not sequence.exists():
        pytest.skip("the kernel has no diskseq")
    reader = DeviceReader(Path("/proc"), Path("/sys"))
    rows = reader.read()
    reader.close()
    assert not isinstance(rows, Missing)
    (row,) = (row for row in rows if row.name == loop_in_memory.name)
    assert row.generation == int(sequence.read_text())
    assert (row.kind, row.total, row.backed_by) == ("loop", False, ())


def in_namespace(script: str) -> str:
    """What a Python script prints that runs in a mount namespace of its own, after its shell lines."""
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-euc", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(CHECKOUT / "app")},
    )
    if "not permitted" in done.stderr or "unshare failed" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout


WHERE = """$PYTHON -c '
import sys
from pathlib import Path
from iodash.sources.local.where import PathFinder
finder = PathFinder(Path("/proc"), Path("/sys"))
for path in sys.argv[1:]:
    print(finder.find(path).summary)
' """


@needs("unshare", "mount")
def test_bind_mounts_overlays_and_tmpfs_of_a_real_namespace(tmp_path: Path) -> None:
    plain = in_namespace(f"{WHERE} {tmp_path}").strip()
    script = f"""
        cd {tmp_path}
        mkdir -p "one two" bound lower upper work merged memory
        mount --bind "one two" bound
        mount -t overlay overlay -o lowerdir=lower,upperdir={tmp_path}/upper,workdir=work merged
        mount -t tmpfs "na me" memory
        {WHERE} "{tmp_path}/one two" {tmp_path}/bound {tmp_path}/merged {tmp_path}/memory
    """
    assert in_namespace(script).splitlines() == [plain, plain, plain, "memory (tmpfs)"]


@needs("unshare", "mount", "losetup", "mkfs.ext4")
def test_a_mounted_image_leads_to_the_disk_of_its_file(tmp_path: Path, loop_on_disk: Path) -> None:
    plain = in_namespace(f"{WHERE} {tmp_path}").strip()
    subprocess.run(["mkfs.ext4", "-q", "-F", str(loop_on_disk)], check=True)
    script = f"""
        mkdir -p {tmp_path}/set
        mount {loop_on_disk} {tmp_path}/set
        {WHERE} {tmp_path}/set/lost+found
    """
    assert in_namespace(script).strip() == f"{loop_on_disk.name} -> {plain}"


@needs("unshare", "mount")
def test_a_fuse_mount_that_never_answers_is_told_without_asking_it(tmp_path: Path) -> None:
    if not Path("/dev/fuse").exists():
        pytest.skip("no /dev/fuse")
    script = f"""
        mkdir -p {tmp_path}/bucket
        $PYTHON - {tmp_path}/bucket <<'END'
import ctypes, os, sys, time
from pathlib import Path
from iodash.sources.local.network_mounts import NetworkMountReader
from iodash.sources.local.where import PathFinder, UnansweredPathError

point = sys.argv[1]
descriptor = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={{descriptor}},rootmode=40000,user_id=0,group_id=0".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"train-data", point.encode(), b"fuse.gcsfuse", 0, options):
    sys.exit("mount of fuse not permitted: " + os.strerror(ctypes.get_errno()))
libc.mount(b"fusectl", b"/sys/fs/fuse/connections", b"fusectl", 0, None)
started = time.monotonic()
finder = PathFinder(Path("/proc"), Path("/sys"), time_limit_s=0.5)
print(finder.find(point).summary)
try:
    finder.find(point + "/file")
except UnansweredPathError as error:
    print("no answer" in str(error) and "train-data" in str(error))
print(time.monotonic() - started < 5)
(row,) = (row for row in NetworkMountReader(Path("/proc"), Path("/sys")).read() if row.name == "train-data")
print(row.kind, row.in_flight if isinstance(row.in_flight, int) else row.in_flight.value)
sys.stdout.flush()
os.close(descriptor)
END
    """
    lines = in_namespace(script).splitlines()
    assert lines[:3] == ["train-data (fuse.gcsfuse)", "True", "True"]
    kind, waiting = lines[3].split()
    assert kind == "fuse"
    assert waiting == "unsupported" or int(waiting) >= 1


READ = """$PYTHON -c '
from pathlib import Path
from iodash.sources.local.devices import DeviceReader
from iodash.sources.local.host import HostReader
from iodash.sources.local.system import SystemReader
reader = DeviceReader(Path("/proc"), Path("/sys"))
devices, system = reader.read(), SystemReader(Path("/proc"), Path("/sys")).read()
print(sum(row.total for row in devices) if isinstance(devices, tuple) else devices.value)
host = HostReader(Path("/proc"), Path("/sys")).read()
print(host.only_processes, host.sysfs_hidden)
print(*(value if isinstance(value, int) else value.value for value in (system.memory_total_bytes, system.page_in_kib)))
' """


@needs("unshare", "mount")
def test_with_sys_hidden_the_disks_are_still_found_and_it_is_noted() -> None:
    plain = in_namespace(READ).splitlines()
    hidden = in_namespace(f"mount -t tmpfs none /sys; {READ}").splitlines()
    assert (plain[0], plain[1], hidden[1]) == (hidden[0], "False False", "False True")
    assert int(plain[0]) >= 1


@needs("unshare", "mount")
def test_a_proc_of_processes_alone_has_reasons_for_all_the_rest() -> None:
    devices, hidden, system = in_namespace(f"mount -t proc -o subset=pid proc /proc; {READ}").splitlines()
    assert (devices, hidden) == ("not_in_container", "True False")
    assert system == "not_in_container not_in_container"
