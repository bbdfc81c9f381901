"""Who was born since the last look, without listing /proc: the kernel gives out process numbers in turn."""

from __future__ import annotations

import os
from pathlib import Path

from iodash.model.missing import Missing
from iodash.sources.local.kept_file import KeptFile

MOST_PROBED = 64
"""Beyond so many new numbers (threads count too) listing is cheaper than asking for each."""


class Births:
    """Follows the last number given out in this process's own pid namespace, the last word of /proc/loadavg.

    A number that was chosen by hand (a restored checkpoint) is not in turn, so that listing now and then is needed all
    the same.
    """

    def __init__(self, procfs: str) -> None:
        self._procfs = procfs
        self._file = KeptFile(Path(procfs) / "loadavg")
        self._last = -1

    def since_last(self) -> list[str] | None:
        """The processes whose numbers were given out since the last call. None when only a listing can tell."""
        content = self._file.read()
        word = b"" if isinstance(content, Missing) else content.rpartition(b" ")[2].strip()
        before, self._last = self._last, int(word) if word.isdigit() else -1
        given_out = self._last - before
        if before < 0 or not 0 <= given_out <= MOST_PROBED:
            return None
        return [str(number) for number in range(before + 1, self._last + 1) if self._is_process(number)]

    def close(self) -> None:
        """Lets go of the descriptor."""
        self._file.close()

    def _is_process(self, number: int) -> bool:
        """Whether a number is a process that is still there, not one of the threads, which share the numbers."""
        try:
            descriptor = os.open(f"{self._procfs}/{number}/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            content = os.read(descriptor, 512)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        group = content.partition(b"\nTgid:")[2].split(b"\n", 1)[0].strip()
        return group == b"%d" % number
