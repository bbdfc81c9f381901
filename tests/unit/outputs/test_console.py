"""What is printed is whole or one clear failure, whatever stands behind the standard streams."""

from __future__ import annotations

import fcntl
import io
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import pytest

from iodash.model.failure import Failure
from iodash.outputs.appended_file import AppendedFile
from iodash.outputs.console import emit, show_progress, terminal_width, warn
from iodash.outputs.write_whole import write_whole

if TYPE_CHECKING:
    from typing import TextIO


def use(monkeypatch: pytest.MonkeyPatch, name: str, stream: TextIO | None) -> None:
    monkeypatch.setattr(sys, name, stream)


def test_what_is_no_letter_of_the_encoding_is_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    use(monkeypatch, "stdout", io.TextIOWrapper(content, encoding="latin-1"))
    emit("é 训\n")
    assert content.getvalue() == b"\xe9 \\u8bad\n"


def test_a_full_disk_and_a_closed_stream_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        use(monkeypatch, "stdout", full)
        with pytest.raises(
            Failure,
            match=r"^cannot write to standard output: No space left on device; make room, or choose a place with room$",
        ):
            emit("x\n")
    use(monkeypatch, "stdout", None)
    with pytest.raises(
        Failure, match=r"^cannot write to standard output: it is closed; redirect it to a file or /dev/null$"
    ):
        emit("x\n")


def test_a_reader_that_is_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        use(monkeypatch, "stdout", stream)
        with pytest.raises(BrokenPipeError):
            emit("x\n")


def test_a_warning_is_one_line_and_never_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warn("two\nlines")
    assert capsys.readouterr().err == "iodash: two lines\n"
    with open("/dev/full", "w") as full:
        use(monkeypatch, "stderr", full)
        warn("x")
    use(monkeypatch, "stderr", None)
    warn("x")
    show_progress("x")


def test_progress_is_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_progress("watching")
    assert capsys.readouterr().err == ""
    assert terminal_width() is None


class Stutter(io.RawIOBase):
    """Takes three bytes at a time, as a write that signals cut short."""

    def __init__(self) -> None:
        self.content = b""

    def write(self, content: object) -> int:
        taken = bytes(cast("memoryview", content)[:3])
        self.content += taken
        return len(taken)


def test_a_short_write_is_continued() -> None:
    stream = Stutter()
    write_whole(cast("BinaryIO", stream), b"abcdefgh")
    assert stream.content == b"abcdefgh"


def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    read: list[bytes] = []
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as stream:
        thread = threading.Thread(target=lambda: read.append(source.read()))
        thread.start()
        write_whole(stream, b"x" * 100_000)
        stream.close()
        thread.join()
    assert len(read[0]) == 100_000


def test_a_file_is_only_added_to(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"first\r\nsecond")
    file = AppendedFile(path)
    assert (file.first_line(), file.ends_with_newline()) == ("first", False)
    file.write("\nthird\n")
    assert file.ends_with_newline()
    file.close()
    assert path.read_bytes() == b"first\r\nsecond\nthird\n"


def test_a_new_file_and_a_device_hold_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "new", Path("/dev/null")):
        file = AppendedFile(path)
        assert (file.first_line(), file.ends_with_newline()) == (None, True)
        file.close()


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=f"^cannot write {tmp_path}: Is a directory; name a file in it$"):
        AppendedFile(tmp_path)
    with pytest.raises(Failure, match="cannot write a\0b: embedded null byte"):
        AppendedFile(Path("a\0b"))
