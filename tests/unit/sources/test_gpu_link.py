"""The link to the GPU worker when the worker ends badly: killed in the midst of an answer, or talking nonsense."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from iodash.sources.local.gpu import link as link_module
from iodash.sources.local.gpu.answer import read_answer
from iodash.sources.local.gpu.link import WorkerLink, WorkerOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE_S = 20.0

GPU: dict[str, Any] = {
    "index": 0,
    "uuid": "GPU-1",
    "name": "NVIDIA H200",
    "minor": 0,
    "status": "ok",
    "message": "",
    "read_at": 1.5,
    "util_samples": [[1.0, 50]],
    "missing": {"xid": "unsupported"},
    "processes": None,
}
ANSWER: dict[str, Any] = {
    "driver": {"status": "ok", "version": "570.1", "message": ""},
    "gpus": [GPU],
    "took_s": 0.01,
    "cpu_s": 0.5,
    "resident_bytes": 4096,
}

WORKER = """
import os, sys, time
lives = sys.argv[0] + ".lives"
with open(lives, "a") as file:
    file.write("x")
first = os.path.getsize(lives) == 1
os.write(1, (SAYS_FIRST if first else SAYS_THEN).encode())
while os.read(0, 4096):
    pass
"""


@contextmanager
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> Iterator[WorkerLink]:
    """A link whose first worker says `says` and then waits, and whose later ones answer well."""
    script = tmp_path / "worker.py"
    script.write_text(f"SAYS_FIRST = {says!r}\nSAYS_THEN = {json.dumps(ANSWER) + chr(10)!r}\n{WORKER}")
    monkeypatch.setattr(link_module, "LAUNCH", script)
    made = WorkerLink(WorkerOptions())
    made.start()
    try:
        yield made
    finally:
        made.close()
        made._thread.join(PATIENCE_S)


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What threads ended with that nobody expected."""
    found: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: found.append(failure.exc_value))
    return found


def pid_of(link: WorkerLink) -> int | None:
    return None if link._process is None else link._process.pid


def test_a_worker_killed_in_the_midst_of_an_answer_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracebacks: list[object]
) -> None:
    with linked(tmp_path, monkeypatch, json.dumps(ANSWER)[:40]) as link:
        wait_until(lambda: pid_of(link) is not None and (tmp_path / "worker.py.lives").exists())
        first = pid_of(link)
        assert first is not None
        time.sleep(0.2)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: link.ended or tracebacks)
        assert link.ended == "the GPU worker ended by signal 9"
        wait_until(link.latest)
        assert link.ended == ""
        assert pid_of(link) != first
    assert tracebacks == []


@pytest.mark.parametrize(
    "says",
    ["driver: hello\n", "[1, 2]\n", "{}\n", json.dumps({**ANSWER, "gpus": [{"uuid": "GPU-1"}]}) + "\n", "\xff\n"],
    ids=["no JSON", "a list", "an empty object", "a GPU of another shape", "no ASCII"],
)
def test_a_worker_that_talks_nonsense_is_ended_and_another_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracebacks: list[object], says: str
) -> None:
    with linked(tmp_path, monkeypatch, says) as link:
        wait_until(lambda: link.ended or tracebacks)
        assert link.ended == "the GPU worker ended by iodash: what it answered can't be read"
        wait_until(link.latest)
    assert tracebacks == []


@pytest.mark.parametrize("says", ['{"driver"', "nonsense\n"])
def test_a_request_after_the_workers_end_goes_into_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracebacks: list[object], says: str
) -> None:
    with linked(tmp_path, monkeypatch, says) as link:
        wait_until(lambda: pid_of(link) is not None and (tmp_path / "worker.py.lives").exists())
        if not says.endswith("\n"):
            time.sleep(0.2)
            pid = pid_of(link)
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: link.ended or tracebacks)
        files = [open(tmp_path / f"file{number}", "wb", buffering=0) for number in range(16)]  # noqa: SIM115
        link._due = None
        link.request(123.0)
        for file in files:
            file.close()
    assert {(tmp_path / f"file{number}").read_bytes() for number in range(16)} == {b""}


@pytest.mark.parametrize(
    "broken",
    [
        {**ANSWER, "driver": None},
        {**ANSWER, "driver": {"status": "ok"}},
        {**ANSWER, "cpu_s": "much"},
        {**ANSWER, "gpus": [{**GPU, "missing": {"xid": "a new reason"}}]},
        {key: value for key, value in ANSWER.items() if key != "resident_bytes"},
    ],
)
def test_an_answer_of_another_version_is_refused_as_a_whole(broken: dict[str, Any]) -> None:
    assert read_answer(json.dumps(ANSWER).encode()) == ANSWER
    with pytest.raises(ValueError, match=r"answer|reason"):
        read_answer(json.dumps(broken).encode())
