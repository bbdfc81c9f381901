"""Plays scenarios, each in a process of its own, and judges what iodash said of them.

`play(scenario)` gives the outcome. As a module it plays one scenario in this process: the child of `play`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.lab.ground import ROOT, Ground, NotHereError, clear, make_directory
from tests.lab.scenarios import SCENARIOS
from tests.lab.slow_fuse import own_mounts

if TYPE_CHECKING:
    from tests.lab.scenarios import Scenario

STEADY_S = 12
"""Seconds after which the verdict on a steady condition must stand."""

SECONDS = 14
STEADY_SECONDS = 60
_SETUP_S = 60


@dataclass
class Outcome:
    """What was said of one scenario. `settled_s` is from when on the verdict stayed right; None when it is wrong.

    `flaps` counts changes of the cause after `STEADY_S`; `confident_wrong` the seconds with `high` on a wrong cause.
    """

    name: str
    right: tuple[str, ...]
    got: str = ""
    confidence: str = ""
    summary: str = ""
    settled_s: int | None = None
    flaps: int = 0
    confident_wrong: int = 0
    skipped: str = ""
    causes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Right in time, and never surely wrong."""
        return self.settled_s is not None and self.settled_s <= STEADY_S and not self.confident_wrong

    def line(self) -> str:
        """One line of the table."""
        if self.skipped:
            return f"skip  {self.name:<44} {self.skipped}"
        mark = "ok   " if self.passed else "WRONG"
        when = "never" if self.settled_s is None else f"{self.settled_s} s"
        return (
            f"{mark} {self.name:<44} expected {self.right[0]:<18} got {self.got:<18} {self.confidence:<6} "
            f"steady {when:<6} flaps {self.flaps}"
            + (f" HIGH AND WRONG {self.confident_wrong} s" if self.confident_wrong else "")
        )


def play(scenario: Scenario, seconds: int = SECONDS, *, signals: bool = False) -> list[Outcome]:
    """Plays a scenario; the outcome of its verdict, and of each job where those are labelled too."""
    directory = make_directory()
    name = f"iodash-lab-{os.getpid()}-{directory.name[-8:]}"
    command = [sys.executable, "-m", "tests.lab.play", scenario.name, "--directory", str(directory), "--name", name]
    command += ["--for", str(seconds)] + (["--signals"] if signals else [])
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, _ = child.communicate(timeout=seconds + _SETUP_S)
    except subprocess.TimeoutExpired:
        output = json.dumps([asdict(Outcome(scenario.name, scenario.right, summary="did not end in time"))])
    finally:
        try:
            os.killpg(child.pid, signal.SIGCONT)
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        clear(name, directory)
    lines = output.splitlines()
    if not lines:
        raise RuntimeError(f"{scenario.name}: it ended without an outcome")
    return [Outcome(**fields) for fields in json.loads(lines[-1])]


def judge(right: tuple[str, ...], name: str, said: list[dict[str, Any] | None]) -> Outcome:
    """The outcome of a line of verdicts, one a second."""
    outcome = Outcome(name, right)
    outcome.causes = [_short(verdict) for verdict in said]
    last = said[-1] if said else None
    if last is None:
        outcome.summary = "no verdict"
        return outcome
    outcome.got, outcome.confidence, outcome.summary = last["cause"], last["confidence"], last["summary"]
    for second, verdict in reversed(list(enumerate(said, 1))):
        if verdict is None or verdict["cause"] not in right:
            break
        outcome.settled_s = second
    late = [verdict["cause"] for verdict in said[STEADY_S - 1 :] if verdict is not None]
    outcome.flaps = sum(one != other for one, other in pairwise(late))
    outcome.confident_wrong = sum(
        verdict is not None and verdict["confidence"] == "high" and verdict["cause"] not in right for verdict in said
    )
    return outcome


def _short(verdict: dict[str, Any] | None) -> str:
    return "-" if verdict is None else f"{verdict['cause']}/{verdict['confidence'][0]}"


def confusion(outcomes: list[Outcome]) -> str:
    """How often each cause (a row) was called what."""
    counts = Counter((outcome.right[0], outcome.got) for outcome in outcomes if not outcome.skipped)
    rows = sorted({expected for expected, _ in counts})
    lines = ["expected             got"]
    for row in rows:
        got = ", ".join(f"{cause} {count}" for (expected, cause), count in sorted(counts.items()) if expected == row)
        lines.append(f"{row:<20} {got}")
    return "\n".join(lines)


def main() -> int:
    """Plays one scenario here and prints its outcomes as the last line."""
    parser = argparse.ArgumentParser(prog="play", description=__doc__)
    parser.add_argument("scenario")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--for", dest="seconds", type=int, default=SECONDS)
    parser.add_argument("--signals", action="store_true")
    options = parser.parse_args()
    scenario = next(each for each in SCENARIOS if each.name == options.scenario)
    if os.geteuid() == 0:
        own_mounts()
    ground = Ground(options.name, options.directory)
    try:
        if not scenario.no_gpu:
            ground.gpus(scenario.gpus)
        scenario.play(ground)
        time.sleep(scenario.settle_s)
        said = _watch(ground, scenario, options.seconds, options.signals)
    except NotHereError as lacking:
        outcomes = [Outcome(scenario.name, scenario.right, skipped=str(lacking))]
    else:
        outcomes = [judge(scenario.right, scenario.name, [line["verdict"] for line in said])]
        for place, right in enumerate(scenario.jobs):
            pid = ground.watched[place]
            own = [
                next((each for each in line["verdicts"] if (each["job"] or "").endswith(f":{pid}")), None)
                for line in said
            ]
            outcomes.append(judge(right, f"{scenario.name}, job {place + 1}", own))
    finally:
        ground.close()
    print(json.dumps([asdict(outcome) for outcome in outcomes]), flush=True)
    return 0


def _watch(ground: Ground, scenario: Scenario, seconds: int, signals: bool) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.lab.watch", "--for", str(seconds)]
    if scenario.no_gpu:
        command.append("--no-gpu")
    if scenario.pinned:
        command += ["-p", str(ground.watched[0])]
    if signals:
        command.append("--signals")
    watching = ground.start_watching(command)
    said = []
    for line in watching.stdout or ():
        said.append(json.loads(line))
        if signals:
            print(json.dumps(said[-1], indent=1), file=sys.stderr, flush=True)
    watching.wait()
    return said


if __name__ == "__main__":
    sys.exit(main())
