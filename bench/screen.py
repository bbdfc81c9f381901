"""The whole screen at 120 times 40 with 1000 processes beside `iotop-c` and `htop` in terminals of the same size."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from bench.common import IODASH, Crowd, Result, find, milliseconds, ratio, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.common import Effort

SIZE = (120, 40)
COUNT = 1000


def run(effort: Effort) -> Iterator[Result]:
    contenders = {
        "iodash": ([IODASH], SIZE),
        "iotop-c": ([find("iotop-c"), "-d", "1"], SIZE),
        "htop": ([find("htop"), "-d", "10"], SIZE),
    }
    with Crowd(COUNT) as crowd:
        usages = side_by_side(crowd, contenders, rounds=effort.rounds, seconds=effort.seconds, warm_up=8)
    for name, used in usages.items():
        yield Result(f"{name}, {COUNT} processes: CPU", milliseconds(used), None, "ms/s")
    ours = usages["iodash"]
    yield Result("iodash / iotop-c, interactive", ratio(ours, usages["iotop-c"]), 1.0)
    yield Result("iodash / htop", ratio(ours, usages["htop"]), 1.0)
    yield Result(
        "bytes to the terminal", statistics.median(used.output_bytes / used.seconds for used in ours), 25_000, "B/s"
    )
    yield Result(
        "resident, the GPU worker apart", statistics.median(used.resident_bytes for used in ours) / 2**20, 60, "MB"
    )
