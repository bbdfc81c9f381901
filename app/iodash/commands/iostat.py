"""`iodash iostat`: devices and CPU shares as iostat prints them. Its words are read as iostat reads them."""

from __future__ import annotations

import argparse
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from iodash import __version__
from iodash.commands.options import MAXIMUM_DELAY, MINIMUM_DELAY, positive
from iodash.commands.stream import Stream
from iodash.commands.trees import open_source
from iodash.model.failure import Stopped, UsageError
from iodash.outputs.console import emit, emit_lines, warn
from iodash.outputs.iostat import ALL, JsonDocument, Layout, Reports, absent_names, header_line
from iodash.sources import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

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

_FLAGS: dict[str, dict[str, bool | int]] = {
    "c": {"cpu": True},
    "d": {"disk": True},
    "x": {"extended": True},
    "s": {"short": True},
    "k": {"megabytes": False},
    "m": {"megabytes": True},
    "N": {"labels": True},
    "z": {"only_active": True},
    "t": {"timestamp": True},
    "h": {"human": True, "pretty": True},
    "H": {"only_groups": True},
    "--human": {"human": True},
    "--pretty": {"pretty": True},
    "--compact": {"compact": True},
    "--dec=0": {"decimals": 0},
    "--dec=1": {"decimals": 1},
    "--dec=2": {"decimals": 2},
}


@dataclass(slots=True)
class Request:
    """What a command line asks for. Without an interval there is one report."""

    layout: Layout = field(default_factory=Layout)
    interval: float | None = None
    count: int | None = None
    since_boot: bool = True
    json: bool = False
    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")


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
        for name in absent_names(frame.devices, request.layout):
            warn(f"there is no device {name}")
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
        for name in absent_names(frame.devices, request.layout):
            warn(f"there is no device {name}")
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


def parse(arguments: Sequence[str]) -> Request:
    """Reads iostat's words.

    Numbers among them are the interval and then the count, everything else that is no option a device.

    Raises:
        UsageError: they are none of iostat's, or not supported.
    """
    request = Request()
    values: dict[str, bool | int] = {}
    numbers: list[str] = []
    devices: list[str] = []
    partitions: list[str] | None = None
    groups: list[tuple[str, tuple[str, ...]]] = []
    words = deque(arguments)
    while words:
        word = words.popleft()
        if word in _FLAGS and word.startswith("--"):
            values |= _FLAGS[word]
        elif word.startswith("--dec"):
            raise UsageError(f"iostat: {word} is no number of decimals: give --dec=0, --dec=1 or --dec=2")
        elif word in ("--procfs", "--sysfs"):
            setattr(request, word[2:], Path(_value(words, word)))
        elif word == "-p":
            partitions = (partitions or []) + _partition_names(words)
        elif word == "-g":
            name = _value(words, word)
            groups.append((name, tuple(_device_names(words))))
            if not groups[-1][1]:
                raise UsageError(f"iostat: -g {name} needs devices (see iodash iostat --help)")
        elif word == "-o":
            if _value(words, word).upper() != "JSON":
                raise UsageError("iostat: -o takes only JSON (see iodash iostat --help)")
            request.json = True
        elif word.startswith("-") and not word.startswith("--") and len(word) > 1:
            for letter in word[1:]:
                if letter == "y":
                    request.since_boot = False
                elif letter == "p":
                    partitions = [ALL]
                elif letter in _FLAGS:
                    values |= _FLAGS[letter]
                else:
                    raise UsageError(f"iostat: there is no option -{letter} (see iodash iostat --help)")
        elif word.startswith(("-", "+")):
            raise UsageError(f"iostat: there is no option {word} (see iodash iostat --help)")
        elif _is_number(word):
            numbers.append(word)
        else:
            devices.append(word)
    if values.get("cpu") and not values.get("disk"):
        values["disk"] = False
    elif values.get("disk") and not values.get("cpu"):
        values["cpu"] = False
    if values.get("only_groups") and not groups:
        raise UsageError("iostat: -H needs -g (see iodash iostat --help)")
    names = tuple(ALL if name == ALL else _device_name(name) for name in devices)
    request.layout = Layout(
        devices=names,
        partitions=None if partitions is None else tuple(partitions),
        groups=tuple(groups),
        **values,  # type: ignore[arg-type]
    )
    _read_numbers(request, numbers)
    if request.interval is None:
        request.since_boot = True
    return request


def _read_numbers(request: Request, numbers: Sequence[str]) -> None:
    if len(numbers) > 2:
        raise UsageError(f"iostat: {numbers[2]} is one number too many (see iodash iostat --help)")
    if numbers:
        seconds = float(numbers[0])
        if seconds and not MINIMUM_DELAY <= seconds <= MAXIMUM_DELAY:
            limits = f"from {MINIMUM_DELAY} to {MAXIMUM_DELAY:.0f}, or 0 for the means since boot alone"
            raise UsageError(f"iostat: {numbers[0][:20]} is no interval: give seconds, {limits}")
        request.interval = seconds or None
    if len(numbers) == 2:
        try:
            request.count = positive(numbers[1])
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"iostat: count: {error} (see iodash iostat --help)") from error
        if request.interval is None:
            raise UsageError("iostat: a count needs an interval before it (see iodash iostat --help)")


def _is_number(word: str) -> bool:
    return word.isascii() and word.replace(".", "", 1).isdecimal()


def _value(words: deque[str], option: str) -> str:
    if not words:
        raise UsageError(f"iostat: {option} needs a value (see iodash iostat --help)")
    return words.popleft()


def _device_names(words: deque[str]) -> list[str]:
    """The devices that follow, up to a number or an option."""
    names = []
    while words and not words[0].startswith(("-", "+")) and not _is_number(words[0]):
        names.append(_device_name(words.popleft()))
    return names


def _partition_names(words: deque[str]) -> list[str]:
    """The word after -p, if it names devices."""
    if not words or words[0].startswith(("-", "+")) or _is_number(words[0]):
        return []
    return [ALL if name == ALL else _device_name(name) for name in words.popleft().split(",") if name]


def _device_name(word: str) -> str:
    """The kernel's name of what a path below /dev leads to, such as /dev/mapper/data or /dev/disk/by-id/…."""
    if not word.startswith("/dev/"):
        return word
    target = Path(word)
    return target.resolve().name if target.is_symlink() else word.removeprefix("/dev/")
