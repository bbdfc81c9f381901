"""Runs the benches and prints their table: python -m bench [--rounds N] [--seconds S] [NAME …]."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import TYPE_CHECKING

from bench.common import Effort

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.common import Result

BENCHES = ("sweep", "sampler", "batch", "screen", "start", "smoothness", "growth", "diagnosis")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(BENCHES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="a round's length")
    parser.add_argument("--growth", type=float, default=120.0, help="seconds to watch memory for")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHES)
    if unknown:
        parser.error(f"no such bench: {' '.join(sorted(unknown))}")
    effort = Effort(options.rounds, options.seconds, options.growth)

    met = True
    for name in options.names or BENCHES:
        print(f"\n{name}", flush=True)
        try:
            results: Iterable[Result] = importlib.import_module(f"bench.{name}").run(effort)
            for result in results:
                met = met and result.met
                print(line(result), flush=True)
        except (FileNotFoundError, RuntimeError, TimeoutError) as error:
            met = False
            print(f"  not measured: {error}", flush=True)
    return 0 if met else 1


def line(result: Result) -> str:
    """One result as a line of the table."""
    value = f"{result.value:.3g} {result.unit}".strip() if result.value < 1000 else f"{result.value:.0f} {result.unit}"
    if result.limit is None:
        return f"  {result.what:<64} {value:>12}"
    goal = f"at most {result.limit:g} {result.unit}".strip()
    return f"  {result.what:<64} {value:>12}   {goal:<18} {'met' if result.met else 'NOT MET'}"


if __name__ == "__main__":
    sys.exit(main())
