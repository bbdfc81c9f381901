"""The trees that the machine is read from, refused where they are none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from iodash.model.failure import Failure
from iodash.sources import descriptors

if TYPE_CHECKING:
    from iodash.sources import Source

_FEWEST_DESCRIPTORS = 10
"""Without so many free ones not even the event loop and one reading beside it get along."""


def open_source(procfs: Path, sysfs: Path, *, gpu: bool, wait_for_gpu: bool = False) -> Source:
    """The machine whose trees these are. With `wait_for_gpu` its first sample waits up to 1 s for the GPUs.

    Raises:
        Failure: they are no such trees, or no files can be opened.
    """
    check_trees(procfs, sysfs)
    check_descriptors()
    from iodash.sources.local import LocalSource

    return LocalSource(procfs, sysfs, gpu=gpu, wait_for_gpu=wait_for_gpu)


def check_trees(procfs: Path, sysfs: Path) -> None:
    """Refuses what is no proc tree, and a sys tree that is no directory; one that is empty or hidden will do.

    Raises:
        Failure: they are no such trees.
    """
    if not _is_proc_tree(procfs):
        raise Failure(f"{procfs} is no proc tree: --procfs needs a directory such as /proc, mounted from a host")
    if sysfs != Path("/sys") and not os.path.isdir(sysfs):
        raise Failure(f"{sysfs} is no directory: --sysfs needs one such as /sys, mounted from a host")


def check_descriptors() -> None:
    """Raises the limit on open files as far as it goes.

    Raises:
        Failure: there is no room for what iodash needs at least.
    """
    descriptors.raise_limit()
    if not descriptors.are_free(_FEWEST_DESCRIPTORS):
        raise Failure(f"too few files can be opened; {descriptors.shortage()}")


def _is_proc_tree(procfs: Path) -> bool:
    try:
        if any((procfs / name).exists() for name in ("stat", "diskstats", "self")):
            return True
        return any(child.name.isdecimal() for child in procfs.iterdir())
    except OSError:
        return False
