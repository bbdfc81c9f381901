"""Signals from outside that end the dashboard. Textual alone would leave the terminal unusable."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

STOP_SIGNALS = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGPOLL, signal.SIGPWR),
        signal.SIGABRT,
    }
)
"""Those whose default is to end a program (signal(7)), but for SIGKILL and those that tell of a fault in it."""


@contextmanager
def held_back() -> Iterator[None]:
    """Lets signals wait while the terminal is being taken over, until `take` says how it is given back."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def take(loop: asyncio.AbstractEventLoop, stop: Callable[[int], None]) -> None:
    """Calls `stop` with the exit status when a signal comes. One that is ignored from outside (nohup) stays so."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop, exit_status(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def exit_status(number: signal.Signals) -> int:
    """The status by which a shell names a signal."""
    return 128 + number
