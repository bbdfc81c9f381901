from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from iodash.sources.local import host as host_module
from iodash.sources.local.containers import container_kind, container_of, controllers
from iodash.sources.local.host import HostReader, count_cpus, hiding_option
from tests.trees import proc_tree, write

ID = "0123456789ab" + "c" * 52
OTHER = "f" * 64


@pytest.mark.parametrize(
    ("content", "path", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", f"/system.slice/docker-{ID}.scope", ID[:12]),
        (f"12:blkio:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/\n", f"/docker/{ID}", ID[:12]),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", f"/machine.slice/libpod-{ID}.scope/container", ID[:12]),
        (f"0::/machine.slice/libpod-conmon-{ID}.scope\n", f"/machine.slice/libpod-conmon-{ID}.scope", None),
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-{ID}.scope\n",
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-{ID}.scope",
            ID[:12],
        ),
        (f"11:memory:/kubepods/besteffort/pod7/{ID}\n", f"/kubepods/besteffort/pod7/{ID}", ID[:12]),
        (f"0::/docker/{OTHER}/kubepods/pod7/{ID}\n", f"/docker/{OTHER}/kubepods/pod7/{ID}", ID[:12]),
        (f"0::/../{ID}\n", f"/../{ID}", ID[:12]),
        ("0::/lxc.payload.web/init.scope\n", "/lxc.payload.web/init.scope", "web"),
        ("4:memory:/lxc/web\n0::/\n", "/lxc/web", "web"),
        ("0::/machine.slice/machine-sandbox.scope\n", "/machine.slice/machine-sandbox.scope", "sandbox"),
        ("0::/machine.slice/machine-qemu-1.scope\n", "/machine.slice/machine-qemu-1.scope", None),
        ("0::/system.slice/sshd.service\n", "/system.slice/sshd.service", None),
        (f"0::/user.slice/app-{ID}x.scope\n", f"/user.slice/app-{ID}x.scope", None),
        ("3:cpu,cpuacct:/batch\n2:pids:/\n0::/\n", "/batch", None),
        ("0::/\n", "/", None),
        ("", "/", None),
        ("nonsense\n", "/", None),
        ("0::/a\x1b[31m\n", "/a\\x1b[31m", None),
    ],
)
def test_the_container_of_a_process(content: str, path: str, container: str | None) -> None:
    assert container_of(content.encode()) == (path, container)


def test_controllers_that_share_a_hierarchy_have_an_entry_each() -> None:
    assert controllers(b"3:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c:d\n") == {
        b"cpu": b"/a",
        b"cpuacct": b"/a",
        b"name=systemd": b"/b",
        b"": b"/c:d",
    }


def test_a_whole_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    procfs = proc_tree(tmp_path)
    write(tmp_path / "sys/devices/system/cpu/online", "0-63,128-191\n")
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    reader = HostReader(procfs, tmp_path / "sys")
    host = reader.read()
    assert (host.name, host.kernel, host.container, host.pid_namespace) == ("gpu-node-07", "6.18.0-test", None, False)
    assert (host.cpu_count, host.boot_time, host.delay_accounting) == (128, 1796011200.0, True)
    assert host.page_bytes >= 4096
    assert host.clock_ticks >= 1
    assert reader.read() is host
    write(procfs / "sys/kernel/task_delayacct", "0\n")
    assert reader.read() is host
    now += 5.0
    assert reader.read().delay_accounting is False
    stat = procfs / "stat"
    write(stat, stat.read_text().replace("btime 1796011200", "btime 1796014800"))
    now += 5.0
    assert reader.read().boot_time == 1796014800.0, "the clock was set"
    reader.close()


def test_a_bare_tree(tmp_path: Path) -> None:
    host = HostReader(tmp_path, tmp_path).read()
    assert (host.delay_accounting, host.boot_time, host.cpu_count, host.pid_namespace) == (None, 0.0, 1, True)
    assert host.name


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (b"proc proc rw,hidepid=invisible", "invisible"),
        (b"proc proc rw,hidepid=2", "2"),
        (b"proc proc rw,hidepid=0", ""),
        (b"proc proc rw,hidepid=off", ""),
        (b"proc proc rw", ""),
        (b"ext4 /dev/vda rw", ""),
        (None, ""),
    ],
)
def test_the_option_that_hides_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes | None, option: str
) -> None:
    mountinfo = None if line is None else b"21 1 0:5 / %s rw - %s\n" % (os.fsencode(tmp_path), line)
    monkeypatch.setattr(
        host_module, "read_bytes", lambda path: mountinfo if str(path) == "/proc/self/mountinfo" else None
    )
    assert hiding_option(tmp_path) == option


@pytest.mark.parametrize(
    ("namespace", "apart"), [("pid:[4026531836]", False), ("pid:[4026532201]", True), (None, True)]
)
def test_where_the_kernel_s_process_is_hidden_the_own_namespace_tells(
    tmp_path: Path, namespace: str | None, apart: bool
) -> None:
    procfs = proc_tree(tmp_path)
    (procfs / "2/comm").unlink()
    if namespace is not None:
        (procfs / "self/ns").mkdir(parents=True)
        (procfs / "self/ns/pid").symlink_to(namespace)
    assert HostReader(procfs, tmp_path / "sys").read().pid_namespace is apart


def test_where_the_first_process_is_in_sight_nobody_is_hidden(tmp_path: Path) -> None:
    procfs = proc_tree(tmp_path)
    write(procfs / "1/stat", "1 (init) S 0")
    assert hiding_option(procfs) == ""


def test_a_sysfs_without_block_devices_is_hidden(tmp_path: Path) -> None:
    assert HostReader(proc_tree(tmp_path), tmp_path / "none").read().sysfs_hidden
    (tmp_path / "sys/class/block").mkdir(parents=True)
    assert not HostReader(proc_tree(tmp_path), tmp_path / "sys").read().sysfs_hidden


def test_cpus_without_sysfs_are_those_of_the_kernels_list(tmp_path: Path) -> None:
    assert HostReader(proc_tree(tmp_path), tmp_path / "none").read().cpu_count == 2


@pytest.mark.parametrize(
    ("ranges", "count"), [(b"0-3\n", 4), (b"0", 1), (b"0-1,4,6-7\n", 5), (b"", None), (b"a-b", None)]
)
def test_lists_of_cpus(ranges: bytes, count: int | None) -> None:
    assert count_cpus(ranges) == count


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),
        ({"1/root/run/.containerenv": ""}, "podman"),
        ({"1/root/.dockerenv": ""}, "docker"),
        ({"1/environ": "A=b\0KUBERNETES_SERVICE_HOST=10.0.0.1\0", "1/root/.dockerenv": ""}, "kubernetes"),
        ({"1/environ": "container=lxc\0"}, "lxc"),
        ({"1/environ": "container=systemd-nspawn\0"}, "other"),
        ({"1/cgroup": f"0::/kubepods/pod1/{ID}\n"}, "kubernetes"),
        ({"1/cgroup": f"0::/system.slice/docker-{ID}.scope\n"}, "docker"),
        ({"1/cgroup": f"0::/machine.slice/libpod-{ID}.scope\n"}, "podman"),
        ({"1/cgroup": "5:memory:/lxc/web\n"}, "lxc"),
        ({"1/cgroup": f"0::/ecs/{ID}\n"}, "other"),
        ({"1/cgroup": "0::/init.scope\n"}, None),
    ],
)
def test_what_kind_of_container(tmp_path: Path, files: dict[str, str], kind: str | None) -> None:
    for name, content in files.items():
        write(tmp_path / name, content)
    assert container_kind(tmp_path, here=False) == kind


def test_this_process_in_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert container_kind(Path("/proc"), here=True) == "kubernetes"


def test_the_start_of_a_process_is_known_to_a_part_of_a_second_and_follows_a_clock_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = HostReader(Path("/proc"), Path("/sys"))
    booted = reader.read().boot_time
    now, before = time.time, time.time()
    with subprocess.Popen(["sleep", "60"]) as child:
        after = time.time()
        ticks = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        child.kill()
    assert before - 0.1 <= booted + ticks / os.sysconf("SC_CLK_TCK") <= after + 0.1
    for later, (step, moved) in enumerate([(0.4, 0.0), (3600.0, 3600.0)], 1):
        monkeypatch.setattr(time, "time", lambda step=step: now() + step)
        monkeypatch.setattr(time, "monotonic", lambda later=later: 1e12 * later)
        assert reader.read().boot_time - booted == pytest.approx(moved, abs=0.3)
        assert moved or reader.read().boot_time == booted
    reader.close()
