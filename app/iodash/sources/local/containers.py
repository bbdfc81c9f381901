"""Which container a process runs in, from its cgroup file, and whether this machine is one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.sources.local.kept_file import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from iodash.model.sample import ContainerKind

SHORT_ID = 12
"""Characters of a container id that people use, as `docker ps` prints it."""

_V1_ORDER = (b"name=systemd", b"memory", b"blkio", b"cpu", b"pids")

# The monitor process of podman and CRI-O lies in a cgroup named after the container, but outside of it.
_ID = re.compile(rb"(?<![0-9a-z])(?<!conmon-)([0-9a-f]{64})(?![0-9a-z])")
_LXC = re.compile(rb"/lxc(?:\.payload)?[./]([^/]+)")
_MACHINE = re.compile(rb"/machine-(?!qemu)([^/]+)\.scope")
_KINDS: tuple[tuple[bytes, ContainerKind], ...] = (
    (b"kubepods", "kubernetes"),
    (b"libpod", "podman"),
    (b"docker", "docker"),
    (b"/lxc", "lxc"),
)


def controllers(cgroup_file: bytes) -> dict[bytes, bytes]:
    """The path of each hierarchy in a /proc/PID/cgroup. The unified (v2) one has the key `b""`.

    v1 controllers that share a hierarchy (`cpu,cpuacct`) have a key each; named hierarchies keep `name=`.
    """
    paths: dict[bytes, bytes] = {}
    for line in cgroup_file.splitlines():
        parts = line.split(b":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(b","):
                paths[controller] = parts[2]
    return paths


def main_path(cgroup_file: bytes) -> bytes:
    """The path that says most: the unified one, or, on hybrid hosts where that is `/`, the first telling v1 one."""
    paths = controllers(cgroup_file)
    found = paths.get(b"", b"/")
    if found not in (b"/", b""):
        return found
    for controller in (*_V1_ORDER, *paths):
        path = paths.get(controller, b"/")
        if path not in (b"/", b""):
            return path
    return b"/"


_LIMITING = (b"", b"cpu", b"memory", b"blkio")


def limits_path(cgroup_file: bytes) -> str:
    """One name for the groups that limit a process: their paths by hierarchy, told once where they agree.

    On hybrid hosts two processes can share the path that says most and still be limited by different groups.
    """
    paths = controllers(cgroup_file)
    main = main_path(cgroup_file)
    others = [name + b"=" + path for name in _LIMITING if (path := paths.get(name, b"/")) not in (b"/", b"", main)]
    return safe_text(b" ".join([main, *others]))


def container_of(cgroup_file: bytes) -> tuple[str, str | None]:
    """The cgroup path of a process and the short id (or, with LXC and nspawn, the name) of its container.

    Args:
        cgroup_file: the contents of /proc/PID/cgroup; v1, v2 and both together.

    Returns:
        The path as safe text, and None for a process in no container, such as one in a systemd slice or scope.
    """
    path = main_path(cgroup_file)
    ids = _ID.findall(path)
    if ids:
        return safe_text(path), ids[-1][:SHORT_ID].decode()
    named = _LXC.search(path) or _MACHINE.search(path)
    return safe_text(path), safe_text(named.group(1)) if named else None


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def _environment(procfs: Path) -> dict[bytes, bytes]:
    raw = read_bytes(procfs / "1" / "environ") or b""
    pairs = (entry.partition(b"=") for entry in raw.split(b"\0"))
    return {name: value for name, _, value in pairs}


def container_kind(procfs: Path, *, here: bool) -> ContainerKind | None:
    """What kind of container the machine behind `procfs` is, None when nothing says that it is one.

    Best effort: marker files of the runtimes, the environment of the first process and its cgroup.

    Args:
        procfs: the proc tree.
        here: whether it is that of this very process, so that its own root and environment count.
    """
    environment = _environment(procfs)
    if (here and "KUBERNETES_SERVICE_HOST" in os.environ) or b"KUBERNETES_SERVICE_HOST" in environment:
        return "kubernetes"
    root = "" if here else f"{procfs}/1/root"
    if _exists(f"{root}/run/.containerenv"):
        return "podman"
    if _exists(f"{root}/.dockerenv"):
        return "docker"
    cgroup = read_bytes(procfs / "1" / "cgroup") or b""
    path = main_path(cgroup)
    for mark, kind in _KINDS:
        if mark in path:
            return kind
    said = environment.get(b"container", b"")
    known: dict[bytes, ContainerKind] = {b"docker": "docker", b"podman": "podman", b"lxc": "lxc", b"lxc-libvirt": "lxc"}
    if said:
        return known.get(said, "other")
    return "other" if container_of(cgroup)[1] else None
