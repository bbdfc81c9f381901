"""`--output` into a named pipe that nobody reads: what is printed, what is drawn, and that it ends when it is told."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING

import pytest

from tests.system import needs
from tests.system.terminal import DEADLINE_S, IODASH, Terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.system

BATCH = ["-b", "-d", "0.1", "--no-gpu"]
ENDINGS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    os.mkfifo(path)
    return path


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "iodash", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
    )


def first_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


def ended(running: subprocess.Popen[str]) -> int:
    """The status as a shell names it, which must come soon."""
    started = time.monotonic()
    _, errors = running.communicate(timeout=30)
    assert errors == ""
    assert time.monotonic() - started < 10
    return running.returncode if running.returncode >= 0 else 128 - running.returncode


@pytest.mark.parametrize(
    ("command", "begins"),
    [("-b -d 0.1 -n 2 --no-gpu --output", "time,epoch_s,"), ("dstat 0.1 2 --output", '"Dstat ')],
)
def test_a_pipe_that_nobody_reads_yet_is_said_in_one_line_and_waited_for(command: str, begins: str, pipe: Path) -> None:
    running = start(*command.split(), str(pipe))
    assert first_line(running.stderr) == f"iodash: {pipe} is a pipe that nobody reads yet: waiting for a reader\n"
    assert running.poll() is None
    text = pipe.read_text()
    assert text.startswith(begins)
    assert len(text.splitlines()) > 2
    assert ended(running) == 0


@pytest.mark.parametrize("command", ["-b -d 0.1 -n 2 --no-gpu --output", "dstat 0.1 2 --output"])
def test_a_pipe_that_is_read_is_no_matter_for_words(command: str, pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert ended(start(*command.split(), str(pipe))) == 0
    assert os.read(reader, 1 << 16).count(b"\n") > 2
    os.close(reader)


@pytest.mark.parametrize(("number", "status"), ENDINGS, ids=["INT", "TERM"])
def test_a_signal_ends_the_wait_for_a_reader(number: signal.Signals, status: int, pipe: Path) -> None:
    running = start(*BATCH, "--output", str(pipe))
    assert "waiting for a reader" in first_line(running.stderr)
    running.send_signal(number)
    assert ended(running) == status


@pytest.mark.parametrize(("number", "status"), ENDINGS, ids=["INT", "TERM"])
def test_a_signal_ends_a_row_that_is_not_taken(number: signal.Signals, status: int, pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    running = start(*BATCH, "--all-devices", "--output", str(pipe))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with open(f"/proc/{running.pid}/wchan") as file:
            if "pipe_write" in file.read():
                break
        time.sleep(0.1)
    running.send_signal(number)
    assert ended(running) == status
    os.close(reader)


@needs.program("tmux")
@pytest.mark.parametrize("end", ["q", "SIGTERM"])
def test_the_screen_goes_on_and_the_end_says_what_is_lost(end: str, pipe: Path) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run(IODASH, "--no-gpu", "-d", "0.2", "--output", str(pipe))
        terminal.wait_for("CSV waits, 5 rows behind")
        if end == "q":
            terminal.keys("q")
        else:
            terminal.program().send_signal(signal.SIGTERM)
        assert terminal.status() == (1 if end == "q" else 143)
        screen = terminal.wait_for("took no more rows in time")
        assert "Traceback" not in screen
        assert terminal.is_as_before()


@needs.program("tmux")
def test_rows_that_waited_are_written_when_a_reader_comes(pipe: Path) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run(IODASH, "--no-gpu", "-d", "0.2", "--output", str(pipe))
        terminal.wait_for("CSV waits, 4 rows behind")
        read: list[str] = []
        reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
        reader.start()
        terminal.wait_for(lambda screen: "CSV waits" not in screen)
        terminal.keys("q")
        assert terminal.status() == 0
        reader.join(DEADLINE_S)
    rows = list(csv.DictReader(read[0].splitlines(), strict=True))
    gaps = [float(row["interval_s"]) for row in rows]
    covered = float(rows[-1]["epoch_s"]) - float(rows[0]["epoch_s"])
    assert len(rows) > 4
    assert sum(gaps[1:]) == pytest.approx(covered, abs=0.1)
