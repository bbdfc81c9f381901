"""The worker process: started, listened to, watched and left behind. Nothing here ever waits for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iodash.sources.local.gpu.answer import read_answer

LAUNCH = Path(__file__).with_name("launch.py")

SILENT_S = 3.0
"""An answer that is overdue for longer counts as none."""

GIVE_UP_S = 30.0
"""A worker silent for longer is killed. One that the kernel holds can't be; it is then left alone, not doubled."""

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How the worker polls. Times are seconds; `blocking_pcie` allows the PCIe reading that blocks for 20 ms.

    Polls closer than half a second measurably slow the workload, so `floor_s` keeps them apart.
    """

    sysfs: Path = Path("/sys")
    library: Path | None = None
    floor_s: float = 0.5
    slow_s: float = 5.0
    retry_s: float = 30.0
    blocking_pcie: bool = False

    def arguments(self) -> list[str]:
        """As the worker's command line."""
        return [
            str(os.getpid()),
            str(self.sysfs),
            str(self.library or ""),
            str(self.floor_s),
            str(self.slow_s),
            str(self.retry_s),
            str(int(self.blocking_pcie)),
        ]


@dataclass(slots=True)
class _Inbox:
    """What the worker said last, and the driver samples of earlier answers that nobody has read yet."""

    answer: dict[str, Any] | None = None
    samples: dict[str, list[list[float]]] = field(default_factory=dict)

    def put(self, answer: dict[str, Any]) -> None:
        for gpu in answer["gpus"]:
            self.samples.setdefault(gpu["uuid"], []).extend(gpu["util_samples"])
        self.answer = answer


class WorkerLink:
    """One worker process and the thread that starts it, reads its answers and starts it again when it dies.

    The thread is the worker's parent as the kernel's parent-death signal counts it, so it lives as long as the worker.
    """

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._inbox = _Inbox()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: int | None = None
        self._due: float | None = None
        self._closed = threading.Event()
        self._answered = threading.Event()
        self._ended = ""
        self._past_cpu_s = 0.0
        self._cpu_s = 0.0
        self._resident = 0
        self._killed = False
        self._pause_s = _FIRST_PAUSE_S
        self.took_s = 0.0
        self._thread = threading.Thread(target=self._run, name="iodash-gpu", daemon=True)

    def start(self) -> None:
        """Starts the thread, which starts the worker. The worker's first poll needs no request."""
        self._due = time.monotonic()
        self._thread.start()

    def close(self) -> None:
        """Ends the worker without waiting for it."""
        self._closed.set()
        self._kill()

    @property
    def ended(self) -> str:
        """How the worker ended, until it answers again."""
        return self._ended

    def wait_answer(self, timeout_s: float) -> bool:
        """Waits for the first answer (or for the end of the worker)."""
        return self._answered.wait(timeout_s)

    def request(self, due: float) -> None:
        """Asks for a poll at the monotonic time `due`. A request that stands is only ever moved forward."""
        with self._lock:
            if self._requests is None or (self._due is not None and self._due <= due + 0.05):
                return
            self._due = due
            with contextlib.suppress(OSError):  # a full or broken pipe: the watchdog tells
                os.write(self._requests, f"{due:.6f}\n".encode())

    def latest(self) -> dict[str, Any] | None:
        """The newest answer. Its `util_samples` hold those of all answers since the last call."""
        with self._lock:
            answer = self._inbox.answer
            samples, self._inbox.samples = self._inbox.samples, {}
        if answer is None:
            return None
        gpus = [{**gpu, "util_samples": samples.get(gpu["uuid"], [])} for gpu in answer["gpus"]]
        return {**answer, "gpus": gpus}

    def overdue_s(self, now: float, awake_since: float) -> float:
        """For how long an answer has been overdue; 0 while none is. Time before `awake_since` does not count."""
        with self._lock:
            due = self._due
        overdue = 0.0 if due is None else max(0.0, now - max(due, awake_since))
        if overdue > GIVE_UP_S and not self._killed:
            self._killed = True
            self._kill()
        return overdue

    def cost(self) -> tuple[float, int]:
        """CPU seconds of all workers so far, resident bytes of this one, as it said last."""
        with self._lock:
            return self._past_cpu_s + self._cpu_s, self._resident

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                process = self._spawn()
            except OSError as error:
                self._mourn(f"the GPU worker could not be started: {error.strerror}")
            else:
                self._mourn(f"the GPU worker ended {self._listen(process) or _manner(process.wait())}")
            self._closed.wait(self._pause_s)
            self._pause_s = min(_LONGEST_PAUSE_S, self._pause_s * 2)

    def _spawn(self) -> subprocess.Popen[bytes]:
        """Starts the worker: own session (no signals from the terminal), no site packages beyond our own path."""
        process = subprocess.Popen(
            [sys.executable, "-S", "-P", str(LAUNCH), *self._options.arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        with self._lock:
            self._process = process
            self._requests = process.stdin.fileno()
            self._killed = False
            self._due = time.monotonic()
        if self._closed.is_set():
            self._kill()
        return process

    def _listen(self, process: subprocess.Popen[bytes]) -> str:
        """Takes answers until the pipe ends, in the midst of one where the worker was killed while it wrote.

        A worker that says what is no answer is killed, and in words why; nothing is said of one that ended by itself.
        """
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            try:
                for line in process.stdout:
                    if not line.endswith(b"\n"):
                        break
                    self._take(read_answer(line))
            except ValueError:
                process.kill()
                process.wait()
                return "by iodash: what it answered can't be read"
            finally:
                with self._lock:  # the number of a closed descriptor soon is another file's
                    self._requests = None
        return ""

    def _take(self, answer: dict[str, Any]) -> None:
        with self._lock:
            self._inbox.put(answer)
            self._due = None
            self._ended = ""
            self._cpu_s = answer["cpu_s"]
            self._resident = answer["resident_bytes"]
            self.took_s = answer["took_s"]
            self._pause_s = _FIRST_PAUSE_S
        self._answered.set()

    def _mourn(self, manner: str) -> None:
        with self._lock:
            self._process = None
            self._ended = manner
            self._due = None
            self._past_cpu_s += self._cpu_s
            self._cpu_s = 0.0
            self._resident = 0
        self._answered.set()


def _manner(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with status {status}"
