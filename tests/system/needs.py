"""What a system test needs of the machine. Without it the test is skipped, by name and with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.system.terminal import IODASH

if TYPE_CHECKING:
    from collections.abc import Sequence

AS_NOBODY = (
    *("env", "-u", "COVERAGE_PROCESS_CONFIG"),
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
)
"""Runs the rest of a command line as the user nobody, without any right: not even to write down what it covered."""


def program(*names: str) -> pytest.MarkDecorator:
    """Needs programs that a package brings."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [name for name in names if shutil.which(name, path=path) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def root() -> pytest.MarkDecorator:
    """Needs to be root."""
    return pytest.mark.skipif(os.geteuid() != 0, reason="not root")


def namespaces() -> pytest.MarkDecorator:
    """Needs the right to make a mount namespace, to hide parts of /proc and /sys in it."""
    works = _works(("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"))
    return pytest.mark.skipif(not works, reason="may not make a mount namespace")


def nobody() -> pytest.MarkDecorator:
    """Needs to be able to run iodash as another user."""
    works = _works((*AS_NOBODY, IODASH, "--version"))
    return pytest.mark.skipif(not works, reason="may not run iodash as nobody")


@cache
def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0
    except OSError:
        return False
