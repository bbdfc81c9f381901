"""Whether memory grows while the screen runs at 10 Hz, beyond the history that fills up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.common import IODASH, Crowd, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.common import Effort

SIZE = (120, 40)
FILLED_S = 65.0
"""After this the history of 600 frames at 10 Hz is full."""


def run(effort: Effort) -> Iterator[Result]:
    with Crowd(100) as crowd, crowd.start([IODASH, "-d", "0.1"], size=SIZE) as program:
        time.sleep(FILLED_S)
        before, start = program.resident_bytes(), time.monotonic()
        program.use(effort.growth_s)
        after, seconds = program.resident_bytes(), time.monotonic() - start
    yield Result("resident with a full history", before / 2**20, 60, "MB")
    yield Result(f"growth in {seconds:.0f} s at 10 Hz", (after - before) / 2**20, 1.0, "MB")
    yield Result("the same for an hour", (after - before) / seconds * 3600 / 2**20, None, "MB/h")
