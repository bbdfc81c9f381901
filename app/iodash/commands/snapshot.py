"""`iodash snapshot`: one frame to NAME.json and NAME.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.commands.options import OPTIONS, add_options, settings_of
from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.config import configured_settings
from iodash.outputs.console import emit_lines
from iodash.outputs.snapshot import check_place, split_name, write_snapshot
from iodash.sources import Demand

if TYPE_CHECKING:
    import argparse

    from iodash.model.frame import Frame

_OPTIONS = tuple(option for option in OPTIONS if option.field in ("delay", "threads", "gpu", "procfs", "sysfs"))


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command's options."""
    parser = commands.add_parser(
        "snapshot",
        help="one frame to a file",
        description="Measures for one delay and writes the frame to NAME.json and NAME.txt, readable by you alone.",
    )
    parser.add_argument(
        "-o", "--output", dest="file", metavar="FILE", help="where to (default iodash-HOST-UTCTIME in this directory)"
    )
    add_options(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Takes one frame and names the files it went to.

    Raises:
        Failure: the machine can't be read, or the files not be written.
    """
    settings = settings_of(arguments, configured_settings())
    directory, name = (None, None) if arguments.file is None else split_name(arguments.file)
    check_place(directory, name)
    source = open_source(settings.procfs, settings.sysfs, gpu=settings.gpu, wait_for_gpu=True)
    frames: list[Frame] = []
    Stream(source, settings.delay, Demand(threads=settings.threads, every_field=True)).run(frames.append, 1)
    emit_lines([str(path) for path in write_snapshot(frames[0], directory, name)])
    return 0
