"""Reading and subtracting alone, once a second, beside `iotop-c -b -P`: no screen, no output, no rules.

Beside both runs a bare loop, the least that any sampler in Python does: it lists /proc, reads the kept io descriptor of
every process and compares the bytes, and knows nothing else. How far the sampler is above it is its own doing; how far
it is above nothing is the machine's: on some virtual machines memory that rested for a second costs far more than the
work itself. `bench sweep` measures the work without that.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.common import Crowd, Result, find, milliseconds, ratio, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.common import Effort

CROWDS = (100, 1000, 5000)
_GOALS = {100: 0.4, 1000: 0.25, 5000: 0.25}


def run(effort: Effort) -> Iterator[Result]:
    contenders = {
        "sampler": ([sys.executable, "-m", "bench.sampler"], None),
        "bare loop": ([sys.executable, "-m", "bench.sampler", "bare"], None),
        "iotop-c": ([find("iotop-c"), "-b", "-P", "-d", "1"], None),
    }
    costs = {}
    for count in CROWDS:
        with Crowd(count) as crowd:
            usages = side_by_side(crowd, contenders, rounds=effort.rounds, seconds=effort.seconds)
        costs[count] = {name: milliseconds(used) for name, used in usages.items()}
        for name, cost in costs[count].items():
            yield Result(f"{name}, {count} processes: CPU", cost, None, "ms/s")
        peer = usages["iotop-c"]
        yield Result(f"bare loop / iotop-c -b -P, {count} processes", ratio(usages["bare loop"], peer), None)
        yield Result(f"sampler / iotop-c -b -P, {count} processes", ratio(usages["sampler"], peer), _GOALS[count])
    few, many = costs[1000], costs[5000]
    slope = (many["sampler"] - few["sampler"]) / (many["iotop-c"] - few["iotop-c"])
    yield Result("cost of each further process, sampler / iotop-c", slope, 0.3)


def sample(times: float, delay: float) -> None:
    """The sampler's work, `times` times, `delay` seconds apart."""
    from iodash.sampling.frames import FrameBuilder
    from iodash.sources import Demand
    from iodash.sources.local import LocalSource

    source, builder, demand = LocalSource(Path("/proc"), Path("/sys"), gpu=False), FrameBuilder(), Demand()
    old = source.sample(demand)
    while times > 0:
        times -= 1
        time.sleep(max(0.0, old.monotonic + delay - time.monotonic()))
        new = source.sample(demand)
        builder.frame(old, new)
        old = new


def loop_forever() -> None:
    """The bare loop."""
    files: dict[str, int] = {}
    before: dict[str, bytes] = {}
    while True:
        began = time.monotonic()
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                if name not in files:
                    files[name] = os.open(f"/proc/{name}/io", os.O_RDONLY)
                content = os.pread(files[name], 256, 0)
            except OSError:
                continue
            if content != before.get(name):
                before[name] = content
        time.sleep(max(0.0, began + 1 - time.monotonic()))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["bare"]:
            loop_forever()
        case ["sweeps", count]:
            sample(int(count), 0)
        case _:
            sample(float("inf"), 1)
