"""The options of the dashboard and of batch mode, once, as data: for the command line and the configuration file."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from iodash import __version__
from iodash.model.failure import UsageError
from iodash.model.settings import THEMES, Settings
from iodash.outputs.console import emit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MINIMUM_DELAY = 0.1
MAXIMUM_DELAY = 86400.0
_LARGEST_PID = 2**31 - 1
_LARGEST_UID = 2**32 - 2


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, that takes no abbreviations and keeps the layout of its help."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Raises what the program ends with status 2 for."""
        text = message.removeprefix("argument ")
        raise UsageError(f"{text} (see {self.prog} --help)")

    def print_help(self, file: Any = None) -> None:
        """Writes the help; unlike argparse's own method it hides no failure to write."""
        emit(self.format_help())

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends after `--help` or `--version`, its text written."""
        if message:
            emit(message)
        raise SystemExit(status)


def delay(text: str) -> float:
    """Seconds, from 0.1 to a day."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not MINIMUM_DELAY <= seconds <= MAXIMUM_DELAY:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no delay: give seconds, from {MINIMUM_DELAY} to {MAXIMUM_DELAY:.0f}"
        )
    return seconds


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch(r"\+?[0-9]{1,18}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {10**18 - 1}")
    return int(text)


def process_id(text: str) -> int:
    """A PID."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= _LARGEST_PID:
        raise argparse.ArgumentTypeError(f"{text!r} is no process id: give a whole number from 1 to {_LARGEST_PID}")
    return int(text)


def user(text: str) -> str:
    """A user's name or number. A name must be known here; a number need not."""
    if re.fullmatch(r"[+-]?[0-9]+", text):
        if len(text) > 11 or not 0 <= int(text) <= _LARGEST_UID:
            raise argparse.ArgumentTypeError(f"{text!r} is no user id: give a whole number from 0 to {_LARGEST_UID}")
        return str(int(text))
    import pwd

    try:
        pwd.getpwnam(text)
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"there is no user {text!r}; a number (UID) works for any") from None
    return text


def sort_column(text: str) -> str:
    """A field name or heading of the process table."""
    from iodash.columns.column import find_column
    from iodash.outputs.select import SORT_COLUMNS

    if find_column(SORT_COLUMNS, text) is None:
        names = [name for column in SORT_COLUMNS for name in (column.key, column.heading)]
        known = near(text, names) or one_of("the columns are", [column.heading for column in SORT_COLUMNS])
        raise argparse.ArgumentTypeError(f"there is no column {text!r}{known}")
    return text


def theme(text: str) -> str:
    """The name of a theme."""
    if text not in THEMES:
        raise argparse.ArgumentTypeError(f"there is no theme {text!r}; the themes are {', '.join(THEMES)}")
    return text


def near(text: str, names: Sequence[str]) -> str:
    """`; do you mean a, b or c?` with what resembles `text`, else the empty string."""
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    wanted = text.casefold()
    found = [folded[match] for match in get_close_matches(wanted, folded, n=3, cutoff=0.6)]
    if wanted:
        found += [name for key, name in folded.items() if wanted in key and name not in found][:3]
    if not found:
        return ""
    return "; do you mean " + " or ".join(filter(None, (", ".join(found[:-1]), found[-1]))) + "?"


def one_of(words: str, names: Sequence[str]) -> str:
    """`; the columns are a, b, c`: all there are, where nothing resembles what was typed."""
    return f"; {words} {', '.join(names)}"


def text_value(text: str) -> str:
    """Any text without line ends or NUL."""
    if re.search(r"[\0\r\n]", text):
        raise argparse.ArgumentTypeError(f"{text!r} holds a line end")
    return text


def path(text: str) -> Path:
    """A path."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("an empty name is no path")
    return Path(text)


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its spellings, the field of `Settings` that it sets, and how its values are read.

    A `flag` sets the field to `value`, `one` and `many` read words with `parse` (`many` also splits them at
    `separator`), a `count` counts how often it is given.
    """

    flags: tuple[str, ...]
    field: str
    kind: Literal["flag", "one", "many", "count"]
    help: str
    parse: Callable[[str], Any] = text_value
    metavar: str | None = None
    value: bool = True
    separator: str | None = None

    @property
    def name(self) -> str:
        """The long name without dashes, as the configuration file spells it."""
        return self.flags[-1].removeprefix("--")


OPTIONS: tuple[Option, ...] = (
    Option(("-d", "--delay"), "delay", "one", "seconds from one frame to the next (default 1)", delay, "SECONDS"),
    Option(("-n", "--iter"), "iter", "one", "end after N frames", positive, "N"),
    Option(("-o", "--only"), "only", "flag", "only processes doing I/O; with -a those that did"),
    Option(("-P", "--processes"), "threads", "flag", "a row for each process (default)", value=False),
    Option(("--threads",), "threads", "flag", "a row for each thread"),
    Option(("-a", "--accumulated"), "accumulated", "flag", "amounts since the start instead of rates"),
    Option(("-p", "--pid"), "pid", "many", "only these processes", process_id, "PID", separator=","),
    Option(("-u", "--user"), "user", "many", "only processes of these users", user, "USER", separator=","),
    Option(("-k", "--kilobytes"), "kilobytes", "flag", "byte amounts in KiB, without a letter"),
    Option(("-t", "--time"), "time", "flag", "the time of day before each line (implies -b)"),
    Option(("-q", "--quiet"), "quiet", "count", "headings once; -qq never; -qqq nothing but processes (implies -b)"),
    Option(("--device",), "device", "many", "only these devices: names, /dev paths or mount points", metavar="NAME"),
    Option(("--all-devices",), "all_devices", "flag", "partitions, loop, ram and unused zram devices too"),
    Option(("--no-gpu",), "gpu", "flag", "leave GPUs alone", value=False),
    Option(("--sort",), "sort", "one", "sort processes by this field or heading", sort_column, "COLUMN"),
    Option(("--reverse",), "reverse", "flag", "the other way round"),
    Option(("--filter",), "filter", "one", "only processes that match", metavar="REGEX"),
    Option(("--output",), "output", "one", "write CSV to this file too", path, "FILE.csv"),
    Option(("--procfs",), "procfs", "one", "read this tree as /proc", path, "DIR"),
    Option(("--sysfs",), "sysfs", "one", "read this tree as /sys", path, "DIR"),
    Option(("--theme",), "theme", "one", f"colours of the screen: {', '.join(THEMES)}", theme, "NAME"),
    Option(("--ascii",), "ascii", "flag", "no characters beyond ASCII on the screen"),
)
TREES = tuple(option for option in OPTIONS if option.field in ("procfs", "sysfs"))
"""What every command takes: where the machine is read from."""


class _Words(argparse.Action):
    """Collects the words of an option that is given several times."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        present = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*present, *(value for word in values for value in word)])


def words(option: Option, text: str) -> list[Any]:
    """The values in one word of a `many` option."""
    parts = text.split(option.separator) if option.separator else [text]
    return [option.parse(part) for part in parts]


def add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    """Adds `options` to `parser`. What isn't typed is parsed as None: `settings_of` fills it in."""
    for option in options:
        common: dict[str, Any] = {"dest": option.field, "default": None, "help": option.help}
        if option.kind == "flag":
            parser.add_argument(*option.flags, action="store_const", const=option.value, **common)
        elif option.kind == "count":
            parser.add_argument(*option.flags, action="count", **common)
        elif option.kind == "one":
            parser.add_argument(*option.flags, type=option.parse, metavar=option.metavar, **common)
        else:
            parser.add_argument(
                *option.flags,
                action=_Words,
                nargs="+",
                type=lambda text, option=option: words(option, text),  # type: ignore[misc]
                metavar=option.metavar,
                **common,
            )


class _Version(argparse.Action):
    """Prints the version; unlike argparse's own action it hides no failure to write."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.exit(0, f"iodash {__version__}\n")


def add_help_and_version(parser: argparse.ArgumentParser) -> None:
    """Adds `--version`; `-h` and `--help` every parser has."""
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")


def settings_of(arguments: argparse.Namespace, defaults: Settings) -> Settings:
    """The settings that the parsed `arguments` stand for; what was not typed is as in `defaults`."""
    given: Mapping[str, Any] = vars(arguments)
    typed: dict[str, Any] = {}
    for item in fields(Settings):
        value = given.get(item.name)
        if value is not None:
            typed[item.name] = tuple(value) if isinstance(value, list) else value
    return replace(defaults, **typed)
