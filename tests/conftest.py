"""What holds for every test."""

from __future__ import annotations

import signal
from typing import Any


def pytest_configure() -> None:
    """Programs that tests start obey signals, also where the tests were started by nohup or behind a shell's `&`."""
    defaults: dict[signal.Signals, Any] = {
        signal.SIGHUP: signal.SIG_DFL,
        signal.SIGINT: signal.default_int_handler,
        signal.SIGQUIT: signal.SIG_DFL,
    }
    for number, default in defaults.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, default)
