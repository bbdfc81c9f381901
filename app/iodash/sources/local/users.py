"""User names. A name service can be slow or hang, so that it is asked beside everybody else."""

from __future__ import annotations

import pwd
from concurrent.futures import CancelledError, Future

from iodash.formatting.safe_text import safe_text
from iodash.sources.daemon import DaemonExecutor


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

    def name(self, uid: int, wait_s: float = 0.0) -> str:
        """The name of a user, its number while the name service has not answered in `wait_s` seconds."""
        known = self._names.get(uid)
        if known is not None:
            return known
        future = self._asked.get(uid)
        if future is None:
            future = self._asked[uid] = self._beside.submit(_look_up, uid)
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
        return new

    def close(self) -> None:
        """Waits for nothing."""
        self._beside.shutdown()
