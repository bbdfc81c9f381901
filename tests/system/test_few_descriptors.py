"""Hardly any file may be open at once: iodash says so, with the remedy, and never claims to have looked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.system import needs
from tests.system.terminal import IODASH, Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
REMEDY = "ulimit -n 1024"


def limited(limit: int, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs iodash with at most `limit` open files, standard streams included."""
    return subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", sys.executable, "-m", "iodash", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT / "app")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("limit", [15, 20, 25, 40])
def test_what_is_seen_is_whole_or_said_to_be_missing(limit: int) -> None:
    done = limited(limit, ["-b", "-n", "2", "-d", "0.2", "--format", "json"])
    assert (done.returncode, done.stderr) == (0, "")
    frame = json.loads(done.stdout.splitlines()[-1])
    short = [note for note in frame["notes"] if REMEDY in note]
    assert short or limit > 25
    assert not short or limit < 40
    if short:
        assert frame["verdict"]["cause"] == "unknown"
    assert len(frame["processes"]) > 1
    assert "cpu_user_percent" not in frame["system"]["missing"]


@pytest.mark.parametrize("limit", [6, 12])
def test_too_few_to_look_at_anything_is_one_line(limit: int) -> None:
    done = limited(limit, ["-b", "-n", "1", "-d", "0.2"])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("iodash: ")
    assert REMEDY in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("limit", [6, 11, 13, 18])
@pytest.mark.parametrize(
    "words",
    [
        *("--version", "--help", "where /", "iostat 0.1 2", "dstat 0.1 2", "iotop -b -n 1 -d 0.1 --threads"),
        *("doctor --for 0.2 -d 0.1", "snapshot -d 0.1 -o /nonexistent/x"),
    ],
)
def test_no_limit_brings_a_traceback(words: str, limit: int) -> None:
    done = limited(limit, words.split())
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert all(line.startswith("iodash: ") for line in done.stderr.splitlines())


@needs.program("tmux")
@pytest.mark.parametrize("limit", [10, 14, 22, 34])
def test_the_screen_ends_or_shows_what_it_can(limit: int) -> None:
    with Terminal(160, 40) as terminal:
        terminal.run("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", IODASH)
        screen = terminal.wait_for(lambda screen: "status=1" in screen or "COMMAND" in screen)
        if "status=1" not in screen:
            terminal.keys("q")
        assert terminal.status() in (0, 1)
        screen = terminal.screen()
        assert "Traceback" not in screen
        assert "internal error" not in screen
        assert terminal.is_as_before()
