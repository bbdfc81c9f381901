"""Signals wait while the terminal is taken over, and end the dashboard with the status that a shell would name."""

from __future__ import annotations

import asyncio
import signal
import threading

from iodash.ui import signals


def test_a_signal_that_comes_too_early_is_not_lost() -> None:
    stopped: list[int] = []

    async def run() -> None:
        with signals.held_back():
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # other tests' threads block nothing
            assert stopped == []
            loop = asyncio.get_running_loop()
            ended = asyncio.Event()

            def stop(status: int) -> None:
                stopped.append(status)
                ended.set()

            signals.take(loop, stop)
            await asyncio.wait_for(ended.wait(), 10)

    asyncio.run(run())
    assert stopped == [128 + signal.SIGUSR1]


def test_a_signal_that_is_ignored_from_outside_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def run() -> None:
        signals.take(asyncio.get_running_loop(), lambda _: None)

    try:
        asyncio.run(run())
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
