"""How long the event loop is kept from its work while 5000 processes are sampled once a second."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.common import Crowd, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.common import Effort

SIZE = (120, 40)
COUNT = 5000
STEP_S = 0.002
WARM_UP_S = 6.0


def run(effort: Effort) -> Iterator[Result]:
    rounds: list[list[float]] = []
    with Crowd(COUNT) as crowd, tempfile.TemporaryDirectory() as folder:
        for _ in range(effort.rounds):
            file = Path(folder) / "lags.json"
            command = [sys.executable, "-m", "bench.smoothness", str(file), str(effort.seconds)]
            with crowd.start(command, size=SIZE) as program:
                deadline = time.monotonic() + effort.seconds + 60
                while not file.exists():
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"no measurement: {bytes(program.output[-500:])!r}")
                    time.sleep(0.2)
            rounds.append(sorted(json.loads(file.read_text())))
            file.unlink()
    p99 = statistics.median(lags[int(len(lags) * 0.99)] for lags in rounds)
    yield Result(f"lag of the event loop, 99th percentile, {COUNT} processes", 1000 * p99, 10, "ms")
    yield Result("longest lag", 1000 * statistics.median(lags[-1] for lags in rounds), None, "ms")


def _inside(file: Path, seconds: float) -> None:
    """The dashboard itself, with a task that notes by how much each of its short sleeps was overslept."""
    from iodash.model.settings import Settings
    from iodash.monitor import Monitor
    from iodash.sources.local import LocalSource
    from iodash.ui.app import DashboardApp

    async def note_lags(app: DashboardApp) -> None:
        await asyncio.sleep(WARM_UP_S)
        lags, end = [], time.monotonic() + seconds
        while (start := time.monotonic()) < end:
            await asyncio.sleep(STEP_S)
            lags.append(time.monotonic() - start - STEP_S)
        done = file.with_suffix(".part")
        done.write_text(json.dumps(lags))
        done.rename(file)
        app.exit()

    class Measured(DashboardApp):
        def on_ready(self) -> None:
            self.run_worker(note_lags(self), group="lags")

    settings = Settings()
    Measured(lambda: Monitor(LocalSource(settings.procfs, settings.sysfs), settings.delay), settings).run()


if __name__ == "__main__":
    _inside(Path(sys.argv[1]), float(sys.argv[2]))
