"""Plays the lab and prints what came out: `python -m tests.lab.run [WORDS...] [--for SECONDS] [--signals] [--quick]`.

WORDS choose the scenarios whose names contain one of them. The status is 1 when less than 95 % is right or something
wrong was said with high confidence.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time

from tests.lab.play import SECONDS, STEADY_SECONDS, confusion, play
from tests.lab.scenarios import SCENARIOS

GOAL = 0.95


def main() -> int:
    """Plays one scenario after the other."""
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--for", dest="seconds", type=int, help="instead of 14, or 60 where no flapping is to be shown")
    parser.add_argument("--quick", action="store_true", help="only those that CI plays")
    parser.add_argument("--signals", action="store_true", help="what the rules saw, each second, on standard error")
    options = parser.parse_args()
    chosen = [
        scenario
        for scenario in SCENARIOS
        if (not options.quick or scenario.quick)
        and (not options.words or any(word in scenario.name for word in options.words))
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    outcomes = []
    began = time.monotonic()
    for scenario in chosen:
        seconds = options.seconds or (STEADY_SECONDS if scenario.steady else SECONDS)
        for outcome in play(scenario, seconds, signals=options.signals):
            outcomes.append(outcome)
            print(outcome.line(), flush=True)
            if not outcome.passed and not outcome.skipped:
                print("     ", outcome.summary, "\n     ", " ".join(outcome.causes), flush=True)
    played = [outcome for outcome in outcomes if not outcome.skipped]
    right = sum(outcome.passed for outcome in played)
    wrong = sum(outcome.confident_wrong > 0 for outcome in played)
    flaps = sum(outcome.flaps for outcome in played)
    print(f"\n{confusion(outcomes)}\n")
    print(f"{right} of {len(played)} right, {wrong} surely wrong, {flaps} flaps, {time.monotonic() - began:.0f} s")
    return 0 if played and right >= GOAL * len(played) and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
