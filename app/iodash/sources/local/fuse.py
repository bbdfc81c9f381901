"""Which processes have files open on a FUSE mount: the bytes they read there show in no counter of theirs."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from iodash.sources.local.beside import BesideReader
from iodash.sources.local.process_files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from iodash.model.sample import ProcessKey

TIME_LIMIT_S = 1.0
"""How long one process may take before the others are looked at without it."""

_AGE_S = 10.0
_SEEN_AGE_S = 60.0
_MOST_FILES = 256
_MOST_KEPT = 1024
_MOUNTINFO_BYTES = 1 << 20
_FUSE = re.compile(rb"^(\d+) [^\n]* - fuse(?:\.(?!lxcfs|gvfsd-fuse|portal)|blk| )", re.MULTILINE)
_MOUNT_ID = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)


class FuseReaders:
    """Answers from memory, and looks beside the sampler when the answer is old."""

    def __init__(self, procfs: Path) -> None:
        self._procfs = str(procfs)
        self._beside = BesideReader("iodash-fuse", self._look, TIME_LIMIT_S)
        self._answers: dict[ProcessKey, tuple[float, bool]] = {}
        self._asked: set[ProcessKey] = set()

    def reads(self, key: ProcessKey) -> bool:
        """Whether the process was seen with a file open on a FUSE mount. Never waits."""
        now = time.monotonic()
        for asked, reads_fuse, whole in self._beside.collect():
            self._asked.discard(asked)
            found = reads_fuse if whole else self._answers.get(asked, (0.0, False))[1]
            self._answers[asked] = (now + (_SEEN_AGE_S if found else _AGE_S), found)
        until, answer = self._answers.get(key, (0.0, False))
        if until < now and key not in self._asked:
            self._forget(now)
            self._asked.add(key)
            self._beside.ask([key])
        return answer

    def close(self) -> None:
        """Waits for nothing."""
        self._beside.close()

    def _look(self, key: ProcessKey) -> Iterator[bool]:
        yield False
        yield has_fuse_files(f"{self._procfs}/{key.pid}")

    def _forget(self, now: float) -> None:
        """Lets go of what is known of processes that have long been silent, or gone."""
        if len(self._answers) > _MOST_KEPT:
            self._answers = {key: answer for key, answer in self._answers.items() if answer[0] >= now}


def has_fuse_files(directory: str) -> bool:
    """Whether the process behind /proc/PID has a file open on a FUSE mount; no file is touched to find out.

    Compares the mount ids of its descriptors (`fdinfo`, proc(5)) with those of the FUSE lines in its mount table.
    """
    try:
        mounts = set(_FUSE.findall(read_file(f"{directory}/mountinfo", _MOUNTINFO_BYTES)))
        if not mounts:
            return False
        for name in os.listdir(f"{directory}/fdinfo")[:_MOST_FILES]:
            try:
                found = _MOUNT_ID.search(read_file(f"{directory}/fdinfo/{name}"))
            except OSError:
                continue
            if found and found[1] in mounts:
                return True
    except OSError:
        return False
    return False
