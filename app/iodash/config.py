"""The configuration file, `$XDG_CONFIG_HOME/iodash/config.toml`: its keys are the long names of the options."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iodash.model.settings import Settings
from iodash.outputs.console import warn
from iodash.outputs.folders import config_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from iodash.commands.options import Option


_ON_THE_COMMAND_LINE = ("batch", "once", "format", "help", "version")


def configured_settings() -> Settings:
    """The defaults as the user's file changes them. What is wrong with it goes to standard error, a line each."""
    settings, faults = load_settings()
    for fault in faults:
        warn(fault)
    return settings


def load_settings() -> tuple[Settings, list[str]]:
    """The defaults as the user's file changes them, and a line for each thing in it that is ignored.

    A file that isn't there is no fault. One that can't be read or parsed is ignored as a whole, an unknown key or a
    value of the wrong kind alone.
    """
    folder = config_folder()
    if folder is None:
        return Settings(), []
    file = folder / "config.toml"
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):  # a pipe or a device may never end
            return Settings(), [f"{file}: no regular file; ignored"]
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Settings(), []
    except PermissionError as error:
        if not os.access(folder, os.X_OK):  # another user's home, as HOME names it after `su`: nothing here is ours
            return Settings(), []
        return Settings(), [f"{file}: {error.strerror}; ignored"]
    except OSError as error:
        return Settings(), [f"{file}: {error.strerror}; ignored"]
    return parse_settings(content, file)


def parse_settings(content: bytes, file: Path) -> tuple[Settings, list[str]]:
    """The same from the file's content; `file` only names it in the lines."""
    import tomllib
    from argparse import ArgumentTypeError

    from iodash.commands.options import OPTIONS

    try:
        table = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        return Settings(), [f"{file}: not TOML: {_one_line(str(error))}; ignored"]
    by_name = {option.name: option for option in OPTIONS}
    settings = Settings()
    faults = []
    for key, value in table.items():
        option = by_name.get(key)
        if option is None:
            faults.append(f"{file}: unknown key {key!r}{_what_else(key, tuple(by_name))}; ignored")
            continue
        try:
            settings = replace(settings, **{option.field: _value(option, value)})
        except (ArgumentTypeError, TypeError) as error:
            faults.append(f"{file}: {key}: {_one_line(str(error))}; ignored")
    return settings, faults


def _what_else(key: str, known: Sequence[str]) -> str:
    """What to write instead of an unknown key."""
    from iodash.commands.options import near, one_of

    if key in _ON_THE_COMMAND_LINE:
        return f": --{key} works on the command line only"
    return near(key, known) or one_of("the keys are", known)


def _value(option: Option, value: Any) -> Any:
    """The value of an option. Raises ArgumentTypeError or TypeError where it is of the wrong kind."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if option.kind == "flag":
        if not isinstance(value, bool):
            raise TypeError("needs true or false")
        return option.value if value else not option.value
    if option.kind == "count":
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 3:
            raise TypeError("needs a whole number from 0 to 3")
        return value
    if option.kind == "many":
        from iodash.commands.options import words

        items = value if isinstance(value, list) else [value]
        return tuple(parsed for item in items for parsed in words(option, _word(item)))
    if not (is_number or isinstance(value, str)):
        raise TypeError("needs a number or text")
    return option.parse(_word(value))


def _word(value: Any) -> str:
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return str(value)
    raise TypeError("needs a number, text or a list of these")


def _one_line(text: str) -> str:
    return " ".join(text.split())
