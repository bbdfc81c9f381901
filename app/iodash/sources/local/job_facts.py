"""What changes rarely of a job's member: environment, cgroup, the mounts of its files, connections, /dev/shm."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.members import DataPlace, MemberFacts
from iodash.model.missing import Missing
from iodash.sources.local.containers import limits_path
from iodash.sources.local.host import count_cpus
from iodash.sources.local.kept_file import reason
from iodash.sources.local.mounts import MountTable
from iodash.sources.local.process_files import read_file
from iodash.sources.local.where import served

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from iodash.model.missing import Count
    from iodash.model.sample import ProcessKey
    from iodash.sources.local.mounts import Mount
    from iodash.sources.local.topology import Blocks

_ENVIRONMENT = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT")
_NOT_DATA = re.compile(
    r"^(/usr/|/lib|/bin/|/sbin/|/proc/|/sys/|/etc/|/dev/(?!shm/)|/run/|/snap/)"
    r"|site-packages|dist-packages|/\.cache/|\.so(\.|$)|\.py[co]?$|/__pycache__/"
)
_MAPPED = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ [1-9]\d* +(/.*)$", re.MULTILINE)
_ALLOWED = re.compile(rb"^Cpus_allowed_list:\s*(\S+)", re.MULTILINE)
_MOST_FILES = 512
_MAPS_BYTES = 1 << 16
"""The kernel places new mappings below older ones: data mapped by a running program comes before its libraries."""

_NET_BYTES = 1 << 18
_ESTABLISHED = b"01"
_SHARED_MEMORY = "/dev/shm"


def _read(path: Path, limit: int = 1 << 16) -> bytes | Missing:
    try:
        return read_file(str(path), limit)
    except OSError as error:
        return reason(error, Missing.GONE)


def member_facts(procfs: Path, blocks: Blocks, key: ProcessKey) -> Iterator[MemberFacts]:
    """Reads the facts of one process: first all that needs no memory lock of it, then the whole, which may hang.

    Paths are taken as the process names them and looked up in its own mount table; no file of it is touched.
    """
    process = procfs / str(key.pid)
    mountinfo = _read(process / "mountinfo", 1 << 20)
    table = MountTable(()) if isinstance(mountinfo, Missing) else MountTable.parse(mountinfo)
    descriptors = _descriptors(process)
    cgroup = _read(process / "cgroup")
    used, size = _shared_memory(process, table)
    places = _Places(table, blocks)
    if not isinstance(descriptors, Missing):
        places.add(descriptors.values(), 1)
    facts = MemberFacts(
        environment={},
        cgroup="" if isinstance(cgroup, Missing) else limits_path(cgroup),
        places=descriptors if isinstance(descriptors, Missing) else places.found(),
        remote_sockets=descriptors if isinstance(descriptors, Missing) else _remote_sockets(process, descriptors),
        shared_memory_used_bytes=used,
        shared_memory_total_bytes=size,
        cpus_allowed=_cpus_allowed(process),
    )
    yield facts
    environment = _environment(process)
    if isinstance(descriptors, Missing):
        yield replace(facts, environment=environment)
        return
    places.add(_mapped(process), 1)
    places.add(_named(process), 0)
    yield replace(facts, environment=environment, places=places.found())


def _cpus_allowed(process: Path) -> Count:
    status = _read(process / "status")
    if isinstance(status, Missing):
        return status
    found = _ALLOWED.search(status)
    count = None if found is None else count_cpus(found.group(1))
    return Missing.UNSUPPORTED if count is None else count


def _environment(process: Path) -> dict[str, str]:
    content = _read(process / "environ")
    if isinstance(content, Missing):
        return {}
    pairs = (entry.partition(b"=") for entry in content.split(b"\0"))
    return {
        name.decode(): safe_text(value, 32)
        for name, _, value in pairs
        if name.isascii() and name.decode() in _ENVIRONMENT
    }


def _descriptors(process: Path) -> dict[int, str] | Missing:
    """Targets of the open descriptors by number, at most `_MOST_FILES` of them."""
    folder = process / "fd"
    targets: dict[int, str] = {}
    try:
        names = os.listdir(folder)
    except OSError as error:
        return reason(error, Missing.GONE)
    for name in names[:_MOST_FILES]:
        try:
            targets[int(name)] = os.readlink(folder / name)
        except OSError:
            continue
    return targets


def _is_data(path: str) -> bool:
    return path.startswith("/") and not _NOT_DATA.search(path)


def _mapped(process: Path) -> set[str]:
    """The files that the process has mapped into its memory."""
    maps = _read(process / "maps", _MAPS_BYTES)
    return set() if isinstance(maps, Missing) else {os.fsdecode(path) for path in _MAPPED.findall(maps)}


def _named(process: Path) -> Iterator[str]:
    """The paths on the command line."""
    command = _read(process / "cmdline")
    if not isinstance(command, Missing):
        for word in command.split(b"\0"):
            if b"/" in word:
                yield os.fsdecode(word).rpartition("=")[2]


class _Places:
    """The mounts that paths lie on, as far as they hold data."""

    def __init__(self, table: MountTable, blocks: Blocks) -> None:
        self._table = table
        self._blocks = blocks
        self._counts: dict[int, int] = {}
        self._mounts: dict[int, Mount] = {}

    def add(self, paths: Iterable[str], weight: int) -> None:
        """Counts each of `paths` for `weight` files."""
        for path in paths:
            mount = self._table.find(path.removesuffix(" (deleted)")) if _is_data(path) else None
            if mount is not None and not mount.holds_no_data:
                self._mounts[mount.mount_id] = mount
                self._counts[mount.mount_id] = self._counts.get(mount.mount_id, 0) + weight

    def found(self) -> tuple[DataPlace, ...]:
        """The mounts so far, the most used first."""
        order = sorted(self._mounts.values(), key=lambda mount: self._counts[mount.mount_id], reverse=True)
        return tuple(_place(mount, self._counts[mount.mount_id], self._table, self._blocks) for mount in order)


def _place(mount: Mount, files: int, table: MountTable, blocks: Blocks) -> DataPlace:
    found = served(mount, blocks, table)
    devices: tuple[str, ...] = tuple(layer.name for level in found.levels for layer in level)
    kind: str = found.levels[-1][0].kind if devices else "unknown"
    if found.kind == "memory":
        kind = "memory"
    elif mount.kind is not None:
        kind, devices = mount.kind, (mount.source,)
    return DataPlace(mount.mount_point, mount.file_system, kind, devices, found.summary, files, found.probable)


def _remote_sockets(process: Path, descriptors: dict[int, str]) -> Count:
    """How many established connections to other hosts the process holds (/proc/PID/net/tcp)."""
    inodes = {target[8:-1].encode() for target in descriptors.values() if target.startswith("socket:[")}
    if not inodes:
        return 0
    held: list[bytes] = []
    own: set[bytes] = set()
    for name in ("tcp", "tcp6"):
        content = _read(process / "net" / name, _NET_BYTES)
        if isinstance(content, Missing):
            continue
        for line in content.splitlines()[1:]:
            fields = line.split(None, 10)
            if len(fields) > 9:
                own.add(fields[1].partition(b":")[0])
                if fields[3] == _ESTABLISHED and fields[9] in inodes:
                    held.append(fields[2].partition(b":")[0])
    own_addresses = {_address(host) for host in own}
    return sum(not (host.is_loopback or host in own_addresses) for host in map(_address, held))


def _address(host: bytes) -> IPv4Address | IPv6Address:
    """An address of /proc/net/tcp or tcp6: words of four bytes, each printed as a number of this machine's byte order.

    An IPv4 address that an IPv6 socket maps is the IPv4 address.
    """
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    address = ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words))
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def _shared_memory(process: Path, table: MountTable) -> tuple[Count, Count]:
    """Used and whole size of /dev/shm as the process sees it, where that is a tmpfs (which can't hang)."""
    mount = table.find(_SHARED_MEMORY)
    if mount is None or not mount.in_memory:
        return Missing.UNSUPPORTED, Missing.UNSUPPORTED
    try:
        status = os.statvfs(f"{process}/root{_SHARED_MEMORY}")
    except OSError as error:
        why = reason(error, Missing.GONE)
        return why, why
    return (status.f_blocks - status.f_bfree) * status.f_frsize, status.f_blocks * status.f_frsize
