"""Who a process is: owner, command line, control group. Read beside the sampler, since some of it can block.

`/proc/PID/cmdline` waits for the memory lock of a process that may hold it for as long as a network server doesn't
answer. A read that hangs costs that one command line; everything else goes on with another thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from iodash.formatting.safe_text import safe_command
from iodash.sources.daemon import DaemonExecutor
from iodash.sources.local.containers import container_of
from iodash.sources.local.process_files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from iodash.model.sample import ProcessKey
    from iodash.sources.local.users import UserNames

TIME_LIMIT_S = 1.0
"""How long one process may take before its command line is given up."""

MOST_HUNG = 8
"""How many threads may be left behind in hanging reads before no more command lines are read."""

_COMMAND_BYTES = 8192
_CGROUP_BYTES = 16384
_USER_WAIT_S = 0.05


class Identity(NamedTuple):
    """What is known of a process beyond its counters. `command` is empty for kernel threads and where unreadable.

    `uid` is the effective user, None when the process was gone.
    """

    uid: int | None
    user: str
    command: str
    cgroup: str
    container: str | None


@dataclass(slots=True)
class _Batch:
    """Processes read by one call. `reading_since` is the moment when the current one was begun, 0 outside."""

    keys: list[ProcessKey]
    position: int = 0
    reading_since: float = 0.0
    partial: Identity | None = None
    abandoned: bool = False
    finished: threading.Event = field(default_factory=threading.Event)


class Names:
    """Asks who processes are, without ever waiting for one of them longer than it is told to."""

    def __init__(self, procfs: Path, users: UserNames) -> None:
        self._procfs = str(procfs)
        self._users = users
        self._beside = DaemonExecutor("iodash-names")
        self._batches: deque[_Batch] = deque()
        self._hung: dict[ProcessKey, _Batch] = {}
        self._found: deque[tuple[ProcessKey, Identity]] = deque()

    def ask(self, keys: Iterable[ProcessKey]) -> None:
        """Queues processes; those whose last read still hangs are left out."""
        wanted = [key for key in keys if key not in self._hung]
        if wanted:
            batch = _Batch(wanted)
            self._batches.append(batch)
            self._beside.submit(self._read, batch)

    def collect(self, wait_s: float = 0.0) -> list[tuple[ProcessKey, Identity]]:
        """What has been learnt since the last call, waiting at most `wait_s` seconds for what was asked."""
        deadline = time.monotonic() + wait_s
        while self._batches:
            batch = self._batches[0]
            left = deadline - time.monotonic()
            if batch.finished.wait(left) if left > 0 else batch.finished.is_set():
                self._batches.popleft()
                continue
            if batch.reading_since and time.monotonic() - batch.reading_since > TIME_LIMIT_S:
                self._give_up(batch)
            break
        if self._hung:
            self._hung = {key: batch for key, batch in self._hung.items() if not batch.finished.is_set()}
        found = list(self._found)
        for _ in found:
            self._found.popleft()
        return found

    def close(self) -> None:
        """Waits for nothing."""
        self._beside.shutdown()

    def _give_up(self, batch: _Batch) -> None:
        batch.abandoned = True
        self._beside.shutdown()
        self._beside = DaemonExecutor("iodash-names")
        key = batch.keys[batch.position]
        self._hung[key] = batch
        if batch.partial is not None:
            self._found.append((key, batch.partial))
        rest = batch.keys[batch.position + 1 :]
        for waiting in list(self._batches)[1:]:
            rest.extend(waiting.keys)
        self._batches.clear()
        self.ask(rest)

    def _read(self, batch: _Batch) -> None:
        try:
            for position, key in enumerate(batch.keys):
                batch.position = position
                batch.partial = None
                batch.reading_since = time.monotonic()
                identity = self._identity(key, batch)
                if batch.abandoned:
                    return
                self._found.append((key, identity))
        finally:
            batch.finished.set()

    def _identity(self, key: ProcessKey, batch: _Batch) -> Identity:
        directory = f"{self._procfs}/{key.pid}"
        try:
            uid = _effective_uid(read_file(f"{directory}/status"))
        except OSError:
            uid = None
        try:
            cgroup, container = container_of(read_file(f"{directory}/cgroup", _CGROUP_BYTES))
        except OSError:
            cgroup, container = "", None
        user = "" if uid is None else self._users.name(uid, _USER_WAIT_S)
        identity = batch.partial = Identity(uid, user, "", cgroup, container)
        if len(self._hung) >= MOST_HUNG:
            return identity
        try:
            return identity._replace(command=safe_command(read_file(f"{directory}/cmdline", _COMMAND_BYTES)))
        except OSError:
            return identity


def _effective_uid(status: bytes) -> int | None:
    """The second number of the `Uid:` line of /proc/PID/status (proc(5)): real, effective, saved, file system."""
    _, found, rest = status.partition(b"\nUid:")
    fields = rest.split(None, 2)
    return int(fields[1]) if found and len(fields) > 1 and fields[1].isdigit() else None
