"""`iodash iotop`: processes as iotop prints them; without -b the screen with the processes in full."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.commands.options import OPTIONS, add_help_and_version, add_options, settings_of
from iodash.model.settings import Settings
from iodash.outputs.console import emit_lines, terminal_width

if TYPE_CHECKING:
    import argparse


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command's options: iotop's, and those of the dashboard."""
    parser = commands.add_parser(
        "iotop",
        help="processes as iotop prints them",
        description="Prints processes as iotop does with -b; without -b it opens the screen with the processes in full."
        " A row is a process unless --threads is given.",
    )
    parser.add_argument("-b", "--batch", action="store_true", help="print to standard output, no screen")
    add_options(parser, OPTIONS)
    add_help_and_version(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints or shows processes. The configuration file counts for the screen alone.

    Raises:
        Failure: the machine can't be read.
        Stopped: a signal came.
    """
    if arguments.batch or arguments.time or arguments.quiet:
        from iodash.commands.batch import print_frames
        from iodash.outputs.iotop import IotopWriter

        settings = replace(settings_of(arguments, Settings()), gpu=False)
        writer = IotopWriter(settings)
        print_frames(settings, lambda frame: emit_lines(writer.lines(frame, terminal_width())), every_field=True)
        return 0
    from iodash.commands.dashboard import run_dashboard
    from iodash.config import configured_settings

    return run_dashboard(replace(settings_of(arguments, configured_settings()), processes_only=True))
