"""What serves a path, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iodash.model.where import Served


def as_text(found: Served) -> str:
    """`/data → vg-data (dm-3) → nvme0n1 nvme1n1`, with the mount and file system where the path is not the mount."""
    links = f"{found.path} → {found.real_path}" if found.path.rstrip("/") != found.real_path.rstrip("/") else found.path
    return f"{links}: {found.file_system} on {found.mount_point} → {found.summary.replace(' -> ', ' → ')}"


def as_object(found: Served) -> dict[str, Any]:
    """The same for programs. `chain` is a list of levels, the mounted device first."""
    return {
        "path": found.path,
        "real_path": found.real_path,
        "mount_point": found.mount_point,
        "file_system": found.file_system,
        "source": found.source,
        "kind": found.kind,
        "probable": found.probable,
        "chain": [
            [{"name": layer.name, "kind": layer.kind, "label": layer.label} for layer in level]
            for level in found.levels
        ],
        "devices": list(found.devices),
        "served_by": found.summary,
    }
