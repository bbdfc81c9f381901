"""A simulated training run: real reads, real CPU work, real checkpoints, and a GPU that is busy when there is a batch.

The processes are named as recent PyTorch names them: `pt_main_thread`, loader workers `pt_data_worker`, the thread
`pt_data_pin`. The GPU is a place in a busy file (nvml/busy.py), so that the simulated NVML library shows the gaps that
a starved loader makes. Run it as a module: `python -m tests.lab.trainer --help`. It ends after `--seconds` or on
SIGTERM; its workers end with it.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import itertools
import mmap
import multiprocessing
import os
import queue
import random
import signal
import socket
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.lab.nvml.busy import BusyFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
_POLL_S = 0.1

ReadPattern = Literal["sequential", "random", "mmap", "none"]


@dataclass(frozen=True)
class Run:
    """What a run does. Times are milliseconds where the name says so, sizes bytes.

    `cold` drops the cached pages of each file before it is read. `source` is HOST:PORT of an object store (objects.py)
    to read from instead of files. `shm_bytes` is what a batch takes in /dev/shm until it has been used. `spin` has the
    main thread compute while it waits for the GPU, as CUDA does by default. `start` is how workers are started: `fork`,
    `spawn`, `forkserver`, or `threads` of the main process; `epoch_steps` starts them anew after so many steps.
    `in_place` writes a checkpoint over the last one.
    """

    dataset: Path | None = None
    workers: int = 4
    start: str = "fork"
    read: ReadPattern = "sequential"
    item_bytes: int = 1 << 20
    direct: bool = False
    cold: bool = False
    source: str = ""
    batch: int = 8
    cpu_ms: float = 0.0
    wait_ms: float = 0.0
    step_ms: float = 50.0
    dispatch_ms: float = 0.0
    copy_ms: float = 0.0
    copy_bytes: int = 0
    spin: bool = False
    shm_bytes: int = 0
    epoch_steps: int = 0
    prefetch: int = 2
    checkpoint_every: int = 0
    checkpoint_bytes: int = 64 << 20
    checkpoint_path: Path | None = None
    in_place: bool = False
    asynchronous: bool = False
    busy: Path | None = None
    gpu: int = 0
    gpu_bytes: int = 8 << 30
    seconds: float = 180.0
    steps: int = 0
    seed: int = field(default=0, compare=False)


def set_name(name: str) -> None:
    """Names the calling thread, as `ps -L` and /proc show it."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def die_with_parent() -> None:
    """Asks the kernel to end this process with the one that started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def make_dataset(directory: Path, files: int, size: int) -> Path:
    """A data set of `files` files that no compression or sparse block makes smaller."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        with open(directory / f"shard-{number:05}.bin", "wb") as shard:
            left = size
            while left:
                shard.write(os.urandom(min(left, 1 << 20)))
                left -= min(left, 1 << 20)
    return directory


class Reader:
    """Reads items of the data set, for ever, in the pattern of the run."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run = run
        self._files = sorted(run.dataset.iterdir()) if run.dataset is not None and run.read != "none" else []
        self._random = random.Random(seed)
        self._items = self._endless()
        self._buffer = mmap.mmap(-1, max(mmap.PAGESIZE, run.item_bytes))
        self._socket: socket.socket | None = None

    def item(self) -> None:
        """Reads one item, waits and computes as loading one would."""
        if self._run.source:
            self._fetch()
        elif self._files:
            next(self._items)
        if self._run.wait_ms:
            time.sleep(self._run.wait_ms / 1000)
        burn(self._run.cpu_ms / 1000)

    def _fetch(self) -> None:
        """One object over the network."""
        if self._socket is None:
            host, _, port = self._run.source.rpartition(":")
            self._socket = socket.create_connection((host, int(port)))
        self._socket.sendall(self._run.item_bytes.to_bytes(8, "little"))
        left = self._run.item_bytes
        while left:
            left -= self._socket.recv_into(memoryview(self._buffer)[:left])

    def _endless(self) -> Iterator[None]:
        while True:
            order = list(self._files)
            self._random.shuffle(order)
            for path in order:
                yield from self._file(path)

    def _file(self, path: Path) -> Iterator[None]:
        size = self._run.item_bytes
        descriptor = os.open(path, os.O_RDONLY | (os.O_DIRECT if self._run.direct else 0))
        try:
            if self._run.cold:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            items = max(1, os.fstat(descriptor).st_size // size)
            if self._run.read == "mmap":
                with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ) as mapped:
                    for at in range(items):
                        _ = sum(mapped[at * size : (at + 1) * size : mmap.PAGESIZE])
                        yield
                return
            for at in range(items):
                offset = self._random.randrange(items) * size if self._run.read == "random" else at * size
                os.preadv(descriptor, [memoryview(self._buffer)[:size]], offset)
                yield
        finally:
            os.close(descriptor)


def burn(seconds: float) -> None:
    """Uses the CPU for that much of its time, whatever else runs."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hashlib.sha256(b"x" * 4096).digest()


Batches: TypeAlias = "multiprocessing.Queue[int] | queue.Queue[int]"
Stop: TypeAlias = "multiprocessing.synchronize.Event | threading.Event"


def work(run: Run, number: int, batches: Batches, stop: Stop) -> None:
    """A loader worker in a process of its own."""
    die_with_parent()
    set_name("pt_data_worker")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    load(run, number, batches, stop)


def load(run: Run, number: int, batches: Batches, stop: Stop) -> None:
    """Makes batches until it is told to stop. The queue's bound holds it back."""
    reader = Reader(run, run.seed + number)
    while not stop.is_set():
        for _ in range(run.batch):
            reader.item()
        if run.shm_bytes:
            hand_over(run, number, stop)
        while not stop.is_set():
            try:
                batches.put(number, timeout=_POLL_S)
                break
            except queue.Full:
                continue


def hand_over(run: Run, number: int, stop: Stop) -> None:
    """Puts a batch into /dev/shm, at most `prefetch` of them; waits for room as long as there is none."""
    slots = itertools.cycle(range(run.prefetch)) if number not in _slots else _slots[number]
    _slots[number] = slots
    name = f"/dev/shm/iodash-lab-{os.getpid()}-{next(slots)}"
    while not stop.is_set():
        descriptor = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, run.shm_bytes)
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            os.close(descriptor)


_slots: dict[int, Iterator[int]] = {}


class Trainer:
    """The main process of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._context = multiprocessing.get_context(None if run.start == "threads" else run.start)
        self._stop: Stop = threading.Event() if run.start == "threads" else self._context.Event()
        self._batches = self._make_queue()
        self._pinned: queue.Queue[int] = queue.Queue(1)
        self._workers: list[BaseProcess] = []
        self._writer: threading.Thread | None = None
        self._pinning = False
        self.steps = 0

    def train(self) -> int:
        """Steps until the time or the number of steps is over, or `stop` is called. The number of steps done."""
        run = self._run
        set_name("pt_main_thread")
        gpu = None if run.busy is None else BusyFile(run.busy, run.gpu, run.gpu_bytes)
        inline = Reader(run, run.seed) if run.workers == 0 else None
        self._start_workers()
        end = time.monotonic() + run.seconds
        try:
            while time.monotonic() < end and not self._stop.is_set() and (not run.steps or self.steps < run.steps):
                if not self._next_batch(inline):
                    continue
                burn(run.dispatch_ms / 1000)
                time.sleep(run.copy_ms / 1000)
                if gpu is not None:
                    gpu.copy(run.copy_bytes or run.batch * run.item_bytes)
                with nullcontext() if gpu is None else gpu.busy(run.step_ms / 1000):
                    wait_for_gpu(run)
                self.steps += 1
                if run.epoch_steps and self.steps % run.epoch_steps == 0:
                    self._restart_workers()
                if run.checkpoint_every and self.steps % run.checkpoint_every == 0:
                    self._checkpoint()
        finally:
            self._end(gpu)
        return self.steps

    def stop(self) -> None:
        """Ends the run after the step in progress."""
        self._stop.set()

    def _make_queue(self) -> Batches:
        room = max(1, self._run.workers * self._run.prefetch)
        return queue.Queue(room) if self._run.start == "threads" else self._context.Queue(room)

    def _start_workers(self) -> None:
        for number in range(self._run.workers):
            given = (self._run, number, self._batches, self._stop)
            if self._run.start == "threads":
                threading.Thread(target=load, args=given, daemon=True).start()
            else:
                worker = self._context.Process(target=work, args=given, daemon=True)  # type: ignore[attr-defined]
                worker.start()
                self._workers.append(worker)
        if self._run.workers and not self._pinning:
            self._pinning = True
            threading.Thread(target=self._pin, name="pin", daemon=True).start()

    def _restart_workers(self) -> None:
        """Ends the workers and starts new ones, as a loader without persistent workers does after each epoch."""
        for worker in self._workers:
            worker.kill()
            worker.join()
        self._workers.clear()
        self._batches = self._make_queue()
        self._start_workers()

    def _pin(self) -> None:
        """Hands batches from the workers' queue to the main thread, as the pin-memory thread does."""
        set_name("pt_data_pin")
        while not self._stop.is_set():
            try:
                batch = self._batches.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            while not self._stop.is_set():
                try:
                    self._pinned.put(batch, timeout=_POLL_S)
                    break
                except queue.Full:
                    continue

    def _next_batch(self, inline: Reader | None) -> bool:
        if inline is not None:
            for _ in range(self._run.batch):
                inline.item()
            return True
        try:
            self._pinned.get(timeout=_POLL_S)
        except queue.Empty:
            return False
        return True

    def _checkpoint(self) -> None:
        """Writes and syncs; the asynchronous kind goes on training meanwhile, one at a time."""
        if self._run.checkpoint_path is None:
            return
        if not self._run.asynchronous:
            write_checkpoint(self._run.checkpoint_path, self._run.checkpoint_bytes, in_place=self._run.in_place)
        elif self._writer is None or not self._writer.is_alive():
            arguments = (self._run.checkpoint_path, self._run.checkpoint_bytes)
            self._writer = threading.Thread(target=write_checkpoint, args=arguments, daemon=True)
            self._writer.start()

    def _end(self, gpu: BusyFile | None) -> None:
        self._stop.set()
        if not isinstance(self._batches, queue.Queue):
            self._batches.cancel_join_thread()
        for worker in self._workers:
            worker.join(2)
            if worker.is_alive():
                worker.kill()
                worker.join()
        if gpu is not None:
            gpu.close()


def wait_for_gpu(run: Run) -> None:
    """The time of one step on the GPU."""
    if not run.spin:
        time.sleep(run.step_ms / 1000)
        return
    end = time.monotonic() + run.step_ms / 1000
    while time.monotonic() < end:
        pass


def write_checkpoint(path: Path, size: int, *, in_place: bool = False) -> None:
    """Writes `size` bytes, syncs them, and puts them in the place of the last checkpoint, or writes over that."""
    block = os.urandom(1 << 20)
    unfinished = path if in_place else path.with_name(path.name + ".tmp")
    with open(unfinished, "r+b" if in_place else "wb") as file:
        for _ in range(max(1, size >> 20)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if not in_place:
        unfinished.replace(path)


def arguments(run: Run) -> list[str]:
    """The command line that makes the same run."""
    made = []
    for name, kind in _OPTIONS.items():
        value = getattr(run, name)
        if value is None or value is False or value == "":
            continue
        made += [f"--{name.replace('_', '-')}"] if kind is bool else [f"--{name.replace('_', '-')}", str(value)]
    return made


def main() -> int:
    """Runs what the command line says, and prints the number of steps."""
    parser = argparse.ArgumentParser(prog="trainer", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, kind in _OPTIONS.items():
        option = f"--{name.replace('_', '-')}"
        if kind is bool:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=kind, default=getattr(Run, name, None))
    trainer = Trainer(Run(**vars(parser.parse_args())))
    signal.signal(signal.SIGTERM, lambda *_: trainer.stop())
    signal.signal(signal.SIGINT, lambda *_: trainer.stop())
    print(trainer.train(), flush=True)
    return 0


_OPTIONS: dict[str, type] = {
    "dataset": Path,
    "workers": int,
    "start": str,
    "read": str,
    "item_bytes": int,
    "direct": bool,
    "cold": bool,
    "source": str,
    "batch": int,
    "cpu_ms": float,
    "wait_ms": float,
    "step_ms": float,
    "dispatch_ms": float,
    "copy_ms": float,
    "copy_bytes": int,
    "spin": bool,
    "shm_bytes": int,
    "epoch_steps": int,
    "prefetch": int,
    "checkpoint_every": int,
    "checkpoint_bytes": int,
    "checkpoint_path": Path,
    "in_place": bool,
    "asynchronous": bool,
    "busy": Path,
    "gpu": int,
    "gpu_bytes": int,
    "seconds": float,
    "steps": int,
    "seed": int,
}


if __name__ == "__main__":
    sys.exit(main())
