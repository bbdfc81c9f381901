"""A CSV file beside the screen: whatever its file system does, nobody waits for it, and no row is lost unsaid."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from iodash.model.failure import Failure
from iodash.outputs.csv import CsvFile, CsvLines
from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from iodash.model.frame import Frame
    from iodash.outputs.select import DeviceChoice

MOST_WAITING_BYTES = 16 << 20
"""Rows of this size may wait for a file that takes none: an hour at one row a second on a host of usual size."""

CLOSING_S = 1.0
"""How long rows that wait may still take when the program ends."""


class CsvSink:
    """Rows for a file that is opened, written and closed in a thread of its own.

    A file system that hangs, or a pipe that nobody reads, makes rows wait. When too many wait, the newest are lost, and
    `trouble` and the end say how many.
    """

    def __init__(self, path: Path, choice: DeviceChoice, *, most_waiting_bytes: int = MOST_WAITING_BYTES) -> None:
        self._path = path
        self._most_waiting_bytes = most_waiting_bytes
        self._lines = CsvLines(choice)
        self._thread = DaemonExecutor("iodash-csv")
        self._waiting: deque[tuple[Future[None], int]] = deque()
        self._waiting_bytes = 0
        self._lost = 0
        self._file: CsvFile | None = None
        self._opening: Future[CsvFile] | None = None
        self._failure: Failure | None = None

    def open(self) -> Future[CsvFile]:
        """Begins to open the file, so that `check` can tell before the first row that it can't be written."""
        self._opening = self._thread.submit(self._open)
        return self._opening

    def put(self, frame: Frame) -> Future[None] | None:
        """Takes the row of `frame`. Done when the row is written; None where it is lost.

        Raises:
            Failure: an earlier row can't be written.
        """
        self.check()
        line = self._lines.line(frame)
        if self._waiting_bytes + len(line) > self._most_waiting_bytes:
            self._lost += 1
            return None
        written = self._thread.submit(self._write, line)
        self._waiting.append((written, len(line)))
        self._waiting_bytes += len(line)
        return written

    def check(self) -> None:
        """Raises Failure if the file can't be opened or a row not be written: the disk is full, say."""
        if self._opening is not None and self._opening.done():
            opening, self._opening = self._opening, None
            opening.result()
        while self._waiting and self._waiting[0][0].done():
            written, size = self._waiting.popleft()
            self._waiting_bytes -= size
            if written.cancelled():
                self._lost += 1
            else:
                written.result()

    @property
    def is_behind(self) -> bool:
        """Whether more than the newest row waits."""
        return len(self._waiting) > 1

    @property
    def trouble(self) -> str:
        """What a user should know now, in a few words; empty while there is nothing."""
        waits = f"CSV waits, {_rows(len(self._waiting))} behind" if self.is_behind else ""
        lost = f"CSV lost {_rows(self._lost)}" if self._lost else ""
        return lost or waits

    def close(self) -> None:
        """Closes the file, waiting at most `CLOSING_S` for what is not written yet.

        Raises:
            Failure: rows are lost, or what was written could not be kept.
        """
        closed = self._thread.submit(self._close)
        with suppress(TimeoutError):
            closed.result(CLOSING_S)
        self.check()
        if lost := self._lost + len(self._waiting):
            self._failure = Failure(f"{self._path} took no more rows in time: {_rows(lost)} could not be written")
            raise self._failure

    def _open(self) -> CsvFile:
        self._file = CsvFile(self._path)
        return self._file

    def _write(self, line: str) -> None:
        if self._failure is not None:  # nothing stands behind a row that may be half there
            raise self._failure
        try:
            file = self._file or self._open()
            file.write(self._lines.header, line)
        except BrokenPipeError:
            self._failure = Failure(f"cannot write {self._path}: nobody reads it any more")
            raise self._failure from None
        except Failure as failure:
            self._failure = failure
            raise

    def _close(self) -> None:
        self._thread.shutdown()
        if self._file is not None:
            self._file.close()


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
