"""What stands on what: partitions, device mapper, md, loop images, multipath (Documentation/ABI/stable/sysfs-block)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.sources.local.kept_file import KeptFile, list_names, read_bytes, read_int

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from iodash.model.sample import DeviceKind
    from iodash.sources.local.mounts import Mount, MountTable

_MAX_DEPTH = 16
_KINDS: tuple[tuple[re.Pattern[str], DeviceKind], ...] = (
    (re.compile(r"loop\d+"), "loop"),
    (re.compile(r"dm-\d+"), "dm"),
    (re.compile(r"md(?:\d+|_.+)"), "md"),
    (re.compile(r"zram\d+"), "zram"),
    (re.compile(r"ram\d+"), "ram"),
    (re.compile(r"(?:zd|drbd)\d+"), "other"),
)
_PARTITION = re.compile(r"((?:[shv]d|xvd)[a-z]+)\d+|(.*\d)p\d+")
_PATH_DEVICE = re.compile(r"nvme(\d+)c\d+n(\d+)")


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """What sysfs (or, where that is hidden, the name) says of a block device.

    `below` are the devices directly beneath (a partition's disk, the members of dm and md), `backing_file` the raw path
    of a loop image. `counting` is false while the kernel keeps no statistics of it (queue/iostats). `size` is in
    sectors, None where nobody asks.
    """

    name: str
    kind: DeviceKind
    below: tuple[str, ...] = ()
    label: str | None = None
    backing_file: str | None = None
    hidden: bool = False
    generation: int = 0
    slots: int | None = None
    counting: bool = True
    size: int | None = None

    @property
    def parent(self) -> str | None:
        """The disk that a partition is a part of."""
        return self.below[0] if self.kind == "partition" and self.below else None

    @property
    def physical(self) -> bool:
        """Whether its bytes count in the machine's sum: a disk that stands on no other device."""
        return self.kind == "disk" and not self.below and not self.hidden


def path_head(name: str) -> str | None:
    """`nvme0n1` for the path device `nvme0c1n1`, None for a name that is none."""
    match = _PATH_DEVICE.fullmatch(name)
    return f"nvme{match[1]}n{match[2]}" if match else None


def kind_by_name(name: str) -> DeviceKind:
    """The kind of a whole device by its name; `disk` for what is no virtual device."""
    for pattern, kind in _KINDS:
        if pattern.fullmatch(name):
            return kind
    return "disk"


def parent_by_name(name: str, known: Collection[str]) -> str | None:
    """The disk of a partition by their names, only if that disk is `known`: a lone `xvda1` is a disk of its own."""
    match = _PARTITION.fullmatch(name)
    if match is None:
        return None
    parent = match[1] or match[2]
    return parent if parent in known else None


_WHOLE_EVERY = 12
"""Every so many looks at a device all of its sysfs entries are read again; they rarely change."""


class Blocks:
    """Block devices by name, read from sysfs when first asked for and again after `forget`.

    Without a sysfs everything is told by the names and numbers of /proc/diskstats; then `guessed` is true, and dm and
    md have no known members.
    """

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._diskstats = KeptFile(procfs / "diskstats")
        self._class = f"{sysfs}/class/block"
        self._numbers = f"{sysfs}/dev/block"
        self._btrfs = f"{sysfs}/fs/btrfs"
        self._known: dict[str, BlockDevice] = {}
        self._looks: dict[str, int] = {}
        self._listed: dict[tuple[int, int], str] | None = None

    @property
    def guessed(self) -> bool:
        """Whether sysfs shows no block devices at all."""
        return not os.path.isdir(self._class)

    def get(self, name: str) -> BlockDevice:
        """The device called `name` by the kernel."""
        device = self._known.get(name)
        if device is None:
            device = self._known[name] = self._read(name)
        return device

    def refresh(self, name: str, *, whole: bool) -> bool:
        """Looks at one device again. True when anything about it changed.

        What the kernel tells nobody about is seen each time; the rest when `whole`, or now and then.
        """
        known = self._known.get(name)
        looks = self._looks.get(name, 0) + 1
        if known is not None and not whole and looks < _WHOLE_EVERY and self._is_as_it_was(known):
            self._looks[name] = looks
            return False
        self._looks[name] = 0
        device = self._known[name] = self._read(name)
        return known != device

    def forget(self) -> None:
        """Lets everything be read again when asked for."""
        self._known.clear()
        self._listed = None

    def _is_as_it_was(self, device: BlockDevice) -> bool:
        disk = self._class + "/" + (device.below[0] if device.kind == "partition" else device.name).replace("/", "!")
        return (read_int(f"{disk}/queue/iostats") != 0) == device.counting and (
            device.size is None or read_int(f"{disk}/size") == device.size
        )

    def by_number(self, major: int, minor: int) -> str | None:
        """The name of the device with a number, None where there is none."""
        path = f"{self._numbers}/{major}:{minor}"
        if os.path.exists(path):
            return os.path.basename(os.path.realpath(path)).replace("!", "/")
        return self._list().get((major, minor))

    def by_label(self, label: str) -> str | None:
        """The device-mapper device with a name, as under /dev/mapper."""
        for name in list_names(self._class):
            if name.startswith("dm-") and read_bytes(f"{self._class}/{name}/dm/name") == os.fsencode(label):
                return name
        return None

    def by_source(self, source: str) -> str | None:
        """The device that the source of a mount (`/dev/nvme0n1p2`, `/dev/mapper/vg-data`) names."""
        folder, _, label = source.rpartition("/")
        if folder == "/dev/mapper":
            return self.by_label(label)
        if not source.startswith("/dev/"):
            return None
        name = source.removeprefix("/dev/")
        known = os.path.exists(f"{self._class}/{name.replace('/', '!')}") or name in self._list().values()
        return name if known else None

    def btrfs_members(self, name: str) -> tuple[str, ...]:
        """All devices of the btrfs volume that `name` belongs to, itself alone where the volume is not found."""
        for volume in list_names(self._btrfs):
            members = [member.replace("!", "/") for member in list_names(f"{self._btrfs}/{volume}/devices")]
            if name in members:
                return tuple(members)
        return (name,)

    def under(self, mount: Mount) -> tuple[str, ...]:
        """The block devices that a mounted file system lies on, none for one that lies on no block device.

        btrfs has a number of its own, which is in no table: its source device leads to all members of the volume.
        """
        if mount.major:
            name = self.by_number(mount.major, mount.minor)
            return (name,) if name else ()
        if mount.file_system not in ("btrfs", "bcachefs"):
            return ()
        name = self.by_source(mount.device.split(":", 1)[0])
        return () if name is None else self.btrfs_members(name)

    def levels(self, names: Iterable[str], table: MountTable | None) -> tuple[tuple[str, ...], ...]:
        """The devices from `names` down to the physical ones, level by level; the last level has all of those.

        A loop device leads on to what holds its image file, as far as the mount table tells.
        """
        levels: list[tuple[str, ...]] = []
        seen: set[str] = set()
        level = tuple(dict.fromkeys(names))
        while level and level not in levels and len(levels) < _MAX_DEPTH:
            levels.append(level)
            seen.update(level)
            beneath: list[str] = []
            for name in level:
                below = self._below(name, table)
                beneath.extend(lower for lower in below if lower not in seen)
                if not below:
                    beneath.append(name)
            level = tuple(dict.fromkeys(beneath))
        return tuple(levels)

    def leaves(self, name: str, table: MountTable | None) -> tuple[str, ...]:
        """The devices at the bottom of `name`, none for one that stands on nothing else."""
        levels = self.levels((name,), table)
        return levels[-1] if len(levels) > 1 else ()

    def image_mount(self, name: str, table: MountTable | None) -> Mount | None:
        """The mount that holds the image file of a loop device."""
        path = self.get(name).backing_file
        return table.find(path) if path and table is not None else None

    def _below(self, name: str, table: MountTable | None) -> tuple[str, ...]:
        device = self.get(name)
        if device.below:
            return device.below
        mount = self.image_mount(name, table)
        return () if mount is None else self.under(mount)

    def _list(self) -> dict[tuple[int, int], str]:
        """The names in the kernel's list by number."""
        if self._listed is None:
            self._listed = {}
            content = self._diskstats.read()
            self._diskstats.close()
            for line in () if isinstance(content, Missing) else content.split(b"\n"):
                fields = line.split(None, 3)
                if len(fields) > 2 and fields[0].isdigit() and fields[1].isdigit():
                    self._listed[int(fields[0]), int(fields[1])] = safe_text(fields[2])
        return self._listed

    def _read(self, name: str) -> BlockDevice:
        folder = os.path.realpath(f"{self._class}/{name.replace('/', '!')}")
        if not os.path.isdir(folder):
            parent = parent_by_name(name, self._list().values())
            return BlockDevice(
                name=name,
                kind="partition" if parent else kind_by_name(name),
                below=(parent,) if parent else (),
                hidden=path_head(name) is not None,
            )
        kind: DeviceKind = "partition" if os.path.exists(f"{folder}/partition") else kind_by_name(name)
        disk = os.path.dirname(folder) if kind == "partition" else folder
        beneath = [os.path.basename(disk)] if kind == "partition" else list_names(f"{folder}/slaves")
        label = read_bytes(f"{folder}/dm/name") if kind == "dm" else None
        image = read_bytes(f"{folder}/loop/backing_file") if kind == "loop" else None
        return BlockDevice(
            name=name,
            kind=kind,
            below=tuple(lower.replace("!", "/") for lower in beneath),
            label=safe_text(label) if label else None,
            backing_file=os.fsdecode(image.removesuffix(b" (deleted)")) if image else None,
            hidden=read_int(f"{disk}/hidden") == 1,
            generation=read_int(f"{disk}/diskseq") or 0,
            slots=_slots(disk),
            counting=read_int(f"{disk}/queue/iostats") != 0,
            size=read_int(f"{folder}/size") if kind == "zram" else None,
        )


def _slots(disk: str) -> int | None:
    """How many requests a device takes at once: nr_requests of each hardware queue. None where it has no queues."""
    queues = len(list_names(f"{disk}/mq"))
    depth = read_int(f"{disk}/queue/nr_requests")
    return depth * queues if depth and queues else None
