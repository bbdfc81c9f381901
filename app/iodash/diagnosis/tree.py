"""The processes of a frame as a tree, and what they move."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from iodash.model.missing import Missing, or_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from iodash.model.frame import ProcessRow
    from iodash.model.members import MemberFacts
    from iodash.model.missing import Count
    from iodash.model.process_key import ProcessKey

LAUNCHERS = re.compile(
    r"\b(torchrun|torch\.distributed|accelerate|deepspeed|mpirun|mpiexec|orted|horovodrun|slurmstepd|hydra_pmi_proxy"
    r"|colossalai|composer)\b"
)
"""Programs that start the ranks of a job, by their command lines."""


class Tree:
    """The processes of a frame by pid, with their children."""

    def __init__(self, rows: Iterable[ProcessRow]) -> None:
        self.rows: dict[int, ProcessRow] = {row.key.pid: row for row in rows}
        self.children: defaultdict[Count, list[ProcessRow]] = defaultdict(list)
        for row in self.rows.values():
            self.children[row.ppid].append(row)

    def parent(self, row: ProcessRow) -> ProcessRow | None:
        """The listed parent of a process."""
        return None if isinstance(row.ppid, Missing) else self.rows.get(row.ppid)

    def descendants(self, row: ProcessRow) -> list[ProcessRow]:
        """Everything beneath a process, parents before children."""
        found: list[ProcessRow] = []
        queue = [row.key.pid]
        seen = {row.key.pid}
        for pid in queue:
            for child in self.children.get(pid, ()):
                if child.key.pid not in seen:
                    seen.add(child.key.pid)
                    found.append(child)
                    queue.append(child.key.pid)
        return found

    def ancestors(self, row: ProcessRow) -> list[ProcessRow]:
        """Everything above a process, the nearest first."""
        found: list[ProcessRow] = []
        above = self.parent(row)
        while above is not None and above not in found and above.key.pid != row.key.pid:
            found.append(above)
            above = self.parent(above)
        return found


def bytes_moved(row: ProcessRow) -> float:
    """Bytes a second that a process reads and writes, as far as they are known."""
    if not row.read_bytes_per_s and not row.write_bytes_per_s:
        return 0.0
    return or_zero(row.read_bytes_per_s) + or_zero(row.write_bytes_per_s)


def is_told_of_others(row: ProcessRow, facts: Mapping[ProcessKey, MemberFacts]) -> bool:
    """Whether a process was told that there are other ranks (WORLD_SIZE), as far as its environment is known."""
    return row.key in facts and facts[row.key].environment.get("WORLD_SIZE", "1") not in ("", "1")
