"""What the clients of other network file systems count: CIFS and Lustre."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHARE = re.compile(rb"^\d+\) (\\\\\S[^\r\n\t]*?)[ \t]*(?:DISCONNECTED[ \t]*)?$", re.MULTILINE)
_SMB1 = re.compile(rb"^(Reads|Writes): +(\d+) +Bytes: +(\d+)", re.MULTILINE)
_SMB2_BYTES = re.compile(rb"^Bytes read: +(\d+) +Bytes written: +(\d+)", re.MULTILINE)
_SMB2_CALLS = re.compile(rb"^(Reads|Writes): +(\d+) total", re.MULTILINE)
_ALL_CALLS = re.compile(rb"^SMBs: +(\d+)", re.MULTILINE)
_LUSTRE = re.compile(
    rb"^(read_bytes|write_bytes|read|write) +(\d+) samples \[(bytes|usec)s?\](?: +\d+ +\d+ +(\d+))?", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class RemoteStats:
    """Counters of one mount; None for what its client doesn't count. Times are milliseconds summed over calls."""

    operations: int | None = None
    reads: int | None = None
    writes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    read_ms: int | None = None
    write_ms: int | None = None


def parse_cifs(content: bytes) -> dict[bytes, RemoteStats]:
    r"""The shares (`\\server\share`, lower case) of a /proc/fs/cifs/Stats in either dialect (fs/smb/client).

    SMB1 counts reads and writes with their bytes on one line each, SMB2 and later the bytes apart.
    """
    shares: dict[bytes, RemoteStats] = {}
    parts = _SHARE.split(content)
    for share, body in zip(parts[1::2], parts[2::2], strict=True):
        calls = _ALL_CALLS.search(body)
        old = {name: (int(count), int(size)) for name, count, size in _SMB1.findall(body)}
        new = {name: int(count) for name, count in _SMB2_CALLS.findall(body)}
        sizes = _SMB2_BYTES.search(body)
        shares[share.lower()] = RemoteStats(
            operations=int(calls[1]) if calls else None,
            reads=old[b"Reads"][0] if b"Reads" in old else new.get(b"Reads"),
            writes=old[b"Writes"][0] if b"Writes" in old else new.get(b"Writes"),
            read_bytes=int(sizes[1]) if sizes else old.get(b"Reads", (0, None))[1],
            written_bytes=int(sizes[2]) if sizes else old.get(b"Writes", (0, None))[1],
        )
    return shares


def parse_lustre(content: bytes) -> RemoteStats:
    """An `llite.*.stats` file: `NAME COUNT samples [UNIT] MIN MAX SUM`; newer clients also time reads and writes."""
    counts: dict[bytes, int] = {}
    sums: dict[bytes, int] = {}
    for name, count, unit, total in _LUSTRE.findall(content):
        key = name if unit == b"bytes" else name + b"_" + unit
        counts[key] = int(count)
        if total:
            sums[key] = int(total)
    read_us, write_us = sums.get(b"read_usec"), sums.get(b"write_usec")
    return RemoteStats(
        reads=counts.get(b"read_bytes", counts.get(b"read_usec")),
        writes=counts.get(b"write_bytes", counts.get(b"write_usec")),
        read_bytes=sums.get(b"read_bytes"),
        written_bytes=sums.get(b"write_bytes"),
        read_ms=None if read_us is None else read_us // 1000,
        write_ms=None if write_us is None else write_us // 1000,
    )
