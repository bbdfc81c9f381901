"""Reads one thing after the other beside the sampler; one that hangs costs itself alone.

Files of a process that need its memory lock don't answer while something holds it, which can be for as long as a
network server is silent. Such a read can't be taken back: its thread is left behind.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from iodash.sources.daemon import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from concurrent.futures import Future

MOST_HUNG = 8
"""How many threads may be left behind in hanging reads before no more is read than what can't hang."""

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class Answer(NamedTuple, Generic[K, V]):
    """What was read of `key`; not the `whole` where the rest hangs or was left out."""

    key: K
    value: V
    whole: bool


@dataclass(slots=True)
class _Batch(Generic[K, V]):
    """Keys read by one call. `reading_since` is the moment when the current one was begun, 0 before the first."""

    keys: list[K]
    position: int = 0
    reading_since: float = 0.0
    partial: V | None = None
    abandoned: bool = False


class BesideReader(Generic[K, V]):
    """Reads keys in the order in which they were asked for; nobody waits for one of them longer than he wants to.

    Args:
        name: that of the thread.
        read: yields what is known of a key: first, where there is such a thing, what can't hang, then the whole.
        time_limit_s: how long one key may take before those after it are read by another thread.
    """

    def __init__(self, name: str, read: Callable[[K], Iterator[V]], time_limit_s: float) -> None:
        self._name = name
        self._read = read
        self._time_limit_s = time_limit_s
        self._beside = DaemonExecutor(name)
        self._batches: deque[tuple[_Batch[K, V], Future[None]]] = deque()
        self._hung: dict[K, Future[None]] = {}
        self._answers: deque[Answer[K, V]] = deque()

    @property
    def busy(self) -> bool:
        """Whether something that was asked for has not been read yet, what hangs left aside."""
        return bool(self._batches)

    def ask(self, keys: Iterable[K]) -> None:
        """Queues keys; those whose last read still hangs are left out."""
        wanted = [key for key in keys if key not in self._hung]
        if wanted:
            batch = _Batch[K, V](wanted)
            self._batches.append((batch, self._beside.submit(self._answer, batch)))

    def collect(self, wait_s: float = 0.0) -> list[Answer[K, V]]:
        """The answers since the last call, waiting at most `wait_s` seconds for what was asked. Raises as `read`."""
        deadline = time.monotonic() + wait_s
        while self._batches:
            batch, future = self._batches[0]
            left = deadline - time.monotonic()
            if left > 0 and not future.done():
                wait((future,), left)
            if future.done():
                self._batches.popleft()
                if not future.cancelled():
                    future.result()
                continue
            if batch.reading_since and time.monotonic() - batch.reading_since > self._time_limit_s:
                self._give_up(batch, future)
            break
        if self._hung:
            self._hung = {key: future for key, future in self._hung.items() if not future.done()}
        return [self._answers.popleft() for _ in range(len(self._answers))]

    def close(self) -> None:
        """Waits for nothing."""
        self._beside.shutdown()

    def _give_up(self, batch: _Batch[K, V], future: Future[None]) -> None:
        batch.abandoned = True
        position, partial = batch.position, batch.partial
        self._hung[batch.keys[position]] = future
        if partial is not None:
            self._answers.append(Answer(batch.keys[position], partial, whole=False))
        rest = batch.keys[position + 1 :]
        for waiting, _ in list(self._batches)[1:]:
            rest.extend(waiting.keys)
        self._batches.clear()
        self._beside.shutdown()
        self._beside = DaemonExecutor(self._name)
        self.ask(rest)

    def _answer(self, batch: _Batch[K, V]) -> None:
        for position, key in enumerate(batch.keys):
            batch.position = position
            batch.partial = None
            batch.reading_since = time.monotonic()
            whole = True
            for value in self._read(key):
                batch.partial = value
                if len(self._hung) >= MOST_HUNG:
                    whole = False
                    break
            if batch.partial is not None:
                self._answers.append(Answer(key, batch.partial, whole))
            if batch.abandoned:
                return
