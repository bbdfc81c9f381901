"""The rows that the shown verdict is about: they are marked in the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.ui.panels.verdict import blames, is_watching

if TYPE_CHECKING:
    from iodash.model.frame import Frame, Verdict
    from iodash.model.sample import ProcessKey


def _accusation(frame: Frame) -> Verdict | None:
    """The worst verdict, if it blames something and is more than a first impression."""
    verdict = frame.verdict
    return verdict if verdict is not None and blames(verdict) and not is_watching(verdict) else None


def named_devices(frame: Frame) -> frozenset[str]:
    """The names of the devices that the worst verdict blames."""
    verdict = _accusation(frame)
    return frozenset() if verdict is None else frozenset(verdict.devices)


def named_processes(frame: Frame) -> frozenset[ProcessKey]:
    """The processes that the worst verdict names, and the ranks and loader workers of the job that it is about.

    Where threads are shown, the threads of all of them.
    """
    verdict = _accusation(frame)
    if verdict is None:
        return frozenset()
    members = [key for job in frame.jobs if job.name == verdict.job for key in job.ranks + job.workers]
    named = frozenset([*verdict.processes, *members])
    if not frame.threads:
        return named
    pids = {key.pid for key in named}
    return frozenset(row.key for row in frame.processes if row.pid in pids)
