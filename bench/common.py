"""What all benches share: a crowd of idle processes, programs in a terminal, and CPU time to the nanosecond."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import select
import shutil
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

IODASH = str(Path(sys.executable).with_name("iodash"))

_OWN_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL")

_CROWD = """
import os, signal, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        while True:
            signal.pause()
print("ready", flush=True)
signal.pause()
"""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: `rounds` times `seconds`, and `growth_s` for what shows only with time."""

    rounds: int
    seconds: float
    growth_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. `limit` is the largest value that meets the goal; None states a figure without a goal."""

    what: str
    value: float
    limit: float | None
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Usage:
    """What a program used in a window: CPU seconds a second, resident bytes at its end, bytes to its terminal."""

    cpu: float
    resident_bytes: int
    output_bytes: int
    seconds: float


class Crowd:
    """`count` idle processes in a pid namespace of their own. Programs started by `start` see them and nothing else."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> Crowd:
        self._process = subprocess.Popen(
            [*_OWN_NAMESPACE, sys.executable, "-S", "-E", "-c", _CROWD, str(self.count)],
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("no pid namespace can be made: run as root")
        (first,) = psutil.Process(self._process.pid).children()
        self._inside = ["nsenter", f"--target={first.pid}", "--pid", "--mount", f"--wd={Path.cwd()}"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def start(self, command: Sequence[str], *, size: tuple[int, int] | None = None) -> Program:
        """Starts a program among the crowd, in a terminal of `size` (columns, lines) or with its output thrown away."""
        return Program([*self._inside, *command], size=size)

    def run(self, command: Sequence[str]) -> float:
        """CPU seconds of a program that ends by itself, its output thrown away.

        Raises:
            RuntimeError: it failed.
        """
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*self._inside, *command], stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Program:
    """A running program whose use of the machine is measured. It is killed when the block is left."""

    def __init__(
        self, command: Sequence[str], *, size: tuple[int, int] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._command = list(command)
        self._size = size
        self._env = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LC_ALL": "C.UTF-8",
            **(env or {}),
        }
        self.output = bytearray()
        self._output_bytes = 0
        self._changed = threading.Event()

    def __enter__(self) -> Program:
        self.started_at = time.monotonic()
        if self._size is None:
            null = subprocess.DEVNULL
            self._process = subprocess.Popen(self._command, stdin=null, stdout=null, stderr=null, env=self._env)
            return self
        ours, theirs = pty.openpty()
        columns, lines = self._size
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._process = subprocess.Popen(
            self._command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self._env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._ours = ours
        threading.Thread(target=self._drain, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            for process in self._tree():
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            self._process.kill()
        self._process.wait()

    def wait_for_output(self, needle: bytes, timeout: float = 60.0) -> float:
        """Seconds from the start until the program wrote `needle` to its terminal.

        Raises:
            TimeoutError: it did not.
        """
        end = time.monotonic() + timeout
        while needle not in self.output:
            self._changed.clear()
            if not self._changed.wait(end - time.monotonic()) and needle not in self.output:
                raise TimeoutError(f"{self._command} did not write {needle!r} in {timeout} s")
        return time.monotonic() - self.started_at

    def use(self, seconds: float) -> Usage:
        """What the program and its children use in the next `seconds`."""
        before, bytes_before, start = self._cpu_seconds(), self._output_bytes, time.monotonic()
        time.sleep(seconds)
        used, elapsed = self._cpu_seconds() - before, time.monotonic() - start
        if self._process.poll() is not None:
            raise RuntimeError(f"{self._command} ended with {self._process.returncode}: {bytes(self.output[-500:])!r}")
        return Usage(used / elapsed, self.resident_bytes(), self._output_bytes - bytes_before, elapsed)

    def resident_bytes(self) -> int:
        """Memory of the program itself, without its workers."""
        return max((process.memory_info().rss for process in self._tree()), default=0)

    def _drain(self) -> None:
        with suppress(OSError):
            while select.select([self._ours], [], [])[0] and (read := os.read(self._ours, 65536)):
                self._output_bytes += len(read)
                self.output += read
                del self.output[:-262144]
                self._changed.set()
        os.close(self._ours)

    def _tree(self) -> list[psutil.Process]:
        """The program and its children, but for the `nsenter` around it."""
        top = psutil.Process(self._process.pid)
        children = top.children(recursive=True)
        return children if self._command[0] == "nsenter" else [top, *children]

    def _cpu_seconds(self) -> float:
        total = 0
        for process in self._tree():
            for task in Path(f"/proc/{process.pid}/task").iterdir():
                with suppress(OSError):
                    total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9


def side_by_side(
    crowd: Crowd,
    contenders: Mapping[str, tuple[Sequence[str], tuple[int, int] | None]],
    *,
    rounds: int,
    seconds: float,
    warm_up: float = 4.0,
) -> dict[str, list[Usage]]:
    """What each contender uses in the same minute: started anew each round, warmed up, then measured at once."""
    usages: dict[str, list[Usage]] = {name: [] for name in contenders}
    for _ in range(rounds):
        with ExitStack() as running:
            programs = {
                name: running.enter_context(crowd.start(command, size=size))
                for name, (command, size) in contenders.items()
            }
            time.sleep(warm_up)
            with ThreadPoolExecutor(len(programs)) as threads:
                measured = {name: threads.submit(program.use, seconds) for name, program in programs.items()}
            for name, used in measured.items():
                usages[name].append(used.result())
    return usages


def ratio(ours: Sequence[Usage], theirs: Sequence[Usage]) -> float:
    """The median of the rounds' ratios of CPU time."""
    return statistics.median(one.cpu / other.cpu for one, other in zip(ours, theirs, strict=True))


def milliseconds(usages: Sequence[Usage]) -> float:
    """CPU milliseconds a second, the median of the rounds."""
    return statistics.median(1000 * usage.cpu for usage in usages)


def find(program: str) -> str:
    """The path of a peer.

    Raises:
        FileNotFoundError: it is not installed.
    """
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise FileNotFoundError(f"{program} is not installed")
    return path
