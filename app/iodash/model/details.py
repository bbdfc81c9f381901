"""What is read of one process only while somebody looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iodash.model.missing import Missing, Text
    from iodash.model.sample import IoCounters, ProcessKey


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file: its path as the process sees it, the mount it lies on and what serves that mount."""

    descriptor: int
    path: str
    mount: str
    file_system: str
    served_by: str
    position: int | None = None
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """One resource limit or cgroup limit, as words: `open files` `1024 of 1048576`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ProcessDetails:
    """Everything a row's details show. Each part that can't be read is `Missing` with its reason."""

    key: ProcessKey
    command: str
    io: IoCounters | Missing
    open_files: tuple[OpenFile, ...] | Missing
    open_files_left_out: int
    cgroup: Text
    cgroup_limits: tuple[Limit, ...]
    limits: tuple[Limit, ...] | Missing
    wait_channel: Text
    threads: tuple[tuple[int, str, str], ...] | Missing = ()
