"""One source of everything: parts that fail cost themselves, and what is hidden is said with its remedy."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import Host, IoCounters
from iodash.sources import Demand
from iodash.sources.local import LocalSource
from iodash.sources.local import host as host_module
from iodash.sources.local import source as source_module
from iodash.sources.local.kept_file import KeptFile
from iodash.sources.local.notes import Hidden
from iodash.sources.local.processes import ProcessReader
from iodash.sources.local.source import NotAProcTreeError
from tests.fake_processes import add_process, io_file, put
from tests.trees import VMSTAT, proc_tree, write

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def procfs(tmp_path: Path) -> Path:
    tree = proc_tree(tmp_path)
    add_process(tree, 42, b"train")
    return tree


@pytest.fixture
def source(procfs: Path) -> Iterator[LocalSource]:
    made = LocalSource(procfs, procfs.parent / "sys", gpu=False)
    yield made
    made.close()


def test_this_machine() -> None:
    made = LocalSource(Path("/proc"), Path("/sys"), gpu=False)
    try:
        before = time.monotonic()
        found = made.sample(Demand(every_field=True))
        own = found.processes[os.getpid()]
        assert before <= found.monotonic <= time.monotonic()
        assert abs(found.time - time.time()) < 60
        assert own.uid == os.geteuid()
        assert not isinstance(own.io_priority, Missing)
        assert found.gpu_driver.status == "off"
        assert found.own.cpu_s > 0
        assert found.own.resident_bytes > 1 << 20
        details = made.details(own.key)
        assert details is not None
        assert details.key == own.key
    finally:
        made.close()


def test_another_hosts_tree(source: LocalSource) -> None:
    found = source.sample(Demand(every_field=True))
    assert set(found.processes) == {42}
    assert found.processes[42].io_priority is Missing.NOT_MEASURED
    assert found.host.boot_time == 1796011200
    assert found.processes[42].start_time == 1796011210


def test_threads_and_back(source: LocalSource, procfs: Path) -> None:
    assert source.sample(Demand()).processes[42].key.tid == 0
    threads = source.sample(Demand(threads=True))
    assert threads.threads
    assert threads.processes[42].key.tid == 42
    assert source.sample(Demand()).processes[42].key.tid == 0


def test_all_counters_are_of_one_moment_however_long_it_took_to_find_the_processes(
    source: LocalSource, procfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    met_at = 0.0
    meet = ProcessReader._meet

    def slowly(reader: ProcessReader, name: str, in_full: bool) -> None:
        nonlocal met_at
        meet(reader, name, in_full)
        time.sleep(0.1)
        put(procfs / name, io=io_file(0, 0, 0, 0, 4096))
        write(procfs / "vmstat", VMSTAT.replace(b"pgpgin 1000", b"pgpgin 7000"))
        met_at = time.monotonic()

    monkeypatch.setattr(ProcessReader, "_meet", slowly)
    found = source.sample(Demand())
    assert found.monotonic >= met_at
    assert isinstance(found.processes[42].io, IoCounters)
    assert found.processes[42].io.read_bytes == 4096
    assert found.system.page_in_kib == 7000


def test_no_proc_tree(tmp_path: Path) -> None:
    with pytest.raises(NotAProcTreeError, match="is no proc tree: No such file"):
        LocalSource(tmp_path / "nowhere", tmp_path)


def test_a_part_that_fails_costs_itself_and_says_so(source: LocalSource, procfs: Path) -> None:
    procfs.rename(procfs.with_name("away"))
    found = source.sample(Demand())
    assert found.processes == {}
    assert "The processes can't be read: no such file or directory." in found.notes


def test_closing_during_a_sample_waits_for_nothing(source: LocalSource, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hang() -> Host:
        inside.set()
        assert go_on.wait(10)
        return Host("node", "6.18")

    monkeypatch.setattr(source._host, "read", hang)
    sampling = threading.Thread(target=source.sample, args=(Demand(),))
    sampling.start()
    assert inside.wait(10)
    source.close()
    go_on.set()
    sampling.join(10)
    assert source._processes is not None
    assert source._processes._known == {}


def test_the_first_sample_waits_for_gpus_only_when_told_to(procfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class Gpus:
        def __init__(self, *_: object, **__: object) -> None:
            self.start = lambda: calls.append("start")
            self.wait_first = lambda seconds: calls.append("wait" if seconds <= 1 else "long")
            self.own = lambda: (0.0, 0)
            self.close = lambda: calls.append("close")

        def read(self, _: object) -> tuple[Any, tuple[()]]:
            calls.append("read")
            return None, ()

    monkeypatch.setattr(source_module, "GpuReader", Gpus)
    for wait, first in ((False, ["read", "start"]), (True, ["start", "wait", "read", "start"])):
        calls.clear()
        made = LocalSource(procfs, procfs.parent, wait_for_gpu=wait)
        made.sample(Demand())
        assert calls == first
        made.sample(Demand())
        assert "wait" not in calls[len(first) :]
        made.close()


def test_own_memory_where_proc_is_hidden(tmp_path: Path) -> None:
    assert source_module._resident_bytes(KeptFile(tmp_path / "statm")) == 0


# --- what is hidden ---------------------------------------------------------------------------------------------------


def notes(host: Host, unreadable: int = 0) -> str:
    return "\n".join(Hidden().notes(host, unreadable, 80))


def test_nothing_hidden_says_nothing() -> None:
    assert notes(Host("n", "6", delay_accounting=True)) == ""


def test_delay_accounting() -> None:
    hidden = Hidden()
    off, on = Host("n", "6", delay_accounting=False), Host("n", "6", delay_accounting=True)
    assert "sysctl kernel.task_delayacct=1" in hidden.notes(off, 0, 9)[0]
    assert "started after kernel.task_delayacct" in hidden.notes(on, 0, 9)[0]
    assert len(hidden.notes(on, 0, 9)) == 1


@pytest.mark.parametrize(
    ("may_trace", "container", "remedy"),
    [
        (True, None, "the kernel protects it even from root"),
        (False, None, "run as root, or in a container with docker run --user root --cap-add SYS_PTRACE --pid=host"),
        (False, "docker", "start the container with docker run --user root --cap-add SYS_PTRACE --pid=host"),
    ],
)
def test_io_of_others(may_trace: bool, container: Any, remedy: str) -> None:
    said = notes(Host("n", "6", container=container, may_trace=may_trace), 3)
    assert said == f"The I/O of 3 of 80 programs may not be read: {remedy}."


def test_rights_are_read_from_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, expected in ((b"CapEff:\t0000000000080000", True), (b"CapEff:\t0000000000000000", False), (b"", False)):
        monkeypatch.setattr(host_module, "read_bytes", lambda _, status=status: b"Name:\tx\n" + status)
        assert host_module.may_trace() is expected


def test_a_container_sees_only_itself() -> None:
    assert "docker run --pid=host" in notes(Host("n", "6", pid_namespace=True))


def test_hidden_processes() -> None:
    assert notes(Host("n", "6", procfs="/host/proc", hidepid="2")) == (
        "Other users' processes are hidden, /host/proc is mounted with hidepid=2: "
        "run as root, or: mount -o remount,hidepid=0 /host/proc."
    )


def test_a_proc_of_processes_alone() -> None:
    assert notes(Host("n", "6", only_processes=True)) == (
        "Nothing of the machine is in sight, /proc shows processes only (subset=pid): "
        "mount -t proc proc /proc, or mount the host's and name it with --procfs."
    )


def test_hidden_sys() -> None:
    said = notes(Host("n", "6", sysfs_hidden=True))
    assert said.startswith("/sys is hidden: which devices are disks")
    assert "--sysfs" in said


def test_a_tree_with_nothing_but_a_process(tmp_path: Path) -> None:
    put(add_process(tmp_path / "proc", 42), io=b"")
    made = LocalSource(tmp_path / "proc", tmp_path / "sys", gpu=False)
    found = made.sample(Demand())
    assert found.processes[42].io is Missing.UNSUPPORTED
    made.close()
