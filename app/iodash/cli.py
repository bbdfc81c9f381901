"""The command line: which command is meant, its options, and the one function in `commands` that does it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from iodash.config import configured_settings
from iodash.model.failure import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.commands.options import Parser

COMMANDS: dict[str, str] = {
    "iotop": "processes as iotop prints them; without -b the screen, processes in full",
    "iostat": "devices as iostat prints them",
    "dstat": "the machine as dstat prints it",
    "doctor": "watches for a while, then says what holds the GPUs back and what this host hides",
    "where": "what serves a path: mount, file system, devices or server",
    "snapshot": "one frame to a file",
}
"""Every command but the dashboard. Each is a module of `commands` with that name."""


def run(arguments: Sequence[str]) -> int:
    """Does what `arguments` (without the program's name) ask for. The exit status.

    Raises:
        UsageError: the arguments are wrong.
        Failure: it could not be done.
        SystemExit: help or the version was printed.
    """
    if not arguments:  # nothing to parse: the first frame need not wait for a parser
        from iodash.commands.dashboard import run_dashboard

        return run_dashboard(configured_settings())
    first = arguments[0]
    if first in COMMANDS:
        return _run_command(first, list(arguments[1:]))
    if first and not first.startswith("-"):
        from iodash.commands.options import near

        raise UsageError(f"there is no command {first!r}{near(first, tuple(COMMANDS))} (see iodash --help)")
    return _run_dashboard_or_batch(arguments)


def _run_command(name: str, arguments: list[str]) -> int:
    module = import_module(f"iodash.commands.{name}")
    if hasattr(module, "main"):  # reads its words itself, since their order has a meaning
        return int(module.main(arguments))
    from iodash.commands.options import Parser

    parser = Parser(prog="iodash")
    commands = parser.add_subparsers()
    module.add_parser(commands)
    parsed, unknown = parser.parse_known_args([name, *arguments])
    if unknown:
        commands.choices[name].error(f"unrecognized arguments: {' '.join(unknown)}")
    return int(module.run(parsed))


def _run_dashboard_or_batch(arguments: Sequence[str]) -> int:
    from iodash.commands.options import settings_of

    parser = _parser()
    parsed = parser.parse_args(arguments)
    settings = settings_of(parsed, configured_settings())
    if parsed.once:
        settings = replace(settings, iter=1)
    if parsed.batch or parsed.once or parsed.time or parsed.quiet:
        from iodash.commands.batch import run_batch

        return run_batch(settings, parsed.format or "text")
    if parsed.format:
        parser.error("--format needs -b")
    from iodash.commands.dashboard import run_dashboard

    return run_dashboard(settings)


def _parser() -> Parser:
    from iodash.commands.options import OPTIONS, Parser, add_help_and_version, add_options

    commands = "\n".join(f"  {name:<10}{help_text}" for name, help_text in COMMANDS.items())
    parser = Parser(
        prog="iodash",
        usage="iodash [OPTION…]\n       iodash COMMAND [OPTION…]",
        description="One screen that says what holds your GPUs back: processes, disks, mounts, limits and GPUs.",
        epilog=f"commands (each has its own --help):\n{commands}",
    )
    parser.add_argument("-b", "--batch", action="store_true", help="print frames to standard output, no screen")
    parser.add_argument("--once", action="store_true", help="print one frame: -b -n 1")
    parser.add_argument("--format", choices=("text", "json", "csv"), help="what -b prints (default text)")
    add_options(parser, OPTIONS)
    add_help_and_version(parser)
    return parser
