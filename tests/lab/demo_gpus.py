"""A host with simulated GPUs to look at: `python -m tests.lab.demo_gpus [SCENARIO] [-- COMMAND...]`.

Starts live training processes on them and runs the command (default: prints the environment and waits) with the
variables set under which it finds the simulated driver. Everything ends with it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.lab.nvml import scenario
from tests.lab.nvml.build import library_directory
from tests.lab.nvml.busy import create
from tests.lab.trainer import Run, arguments, make_dataset

ROOT = Path(__file__).resolve().parents[2]

SCENARIOS: dict[str, dict[str, scenario.Value]] = {
    "eight": {**scenario.EIGHT, "gpu.memused": 0},
    "healthy": scenario.HEALTHY,
    "starved": scenario.SAW_TOOTH,
    "checkpoint": scenario.CHECKPOINT,
    "waiting": scenario.WAITING_FOR_ANOTHER_RANK,
    "idle": scenario.IDLE,
    "mig": scenario.MIG,
    "live": {"count": 2, "gpu.gpm": 1},
}


def live_runs(busy: Path, dataset: Path) -> list[Run]:
    """Two runs: one that is fed, one whose loader is too slow."""
    fed = Run(dataset=dataset, workers=1, batch=2, step_ms=80, busy=busy, gpu=0, gpu_bytes=60 << 30, seconds=3600)
    slow = Run(dataset=dataset, workers=1, batch=1, cpu_ms=450, step_ms=200, busy=busy, gpu=1, gpu_bytes=40 << 30)
    return [fed, slow]


def main() -> int:
    """Sets the stage, runs the command, and clears up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scenario", nargs="?", default="eight", choices=sorted(SCENARIOS))
    parser.add_argument("command", nargs="*", help="what to run with the simulated GPUs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iodash-demo-") as name:
        directory = Path(name)
        busy = create(directory / "busy")
        keys = {**SCENARIOS[options.scenario]}
        if options.scenario in ("live", "eight"):
            keys["busy"] = str(busy)
            keys.pop("gpu.memused", None)
        environment = scenario.Scenario(directory / "scenario", keys).environment(library_directory())
        trainers = []
        if "busy" in keys:
            dataset = make_dataset(directory / "data", files=4, size=16 << 20)
            trainers = [
                subprocess.Popen(
                    [sys.executable, "-m", "tests.lab.trainer", *arguments(run)], cwd=ROOT, stdout=subprocess.DEVNULL
                )
                for run in live_runs(busy, dataset)
            ]
        try:
            if options.command:
                return subprocess.run(options.command, env={**os.environ, **environment}, check=False).returncode
            print("\n".join(f"export {key}={value}" for key, value in environment.items()), flush=True)
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 130
        finally:
            for trainer in trainers:
                trainer.terminate()
            for trainer in trainers:
                trainer.wait(10)


if __name__ == "__main__":
    sys.exit(main())
