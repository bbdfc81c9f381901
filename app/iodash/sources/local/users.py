"""User names. A name service can be slow or hang, so that it is asked beside everybody else.

A user whose server doesn't answer holds up nobody whose name lies in a local file.
"""

from __future__ import annotations

import pwd
import time
from concurrent.futures import CancelledError, Future

from iodash.formatting.safe_text import safe_text
from iodash.sources.daemon import DaemonExecutor

TIME_LIMIT_S = 1.0
"""How long one name may take before those after it are asked for by another thread."""

MOST_HUNG = 4
"""How many threads may be left behind waiting for a name."""


def _look_up(uid: int) -> str:
    try:
        return safe_text(pwd.getpwuid(uid).pw_name)
    except (KeyError, OverflowError):
        return str(uid)


class UserNames:
    """Names by number. A name that is not known yet reads as its number; `arrived` tells when it is."""

    def __init__(self) -> None:
        self._beside = DaemonExecutor("iodash-users")
        self._names: dict[int, str] = {}
        self._asked: dict[int, Future[str]] = {}
        self._hung: set[int] = set()
        self._current = (-1, 0.0)

    def name(self, uid: int, wait_s: float = 0.0) -> str:
        """The name of a user, its number while the name service has not answered in `wait_s` seconds."""
        known = self._names.get(uid)
        if known is not None:
            return known
        future = self._asked.get(uid)
        if future is None or future.cancelled():
            future = self._asked[uid] = self._beside.submit(self._ask, uid)
        try:
            return future.result(wait_s)
        except (TimeoutError, CancelledError):
            return str(uid)

    def arrived(self) -> dict[int, str]:
        """The names that were learnt since the last call."""
        if not self._asked:
            return {}
        done = [(uid, future) for uid, future in list(self._asked.items()) if future.done() and not future.cancelled()]
        new = {uid: future.result() for uid, future in done}
        self._names.update(new)
        for uid in new:
            del self._asked[uid]
        self._hung -= new.keys()
        self._leave_behind()
        return new

    def close(self) -> None:
        """Waits for nothing."""
        self._beside.shutdown()

    def _ask(self, uid: int) -> str:
        self._current = (uid, time.monotonic())
        return _look_up(uid)

    def _leave_behind(self) -> None:
        """Goes on without a name that takes too long: it comes when it comes."""
        current, since = self._current
        if current not in self._asked or current in self._hung or len(self._hung) >= MOST_HUNG:
            return
        if time.monotonic() - since > TIME_LIMIT_S:
            self._hung.add(current)
            self._beside.shutdown()
            self._beside = DaemonExecutor("iodash-users")
            for uid in self._asked.keys() - self._hung:
                self._asked[uid] = self._beside.submit(self._ask, uid)
