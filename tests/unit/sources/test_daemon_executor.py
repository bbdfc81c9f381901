from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from iodash.sources.daemon import DaemonExecutor


def _who_runs(number: int) -> tuple[int, threading.Thread]:
    return number, threading.current_thread()


def test_calls_run_in_order_in_one_thread_that_holds_nothing_up() -> None:
    executor = DaemonExecutor("reader")
    results = [executor.submit(_who_runs, number) for number in range(20)]
    answers = [future.result(5) for future in results]
    assert [number for number, _ in answers] == list(range(20))
    (thread,) = {thread for _, thread in answers}
    assert thread.daemon
    assert thread.name == "reader"
    executor.shutdown()
    thread.join(5)
    assert not thread.is_alive()


def test_an_error_is_the_callers() -> None:
    executor = DaemonExecutor("reader")
    with pytest.raises(ZeroDivisionError):
        executor.submit(lambda: 1 / 0).result(5)
    assert executor.submit(lambda: 41 + 1).result(5) == 42
    executor.shutdown()


def test_shutdown_does_not_wait_for_a_call_that_hangs() -> None:
    executor = DaemonExecutor("reader")
    reading, answer = threading.Event(), threading.Event()

    def hang() -> str:
        reading.set()
        answer.wait(20)
        return "late"

    hanging = executor.submit(hang)
    queued = executor.submit(lambda: "never")
    assert reading.wait(5)
    executor.shutdown()
    with pytest.raises(CancelledError):
        executor.submit(lambda: "too late").result(5)
    answer.set()
    assert hanging.result(5) == "late"
    with pytest.raises(CancelledError):
        queued.result(5)


def test_a_cancelled_call_is_not_made() -> None:
    executor = DaemonExecutor("reader")
    gate = threading.Event()
    calls: list[str] = []
    first = executor.submit(lambda: gate.wait(5))
    second = executor.submit(calls.append, "made")
    assert second.cancel()
    gate.set()
    assert first.result(5)
    assert executor.submit(len, calls).result(5) == 0
    executor.shutdown()


def test_a_reader_that_was_never_used_starts_no_thread() -> None:
    before = threading.active_count()
    DaemonExecutor("reader").shutdown()
    assert threading.active_count() == before
