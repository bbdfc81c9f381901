"""The GPU worker (started by launch.py): a small process that may hang in the driver.

It polls when it is asked to. A request is a line on standard input, the monotonic time at which to poll; an answer is a
line of JSON on standard output. The first poll needs no request. It ends when standard input closes or its parent dies.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import time

from iodash.sources.local.gpu.driver import Driver
from iodash.sources.local.gpu.nvml import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PR_SET_PDEATHSIG = 1
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str]) -> int:
    """Runs until the parent lets go. `arguments` are those of `WorkerOptions.arguments`."""
    parent, sysfs, library, floor_s, slow_s, retry_s, blocking = arguments
    if not _die_with(int(parent)):
        return 0
    output = _own_output()
    nvml = load(library)
    if isinstance(nvml, str):
        _answer(output, {"status": "error", "version": None, "message": nvml}, [], 0.0)
        while _next_request(None) is not None:
            _answer(output, {"status": "error", "version": None, "message": nvml}, [], 0.0)
        return 0
    driver = Driver(nvml, sysfs=sysfs, slow_s=float(slow_s), retry_s=float(retry_s), blocking_pcie=blocking == "1")
    due: float | None = time.monotonic()
    while due is not None:
        started = time.monotonic()
        gpus = driver.poll()
        state = {"status": driver.status, "version": driver.version, "message": driver.message}
        _answer(output, state, gpus, time.monotonic() - started)
        due = _next_request(started + float(floor_s))
    return 0


def _answer(output: int, driver: dict[str, Any], gpus: list[dict[str, Any]], took_s: float) -> None:
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * _PAGE
    answer = {
        "driver": driver,
        "gpus": gpus,
        "took_s": took_s,
        "cpu_s": time.process_time(),
        "resident_bytes": resident,
    }
    line = json.dumps(answer).encode() + b"\n"
    while line:
        line = line[os.write(output, line) :]


def _next_request(earliest: float | None) -> float | None:
    """Waits for a request and for its time, which a later request may move. None when the parent has let go."""
    due: float | None = None
    while True:
        pause = None if due is None else max(0.0, due - time.monotonic())
        ready, _, _ = select.select([0], [], [], pause)
        if not ready:
            return due
        lines = os.read(0, 65536).split()
        if not lines:
            return None
        due = max(float(lines[-1]), earliest or 0.0)


def _own_output() -> int:
    """The pipe to the parent, out of the way of whatever else may print to standard output."""
    output = os.dup(1)
    os.dup2(2, 1)
    return output


def _die_with(parent: int) -> bool:
    """Asks the kernel to end this process with its parent (prctl(2)), even from within a hanging call."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent
