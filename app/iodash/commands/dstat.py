"""`iodash dstat`: the machine as dstat prints it."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from iodash.commands.options import (
    TREES,
    Parser,
    add_help_and_version,
    add_options,
    delay,
    path,
    positive,
    settings_of,
)
from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.model.settings import Settings
from iodash.outputs.console import emit_lines, terminal_width, warn
from iodash.outputs.dstat import DstatWriter
from iodash.outputs.dstat_columns import Layout, absent_members, blocks_of
from iodash.outputs.dstat_csv import DstatCsv
from iodash.sources import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame

_GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    "c": (("-c", "--cpu"), "CPU shares"),
    "d": (("-d", "--disk"), "bytes read and written"),
    "g": (("-g", "--page"), "swapped in and out"),
    "i": (("-i", "--int"), "interrupts, all together"),
    "l": (("-l", "--load"), "load averages"),
    "m": (("-m", "--mem"), "memory"),
    "n": (("-n", "--net"), "bytes received and sent"),
    "p": (("-p", "--proc"), "processes running, blocked, new"),
    "r": (("-r", "--io"), "requests completed"),
    "s": (("-s", "--swap"), "swap space"),
    "t": (("-t", "--time"), "the time (DSTAT_TIMEFMT)"),
    "T": (("-T", "--epoch"), "the time in seconds since 1970"),
    "y": (("-y", "--sys"), "interrupts and context switches"),
    "cdngy": (("-a", "--all"), "-cdngy (default)"),
    "pmgdyc": (("-v", "--vmstat"), "-pmgdyc"),
}


class _Select(argparse.Action):
    """Adds groups in the order in which they are asked for, each once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        present: str = namespace.groups or ""
        namespace.groups = present + "".join(letter for letter in self.const if letter not in present)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _only_total(text: str) -> str:
    if text != "total":
        raise argparse.ArgumentTypeError("only their total is known")
    return text


def main(arguments: Sequence[str]) -> int:
    """Prints the means since boot and then a line each delay; with a count as many lines.

    Raises:
        UsageError: the arguments are wrong.
        Failure: the machine can't be read, or the CSV file not be written.
        Stopped: a signal came.
    """
    options = _parser().parse_args([*shlex.split(os.environ.get("DSTAT_OPTS", "")), *arguments])
    trees = settings_of(options, Settings())
    layout = Layout(
        groups=options.groups or "cdngy",
        cpus=options.cpus,
        disks=options.disks,
        interfaces=options.interfaces,
        full=options.full,
        bits=options.bits,
        kilobytes=options.kilobytes,
        numbers=options.numbers,
    )
    file = None if options.output is None else DstatCsv(options.output, shlex.join(["dstat", *arguments]))
    printer = _Printer(layout, options.noheaders, file, options.count)
    try:
        source = open_source(trees.procfs, trees.sysfs, gpu=False)
        Stream(source, options.delay, Demand()).run(
            printer.show,
            None if options.count is None else options.count - 1,
            since_boot=printer.show_first,
        )
    finally:
        if file is not None:
            file.close()
    return 0


class _Printer:
    """Prints each frame, and writes it to the CSV file too."""

    def __init__(self, layout: Layout, no_headers: bool, file: DstatCsv | None, count: int | None) -> None:
        self._layout = layout
        self._no_headers = no_headers
        self._file = file
        self._count = count
        self._writer: DstatWriter | None = None

    def show(self, frame: Frame) -> None:
        """Prints one frame, under the headers where they are due."""
        if self._writer is None:
            self._writer = self._start(frame)
        emit_lines(self._writer.lines(frame))
        if self._file is not None:
            self._file.write(frame)

    def show_first(self, frame: Frame) -> bool:
        """Prints the means since boot. Whether more lines are wanted."""
        self.show(frame)
        return self._count != 1

    def _start(self, frame: Frame) -> DstatWriter:
        if absent := absent_members(self._layout, frame):
            warn(absent)
        groups = blocks_of(self._layout, frame)
        if self._file is not None:
            self._file.begin(groups, frame)
        header_every, width = 0, terminal_width()
        if width is not None:
            rows = shutil.get_terminal_size().lines
            header_every = rows - 1 if rows >= 6 and not self._no_headers else 0
        writer = DstatWriter(self._layout, groups, header_every, width)
        if writer.trimmed:
            warn("the terminal is too narrow, groups on the right are left out")
        return writer


def _parser() -> Parser:
    parser = Parser(
        prog="iodash dstat",
        description="Prints the machine as dstat does, the means since boot first.",
        usage="iodash dstat [OPTION…] [DELAY [COUNT]]",
    )
    parser.set_defaults(groups=None)
    for letters, (flags, help_text) in _GROUPS.items():
        parser.add_argument(*flags, action=_Select, nargs=0, const=letters, dest="groups", help=help_text)
    parser.add_argument("-C", dest="cpus", type=_names, metavar="0,3,total", help="which CPUs; all for each")
    parser.add_argument("-D", dest="disks", type=_names, metavar="total,vda", help="which disks; all for each")
    parser.add_argument("-N", dest="interfaces", type=_names, metavar="eth0,total", help="which network interfaces")
    parser.add_argument("-S", type=_only_total, metavar="total", help="which swap spaces: only the total is known")
    parser.add_argument("-I", type=_only_total, metavar="total", help="which interrupts: only the total is known")
    parser.add_argument("-f", "--full", action="store_true", help="every CPU, disk and interface")
    parser.add_argument("-k", dest="kilobytes", action="store_true", help="bytes in KiB (not an option of dstat)")
    parser.add_argument("--bits", action="store_true", help="bits instead of bytes")
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--float", dest="numbers", action="store_const", const="float", help="with decimals")
    style.add_argument("--integer", dest="numbers", action="store_const", const="integer", help="without decimals")
    parser.set_defaults(numbers="as usual")
    parser.add_argument("-o", "--output", type=path, metavar="FILE", help="write dstat's CSV, in bytes, to FILE too")
    parser.add_argument("--noheaders", action="store_true", help="headers only once")
    for flags in (("--noupdate",), ("--color",), ("--nocolor",), ("--bw", "--black-on-white")):
        parser.add_argument(*flags, action="store_true", help="accepted: iodash prints final lines without colour")
    parser.add_argument("delay", nargs="?", type=delay, default=1.0, help="seconds between lines (default 1)")
    parser.add_argument("count", nargs="?", type=positive, help="how many lines")
    add_options(parser, TREES)
    add_help_and_version(parser)
    return parser
