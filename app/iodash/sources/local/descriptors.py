"""How many files may be kept open."""

from __future__ import annotations

import contextlib
import resource

RESERVE = 128
"""Descriptors left for everything but the sweep of processes."""

_MOST = 1 << 20
_BEFORE = resource.getrlimit(resource.RLIMIT_NOFILE)


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


def restore_limit() -> None:
    """Gives a child that is about to run a program of the user's the soft limit it would have had without iodash.

    A large limit breaks programs that use select(2) or close every possible descriptor.
    """
    resource.setrlimit(resource.RLIMIT_NOFILE, _BEFORE)
