"""Which machine's proc tree is read, and how much of the machine it shows."""

from __future__ import annotations

import os
from pathlib import Path

from iodash.sources.local.kept_file import read_bytes

_OWN_PROCFS = Path("/proc")
_FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO, include/linux/proc_ns.h


def is_own(procfs: Path) -> bool:
    """Whether `procfs` is this machine's own tree, not another one mounted beside it."""
    return procfs == _OWN_PROCFS


def is_of_a_pid_namespace(procfs: Path) -> bool:
    """Whether the processes of a container alone are in sight.

    The kernel's own second process is in sight where the whole machine is. It may be hidden there too (`hidepid`), and
    then iodash's own namespace tells.
    """
    if read_bytes(procfs / "2/comm") == b"kthreadd":
        return False
    try:
        return os.readlink(procfs / "self/ns/pid") != _FIRST_PID_NAMESPACE
    except OSError:
        return True
