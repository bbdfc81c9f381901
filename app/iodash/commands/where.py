"""`iodash where PATH…`: what serves a path."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from iodash.commands.options import TREES, add_options, settings_of
from iodash.commands.trees import check_trees
from iodash.config import configured_settings
from iodash.model.remedies import SYS_HIDDEN
from iodash.outputs.console import emit_lines, warn
from iodash.outputs.where import as_object, as_text
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
    add_options(parser, TREES)


def run(args: argparse.Namespace) -> int:
    """Prints one line, or one JSON object, a path. Status 1 when one of them is not there or doesn't answer."""
    settings = settings_of(args, configured_settings())
    check_trees(settings.procfs, settings.sysfs)
    finder = PathFinder(settings.procfs, settings.sysfs)
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
