from __future__ import annotations

import argparse
import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from iodash.commands import where as command
from iodash.sources.local.mounts import MountTable
from iodash.sources.local.topology import Blocks
from iodash.sources.local.where import MissingPathError, PathFinder, UnansweredPathError, served
from tests.trees import SysTree, disk_line, write

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.where import Served

ROOT = "1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n"


@pytest.fixture
def tree(tmp_path: Path) -> SysTree:
    made = SysTree(tmp_path)
    made.add("nvme0n1", "259:0")
    made.add("nvme0n1p1", "259:1", partition_of="nvme0n1")
    made.add("nvme1n1", "259:2")
    made.add("md0", "9:0", slaves=("nvme0n1", "nvme1n1"))
    made.add("dm-3", "253:3", slaves=("md0",), dm__name="vg-data")
    made.add("loop0", "7:0", loop__backing_file="/images/set.sqsh")
    return made


def at(tree: SysTree, mountinfo: str, path: str) -> Served:
    table = MountTable.parse(mountinfo.encode())
    mount = table.find(path)
    assert mount is not None
    return served(mount, Blocks(tree.path.parent / "proc", tree.path), table)


def test_one_line_for_each_kind_of_mount(tree: SysTree) -> None:
    mountinfo = ROOT + (
        "2 1 253:3 / /data rw - xfs /dev/mapper/vg-data rw\n3 1 0:44 / /ckpt rw - nfs4 nas:/ckpt rw\n"
        "4 1 0:45 / /dev/shm rw - tmpfs tmpfs rw\n5 1 0:46 / /bucket rw - fuse.gcsfuse train rw\n"
        "6 1 0:5 / /proc rw - proc proc rw\n7 1 0:60 / /odd rw - zfs tank/a rw\n8 1 8:99 / /gone rw - ext4 /dev/x rw\n"
    )
    lines = {path: at(tree, mountinfo, path).summary for path in ("/x", "/data/x", "/ckpt/x", "/dev/shm/x")}
    assert lines == {
        "/x": "nvme0n1p1 -> nvme0n1",
        "/data/x": "vg-data (dm-3) -> md0 -> nvme0n1 nvme1n1",
        "/ckpt/x": "nas:/ckpt (nfs4)",
        "/dev/shm/x": "memory (tmpfs)",
    }
    assert at(tree, mountinfo, "/bucket").summary == "train (fuse.gcsfuse)"
    assert at(tree, mountinfo, "/proc/1").summary == "the kernel (proc)"
    assert at(tree, mountinfo, "/odd").summary == "unknown (zfs)"
    assert at(tree, mountinfo, "/gone").summary == "unknown (ext4)"
    assert at(tree, mountinfo, "/data").devices == ("nvme0n1", "nvme1n1")
    assert at(tree, mountinfo, "/ckpt").devices == ()


def test_an_image_leads_on_to_what_holds_it(tree: SysTree) -> None:
    image = "9 1 7:0 / /set ro - squashfs /dev/loop0 ro\n"
    on_disk = ROOT + "2 1 253:3 / /images rw - xfs /dev/mapper/vg-data rw\n" + image
    assert at(tree, on_disk, "/set/x").summary == "loop0 -> vg-data (dm-3) -> md0 -> nvme0n1 nvme1n1"
    on_server = ROOT + "2 1 0:44 / /images rw - nfs4 nas:/images rw\n" + image
    assert at(tree, on_server, "/set/x").summary == "loop0 -> nas:/images (nfs4)"
    in_memory = ROOT + "2 1 0:44 / /images rw - tmpfs tmpfs rw\n" + image
    assert at(tree, in_memory, "/set/x").summary == "loop0 -> memory (tmpfs)"


def test_the_last_level_has_every_disk_however_deep_it_lies(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("sda", "8:0")
    tree.add("sda1", "8:1", partition_of="sda")
    tree.add("sdb", "8:16")
    tree.add("md1", "9:1", slaves=("sda1", "sdb"))
    found = at(tree, ROOT + "2 1 9:1 / /raid rw - xfs /dev/md1 rw\n", "/raid")
    assert (found.summary, found.devices) == ("md1 -> sda1 sdb -> sda sdb", ("sda", "sdb"))


def test_devices_that_stand_on_each_other_end(tmp_path: Path) -> None:
    tree = SysTree(tmp_path)
    tree.add("loop0", "7:0", loop__backing_file="/a/image")
    mountinfo = ROOT + "2 1 7:0 / /a rw - ext4 /dev/loop0 rw\n"
    assert at(tree, mountinfo, "/a/x").summary == "loop0"


def test_an_overlay_on_its_host_is_what_its_upper_directory_lies_on(tree: SysTree) -> None:
    layers = "lowerdir=/var/lib/docker/l/A:/var/lib/docker/l/B,upperdir=/var/lib/docker/x/diff,workdir=/w"
    mountinfo = ROOT + f"2 1 0:70 / /merged rw - overlay overlay rw,{layers}\n"
    found = at(tree, mountinfo, "/merged/x")
    assert (found.summary, found.probable, found.file_system) == ("nvme0n1p1 -> nvme0n1", False, "overlay")
    read_only = ROOT + "2 1 0:70 / /merged ro - overlay overlay ro,lowerdir=/a:/b\n"
    assert at(tree, read_only, "/merged").summary == "nvme0n1p1 -> nvme0n1"


def test_an_overlay_in_a_container_is_probably_what_its_hosts_file_lies_on(tree: SysTree) -> None:
    overlay = "1 0 0:70 / / rw - overlay overlay rw,lowerdir=/var/lib/a,upperdir=/var/lib/b,workdir=/w\n"
    bound = "2 1 259:1 /docker/abc/hosts /etc/hosts rw - ext4 /dev/nvme0n1p1 rw\n"
    found = at(tree, overlay + bound, "/workspace")
    assert (found.summary, found.probable) == ("probably nvme0n1p1 -> nvme0n1", True)
    assert at(tree, overlay, "/workspace").summary == "unknown (overlay)"
    on_server = "2 1 0:44 /docker/abc/hosts /etc/hosts rw - nfs4 nas:/docker rw\n"
    found = at(tree, overlay + on_server, "/workspace")
    assert (found.summary, found.kind) == ("probably nas:/docker (nfs4)", "network")


def test_a_btrfs_volume_is_all_its_members(tree: SysTree) -> None:
    for member in ("nvme0n1", "nvme1n1"):
        write(tree.path / "fs/btrfs/some-uuid/devices" / member / "x", "")
    mountinfo = ROOT + "2 1 0:40 /@data /data rw - btrfs /dev/nvme1n1 rw\n"
    assert at(tree, mountinfo, "/data/x").summary == "nvme0n1 nvme1n1"


def finder(tmp_path: Path, tree: SysTree, mountinfo: str, **options: float) -> PathFinder:
    write(tmp_path / "proc/1/mountinfo", mountinfo)
    return PathFinder(tmp_path / "proc", tree.path, **options)


def test_links_are_followed(tmp_path: Path, tree: SysTree) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "link").symlink_to(data)
    paths = finder(tmp_path, tree, ROOT + f"2 1 253:3 / {data} rw - xfs /dev/mapper/vg-data rw\n")
    found = paths.find(str(tmp_path / "link"))
    assert (found.real_path, found.mount_point, found.devices) == (str(data), str(data), ("nvme0n1", "nvme1n1"))
    paths.close()


def test_the_point_of_a_network_mount_is_never_touched(
    tmp_path: Path, tree: SysTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "realpath", lambda *_, **__: pytest.fail("touched the path"))
    paths = finder(tmp_path, tree, ROOT + "2 1 0:44 / /ckpt rw - nfs4 nas:/ckpt rw\n")
    assert paths.find("/ckpt").summary == "nas:/ckpt (nfs4)"


def test_a_server_that_does_not_answer_costs_a_moment_and_is_named(
    tmp_path: Path, tree: SysTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = threading.Event()
    monkeypatch.setattr(os.path, "realpath", lambda *_, **__: answer.wait(30))
    paths = finder(tmp_path, tree, ROOT + "2 1 0:44 / /ckpt rw - nfs4 nas:/ckpt rw\n", time_limit_s=0.05)
    with pytest.raises(UnansweredPathError, match=r"/ckpt/a: no answer in 0.05 s, .*nas:/ckpt on /ckpt"):
        paths.find("/ckpt/a")
    with pytest.raises(UnansweredPathError, match=r"^/a: no answer in 0.05 s; is its server up\?$"):
        paths.find("/a")
    answer.set()


def test_what_is_not_there_is_said(tmp_path: Path, tree: SysTree) -> None:
    with pytest.raises(MissingPathError, match="no such file or directory"):
        finder(tmp_path, tree, ROOT).find("/none/such")
    with pytest.raises(MissingPathError, match="mountinfo"):
        PathFinder(tmp_path / "empty", tree.path).find("/")


def run(tmp_path: Path, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    roots = ("--procfs", str(tmp_path / "proc"), "--sysfs", str(tmp_path / "sys"))
    return command.run(parser.parse_args(["where", *roots, *arguments]))


def test_the_command_prints_a_line_a_path(tmp_path: Path, tree: SysTree, capsys: pytest.CaptureFixture[str]) -> None:
    link = tmp_path / "link"
    link.symlink_to("/")
    write(tmp_path / "proc/1/mountinfo", "1 0 253:3 / / rw - xfs /dev/mapper/vg-data rw\n")
    assert run(tmp_path, "/", str(link)) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "/: xfs on / → vg-data (dm-3) → md0 → nvme0n1 nvme1n1"
    assert second.startswith(f"{link} → /: xfs on / → ")


def test_where_sys_is_hidden_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "proc/1/mountinfo", ROOT)
    (tmp_path / "sys").mkdir()
    assert run(tmp_path, "/") == 0
    assert capsys.readouterr().out.endswith("/sys is hidden: mount the host's and name it with --sysfs\n")


def test_where_sys_is_hidden_devices_are_named_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disks = [disk_line("nvme0n1", "259:0"), disk_line("nvme0n1p1", "259:1"), disk_line("dm-3", "253:3")]
    padding = [disk_line(f"loop{number}", f"7:{number}") for number in range(200)]  # more than one page of them
    write(tmp_path / "proc/diskstats", "".join((*padding, *disks)))
    write(tmp_path / "proc/1/mountinfo", ROOT + "2 1 253:3 / /proc rw - xfs /dev/mapper/vg-data rw\n")
    (tmp_path / "sys").mkdir()
    assert run(tmp_path, "/", "/proc") == 0
    disk, mapped = capsys.readouterr().out.splitlines()
    assert disk.endswith(" → nvme0n1p1 → nvme0n1")
    assert mapped.endswith(" → dm-3; /sys is hidden: mount the host's and name it with --sysfs")


def test_the_command_as_json(tmp_path: Path, tree: SysTree, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "proc/1/mountinfo", "1 0 253:3 / / rw - xfs /dev/mapper/vg-data rw\n")
    assert run(tmp_path, "--format", "json", "/") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["chain"][0] == [{"name": "dm-3", "kind": "dm", "label": "vg-data"}]
    assert printed["devices"] == ["nvme0n1", "nvme1n1"]
    assert (printed["path"], printed["kind"], printed["probable"]) == ("/", "block", False)


def test_a_missing_path_is_status_1_and_one_line(
    tmp_path: Path, tree: SysTree, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "proc/1/mountinfo", ROOT)
    assert run(tmp_path, "/none\n/such", "/") == 1
    printed = capsys.readouterr()
    assert (
        printed.err
        == "iodash: /none\\n/such: no such file or directory; look whether it is spelt right and mounted here\n"
    )
    assert printed.out == "/: ext4 on / → nvme0n1p1 → nvme0n1\n"


def test_an_empty_path_is_not_the_folder_one_is_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "proc/1/mountinfo", ROOT)
    (tmp_path / "sys").mkdir()
    assert run(tmp_path, "") == 1
    assert capsys.readouterr().err == "iodash: an empty path names nothing; give that of a file or folder\n"
