"""How many files may be kept open."""

from __future__ import annotations

import contextlib
import errno
import os
import resource

RESERVE = 128
"""Descriptors left for everything but the sweep of processes."""

SPARE = 16
"""Descriptors that should be free whenever a reading ends: what reads beside it and the start of a worker need them."""

EXHAUSTED = (errno.EMFILE, errno.ENFILE)
"""No descriptors are left, which says nothing about the file."""

_MOST = 1 << 20


def raise_limit() -> int:
    """Raises the soft limit of this process to the hard one and returns how many descriptors the sweep may keep."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    limit = wanted if soft == resource.RLIM_INFINITY else soft
    return max(0, limit - RESERVE)


def may_keep(descriptor: int) -> bool:
    """Whether a file that was just opened may stay open.

    The kernel gives out the lowest free descriptor, so its number tells how many are taken.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft == resource.RLIM_INFINITY or descriptor + SPARE < soft


def shortage() -> str:
    """What to do where hardly any file can be opened any more; empty where there is room."""
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENFILE:
            return "the machine has no file descriptors left: sysctl fs.file-max shows its limit"
        if error.errno != errno.EMFILE:
            return ""
    else:
        os.close(descriptor)
        if may_keep(descriptor - 1):
            return ""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"only {soft} files may be open at once: run `ulimit -n 1024` before iodash"


def are_free(count: int) -> bool:
    """Whether so many files can be opened at once."""
    opened = []
    try:
        for _ in range(count):
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))  # noqa: PERF401 - what is open is closed
    except OSError as error:
        return error.errno not in EXHAUSTED
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True
