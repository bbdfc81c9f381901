"""What serves a path, as a chain from the mount down to the devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iodash.model.sample import DeviceKind


@dataclass(frozen=True, slots=True)
class Layer:
    """A block device in the chain. `label` is its device-mapper name."""

    name: str
    kind: DeviceKind
    label: str | None = None

    @property
    def text(self) -> str:
        """`nvme0n1`, or `vg-data (dm-3)` where it has a name of its own."""
        return f"{self.label} ({self.name})" if self.label else self.name


@dataclass(frozen=True, slots=True)
class Served:
    """A mount and what serves it.

    `kind` is `block`, `memory`, `network`, `userspace` (FUSE), `kernel` (files that show the kernel's state) or
    `unknown`. `levels` are the block devices from the mounted one down to the physical ones. `probable` marks a guess,
    as of an overlay in a container. `ends_in` is what serves the image of a loop device, or the directories of an
    overlay, that lie on no block device.
    """

    mount_point: str
    file_system: str
    source: str
    kind: str
    levels: tuple[tuple[Layer, ...], ...] = ()
    probable: bool = False
    ends_in: str = ""
    path: str = ""
    real_path: str = ""

    def at(self, path: str, real_path: str) -> Served:
        """The same for a path in it, as it was given and with symbolic links followed."""
        return replace(self, path=path, real_path=real_path)

    @property
    def devices(self) -> tuple[str, ...]:
        """The block devices at the bottom of the chain."""
        return tuple(layer.name for layer in self.levels[-1]) if self.levels else ()

    @property
    def summary(self) -> str:
        """One line: `vg-data (dm-3) -> nvme0n1 nvme1n1`, `nas:/ckpt (nfs4)`, `memory (tmpfs)`."""
        steps = [" ".join(layer.text for layer in level) for level in self.levels]
        if self.ends_in and not steps:
            pass
        elif self.kind == "memory":
            steps = [f"memory ({self.file_system})"]
        elif self.kind in ("network", "userspace"):
            steps = [f"{self.source} ({self.file_system})"]
        elif self.kind == "kernel":
            steps = [f"the kernel ({self.file_system})"]
        elif not steps:
            steps = [f"unknown ({self.file_system})"]
        line = " -> ".join((*steps, self.ends_in) if self.ends_in else steps)
        return f"probably {line}" if self.probable else line
