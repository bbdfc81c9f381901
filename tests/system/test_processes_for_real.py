"""Real processes that read and write known amounts: the rows show exactly these."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing, or_zero
from iodash.sampling.processes import ProcessRates
from iodash.sources import Demand
from iodash.sources.local import LocalSource
from tests.system import needs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iodash.model.frame import ProcessRow
    from iodash.model.sample import Sample

pytestmark = pytest.mark.system

MIB = 1 << 20
NOISE = 65536
"""What an interpreter reads while it is told what to do, and the file system's own blocks that a write makes dirty."""

_ACTOR = """
import mmap, os, subprocess, sys
MIB = 1 << 20
block = mmap.mmap(-1, MIB)
block.write(b"x" * MIB)
def write(path, count):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    for _ in range(count):
        os.write(fd, block)
    return fd
def forget(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
print("ready", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Actor:
    """A process that does what it is told, and says when it is done."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _ACTOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        self._expect("ready")

    def do(self, code: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(code + "\n")
        self._process.stdin.flush()
        self._expect("done")

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _expect(self, word: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == word


class Watch:
    """Rows of this machine between one look and the next."""

    def __init__(self) -> None:
        self._source = LocalSource(Path("/proc"), Path("/sys"), gpu=False)
        self._rates = ProcessRates()
        self.before = self._source.sample(Demand())

    def look(self, demand: Demand | None = None) -> dict[int, ProcessRow]:
        old, new = self.before, self._source.sample(demand or Demand())
        self.before = new
        self.seconds = new.monotonic - old.monotonic
        return {row.pid: row for row in self._rates.rows(old, new, self.seconds, ())}

    def amounts(self, pid: int) -> dict[str, float | Missing]:
        """Bytes of one process since the last look."""
        row = self.look()[pid]
        rates = {
            "read": row.read_bytes_per_s,
            "written": row.write_bytes_per_s,
            "cancelled": row.cancelled_write_bytes_per_s,
            "asked": row.logical_read_bytes_per_s,
            "handed": row.logical_write_bytes_per_s,
        }
        return {name: rate * self.seconds for name, rate in rates.items()} | {"cache": row.cache_hit_percent}

    def close(self) -> None:
        self._source.close()


@pytest.fixture
def actor() -> Iterator[Actor]:
    made = Actor()
    yield made
    made.end()


@pytest.fixture
def watch(actor: Actor) -> Iterator[Watch]:
    made = Watch()
    yield made
    made.close()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A file on a file system that a device serves and that knows direct I/O."""
    path = tmp_path / "data"
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT))
    except OSError:
        pytest.skip("the temporary directory lies on a file system without direct I/O")
    return path


def test_buffered_writes_count_when_pages_become_dirty(actor: Actor, watch: Watch, disk: Path) -> None:
    actor.do(f"fd = write({str(disk)!r}, 10)")
    found = watch.amounts(actor.pid)
    assert found["written"] == pytest.approx(10 * MIB, abs=NOISE)
    assert found["handed"] == pytest.approx(10 * MIB, abs=NOISE)
    assert found["cancelled"] == 0


def test_cached_reads_come_from_the_cache(actor: Actor, watch: Watch, disk: Path) -> None:
    actor.do(f"os.close(write({str(disk)!r}, 10)); fd = os.open({str(disk)!r}, os.O_RDONLY)")
    watch.look()
    actor.do("got = os.read(fd, 10 * MIB)")
    found = watch.amounts(actor.pid)
    assert found["read"] == 0
    assert found["asked"] == pytest.approx(10 * MIB, abs=NOISE)
    assert found["cache"] == 100


def test_direct_reads_come_from_the_device(actor: Actor, watch: Watch, disk: Path) -> None:
    path = str(disk)
    actor.do(f"os.close(write({path!r}, 8)); forget({path!r}); fd = os.open({path!r}, os.O_RDONLY | os.O_DIRECT)")
    watch.look()
    actor.do("[os.preadv(fd, [block], i * MIB) for i in range(8)]")
    found = watch.amounts(actor.pid)
    assert found["read"] == pytest.approx(8 * MIB)
    assert found["asked"] == pytest.approx(8 * MIB, abs=NOISE)


def test_direct_writes(actor: Actor, watch: Watch, disk: Path) -> None:
    actor.do(f"fd = os.open({str(disk)!r}, os.O_WRONLY | os.O_DIRECT)")
    watch.look()
    actor.do("[os.pwritev(fd, [block], i * MIB) for i in range(8)]")
    assert watch.amounts(actor.pid)["written"] == pytest.approx(8 * MIB, abs=NOISE)


def test_mapped_reads_show_as_device_bytes_without_calls(actor: Actor, watch: Watch, disk: Path) -> None:
    path = str(disk)
    actor.do(f"os.close(write({path!r}, 8)); forget({path!r}); fd = os.open({path!r}, os.O_RDONLY)")
    actor.do("mapped = mmap.mmap(fd, 8 * MIB, prot=mmap.PROT_READ)")
    watch.look()
    actor.do("total = sum(mapped[i] for i in range(0, 8 * MIB, 4096))")
    found = watch.amounts(actor.pid)
    assert found["read"] == pytest.approx(8 * MIB)
    assert found["cache"] is Missing.NO_IO


def test_memory_file_systems_are_no_device(actor: Actor, watch: Watch) -> None:
    path = f"/dev/shm/iodash-test-{os.getpid()}"
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    try:
        actor.do(f"os.close(write({path!r}, 10))")
        found = watch.amounts(actor.pid)
    finally:
        Path(path).unlink(missing_ok=True)
    assert found["written"] == 0
    assert found["handed"] == pytest.approx(10 * MIB, abs=NOISE)


def test_deleting_a_dirty_file_cancels_its_writes(actor: Actor, watch: Watch, disk: Path) -> None:
    actor.do(f"os.close(write({str(disk)!r}, 10)); os.unlink({str(disk)!r})")
    found = watch.amounts(actor.pid)
    assert found["written"] == pytest.approx(10 * MIB, abs=NOISE)  # and blocks of the directory
    assert found["cancelled"] == pytest.approx(10 * MIB)


def test_a_childs_life_never_shows_on_the_parent_that_waits_for_it(actor: Actor, watch: Watch, disk: Path) -> None:
    writer = f"import os,sys; fd=os.open({str(disk)!r},os.O_WRONLY); os.write(fd, bytes(20<<20)); sys.stdin.read()"
    actor.do(f"child = subprocess.Popen([sys.executable, '-S', '-c', {writer!r}], stdin=subprocess.PIPE)")
    deadline = time.monotonic() + 20
    written = 0
    while written < 20 * MIB:
        rows = watch.look()
        children = [row for row in rows.values() if row.ppid == actor.pid]
        total = children[0].write_bytes_total if children else 0
        written = 0 if isinstance(total, Missing) else total
        assert time.monotonic() < deadline
    assert written == 20 * MIB
    actor.do("child.communicate()")
    for _ in range(2):
        row = watch.look()[actor.pid]
        assert row.write_bytes_per_s == 0
        assert row.write_bytes_total == 0
    actor.do(f"fd = write({str(disk) + '2'!r}, 3)")
    assert watch.look()[actor.pid].write_bytes_total == pytest.approx(3 * MIB, abs=NOISE)


def test_a_child_that_comes_and_goes_between_two_looks_does_not_show(actor: Actor, watch: Watch, disk: Path) -> None:
    actor.do(f"subprocess.run(['dd', 'if=/dev/zero', 'of={disk}', 'bs=1M', 'count=20'], stderr=subprocess.DEVNULL)")
    assert watch.look()[actor.pid].write_bytes_total == 0


_THREADS = """
import threading
file = os.open({path!r}, os.O_RDONLY | os.O_DIRECT)
for i in range({count}):
    thread = threading.Thread(target=os.preadv, args=(file, [block], i * MIB)); thread.start(); thread.join()
    if i % 4 == 3: subprocess.run({child!r})
"""


def test_threads_that_end_beside_a_small_child_read_for_their_process(actor: Actor, watch: Watch, disk: Path) -> None:
    path = str(disk)
    actor.do(f"os.close(write({path!r}, 40)); forget({path!r}); subprocess.run(['/bin/true'])")
    watch.look()
    for _ in range(5):
        actor.do(f"exec({_THREADS.format(path=path, count=8, child=['/bin/true'])!r})")
        assert watch.amounts(actor.pid)["read"] == pytest.approx(8 * MIB, abs=NOISE)
    assert watch.look()[actor.pid].read_bytes_total == pytest.approx(40 * MIB, abs=5 * NOISE)


def test_an_unseen_child_that_may_have_read_it_all_leaves_it_open(actor: Actor, watch: Watch, disk: Path) -> None:
    path = str(disk)
    actor.do(f"os.close(write({path!r}, 40)); forget({path!r}); subprocess.run(['/bin/true'])")
    watch.look()
    reader = ["dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"]
    actor.do(f"exec({_THREADS.format(path=path, count=8, child=reader)!r})")
    row = watch.look()[actor.pid]
    assert row.read_bytes_per_s is Missing.NOT_MEASURED
    assert or_zero(row.read_bytes_total) < MIB  # a page of its own program may have come from the disk


def test_hundreds_of_short_lived_processes_a_second(actor: Actor, watch: Watch) -> None:
    loop = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"])
    try:
        open_before = len(os.listdir("/proc/self/fd"))
        for _ in range(60):
            rows = watch.look()
            assert loop.pid in rows
            assert not isinstance(rows[loop.pid].write_bytes_total, Missing)
            time.sleep(0.02)
        assert len(os.listdir("/proc/self/fd")) < open_before + 40
    finally:
        loop.kill()
        loop.wait()


@needs.root()
def test_a_reused_pid_is_told_apart(actor: Actor, watch: Watch, disk: Path) -> None:
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    if not os.access(last_pid, os.W_OK):
        pytest.skip("ns_last_pid may not be written")
    for _ in range(20):
        first = Actor()
        first.do(f"os.close(write({str(disk)!r}, 5))")
        watch.look()
        first.end()
        last_pid.write_text(str(first.pid - 1))
        second = Actor()
        try:
            if second.pid == first.pid:
                second.do(f"os.close(write({str(disk) + '2'!r}, 1))")
                assert watch.look()[second.pid].write_bytes_total == pytest.approx(MIB, abs=NOISE)
                return
        finally:
            second.end()
    pytest.skip("other processes took the number each time")


def test_names_that_try_to_break_out(actor: Actor, watch: Watch) -> None:
    actor.do("open('/proc/self/comm', 'wb').write(b'a) \\x1b[31m\\xff\\n')")
    hostile = subprocess.Popen([b"\x1b]52;c;eA==\x07" + b"A" * 50_000, "30"], executable="/bin/sleep")
    try:
        rows = watch.look(Demand(every_field=True))
        assert rows[actor.pid].name == "a) \\x1b[31m\\xff\\n"
        assert rows[hostile.pid].command.startswith("\\x1b]52;c;eA==\\x07AAAA")
    finally:
        hostile.kill()
        hostile.wait()


def test_every_field_of_a_printed_row_is_there(actor: Actor, watch: Watch) -> None:
    row = watch.look(Demand(every_field=True))[actor.pid]
    assert row.io_priority in ("be/4", "be/3", "be/5", "be/2", "be/6", "be/7", "be/1", "be/0", "idle")
    assert row.state in ("S", "R")
    assert row.threads == 1
    assert row.ppid == os.getpid()
    assert row.uid == os.geteuid()
    assert not isinstance(row.resident_bytes, Missing)
    assert row.resident_bytes > MIB


def test_threads_are_told_apart(watch: Watch, actor: Actor, disk: Path) -> None:
    actor.do("import threading; go, stay = threading.Event(), threading.Event()")
    work = f"(go.wait(), os.close(write({str(disk)!r}, 4)), stay.wait())"
    actor.do(f"worker = threading.Thread(target=lambda: {work}, daemon=True); worker.start()")
    source, rates = LocalSource(Path("/proc"), Path("/sys"), gpu=False), ProcessRates()
    try:
        demand = Demand(threads=True)
        samples: list[Sample] = [source.sample(demand)]
        actor.do("go.set()")
        written: dict[int, object] = {}
        deadline = time.monotonic() + 20
        while not any(written.values()):
            samples = [samples[-1], source.sample(demand)]
            rows = rates.rows(samples[0], samples[1], 1.0, ())
            mine = [row for row in rows if row.pid == actor.pid]
            written = {row.tid: row.write_bytes_total for row in mine if row.write_bytes_total not in (0, Missing.NEW)}
            assert len(mine) == 2
            assert time.monotonic() < deadline
        assert actor.pid not in written
    finally:
        source.close()


_IN_A_CHILD = """
import os, resource, subprocess, sys
from pathlib import Path
from iodash.model.missing import Missing, or_zero
from iodash.sources import Demand
from iodash.sources.local import LocalSource
def source():
    return LocalSource(Path("/proc"), Path("/sys"), gpu=False)
"""


def run_child(code: str, *before: str) -> str:
    command = [*before, sys.executable, "-c", _IN_A_CHILD + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_with_few_descriptors_all_processes_are_still_read() -> None:
    said = run_child(
        """
        resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
        crowd = [subprocess.Popen(["sleep", "60"]) for _ in range(60)]
        watched = source()
        for _ in range(3):
            found = watched.sample(Demand()).processes
        missing = [p.pid for p in crowd if p.pid not in found or isinstance(found[p.pid].io, Missing)]
        print(len(missing), len(os.listdir("/proc/self/fd")) < 160)
        for p in crowd:
            p.kill()
        """
    )
    assert said == "0 True"


def test_running_out_of_descriptors_drops_nobody() -> None:
    said = run_child(
        """
        crowd = [subprocess.Popen(["sleep", "60"]) for _ in range(5)]
        watched = source()
        watched.sample(Demand())
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        held = watched.sample(Demand(every_field=True)).processes
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        crowd.append(subprocess.Popen(["sleep", "60"]))
        after = watched.sample(Demand()).processes
        print(all(p.pid in held for p in crowd[:5]), all(p.pid in after for p in crowd))
        for p in crowd:
            p.kill()
        """
    )
    assert said == "True True"


@needs.root()
@needs.nobody()
def test_without_rights_the_io_of_others_says_so_and_the_rest_stays() -> None:
    root = subprocess.Popen(["sleep", "60"])
    try:
        said = run_child(
            f"""
            watched = source()
            watched.sample(Demand(every_field=True))
            sample = watched.sample(Demand(every_field=True))
            other, own = sample.processes[{root.pid}], sample.processes[os.getpid()]
            print(other.io, other.name, other.user, isinstance(own.io, Missing), isinstance(other.stat, Missing))
            print([note for note in sample.notes if "may not be read" in note and "SYS_PTRACE" in note] != [])
            """,
            *needs.AS_NOBODY,
        )
    finally:
        root.kill()
        root.wait()
    assert said.splitlines() == ["Missing.NO_PERMISSION sleep root False False", "True"]


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    said = run_child(
        """
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        watched = source()
        print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard)
        """,
        "sh",
        "-c",
        'ulimit -S -n 300; exec "$0" "$@"',
    )
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 1 << 20:
        pytest.skip("the hard limit is not worth raising to")
    assert said.split() == ["300", "True"]
