"""A thread for reading that may hang: nobody waits for it, not even the end of the program."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


class DaemonExecutor(Executor):
    """One daemon thread that runs calls in order.

    Unlike `ThreadPoolExecutor`, whose threads are joined when the interpreter ends, it never holds up quitting: a read
    that the kernel doesn't answer is left behind.
    """

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._started = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queues a call. After `shutdown` the future is cancelled at once."""
        future: Future[T] = Future()
        if self._closed:
            future.cancel()
            return future
        if not self._started:
            self._started = True
            self._thread.start()
        self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Lets the thread end after the call in progress. Never waits."""
        self._closed = True
        self._work.put(None)

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            future, call = item
            if self._closed or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - it is the caller's: the future raises it there
                future.set_exception(error)
            else:
                future.set_result(result)
