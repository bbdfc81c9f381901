"""What serves a path: from the mount down to the physical devices, the server or memory."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.where import Layer, Served
from iodash.sources.daemon import DaemonExecutor
from iodash.sources.local.mounts import MountReader, MountTable
from iodash.sources.local.topology import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from iodash.sources.local.mounts import Mount

TIME_LIMIT_S = 2.0
"""How long a path may take to resolve: one on a server that doesn't answer may take for ever."""

_RUNTIME_FILES = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
"""Files that container runtimes bind into a container from the folder that also holds its root."""

_REMEDIES = {
    errno.ENOENT: "look whether it is spelt right and mounted here",
    errno.ENOTDIR: "one of its folders is a file, look whether it is spelt right",
    errno.EACCES: "run as root, or as somebody who may enter its folder",
    errno.ELOOP: "its symbolic links lead in a circle",
}


class MissingPathError(Exception):
    """There is nothing at a path. The message is one line for people."""


class UnansweredPathError(Exception):
    """A path could not be resolved in time. The message is one line for people."""


def served(mount: Mount, blocks: Blocks, table: MountTable | None = None) -> Served:
    """What serves a mount, as a chain of levels."""
    if mount.in_memory:
        return Served(mount.mount_point, mount.file_system, mount.source, "memory")
    if mount.kind is not None:
        kind = "userspace" if mount.kind == "fuse" else "network"
        return Served(mount.mount_point, mount.file_system, mount.source, kind)
    if mount.holds_no_data:
        return Served(mount.mount_point, mount.file_system, mount.source, "kernel")
    holder, probable = mount, False
    if mount.file_system == "overlay" and table is not None:
        holder, probable = _beneath_overlay(mount, table)
    if holder is not mount and (holder.in_memory or holder.kind is not None):
        beneath = served(holder, blocks, table)
        return Served(mount.mount_point, mount.file_system, beneath.source, beneath.kind, (), probable, beneath.summary)
    levels, ends = _levels(holder, blocks, table)
    kind = "block" if levels else "unknown"
    return Served(mount.mount_point, mount.file_system, mount.source, kind, levels, probable, ends)


def _levels(mount: Mount, blocks: Blocks, table: MountTable | None) -> tuple[tuple[tuple[Layer, ...], ...], str]:
    """The levels of block devices, and what serves the image file at the end of a loop device on no block device."""
    levels = blocks.levels(blocks.under(mount), table)
    layers = tuple(tuple(_layer(name, blocks) for name in level) for level in levels)
    for name in levels[-1] if levels else ():
        image = blocks.image_mount(name, table)
        if image is not None and (image.in_memory or image.kind is not None):
            return layers, served(image, blocks, table).summary
    return layers, ""


def _layer(name: str, blocks: Blocks) -> Layer:
    device = blocks.get(name)
    return Layer(name, device.kind, device.label)


def _beneath_overlay(mount: Mount, table: MountTable) -> tuple[Mount, bool]:
    """The mount that holds an overlay's upper (else first lower) directory, and whether that is only a guess.

    The directories are paths of the host. Inside a container they lead nowhere; there the files that the runtime binds
    from its data folder tell the device, probably.
    """
    options = dict(option.partition("=")[::2] for option in mount.options.split(","))
    directory = options.get("upperdir") or options.get("lowerdir", "").split(":")[0]
    found = table.find(directory) if directory.startswith("/") else None
    if found is not None and found.file_system != "overlay":
        return found, False
    for path in _RUNTIME_FILES:
        bound = table.find(path)
        if bound is not None and bound.point == path and bound.file_system != "overlay":
            return bound, True
    return mount, False


class PathFinder:
    """Tells what serves paths, without ever waiting long for a server that doesn't answer."""

    def __init__(self, procfs: Path, sysfs: Path, *, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._mounts = MountReader(procfs)
        self._blocks = Blocks(procfs, sysfs)
        self._time_limit_s = time_limit_s

    @property
    def sys_is_hidden(self) -> bool:
        """Whether sysfs shows no block devices, so that what they stand on can't be told."""
        return self._blocks.guessed

    def find(self, path: str) -> Served:
        """What serves `path`. Symbolic links are followed, beside this thread and with a time limit.

        Raises:
            MissingPathError: there is nothing at the path.
            UnansweredPathError: following it ran into something that doesn't answer.
        """
        if not path:
            raise MissingPathError("an empty path names nothing; give that of a file or folder")
        table = self._mounts.table()
        absolute = os.path.abspath(path)
        direct = table.find(absolute)
        if direct is not None and direct.may_hang and direct.point == absolute:
            return served(direct, self._blocks, table).at(safe_text(path), safe_text(absolute))
        real = self._within_limit(lambda: os.path.realpath(absolute, strict=True), path, direct)
        mount = table.find(real)
        if mount is None:
            raise MissingPathError(f"{safe_text(path)}: no mount holds it; is /proc/self/mountinfo readable?")
        return served(mount, self._blocks, table).at(safe_text(path), safe_text(real))

    def close(self) -> None:
        """Lets go of the kept descriptors."""
        self._mounts.close()

    def _within_limit(self, resolve: Callable[[], str], path: str, direct: Mount | None) -> str:
        beside = DaemonExecutor("iodash-where")
        shown = safe_text(path)
        try:
            return beside.submit(resolve).result(self._time_limit_s)
        except TimeoutError:
            on = f", mounted from {direct.source} on {direct.mount_point}" if direct and direct.may_hang else ""
            raise UnansweredPathError(
                f"{shown}: no answer in {self._time_limit_s:g} s{on}; is its server up?"
            ) from None
        except OSError as error:
            why = (error.strerror or "not found").lower()
            raise MissingPathError(
                f"{shown}: {why}; {_REMEDIES.get(error.errno or 0, 'choose another path')}"
            ) from None
        finally:
            beside.shutdown()
