"""What the NFS client counts of each mount: /proc/PID/mountstats (nfs-utils `mountstats(8)`, net/sunrpc/stats.c)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from iodash.sources.local.mounts import decode_octal

_FEWEST_NUMBERS = 8
"""Numbers of an operation: ops, trans, timeouts, sent, received, queue, rtt, execute; a ninth, errors, since 1.1."""

_SERVER_READ = 4
_SERVER_WRITE = 5


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of operation: calls answered, transmissions, and milliseconds summed over the calls."""

    calls: int
    transmissions: int
    queue_ms: int
    rtt_ms: int
    execute_ms: int


@dataclass(slots=True)
class NfsMount:
    """One NFS entry: where it is mounted, bytes that crossed the network, and its operations by name."""

    source: str
    point: str
    read_bytes: int | None = None
    written_bytes: int | None = None
    operations: dict[bytes, Operation] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """Operations of all kinds."""
        return sum(operation.calls for operation in self.operations.values())

    @property
    def retransmissions(self) -> int:
        """Requests that were sent again. The client counts at least one transmission a call."""
        return sum(max(0, each.transmissions - each.calls) for each in self.operations.values())

    def total(self, name: str) -> int:
        """The sum of one of the times over all operations."""
        return sum(getattr(operation, name) for operation in self.operations.values())


def parse_mountstats(content: bytes) -> list[NfsMount]:
    """The NFS entries of a mountstats file; other file systems and lines that make no sense are left out."""
    mounts: list[NfsMount] = []
    current: NfsMount | None = None
    per_operation = False
    for line in content.split(b"\n"):
        if line.startswith(b"device "):
            current, per_operation = _header(line), False
            if current is not None:
                mounts.append(current)
            continue
        name, colon, rest = line.strip().partition(b":")
        if current is None:
            continue
        if name == b"per-op statistics":
            per_operation = True
        elif name == b"bytes" and colon and not per_operation:
            numbers = _numbers(rest)
            if len(numbers) > _SERVER_WRITE:
                current.read_bytes, current.written_bytes = numbers[_SERVER_READ], numbers[_SERVER_WRITE]
        elif per_operation and colon:
            numbers = _numbers(rest)
            if len(numbers) >= _FEWEST_NUMBERS:
                current.operations[name] = Operation(numbers[0], numbers[1], numbers[5], numbers[6], numbers[7])
    return mounts


def _header(line: bytes) -> NfsMount | None:
    """`device SOURCE mounted on POINT with fstype TYPE statvers=1.1`."""
    words = line.split(b" ")
    if len(words) < 8 or words[2:4] != [b"mounted", b"on"] or words[5:7] != [b"with", b"fstype"]:
        return None
    if words[7] not in (b"nfs", b"nfs4"):
        return None
    return NfsMount(os.fsdecode(decode_octal(words[1])), os.fsdecode(decode_octal(words[4])))


def _numbers(text: bytes) -> list[int]:
    try:
        return [int(word) for word in text.split()]
    except ValueError:
        return []
