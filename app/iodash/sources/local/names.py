"""Who a process is: owner, command line, control group. Read beside the sampler, since some of it can block.

`/proc/PID/cmdline` waits for the memory lock of a process. A read that hangs costs that one command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from iodash.formatting.safe_text import safe_command
from iodash.model.sample import ProcessKey
from iodash.sources.local.beside import BesideReader
from iodash.sources.local.containers import container_of
from iodash.sources.local.process_files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from iodash.sources.local.users import UserNames

TIME_LIMIT_S = 1.0
"""How long one process may take before its command line is given up."""

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


class Names(BesideReader[ProcessKey, Identity]):
    """Asks who processes are. Where the command line hangs, the rest is told without it."""

    def __init__(self, procfs: Path, users: UserNames) -> None:
        super().__init__("iodash-names", self._identify, TIME_LIMIT_S)
        self._procfs = str(procfs)
        self._users = users

    def _identify(self, key: ProcessKey) -> Iterator[Identity]:
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
        identity = Identity(uid, user, "", cgroup, container)
        yield identity
        try:
            command = safe_command(read_file(f"{directory}/cmdline", _COMMAND_BYTES))
        except OSError:
            return
        yield identity._replace(command=command)


def _effective_uid(status: bytes) -> int | None:
    """The second number of the `Uid:` line of /proc/PID/status (proc(5)): real, effective, saved, file system."""
    _, found, rest = status.partition(b"\nUid:")
    fields = rest.split(None, 2)
    return int(fields[1]) if found and len(fields) > 1 and fields[1].isdigit() else None
