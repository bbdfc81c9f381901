"""`iodash where PATH…`: what serves a path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iodash.commands.trees import check_trees
from iodash.model.remedies import SYS_HIDDEN
from iodash.outputs.console import emit_lines, warn
from iodash.sources.local.where import MissingPathError, PathFinder, UnansweredPathError

if TYPE_CHECKING:
    import argparse

    from iodash.model.where import Served


_HIDDEN = f"; {SYS_HIDDEN}: mount the host's and name it with --sysfs"


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Adds the command and its options."""
    parser = subparsers.add_parser(
        "where",
        help="what serves a path: mount, file system, the chain down to the physical devices or the server",
        description="Says what serves each PATH: its mount, the file system, and the chain down to the physical "
        "devices, the server or memory.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file or directory")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--procfs", type=Path, default=Path("/proc"), metavar="DIR", help="default: /proc")
    parser.add_argument("--sysfs", type=Path, default=Path("/sys"), metavar="DIR", help="default: /sys")


def run(args: argparse.Namespace) -> int:
    """Prints one line, or one JSON object, a path. Status 1 when one of them is not there or doesn't answer."""
    check_trees(args.procfs, args.sysfs)
    finder = PathFinder(args.procfs, args.sysfs)
    status = 0
    try:
        for path in args.paths:
            try:
                found = finder.find(path)
            except (MissingPathError, UnansweredPathError) as error:
                warn(str(error))
                status = 1
                continue
            if args.format == "json":
                emit_lines([json.dumps(as_object(found), ensure_ascii=False)])
            else:
                hidden = finder.sys_is_hidden and not _leads_to_disks(found)
                emit_lines([as_text(found) + (_HIDDEN if hidden else "")])
    finally:
        finder.close()
    return status


def _leads_to_disks(found: Served) -> bool:
    """Whether what serves a path is known to the end."""
    if found.kind == "block":
        return all(layer.kind == "disk" for layer in found.levels[-1])
    return found.kind != "unknown"


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
