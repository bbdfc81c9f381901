"""Network and FUSE mounts: what their clients count. The file systems themselves are never asked anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from iodash.model.missing import Count, Missing
from iodash.model.sample import MountCounters
from iodash.sources.local.kept_file import KeptFile, list_names, read_bytes, read_int
from iodash.sources.local.mounts import MountReader
from iodash.sources.local.nfs import NfsMount, parse_mountstats
from iodash.sources.local.remote_stats import RemoteStats, parse_cifs, parse_lustre
from iodash.sources.local.trees import is_own

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from iodash.model.sample import DeviceKind
    from iodash.sources.local.mounts import Mount

_MOUNTS_SHOWN = 8
_COUNTS = (
    "operations",
    "retransmits",
    "reads",
    "writes",
    "read_bytes",
    "written_bytes",
    "read_execute_ms",
    "write_execute_ms",
    "rtt_ms",
    "queue_ms",
    "execute_ms",
    "in_flight",
)


class NetworkMountReader:
    """Reads the network and FUSE mounts, each file system once however often it is mounted.

    With another machine's proc tree these are the mounts of that machine's first process.

    Args:
        procfs: the proc tree.
        sysfs: the sys tree, for FUSE and Lustre.
        mounts: the mount table, where somebody else reads it already.
    """

    def __init__(self, procfs: Path, sysfs: Path, mounts: MountReader | None = None) -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._mounts = mounts or MountReader(procfs)
        self._changes = -1
        self._groups: tuple[tuple[str, tuple[Mount, ...]], ...] = ()
        self._stats = KeptFile(procfs / ("self" if is_own(procfs) else "1") / "mountstats", Missing.UNSUPPORTED)
        self._cifs = KeptFile(procfs / "fs/cifs/Stats", Missing.UNSUPPORTED)

    def read(self) -> tuple[MountCounters, ...]:
        """The mounts as they are now, in the order of the mount table."""
        table = self._mounts.table()
        if self._mounts.changes != self._changes:
            self._changes = self._mounts.changes
            self._groups = _by_file_system(table)
        if not self._groups:
            return ()
        kinds = {mounts[0].kind for _, mounts in self._groups}
        nfs = self._read_nfs() if "nfs" in kinds else {}
        shares = self._read_shares() if "cifs" in kinds else {}
        rows = []
        for name, mounts in self._groups:
            first = mounts[0]
            if first.kind == "nfs":
                found = (nfs[key] for mount in mounts if (key := (mount.device, mount.point)) in nfs)
                counts = _nfs_counts(next(found, None))
            elif first.kind == "cifs":
                counts = _remote_counts(shares.get(_share(first)))
            elif first.file_system == "lustre":
                counts = _remote_counts(self._read_lustre(first))
            else:
                counts = _unsupported() | {"in_flight": self._waiting(first)}
            rows.append(_row(name, mounts, counts))
        return tuple(rows)

    def close(self) -> None:
        """Lets go of the kept descriptors."""
        self._stats.close()
        self._cifs.close()
        self._mounts.close()

    def _read_nfs(self) -> dict[tuple[str, str], NfsMount]:
        content = self._stats.read()
        if isinstance(content, Missing):
            return {}
        return {(entry.source, entry.point): entry for entry in parse_mountstats(content)}

    def _read_shares(self) -> dict[bytes, RemoteStats]:
        content = self._cifs.read()
        return {} if isinstance(content, Missing) else parse_cifs(content)

    def _read_lustre(self, mount: Mount) -> RemoteStats | None:
        """The statistics lie in a folder named after the file system and an address, in debugfs or /proc by version."""
        name = mount.device.rpartition("/")[2]
        for folder in (self._sysfs / "kernel/debug/lustre/llite", self._procfs / "fs/lustre/llite"):
            for entry in list_names(folder):
                if entry.rpartition("-")[0] == name:
                    content = read_bytes(folder / entry / "stats")
                    return None if content is None else parse_lustre(content)
        return None

    def _waiting(self, mount: Mount) -> Count:
        """Requests that a FUSE file system has not answered (Documentation/filesystems/fuse.rst)."""
        if mount.kind != "fuse" and mount.file_system != "virtiofs":
            return Missing.UNSUPPORTED
        waiting = read_int(self._sysfs / f"fs/fuse/connections/{mount.minor}/waiting")
        return Missing.UNSUPPORTED if waiting is None else waiting


def _by_file_system(table: Iterable[Mount]) -> tuple[tuple[str, tuple[Mount, ...]], ...]:
    """Mounts grouped by file system. Two file systems of one source are told apart by where they are mounted."""
    groups: dict[tuple[int, int], list[Mount]] = {}
    for mount in table:
        if mount.kind is not None:
            groups.setdefault((mount.major, mount.minor), []).append(mount)
    sources = [mounts[0].source for mounts in groups.values()]
    return tuple(
        (first.source if sources.count(first.source) == 1 else f"{first.source} on {first.mount_point}", tuple(mounts))
        for mounts in groups.values()
        for first in mounts[:1]
    )


def _share(mount: Mount) -> bytes:
    return mount.device.replace("/", "\\").encode("utf-8", "surrogateescape").lower()


def _unsupported() -> dict[str, Count]:
    return dict.fromkeys(_COUNTS, Missing.UNSUPPORTED)


def _known(value: int | None) -> Count:
    return Missing.UNSUPPORTED if value is None else value


def _nfs_counts(entry: NfsMount | None) -> dict[str, Count]:
    if entry is None:
        return _unsupported()
    read, write = entry.operations.get(b"READ"), entry.operations.get(b"WRITE")
    return _unsupported() | {
        "operations": entry.calls,
        "retransmits": entry.retransmissions,
        "reads": read.calls if read else Missing.UNSUPPORTED,
        "writes": write.calls if write else Missing.UNSUPPORTED,
        "read_bytes": _known(entry.read_bytes),
        "written_bytes": _known(entry.written_bytes),
        "read_execute_ms": read.execute_ms if read else Missing.UNSUPPORTED,
        "write_execute_ms": write.execute_ms if write else Missing.UNSUPPORTED,
        "rtt_ms": entry.total("rtt_ms"),
        "queue_ms": entry.total("queue_ms"),
        "execute_ms": entry.total("execute_ms"),
    }


def _remote_counts(stats: RemoteStats | None) -> dict[str, Count]:
    if stats is None:
        return _unsupported()
    return _unsupported() | {
        "operations": _known(stats.operations),
        "reads": _known(stats.reads),
        "writes": _known(stats.writes),
        "read_bytes": _known(stats.read_bytes),
        "written_bytes": _known(stats.written_bytes),
        "read_execute_ms": _known(stats.read_ms),
        "write_execute_ms": _known(stats.write_ms),
    }


def _row(name: str, mounts: tuple[Mount, ...], counts: dict[str, Count]) -> MountCounters:
    first = mounts[0]
    return MountCounters(
        name=name,
        kind=cast("DeviceKind", first.kind),
        major=first.major,
        minor=first.minor,
        mounts=tuple(dict.fromkeys(mount.mount_point for mount in mounts))[:_MOUNTS_SHOWN],
        file_system=first.file_system,
        **counts,
    )
