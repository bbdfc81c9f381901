"""The CSV file beside the screen, on a named pipe that stands for every file that takes no rows for a while."""

from __future__ import annotations

import csv
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iodash.model.failure import Failure
from iodash.model.settings import Settings
from iodash.outputs.csv import CsvFile
from iodash.outputs.csv_sink import CsvSink
from tests.ui import frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from iodash.model.frame import Frame

PATIENCE_S = 20.0


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    """A named pipe that nobody reads; whoever still waits for a reader at the end gets one that goes away."""
    path = tmp_path / "rows.csv"
    os.mkfifo(path)
    yield path
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    for thread in threading.enumerate():
        if thread.name == "iodash-csv":
            thread.join(PATIENCE_S)


def at(second: int) -> Frame:
    return frames.frame(time=float(second))


class Reader:
    """Reads a pipe to its end in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = ""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def seconds(self) -> list[str]:
        """The time of each row, once the writer is gone."""
        self._thread.join(PATIENCE_S)
        return [row["epoch_s"].removesuffix(".000") for row in csv.DictReader(self._text.splitlines(), strict=True)]

    def _read(self) -> None:
        with self._path.open(newline="") as file:
            self._text = file.read()


def wait_until_written(sink: CsvSink) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while sink._waiting:
        sink.check()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_rows_are_written_in_order_and_closed(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    sink = CsvSink(file, Settings())
    for second in range(50):
        assert sink.put(at(second)) is not None
    sink.close()
    with file.open(newline="") as stream:
        assert [row["epoch_s"] for row in csv.DictReader(stream, strict=True)] == [f"{n}.000" for n in range(50)]
    assert sink.trouble == ""


def test_a_pipe_that_nobody_reads_yet_holds_nobody_up_and_loses_nothing(pipe: Path) -> None:
    sink = CsvSink(pipe, Settings())
    started = time.monotonic()
    for second in range(30):
        sink.put(at(second))
    assert time.monotonic() - started < 5
    assert sink.is_behind
    assert sink.trouble == "CSV waits, 30 rows behind"
    reader = Reader(pipe)
    wait_until_written(sink)
    assert sink.trouble == ""
    sink.close()
    assert reader.seconds() == [str(second) for second in range(30)]


def test_rows_that_find_no_room_are_counted_while_it_runs_and_at_the_end(pipe: Path) -> None:
    sink = CsvSink(pipe, Settings(), most_waiting_bytes=6000)
    kept = [second for second in range(60) if sink.put(at(second)) is not None]
    lost = 60 - len(kept)
    assert 2 < len(kept) < 58
    assert sink.trouble == f"CSV lost {lost} rows"
    reader = Reader(pipe)
    wait_until_written(sink)
    assert sink.put(at(100)) is not None
    assert sink.trouble == f"CSV lost {lost} rows"
    with pytest.raises(Failure, match=rf"rows\.csv took no more rows in time: {lost} rows could not be written"):
        sink.close()
    assert reader.seconds() == [*(str(second) for second in kept), "100"]


@pytest.mark.parametrize(("rows", "words"), [(1, "1 row could"), (3, "3 rows could")])
def test_closing_waits_for_a_moment_only_and_says_what_is_lost(pipe: Path, rows: int, words: str) -> None:
    sink = CsvSink(pipe, Settings())
    for second in range(rows):
        sink.put(at(second))
    started = time.monotonic()
    with pytest.raises(Failure, match=words):
        sink.close()
    assert time.monotonic() - started < 10


def test_what_can_not_be_written_is_a_failure_and_nothing_is_written_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "no" / "rows.csv"
    sink = CsvSink(file, Settings())
    row = sink.put(at(1))
    assert row is not None
    assert isinstance(row.exception(PATIENCE_S), Failure)
    file.parent.mkdir()
    with pytest.raises(Failure, match="No such file"):
        sink.put(at(2))
    sink.close()
    assert not file.exists()


def test_rows_behind_one_that_failed_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a row may be in the file; room that comes back would put the next one right behind it."""
    tried: list[str] = []

    def fail(file: CsvFile, header: Sequence[str], line: str) -> None:
        tried.append(line)
        raise Failure("No space left")

    monkeypatch.setattr(CsvFile, "write", fail)
    sink = CsvSink(tmp_path / "rows.csv", Settings())
    gate = threading.Event()
    sink._thread.submit(gate.wait, PATIENCE_S)
    for second in range(3):
        sink.put(at(second))
    gate.set()
    with pytest.raises(Failure, match="No space left"):
        sink.close()
    assert len(tried) == 1


def test_a_full_disk_is_a_failure() -> None:
    sink = CsvSink(Path("/dev/full"), Settings())
    sink.put(at(1))
    with pytest.raises(Failure, match="cannot write /dev/full: No space left"):
        sink.close()


def test_a_reader_that_goes_away_is_a_failure(pipe: Path) -> None:
    sink = CsvSink(pipe, Settings())
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    sink.put(at(1))
    wait_until_written(sink)
    os.close(reading)
    row = sink.put(at(2))
    assert row is not None
    with pytest.raises(Failure, match="nobody reads it any more"):
        row.result(PATIENCE_S)
    with pytest.raises(Failure, match="nobody reads it any more"):
        sink.close()
