"""One sweep of the sampler beside one of `iotop-c -b -P`, each back to back with the next: the work itself.

Once a second, as `bench sampler` measures, a virtual machine may charge both more for waking up than for what they do.
"""

from __future__ import annotations

import statistics
import sys
from typing import TYPE_CHECKING

from bench.common import Crowd, Result, find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.common import Effort

CROWDS = (100, 1000, 5000)
_START, _SWEEPS = 20, 100
_GOALS = {100: None, 1000: 0.25, 5000: 0.25}


def run(effort: Effort) -> Iterator[Result]:
    for count in CROWDS:
        with Crowd(count) as crowd:
            rounds = [
                (
                    _milliseconds(crowd, [sys.executable, "-m", "bench.sampler", "sweeps"]),
                    _milliseconds(crowd, [find("iotop-c"), "-b", "-P", "-d", "0", "-n"]),
                )
                for _ in range(effort.rounds)
            ]
        ours, theirs = (statistics.median(each) for each in zip(*rounds, strict=True))
        yield Result(f"sampler, {count} processes: CPU of a sweep", ours, None, "ms")
        yield Result(f"iotop-c, {count} processes: CPU of a sweep", theirs, None, "ms")
        ratio = statistics.median(one / other for one, other in rounds)
        yield Result(f"sampler / iotop-c -b -P, {count} processes", ratio, _GOALS[count])


def _milliseconds(crowd: Crowd, command: Sequence[str]) -> float:
    """CPU of one sweep of a program that is told their number last: without its start and its first ones."""
    few, many = (crowd.run([*command, str(number)]) for number in (_START, _START + _SWEEPS))
    return 1000 * (many - few) / _SWEEPS
