"""The words of an iostat command line, read as iostat reads them."""

from __future__ import annotations

import argparse
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from iodash.commands.options import MAXIMUM_DELAY, MINIMUM_DELAY, positive
from iodash.model.failure import UsageError
from iodash.outputs.iostat import ALL, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def parse(arguments: Sequence[str]) -> Request:
    """Reads iostat's words.

    Numbers among them are the interval and then the count, everything else that is no option a device.

    Raises:
        UsageError: they are none of iostat's, or not supported.
    """
    words = _Words(arguments)
    while words.are_left:
        words.take()
    return words.request()


class _Words:
    """A command line while it is read, word by word."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._left = deque(arguments)
        self._request = Request()
        self._values: dict[str, bool | int] = {}
        self._numbers: list[str] = []
        self._devices: list[str] = []
        self._partitions: list[str] | None = None
        self._groups: list[tuple[str, tuple[str, ...]]] = []

    @property
    def are_left(self) -> bool:
        return bool(self._left)

    def take(self) -> None:
        """Reads the next word, with the values that belong to it."""
        word = self._left.popleft()
        if word == "-p":
            self._take_partitions()
        elif word == "-o":
            self._take_format()
        elif word.startswith("--"):
            self._take_long(word)
        elif word.startswith("-") and len(word) > 1:
            for letter in word[1:-1]:
                self._take_letter(letter)
            if word[-1] == "g":
                self._take_group()
            else:
                self._take_letter(word[-1])
        elif word.startswith(("-", "+")):
            raise _unknown(word)
        elif _is_number(word):
            self._numbers.append(word)
        else:
            self._devices.append(word)

    def request(self) -> Request:
        """What all words together ask for."""
        request, values = self._request, self._values
        if values.get("cpu") and not values.get("disk"):
            values["disk"] = False
        elif values.get("disk") and not values.get("cpu"):
            values["cpu"] = False
        if values.get("only_groups") and not self._groups:
            raise UsageError("iostat: -H needs -g (see iodash iostat --help)")
        request.layout = Layout(
            devices=tuple(ALL if name == ALL else _device_name(name) for name in self._devices),
            partitions=None if self._partitions is None else tuple(self._partitions),
            groups=tuple(self._groups),
            **values,  # type: ignore[arg-type]
        )
        _read_numbers(request, self._numbers)
        if request.interval is None:
            request.since_boot = True
        return request

    def _take_long(self, word: str) -> None:
        if word in _FLAGS:
            self._values |= _FLAGS[word]
        elif word == "--procfs":
            self._request.procfs = Path(self._value(word))
        elif word == "--sysfs":
            self._request.sysfs = Path(self._value(word))
        elif word.startswith("--dec"):
            raise UsageError(f"iostat: {word} is no number of decimals: give --dec=0, --dec=1 or --dec=2")
        else:
            raise _unknown(word)

    def _take_letter(self, letter: str) -> None:
        if letter == "y":
            self._request.since_boot = False
        elif letter == "p":
            self._partitions = [ALL]
        elif letter in _FLAGS:
            self._values |= _FLAGS[letter]
        elif letter == "g":
            raise UsageError("iostat: a name and devices follow -g: it comes last (see iodash iostat --help)")
        else:
            raise _unknown(f"-{letter}")

    def _take_partitions(self) -> None:
        """The word after -p, if it names devices."""
        names = self._left.popleft().split(",") if self._a_name_follows() else []
        known = [ALL if name == ALL else _device_name(name) for name in names if name]
        self._partitions = (self._partitions or []) + known

    def _take_group(self) -> None:
        """The name of a group, and its devices up to a number or an option."""
        name = self._value("-g")
        devices = []
        while self._a_name_follows():
            word = self._left.popleft()
            devices.append(ALL if word == ALL else _device_name(word))
        if not devices:
            raise UsageError(f"iostat: -g {name} needs devices (see iodash iostat --help)")
        self._groups.append((name, tuple(devices)))

    def _take_format(self) -> None:
        if self._value("-o").upper() != "JSON":
            raise UsageError("iostat: -o takes only JSON (see iodash iostat --help)")
        self._request.json = True

    def _a_name_follows(self) -> bool:
        return bool(self._left) and not self._left[0].startswith(("-", "+")) and not _is_number(self._left[0])

    def _value(self, option: str) -> str:
        if not self._left:
            raise UsageError(f"iostat: {option} needs a value (see iodash iostat --help)")
        return self._left.popleft()


def _unknown(option: str) -> UsageError:
    return UsageError(f"iostat: there is no option {option} (see iodash iostat --help)")


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


def _device_name(word: str) -> str:
    """The kernel's name of what a path below /dev leads to, such as /dev/mapper/data or /dev/disk/by-id/…."""
    if not word.startswith("/dev/"):
        return word
    target = Path(word)
    return target.resolve().name if target.is_symlink() else word.removeprefix("/dev/")
