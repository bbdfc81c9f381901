"""The mount table: which mount holds a path, and what serves it (proc(5), /proc/PID/mountinfo)."""

from __future__ import annotations

import os
import re
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.sources.local.kept_file import KeptFile
from iodash.sources.local.trees import is_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
"""File systems whose files lie in memory."""

_KERNEL_FILE_SYSTEMS = frozenset(
    (
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "devpts",
        "mqueue",
        "debugfs",
        "tracefs",
        "securityfs",
        "bpf",
        "pstore",
        "configfs",
        "fusectl",
        "binfmt_misc",
        "nsfs",
        "efivarfs",
        "selinuxfs",
        "rpc_pipefs",
        "nfsd",
    )
)
_FUSE_NOT_STORAGE = frozenset({"fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal"})
_NFS = frozenset({"nfs", "nfs4"})
_CIFS = frozenset({"cifs", "smb3", "smbfs"})
_OTHER_NETWORK = frozenset(
    (
        "lustre",
        "ceph",
        "9p",
        "virtiofs",
        "gpfs",
        "beegfs",
        "beegfs_ctl",
        "orangefs",
        "pvfs2",
        "afs",
        "coda",
        "wekafs",
        "panfs",
    )
)
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")


def decode_octal(field: bytes) -> bytes:
    """A field of the mount table as it was before the kernel wrote its blanks and backslashes in octal."""
    return _OCTAL.sub(lambda match: bytes((int(match.group(1), 8),)), field) if b"\\" in field else field


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the mount table.

    `mount_point`, `source`, `file_system` and `options` (those of the file system) are safe to show. `point`,
    `root_path` and `device` are the raw mount point, root within the file system and source, for comparing with paths.
    """

    mount_id: int
    parent_id: int
    major: int
    minor: int
    mount_point: str
    file_system: str
    source: str
    options: str
    point: str
    root_path: str
    device: str

    @property
    def in_memory(self) -> bool:
        """Whether its files lie in memory."""
        return self.file_system in MEMORY_FILE_SYSTEMS

    @property
    def kind(self) -> str | None:
        """`nfs`, `cifs`, `fuse` or `other` where a network or a process serves it, else None."""
        if self.file_system in _NFS:
            return "nfs"
        if self.file_system in _CIFS:
            return "cifs"
        if self.file_system == "fuse" or self.file_system.startswith("fuse."):
            return None if self.file_system in _FUSE_NOT_STORAGE else "fuse"
        return "other" if self.file_system in _OTHER_NETWORK else None

    @property
    def may_hang(self) -> bool:
        """Whether asking the file system anything may wait for a server or a process that doesn't answer."""
        return self.kind is not None or self.file_system in ("autofs", *_FUSE_NOT_STORAGE)

    @property
    def holds_no_data(self) -> bool:
        """Whether it only shows the kernel's state."""
        return self.file_system in _KERNEL_FILE_SYSTEMS


def _parse_line(line: bytes) -> Mount | None:
    fields = line.split(b" ")
    try:
        dash = fields.index(b"-", 6)
        major, minor = fields[2].split(b":")
        kind, source = fields[dash + 1], decode_octal(fields[dash + 2])
        options = decode_octal(fields[dash + 3]) if len(fields) > dash + 3 else b""
        point = decode_octal(fields[4])
        return Mount(
            mount_id=int(fields[0]),
            parent_id=int(fields[1]),
            major=int(major),
            minor=int(minor),
            mount_point=safe_text(point),
            file_system=safe_text(decode_octal(kind)),
            source=safe_text(source),
            options=safe_text(options),
            point=os.fsdecode(point),
            root_path=os.fsdecode(decode_octal(fields[3])),
            device=os.fsdecode(source),
        )
    except (ValueError, IndexError):
        return None


class MountTable:
    """The mounts of one mount namespace, in the kernel's order."""

    def __init__(self, mounts: Iterable[Mount]) -> None:
        self._mounts = tuple(mounts)
        self._children = {(mount.parent_id, mount.point): mount for mount in self._mounts}
        self._points = {mount.point: mount for mount in self._mounts}
        known = {mount.mount_id for mount in self._mounts}
        roots = [m for m in self._mounts if m.point == "/" and (m.parent_id not in known or m.parent_id == m.mount_id)]
        self._root = roots[-1] if roots else None

    @classmethod
    def parse(cls, mountinfo: bytes) -> MountTable:
        """The table of a /proc/PID/mountinfo. Lines that make no sense are left out."""
        return cls(mount for line in mountinfo.split(b"\n") if (mount := _parse_line(line)) is not None)

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._mounts)

    def __len__(self) -> int:
        return len(self._mounts)

    def find(self, path: str) -> Mount | None:
        """The mount that holds an absolute path without symbolic links, as the path's namespace names it.

        Follows the mounts down from the root as the kernel does, so that a mount beneath a directory that was mounted
        over later doesn't count. Where the root is not in the table (chroot), the longest mount point wins, and the
        last one of equal ones.
        """
        parts = [part for part in path.split("/") if part]
        if self._root is None:
            return self._longest(parts)
        found = self._on_top(self._root, "/")
        prefix = ""
        for part in parts:
            prefix = f"{prefix}/{part}"
            child = self._children.get((found.mount_id, prefix))
            if child is not None:
                found = self._on_top(child, prefix)
        return found

    def _on_top(self, mount: Mount, point: str) -> Mount:
        for _ in range(len(self._mounts)):
            above = self._children.get((mount.mount_id, point))
            if above is None or above is mount:
                break
            mount = above
        return mount

    def _longest(self, parts: list[str]) -> Mount | None:
        for length in range(len(parts), -1, -1):
            mount = self._points.get("/" + "/".join(parts[:length]))
            if mount is not None:
                return mount
        return None


class MountReader:
    """The mount table, parsed again only when the kernel says that it changed (poll(2) on mountinfo).

    With another machine's proc tree it is the table of that machine's first process.
    """

    def __init__(self, procfs: Path) -> None:
        names = ("self/mountinfo",) if is_own(procfs) else ("1/mountinfo", "self/mountinfo")
        self._files = tuple(KeptFile(procfs / name) for name in names)
        self._watched = -1
        self._poll = select.poll()
        self._content: bytes = b""
        self._table = MountTable(())
        self.changes = 0
        """Grows by one with every change of the table."""

    def table(self) -> MountTable:
        """The mounts as they are now; the same object while nothing changed. Empty when the table can't be read."""
        if self._watched >= 0 and not self._poll.poll(0):
            return self._table
        self._watched = -1
        for file in self._files:
            content = file.read()
            if not isinstance(content, Missing):
                if file.fileno() >= 0:
                    self._watch(file.fileno())
                if content != self._content:
                    self._content = content
                    self._table = MountTable.parse(content)
                    self.changes += 1
                break
        return self._table

    def close(self) -> None:
        """Lets go of the kept descriptors."""
        self._watched = -1
        for file in self._files:
            file.close()

    def _watch(self, descriptor: int) -> None:
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLPRI)
        self._watched = descriptor
