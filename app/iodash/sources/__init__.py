"""Where samples come from. Whatever can deliver samples gets the whole program for free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from iodash.model.details import ProcessDetails
    from iodash.model.sample import ProcessKey, Sample


@dataclass(frozen=True, slots=True)
class Demand:
    """What somebody looks at: what nobody shows is not collected.

    `visible` are the rows on screen, `every_field` asks for all fields of all processes (a row that is printed or
    sorted on has all its fields), `threads` for every thread of every process. `members` are the members of jobs under
    judgement: of them the sample holds what the rules need (`Sample.readings`), of those in `threaded` for the threads
    beside the main one that have work too.
    """

    threads: bool = False
    every_field: bool = False
    visible: frozenset[ProcessKey] = field(default=frozenset())
    members: frozenset[ProcessKey] = field(default=frozenset())
    threaded: frozenset[ProcessKey] = field(default=frozenset())


class Source(Protocol):
    """Delivers samples. All calls but `close` may block and are made outside the event loop."""

    def sample(self, demand: Demand) -> Sample:
        """Reads everything once. A part that can't be read is `Missing` in the sample; nothing is raised for it."""
        ...

    def details(self, key: ProcessKey) -> ProcessDetails | None:
        """Reads what only an opened row shows. None when the process is gone. Called beside the sampler."""
        ...

    def close(self) -> None:
        """Lets go of everything at once, waiting for nothing."""
        ...
