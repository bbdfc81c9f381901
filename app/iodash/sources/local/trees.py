"""Which machine's proc tree is read."""

from __future__ import annotations

from pathlib import Path

_OWN_PROCFS = Path("/proc")


def is_own(procfs: Path) -> bool:
    """Whether `procfs` is this machine's own tree, not another one mounted beside it."""
    return procfs == _OWN_PROCFS
