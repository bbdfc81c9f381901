"""Watches this machine as iodash does and prints each second's verdicts as a line of JSON.

`python -m tests.lab.watch --for SECONDS [-p PID] [--no-gpu] [--signals]`; with `--signals` each line also holds what
the rules saw of each job, to find out which signal misled.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iodash.commands.stream import Stream
from iodash.sources import Demand
from iodash.sources.local import LocalSource

if TYPE_CHECKING:
    from iodash.diagnosis import Diagnosis
    from iodash.diagnosis.signals import Moment, Threads
    from iodash.model.frame import Frame, Verdict


def told(verdict: Verdict) -> dict[str, Any]:
    """A verdict, with what the lab asks of it."""
    return {
        "cause": verdict.cause,
        "confidence": verdict.confidence,
        "job": verdict.job,
        "summary": verdict.summary,
        "evidence": [item.text for item in verdict.evidence],
    }


def _threads(threads: Threads) -> str:
    numbers = {name: getattr(threads, name) for name in ("cpu", "main_cpu", "blocked", "running", "run_delay")}
    words = [f"{name} {value:.0f}" for name, value in numbers.items() if value is not None]
    waits = [f"{kind}~{share:.0f}" for kind, share in threads.waits.items() if share >= 1]
    return f"x{threads.count} looks {threads.looks}: " + " ".join(words + waits)


def signals(moment: Moment) -> dict[str, Any]:
    """The numbers of one moment, without what is not known."""
    seen: dict[str, Any] = {}
    for field in fields(moment):
        value = getattr(moment, field.name)
        if field.name in ("ranks", "workers"):
            seen[field.name] = _threads(value)
        elif field.name == "devices":
            seen["devices"] = [
                f"{row.name} {row.state} util {row.util_percent} r/s {row.reads_per_s} {row.read_bytes_per_s} "
                f"size {row.read_size_bytes} await {row.read_await_ms} w {row.write_bytes_per_s} q {row.queue_length}"
                for row in value
            ]
        elif isinstance(value, float):
            seen[field.name] = round(value, 1)
        elif field.name == "cgroup" and value is not None:
            seen["cgroup"] = str(value)
    system = moment.system
    seen["system"] = (
        f"idle {system.cpu_idle_percent} refault {system.refault_bytes_per_s} available {system.memory_available_bytes}"
    )
    return seen


def main() -> int:
    """Watches, prints, ends."""
    parser = argparse.ArgumentParser(prog="watch", description=__doc__)
    parser.add_argument("--for", dest="seconds", type=int, default=20)
    parser.add_argument("-p", dest="pid", type=int, action="append", default=[])
    parser.add_argument("--no-gpu", action="store_true")
    parser.add_argument("--signals", action="store_true")
    options = parser.parse_args()
    source = LocalSource(Path("/proc"), Path("/sys"), gpu=not options.no_gpu, wait_for_gpu=True)
    stream = Stream(source, 1.0, Demand(), pinned=frozenset(options.pid))
    diagnosis: Diagnosis = stream._monitor._diagnosis

    def show(frame: Frame) -> None:
        line: dict[str, Any] = {
            "verdict": None if frame.verdict is None else told(frame.verdict),
            "verdicts": [told(verdict) for verdict in frame.verdicts],
        }
        if options.signals:
            line["jobs"] = {
                name: {
                    **signals(case.moments[-1]),
                    "places": [f"{at} {place.kind} {place.devices}" for at, (_, place) in case.places.items()],
                }
                for name, case in diagnosis._cases.items()
                if case.moments
            }
        print(json.dumps(line), flush=True)

    stream.run(show, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
