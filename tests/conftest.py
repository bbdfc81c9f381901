"""What holds for every test."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Programs that tests start obey SIGHUP, also where the tests themselves were started by nohup."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
