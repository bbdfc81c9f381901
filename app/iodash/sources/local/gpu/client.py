"""All GPUs of this host, as the sampler reads them: a call that never blocks, whatever the drivers do."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver
from iodash.sources.local.gpu.answer import counters_of, driver_of
from iodash.sources.local.gpu.holders import Holders
from iodash.sources.local.gpu.library import absence, find_library
from iodash.sources.local.gpu.link import SILENT_S, WorkerLink, WorkerOptions
from iodash.sources.local.gpu.others import OtherGpus
from iodash.sources.local.gpu.processes import ProcessJoin
from iodash.sources.local.trees import is_of_a_pid_namespace

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from iodash.model.sample import GpuCounters

LONGEST_INTERVAL_S = 60.0

LOOK_AGAIN_S = 30.0
"""How often a host without the library is looked at again, for a driver that appears later."""


class GpuReader:
    """Reads every GPU: NVIDIA's through the worker process, the others from what the kernel shows.

    A poll is asked for shortly before the next reading is expected, so that what `read` returns is fresh. Nothing here
    waits for the worker, save `wait_first`.
    """

    def __init__(
        self,
        procfs: Path,
        sysfs: Path,
        *,
        enabled: bool,
        options: WorkerOptions | None = None,
        pid_namespace: bool | None = None,
    ) -> None:
        self._procfs = procfs
        self._sysfs = sysfs
        self._enabled = enabled
        self._options = replace(options or WorkerOptions(), sysfs=sysfs)
        self._link: WorkerLink | None = None
        self._started = False
        self._look_at = 0.0
        self._absence = ""
        self._last_read: float | None = None
        self._gaps = deque([self._options.floor_s], maxlen=3)
        self._awake_since = 0.0
        self._past_cpu_s = 0.0
        if pid_namespace is None:
            pid_namespace = is_of_a_pid_namespace(procfs)
        self._apart = pid_namespace
        self._join = ProcessJoin(procfs, apart=pid_namespace)
        self._holders = Holders(procfs)
        self._others = OtherGpus(procfs, sysfs)

    def start(self) -> None:
        """Starts the worker where there is a library to ask. Returns at once; further calls do nothing."""
        if self._enabled and not self._started:
            self._started = True
            self._look(time.monotonic())

    def wait_first(self, timeout_s: float) -> None:
        """Waits until the worker has answered once, at most `timeout_s`. At once where there is no worker."""
        if self._link is not None:
            self._link.wait_answer(timeout_s)

    def read(self, visible_pids: Collection[int]) -> tuple[GpuDriver, tuple[GpuCounters, ...]]:
        """The newest state of the driver and of every GPU. `visible_pids` are the pids of this sample."""
        if not self._enabled:
            return GpuDriver("off", message="GPUs are not read (--no-gpu)"), ()
        if not self._started:
            return GpuDriver("starting", message="looking for GPUs"), ()
        now = time.monotonic()
        self._keep_pace(now)
        driver, gpus = self._nvidia(visible_pids, now)
        others = self._others.read(visible_pids, first_index=len({gpu.index for gpu in gpus}))
        if others and driver.status == "no_library":
            return GpuDriver("ok", message="read from the kernel, without a vendor's library"), others
        return driver, gpus + others

    def own(self) -> tuple[float, int]:
        """CPU seconds of the worker since the start and its resident bytes now."""
        if self._link is None:
            return self._past_cpu_s, 0
        cpu_s, resident = self._link.cost()
        return self._past_cpu_s + cpu_s, resident

    def close(self) -> None:
        """Ends the worker without waiting for it."""
        self._enabled = False
        self._others.close()
        self._holders.close()
        if self._link is not None:
            self._link.close()

    def _look(self, now: float) -> None:
        """Starts the worker if the library has appeared."""
        library = find_library()
        self._look_at = now + LOOK_AGAIN_S
        self._absence = "" if library is not None else absence(self._procfs, self._sysfs)
        if library is not None:
            self._link = WorkerLink(replace(self._options, library=library.path if library.preload else None))
            self._link.start()

    def _keep_pace(self, now: float) -> None:
        """Notes the rhythm of the readings. After a pause of our own (Ctrl-Z) nothing is overdue yet."""
        if self._last_read is not None:
            gap = now - self._last_read
            if gap > 2 * max(self._gaps) + SILENT_S:
                self._awake_since = now
            self._gaps.append(min(LONGEST_INTERVAL_S, max(self._options.floor_s, gap)))
        self._last_read = now

    def _nvidia(self, visible: Collection[int], now: float) -> tuple[GpuDriver, tuple[GpuCounters, ...]]:
        if self._link is None and now >= self._look_at:
            self._look(now)
        link = self._link
        if link is None:
            return GpuDriver("no_library", message=self._absence), ()
        interval = min(self._gaps)
        lead = min(0.25 * interval, 2 * link.took_s + 0.1 * interval)
        overdue = link.overdue_s(now, self._awake_since)
        link.request(now + interval - lead)
        answer = link.latest()
        if answer is None:
            return self._without_answer(link, overdue), ()
        driver = driver_of(answer)
        gpus = self._counters(answer, driver, visible)
        trouble = self._trouble(link, driver, overdue)
        if trouble is None:
            return driver, gpus
        silent = (gpu.unmeasured(Missing.NOT_MEASURED, "error", trouble.message) for gpu in gpus)
        return trouble, tuple(silent)

    def _counters(self, answer: dict[str, Any], driver: GpuDriver, visible: Collection[int]) -> tuple[GpuCounters, ...]:
        needs_holders = self._apart and any(gpu["processes"] == [] for gpu in answer["gpus"])
        holders = self._holders.read() if needs_holders else {}
        gpus = [
            counters_of(gpu, self._join.join(gpu, driver.version, visible, holders.get(gpu["minor"], ())))
            for gpu in answer["gpus"]
        ]
        self._join.forget_all_but({(gpu["uuid"], pid) for gpu in answer["gpus"] for pid, _ in gpu["processes"] or ()})
        return tuple(gpus)

    def _without_answer(self, link: WorkerLink, overdue: float) -> GpuDriver:
        if link.ended:
            return GpuDriver("error", message=f"{link.ended}; it is started again")
        if overdue > SILENT_S:
            words = f"no answer from the driver for {overdue:.0f} s; it may still be starting"
            return GpuDriver("not_answering", message=words)
        return GpuDriver("starting", message="waiting for the driver")

    def _trouble(self, link: WorkerLink, driver: GpuDriver, overdue: float) -> GpuDriver | None:
        if link.ended:
            return GpuDriver("error", driver.version, f"{link.ended}; it is started again")
        if overdue > SILENT_S:
            return GpuDriver("not_answering", driver.version, f"no answer from the driver for {overdue:.0f} s")
        return None
