"""`iodash iostat`: devices and CPU shares as iostat prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash import __version__
from iodash.commands.iostat_words import parse
from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.model.failure import Stopped
from iodash.outputs.console import emit, emit_lines, warn
from iodash.outputs.iostat import JsonDocument, Reports, absent_names, header_line
from iodash.outputs.select import absence
from iodash.sources import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.commands.iostat_words import Request
    from iodash.model.frame import Frame

HELP = """usage: iodash iostat [OPTION…] [DEVICE…] [INTERVAL [COUNT]]

Devices and CPU shares as iostat prints them, the means since boot first.

  -c / -d         only CPU shares / only devices
  -x              extended: rates, merges, waits, sizes, queue length and %util
  -s              short: reads, writes and discards together
  -k / -m         amounts in KiB (default) / MiB
  -p [DEV,…|ALL]  partitions too
  -g NAME DEV…    these devices and a line with their sum; -H: only the sum
  -N              device-mapper names
  -y              without the report since boot
  -z              without idle devices (one with a hanging request is not idle)
  -t              the time above each report (S_TIME_FORMAT=ISO for ISO 8601)
  -h              --human and --pretty;  --compact: -x in one table with --pretty
  --dec=0|1|2     decimals
  -o JSON         JSON
  -V              version
  --procfs DIR    read this tree as /proc
  --sysfs DIR     read this tree as /sys

DEVICE is a name, a path below /dev, or ALL.
"""


def main(arguments: Sequence[str]) -> int:
    """Prints reports. With a count as many, the one since boot included.

    Raises:
        UsageError: the arguments are wrong.
        Failure: the machine can't be read.
        Stopped: a signal came.
    """
    if "--help" in arguments:
        emit(HELP)
        return 0
    if "-V" in arguments or "--version" in arguments:
        emit(f"iodash {__version__}\n")
        return 0
    request = parse(arguments)
    source = open_source(request.procfs, request.sysfs, gpu=False)
    stream = Stream(source, request.interval or 1.0, Demand())
    (_print_json if request.json else _print_text)(request, stream)
    return 0


def _print_text(request: Request, stream: Stream) -> None:
    reports = Reports(request.layout)

    def since_boot(frame: Frame) -> bool:
        reports.learn(frame)
        if absent := absence(device=absent_names(frame.devices, request.layout)):
            warn(absent)
        lines = [header_line(frame), ""]
        emit_lines(lines + (reports.lines(frame) if request.since_boot else [""]))
        return _wants_more(request)

    stream.run(lambda frame: emit_lines(reports.lines(frame)), _intervals(request), since_boot=since_boot)


def _print_json(request: Request, stream: Stream) -> None:
    reports = Reports(request.layout)
    document: JsonDocument | None = None

    def since_boot(frame: Frame) -> bool:
        nonlocal document
        reports.learn(frame)
        if absent := absence(device=absent_names(frame.devices, request.layout)):
            warn(absent)
        document = JsonDocument(frame)
        emit(document.opening)
        if request.since_boot:
            show(frame)
        return _wants_more(request)

    def show(frame: Frame) -> None:
        if document is not None:
            emit(document.element(reports.object(frame)))

    try:
        stream.run(show, _intervals(request), since_boot=since_boot)
    except Stopped:
        if document is not None:
            emit(document.closing)
        raise
    if document is not None:
        emit(document.closing)


def _wants_more(request: Request) -> bool:
    return request.interval is not None and _intervals(request) != 0


def _intervals(request: Request) -> int | None:
    """How many reports come after the one since boot; None for no end."""
    if request.count is None:
        return None
    return request.count - 1 if request.since_boot else request.count
