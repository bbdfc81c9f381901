"""The whole program without a screen beside `iotop-c -b -P`, and what each further process costs."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from bench.common import IODASH, Crowd, Result, find, milliseconds, ratio, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.common import Effort

CROWDS = (1000, 5000)


def run(effort: Effort) -> Iterator[Result]:
    contenders = {
        "iodash": ([IODASH, "-b", "--format", "csv"], None),
        "iotop-c": ([find("iotop-c"), "-b", "-P", "-d", "1"], None),
    }
    costs = {}
    for count in CROWDS:
        with Crowd(count) as crowd:
            usages = side_by_side(crowd, contenders, rounds=effort.rounds, seconds=effort.seconds)
        costs[count] = {name: milliseconds(used) for name, used in usages.items()}
        for name, cost in costs[count].items():
            yield Result(f"{name}, {count} processes: CPU", cost, None, "ms/s")
        yield Result(f"iodash -b --format csv / iotop-c -b -P, {count} processes", ratio(*usages.values()), 0.5)
        resident = statistics.median(usage.resident_bytes for usage in usages["iodash"]) / 2**20
        yield Result(f"iodash, {count} processes: resident", resident, 60, "MB")
    few, many = (costs[count] for count in CROWDS)
    slope = (many["iodash"] - few["iodash"]) / (many["iotop-c"] - few["iotop-c"])
    yield Result("cost of each further process, iodash / iotop-c", slope, 0.3)
