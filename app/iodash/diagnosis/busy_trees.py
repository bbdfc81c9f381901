"""Python programs that are jobs by nothing but the bytes they move, remembered through their pauses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from iodash.diagnosis.activity import Activity, follow
from iodash.diagnosis.tree import LAUNCHERS, bytes_moved, is_told_of_others

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iodash.diagnosis.tree import Tree
    from iodash.model.frame import ProcessRow
    from iodash.model.members import MemberFacts
    from iodash.model.process_key import ProcessKey

_MOST_TREES = 8
_OWN_NAME = "iodash"
_OWN_COMMAND = re.compile(
    r"(\S*python\S* (-[XW] \S+ |-\S+ )*)?(\S*/)?iodash( |$|/sources/local/gpu/launch\.py)"  # its GPU worker
)


class BusyTrees:
    """The topmost Python programs whose trees move bytes, the busiest few.

    One becomes a job at once and stays one as long as it goes on, however long it pauses between its bursts within
    `activity.PAUSE_S`: whoever saves every few seconds does not come and go.
    """

    def __init__(self) -> None:
        self._activities: dict[ProcessKey, Activity] = {}

    @property
    def any(self) -> bool:
        """Whether there were any in the last frame that was looked at."""
        return bool(self._activities)

    def find(self, tree: Tree, facts: Mapping[ProcessKey, MemberFacts], seconds: float) -> list[ProcessRow]:
        """Their rows in a frame that covers `seconds`."""
        moved = _moved_by_program(tree, facts)
        rows = {key: row for key in self._activities if (row := tree.rows.get(key.pid)) and row.key == key}
        rows |= {tree.rows[pid].key: tree.rows[pid] for pid in moved}
        activities: dict[ProcessKey, Activity] = {}
        for key, row in rows.items():
            before = self._activities.get(key)
            waits = before is not None and _waits(tree, row)
            if now := follow(before, moved.get(key.pid, 0.0), seconds, waits=waits):
                activities[key] = now
        self._activities = activities
        above = {one.key.pid for key in activities for one in tree.ancestors(rows[key])}
        lowest = [key for key in activities if key.pid not in above]
        lowest.sort(key=lambda key: activities[key].mean, reverse=True)
        return [rows[key] for key in lowest[:_MOST_TREES]]


def _moved_by_program(tree: Tree, facts: Mapping[ProcessKey, MemberFacts]) -> dict[int, float]:
    """Bytes a second of the trees of Python programs in which anything moves, by the pid of the program."""
    amounts: dict[int, float] = {}
    for row in tree.rows.values():
        moved = bytes_moved(row)
        if moved and not _is_own(row) and (program := _program_above(tree, row, facts)) is not None:
            amounts[program.key.pid] = amounts.get(program.key.pid, 0.0) + moved
    return amounts


def _program_above(tree: Tree, row: ProcessRow, facts: Mapping[ProcessKey, MemberFacts]) -> ProcessRow | None:
    """The topmost Python program over a process, itself included; beneath a launcher, the rank that it started."""
    programs = [one for one in (row, *tree.ancestors(row)) if one.name.startswith("python") and not _is_own(one)]
    ranks = [one for one in programs if is_told_of_others(one, facts)]
    started = [one for one in programs if not LAUNCHERS.search(one.command.partition(".py ")[0])]
    return next((chosen[-1] for chosen in (ranks, started, programs) if chosen), None)


def _is_own(row: ProcessRow) -> bool:
    """Whether a process is iodash, this one or another, or its GPU worker."""
    return row.name == _OWN_NAME or _OWN_COMMAND.match(row.command) is not None


def _waits(tree: Tree, row: ProcessRow) -> bool:
    """Whether somebody in a tree is in state D, so that it moves nothing because a device does not answer."""
    return any(one.state == "D" for one in (row, *tree.descendants(row)))
