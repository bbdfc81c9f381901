"""Loading as the cause: workers bound by the CPU, or a main process that loads by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.rules.waits import (
    MIB,
    disk_wait,
    idle_words,
    oppose_if_loaders_are_ahead,
    per_second,
    starved,
)

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene

CPU_BOUND = 70.0
"""CPU use of a worker from which it is bound by it; decoding workers that keep up sleep between batches."""


def cpu_preprocessing(scene: Scene) -> Finding | None:
    """The loader workers decode or augment as fast as their CPUs allow, and the GPUs wait for them."""
    cpu = scene.of("workers", "cpu")
    if not starved(scene) or not scene.job.workers or cpu is None:
        return None
    ready = cpu + (scene.of("workers", "run_delay") or 0.0)
    waited = disk_wait(scene, "workers") or 0.0
    if ready < CPU_BOUND or cpu < 40 or waited > cpu:
        return None
    finding = Finding("cpu_preprocessing")
    finding.support("worker_cpu_percent", cpu, "%", CPU_BOUND, f"the workers use {cpu:.0f} % of a CPU each")
    main = scene.of("ranks", "main_cpu")
    if main is not None and main < 60:
        finding.support("main_thread_cpu_percent", main, "%", 60, f"the main thread waits ({main:.0f} % CPU)")
    if waited < 15:
        read = scene.mean(lambda moment: moment.read)
        finding.support(
            "blocked_percent", waited, "%", 15, f"the disk is not it: {per_second(read)}, {waited:.0f} % waits"
        )
    oppose_if_loaders_are_ahead(finding, scene)
    count = len(scene.job.workers)
    who = (
        f"the {count} loader workers are CPU-bound ({cpu:.0f} % each)"
        if count > 1
        else f"the loader worker is CPU-bound ({cpu:.0f} %)"
    )
    finding.summary = f"{who}; {idle_words(scene)}"
    idle = scene.system("cpu_idle_percent")
    if idle is not None and idle > 20:
        finding.inform("cpu_idle_percent", idle, "%", f"{idle:.0f} % of the CPUs are idle")
        finding.advice = f"raise num_workers (now {count}): CPUs are free; cheaper or GPU decoding (DALI, nvJPEG)"
    else:
        finding.advice = (
            "cheaper augmentation, decode on the GPU (DALI, nvJPEG), resize once and store; more cores per GPU"
        )
    return finding


def inline_loading(scene: Scene) -> Finding | None:
    """There are no workers: the main process reads and prepares each batch while the GPU waits."""
    if not starved(scene) or scene.job.workers:
        return None
    logical = scene.mean(lambda moment: moment.rank_logical_read) or 0.0
    read = scene.mean(lambda moment: moment.rank_read) or 0.0
    faults = scene.mean(lambda moment: moment.major_faults) or 0.0
    reads = max(logical, read)
    if reads < 0.25 * MIB and faults < 20:
        return None
    finding = Finding("inline_loading")
    finding.support(
        "main_read", reads, "B/s", 0.25 * MIB, f"the main process reads {per_second(reads)} itself, no workers"
    )
    waited = disk_wait(scene, "ranks")
    cpu = scene.of("ranks", "main_cpu")
    if cpu is None:
        cpu = scene.of("ranks", "cpu")
    busy = (waited or 0.0) + (cpu or 0.0)
    idle = scene.idle
    if busy >= (60 if idle is None else max(25, 0.5 * idle)):
        what = f"waits for the disk {waited or 0:.0f} % and computes {cpu or 0:.0f} % of the time"
        finding.support("main_busy_percent", busy, "%", 60, f"it {what}")
    elif busy < 15:
        finding.oppose("main_busy_percent", busy, "%", 15, f"it is busy only {busy:.0f} % of the time")
    meanwhile = ", the GPU waits meanwhile" if scene.has_gpu else ""
    finding.summary = f"the main process loads the data itself{meanwhile}; {idle_words(scene)}"
    finding.advice = "DataLoader(num_workers=4 or more, persistent_workers=True, pin_memory=True)"
    return finding
