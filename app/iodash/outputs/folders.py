"""Where iodash keeps what is its own, by the XDG base directory rules. Nothing here needs a home directory."""

from __future__ import annotations

import os
from pathlib import Path


def _folder(variable: str, below_home: str) -> Path | None:
    named = os.environ.get(variable, "")
    if os.path.isabs(named):  # a relative path is to be ignored, says the specification
        return Path(named, "iodash")
    home = os.path.expanduser("~")
    return Path(home, below_home, "iodash") if os.path.isabs(home) else None


def config_folder() -> Path | None:
    """`$XDG_CONFIG_HOME/iodash`, or None for a user without a home."""
    return _folder("XDG_CONFIG_HOME", ".config")


def state_folder() -> Path | None:
    """`$XDG_STATE_HOME/iodash`, or None for a user without a home. It may not exist yet."""
    return _folder("XDG_STATE_HOME", ".local/state")
