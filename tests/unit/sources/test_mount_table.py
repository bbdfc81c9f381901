from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.sources.local.mounts import Mount, MountReader, MountTable, decode_octal
from tests.trees import write


def table(*lines: str) -> MountTable:
    return MountTable.parse("\n".join(lines).encode())


def found(mounts: MountTable, path: str) -> Mount:
    mount = mounts.find(path)
    assert mount is not None
    return mount


def test_all_fields_with_and_without_optional_ones() -> None:
    mounts = table(
        "36 35 98:0 /mnt1 /mnt/parent rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue",
        "37 35 0:44 / /mnt rw - nfs4 nas:/export rw,addr=10.0.0.1",
    )
    first, second = mounts
    assert (first.mount_id, first.parent_id, first.major, first.minor) == (36, 35, 98, 0)
    assert (first.root_path, first.mount_point, first.file_system, first.source) == (
        "/mnt1",
        "/mnt/parent",
        "ext3",
        "/dev/root",
    )
    assert first.options == "rw,errors=continue"
    assert second.source == "nas:/export"
    assert len(mounts) == 2


def test_blanks_and_escapes_are_decoded_in_every_field_and_harmless_to_show() -> None:
    mounts = table(r"1 0 8:1 /a\134b /my\040data\011x\012y rw - fuse.odd na\040me\033[31m rw")
    (mount,) = mounts
    assert mount.point == "/my data\tx\ny"
    assert mount.root_path == "/a\\b"
    assert mount.mount_point == "/my data\\tx\\ny"
    assert mount.source == "na me\\x1b[31m"
    assert found(mounts, "/my data\tx\ny/file") is mount


def test_a_dash_in_the_optional_fields_place_is_found() -> None:
    (mount,) = table("1 0 8:1 / /-x rw shared:1 unbindable - ext4 - rw")
    assert (mount.mount_point, mount.source) == ("/-x", "-")


@pytest.mark.parametrize("line", ["", "1 2", "1 2 8:0 / / rw", "x 2 8:0 / / rw - ext4 a rw", "1 2 8 / / rw - ext4 a b"])
def test_lines_that_make_no_sense_are_left_out(line: str) -> None:
    assert len(table(line)) == 0
    assert table(line).find("/x") is None


def test_the_longest_mount_point_holds_a_path() -> None:
    mounts = table(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 8:2 / /data rw - xfs /dev/sdb rw",
        "3 2 8:3 / /data/deep rw - xfs /dev/sdc rw",
    )
    assert found(mounts, "/data/x").minor == 2
    assert found(mounts, "/data/deep/x").minor == 3
    assert found(mounts, "/database").minor == 1
    assert found(mounts, "/").minor == 1


def test_of_stacked_mounts_the_last_one_holds() -> None:
    mounts = table(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 8:2 / /data rw - xfs /dev/sdb rw",
        "3 2 8:3 / /data rw - xfs /dev/sdc rw",
    )
    assert found(mounts, "/data/x").minor == 3


def test_a_mount_beneath_a_directory_mounted_over_later_is_out_of_reach() -> None:
    mounts = table(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 8:2 / /data/old rw - xfs /dev/sdb rw",
        "3 1 8:3 / /data rw - xfs /dev/sdc rw",
    )
    assert found(mounts, "/data/old/x").minor == 3


def test_a_root_mounted_over_a_root() -> None:
    mounts = table("1 1 0:1 / / rw - rootfs rootfs rw", "2 1 8:1 / / rw - ext4 /dev/root rw")
    assert found(mounts, "/x").file_system == "ext4"


def test_in_a_chroot_without_its_root_the_longest_point_counts() -> None:
    mounts = table("5 4 8:1 / /data rw - ext4 /dev/sda1 rw", "6 4 8:2 / /data rw - ext4 /dev/sdb rw")
    assert found(mounts, "/data/x").minor == 2
    assert mounts.find("/elsewhere") is None


@pytest.mark.parametrize(
    ("file_system", "kind", "may_hang", "in_memory"),
    [
        ("nfs4", "nfs", True, False),
        ("smb3", "cifs", True, False),
        ("fuse.gcsfuse", "fuse", True, False),
        ("fuse", "fuse", True, False),
        ("fuse.lxcfs", None, True, False),
        ("fuseblk", None, False, False),
        ("lustre", "other", True, False),
        ("autofs", None, True, False),
        ("ext4", None, False, False),
        ("tmpfs", None, False, True),
    ],
)
def test_what_serves_a_file_system(file_system: str, kind: str | None, may_hang: bool, in_memory: bool) -> None:
    (mount,) = table(f"1 0 0:5 / /x rw - {file_system} src rw")
    assert (mount.kind, mount.may_hang, mount.in_memory) == (kind, may_hang, in_memory)


@given(st.binary(max_size=300))
def test_no_content_breaks_the_table(content: bytes) -> None:
    MountTable.parse(content).find("/a/b")
    decode_octal(content)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=20))
def test_any_name_survives_the_kernels_escapes(name: str) -> None:
    written = b"".join(
        b"\\%03o" % byte if byte in b" \t\n\\#" else bytes((byte,)) for byte in name.encode("utf-8", "surrogateescape")
    )
    (mount,) = MountTable.parse(b"1 0 8:1 / /" + written + b" rw - ext4 x rw")
    assert mount.point == "/" + name


def test_the_reader_keeps_its_table_while_nothing_changes() -> None:
    reader = MountReader(Path("/proc"))
    first = reader.table()
    assert reader.table() is first
    assert reader.changes == 1
    assert first.find("/") is not None
    reader.close()
    assert reader.table() is first


def test_another_machines_table_is_that_of_its_first_process(tmp_path: Path) -> None:
    write(tmp_path / "self/mountinfo", "1 0 8:1 / / rw - ext4 own rw\n")
    assert found(MountReader(tmp_path).table(), "/").source == "own"
    write(tmp_path / "1/mountinfo", "1 0 8:1 / / rw - ext4 host rw\n")
    assert found(MountReader(tmp_path).table(), "/").source == "host"
    assert len(MountReader(tmp_path / "none").table()) == 0
