from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from iodash.model.sample import Host
from iodash.outputs.snapshot import NameTakenError, SnapshotError, check_place, default_name, split_name, write_snapshot
from tests.ui import frames


def test_two_files_hold_the_frame_for_their_owner_alone(tmp_path: Path) -> None:
    os.umask(os.umask(0o022))
    frame = frames.frame(
        processes=(frames.process(4120, "train.py"), frames.process(9, "quiet")),
        devices=(frames.device("vda"), frames.device("loop0", kind="loop")),
    )
    as_json, as_text = write_snapshot(frame, tmp_path, "run-1")
    assert (as_json.name, as_text.name) == ("run-1.json", "run-1.txt")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (as_json, as_text)] == [0o600, 0o600]
    assert [row["pid"] for row in json.loads(as_json.read_text())["processes"]] == [4120, 9]
    text = as_text.read_text()
    assert "\n4120 " in text
    assert "\n9 " in text
    assert "\nloop0 " in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-1.json", "run-1.txt"]


@pytest.mark.parametrize("taken", ["run.json", "run.txt"])
def test_an_existing_file_is_refused_and_left_alone(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(SnapshotError, match=rf"{taken} exists"):
        write_snapshot(frames.frame(), tmp_path, "run")
    with pytest.raises(SnapshotError, match=rf"{taken} exists"):
        check_place(tmp_path, "run")
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run.txt").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SnapshotError, match="exists"):
        write_snapshot(frames.frame(), tmp_path, "run")
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def link_after_somebody_else(source: str, target: Path) -> None:
        if target.suffix == ".txt":
            target.write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", link_after_somebody_else)
    with pytest.raises(SnapshotError, match=r"run\.txt exists"):
        write_snapshot(frames.frame(), tmp_path, "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run.txt"]
    assert (tmp_path / "run.txt").read_text() == "theirs"


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(source: str, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    write_snapshot(frames.frame(), tmp_path, "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "run.txt"]
    assert stat.S_IMODE((tmp_path / "run.txt").stat().st_mode) == 0o600


def test_where_the_current_directory_takes_no_file_the_state_directory_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    as_json, as_text = write_snapshot(frames.frame())
    assert as_json.parent == as_text.parent == tmp_path / "state" / "iodash"
    assert stat.S_IMODE(as_json.parent.stat().st_mode) == 0o700


def test_a_directory_that_was_named_is_not_replaced_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(
        SnapshotError, match=r"cannot write the snapshot to .*/no: No such file or directory; make its folder first"
    ):
        write_snapshot(frames.frame(), tmp_path / "no", "run")
    assert not (tmp_path / "state").exists()


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SnapshotError, match="No space left on device"):
        write_snapshot(frames.frame(), tmp_path, "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc/x", "a b\n\x1b[31m", "gpu-node-07", "", "...", "训练"])
def test_the_default_name_is_safe_whatever_the_host_is_called(tmp_path: Path, name: str) -> None:
    frame = frames.frame(host=Host(name=name, kernel="6.18"))
    stem = default_name(frame)
    assert stem.startswith("iodash-")
    assert stem.endswith("-20260921T141320.000Z")
    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert write_snapshot(frame, tmp_path)[0] == tmp_path / f"{stem}.json"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("run", (None, "run")),
        ("run.json", (None, "run")),
        ("run.txt", (None, "run")),
        ("run.v2", (None, "run.v2")),
        ("./run", (Path(), "run")),
        ("/var/run-1.json", (Path("/var"), "run-1")),
    ],
)
def test_an_ending_is_no_part_of_the_name(file: str, expected: tuple[Path | None, str]) -> None:
    assert split_name(file) == expected


@pytest.mark.parametrize("file", ["", "/", "/tmp", "/tmp/", "x/", ".json"])
def test_a_folder_is_no_name(file: str) -> None:
    with pytest.raises(SnapshotError, match="is no file name"):
        split_name(file)


FILL_AND_WRITE = """
import sys
from pathlib import Path
from iodash.outputs.snapshot import SnapshotError, write_snapshot
from tests.ui import frames
folder = Path(sys.argv[1])
rows = tuple(frames.process(pid, command="x" * 4000) for pid in range(1, 200))
try:
    write_snapshot(frames.frame(processes=rows), folder, "run")
except SnapshotError as error:
    print(error)
print(sorted(path.name for path in folder.iterdir()))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a tiny tmpfs needs root")
def test_a_full_disk_gives_one_clear_line_and_no_half_file(tmp_path: Path) -> None:
    script = tmp_path / "write.py"
    script.write_text(FILL_AND_WRITE)
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = f"mount -t tmpfs -o size=128k none {folder} && exec {sys.executable} {script} {folder}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command], capture_output=True, text=True, env=environment, check=False
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.stdout.splitlines() == [
        f"cannot write the snapshot to {folder}: No space left on device; make room, or choose a place with room",
        "[]",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SnapshotError, match="Permission denied; choose a place where you may write"):
        write_snapshot(frames.frame(), tmp_path, "run")


def test_both_places_that_were_tried_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "state").touch()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(SnapshotError) as failure:
        write_snapshot(frames.frame(), name="run")
    assert re.fullmatch(
        rf"cannot write the snapshot to the current directory: No such file or directory; "
        rf"nor to {tmp_path}/state/iodash: Not a directory; start iodash in a folder with room for your files",
        str(failure.value),
    )


def test_a_name_that_is_taken_where_it_went_instead_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    written = write_snapshot(frames.frame())
    with pytest.raises(NameTakenError) as taken:
        write_snapshot(frames.frame())
    assert taken.value.files == written


def test_a_place_is_tried_out_as_it_will_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    check_place(None, None)
    check_place(tmp_path, "run")
    assert list(tmp_path.iterdir()) == [tmp_path / "here"]
    assert list((tmp_path / "here").iterdir()) == []
    with pytest.raises(SnapshotError, match="make its folder first"):
        check_place(tmp_path / "no", "run")
    (tmp_path / "here").rmdir()
    check_place(None, None)
    assert list((tmp_path / "state/iodash").iterdir()) == []
