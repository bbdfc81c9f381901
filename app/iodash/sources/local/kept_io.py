"""The kept io descriptors of all processes in a row: reading and comparing them takes no Python step for each."""

from __future__ import annotations

import os
from itertools import compress, repeat
from operator import ne
from typing import TYPE_CHECKING

from iodash.sources.local.tracked import IO_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from iodash.sources.local.tracked import Tracked


class KeptIo:
    """The processes by how their io files are read.

    `kept` have a descriptor; those of `loose` are opened anew each time; those of `denied` can't be read.
    """

    def __init__(self) -> None:
        self.kept: list[Tracked] = []
        self.loose: list[Tracked] = []
        self.denied: list[Tracked] = []
        self._descriptors: list[int] = []
        self._before: list[bytes] = []

    def line_up(self, known: Collection[Tracked]) -> None:
        """To be called whenever processes, or what is known of their io files, have changed."""
        self.kept = [tracked for tracked in known if tracked.io_fd >= 0]
        self.loose = [tracked for tracked in known if tracked.io_fd < 0 and tracked.io_state is None]
        self.denied = [tracked for tracked in known if tracked.io_fd < 0 and tracked.io_state is not None]
        self._descriptors = [tracked.io_fd for tracked in self.kept]
        self._before = [tracked.io_raw for tracked in self.kept]

    def find_changed(self) -> list[int]:
        """Reads all of `kept`; the positions of those whose bytes are not what they were, or that can't be read."""
        differs: list[bool] = []
        before = iter(self._before)
        reading = map(os.pread, self._descriptors, repeat(IO_BYTES), repeat(0))
        while len(differs) < len(self._descriptors):
            try:
                differs.extend(map(ne, reading, before))
            except OSError:
                next(before)  # the failed reading has taken none of these
                differs.append(True)
        return list(compress(range(len(differs)), differs))

    def remember(self, positions: Iterable[int]) -> None:
        """Compares these from now on with what they said last."""
        for position in positions:
            self._before[position] = self.kept[position].io_raw
