"""One frame as two files, NAME.json and NAME.txt, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from iodash.model.failure import Failure
from iodash.model.settings import Settings
from iodash.outputs.folders import state_folder
from iodash.outputs.json import frame_line
from iodash.outputs.text import TextWriter
from iodash.outputs.write_errors import reason, with_remedy

if TYPE_CHECKING:
    from collections.abc import Callable

    from iodash.model.frame import Frame

T = TypeVar("T")

ENDINGS = (".json", ".txt")
"""What a snapshot's two files are called behind their name."""


class SnapshotError(Failure):
    """A snapshot could not be written; the message says why. Nothing of it was left behind."""


class NameTakenError(SnapshotError):
    """There are files of that name already; `files` are their paths, JSON first."""

    def __init__(self, folder: Path, name: str, found: Path) -> None:
        super().__init__(f"cannot write the snapshot: {found} exists; choose another name")
        self.files = (folder / f"{name}.json", folder / f"{name}.txt")


def default_name(frame: Frame) -> str:
    """`iodash-HOST-UTCTIME`, fit for a file name: `iodash-gpu-node-07-20261130T024000.123Z`."""
    host = re.sub(r"[^A-Za-z0-9._-]+", "_", frame.host.name).strip("._-")[:64] or "host"
    moment = datetime.fromtimestamp(frame.time, UTC)
    return f"iodash-{host}-{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z"


def write_snapshot(frame: Frame, directory: Path | None = None, name: str | None = None) -> tuple[Path, Path]:
    """Writes all rows of `frame` to NAME.json and NAME.txt, readable by their owner alone.

    Command lines can hold secrets, hence the mode 0600. Without a directory the files go to the current one or, where
    that takes no file, to `$XDG_STATE_HOME/iodash`.

    Args:
        frame: what to save.
        directory: where to; an existing folder.
        name: the files' name without an ending; `iodash-HOST-UTCTIME` when None.

    Returns:
        The paths of the JSON and of the text file.

    Raises:
        NameTakenError: a file of that name exists.
        SnapshotError: the files can't be written. No half file is left.
    """
    stem = default_name(frame) if name is None else name
    contents = {
        ".json": frame_line(frame).encode() + b"\n",
        ".txt": "".join(f"{line}\n" for line in TextWriter(Settings(all_devices=True)).lines(frame)).encode(),
    }
    paths = _somewhere(directory, lambda folder: _write_all(folder, stem, contents))
    return paths[0], paths[1]


def check_place(directory: Path | None, name: str | None) -> None:
    """Refuses what `write_snapshot` would refuse, before any time is spent on measuring.

    Raises:
        NameTakenError: a file of that name exists.
        SnapshotError: files can't be written there.
    """

    def try_out(folder: Path) -> None:
        if name is not None:
            _refuse_taken(folder, name)
        os.unlink(_write_temporary(folder, b""))

    _somewhere(directory, try_out)


def _somewhere(directory: Path | None, write: Callable[[Path], T]) -> T:
    """What `write` returns for the folder it can write to: `directory`, else the current one or that of the state."""
    folder = Path() if directory is None else directory
    try:
        return write(folder)
    except OSError as error:
        fallback = state_folder()
        if directory is not None or fallback is None:
            raise _failure((folder, error)) from error
        try:
            fallback.mkdir(mode=0o700, parents=True, exist_ok=True)
            return write(fallback)
        except OSError as second:
            raise _failure((folder, error), (fallback, second)) from second


def split_name(file: str) -> tuple[Path | None, str]:
    """The directory and NAME that a user means by `file`: `.json` and `.txt` are endings, everything else is NAME."""
    path = Path(file)
    name = path.name.removesuffix(".json").removesuffix(".txt")
    if not name or file.endswith("/") or path.is_dir():
        raise SnapshotError(
            f"cannot write the snapshot: {file or 'an empty name'} is no file name; name a file, such as run-1"
        )
    return (None if path.parent == Path() and "/" not in file else path.parent), name


def _failure(*tried: tuple[Path, OSError]) -> SnapshotError:
    if len(tried) == 1:
        ((folder, error),) = tried
        return SnapshotError(f"cannot write the snapshot to {_place(folder)}: {with_remedy(error)}")
    places = "; nor to ".join(f"{_place(folder)}: {reason(error)}" for folder, error in tried)
    return SnapshotError(f"cannot write the snapshot to {places}; start iodash in a folder with room for your files")


def _place(folder: Path) -> str:
    try:
        return str(folder.absolute())
    except OSError:  # somebody removed the current directory
        return "the current directory"


def _write_all(folder: Path, stem: str, contents: dict[str, bytes]) -> list[Path]:
    """Writes every file under a temporary name first, then names them. Raises NameTakenError or OSError."""
    _refuse_taken(folder, stem)
    targets = [folder / f"{stem}{ending}" for ending in contents]
    temporary: list[str] = []
    named: list[Path] = []
    try:
        for content in contents.values():
            temporary.append(_write_temporary(folder, content))  # noqa: PERF401 - what is written must be known at once
        for source, target in zip(temporary, targets, strict=True):
            _name(source, target)
            named.append(target)
    except OSError as error:
        for path in named:
            path.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise NameTakenError(folder, stem, Path(error.filename)) from error
        raise
    finally:
        for path_name in temporary:
            with contextlib.suppress(OSError):
                os.unlink(path_name)
    _sync_folder(folder)
    return targets


def _refuse_taken(folder: Path, name: str) -> None:
    for ending in ENDINGS:
        target = folder / f"{name}{ending}"
        if os.path.lexists(target):
            raise NameTakenError(folder, name, target)


def _write_temporary(folder: Path, content: bytes) -> str:
    descriptor, path = tempfile.mkstemp(prefix=".iodash-", dir=folder)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        os.unlink(path)
        raise
    return path


def _name(source: str, target: Path) -> None:
    """Gives a finished file its name without replacing one that exists. The temporary name goes with the caller."""
    try:
        os.link(source, target)
    except FileExistsError as error:
        raise FileExistsError(error.errno, error.strerror, str(target)) from error
    except OSError:
        # File systems without hard links (vfat, some FUSE): hold the name, then rename over it.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.replace(source, target)
        except OSError:
            target.unlink(missing_ok=True)
            raise


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
