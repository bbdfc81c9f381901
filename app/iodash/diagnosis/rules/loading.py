"""Loading as the cause: workers bound by the CPU, or a main process that loads by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.jobs import is_python
from iodash.diagnosis.rules.waits import (
    MIB,
    disk_wait,
    group_words,
    idle_words,
    oppose_if_loaders_are_ahead,
    per_second,
    starved,
)
from iodash.formatting.units import percent

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene

CPU_BOUND = 70.0
"""CPU use of a worker from which it is bound by it; decoding workers that keep up sleep between batches."""

SHARED_LOCK = 80.0
"""CPU use of all threads of one Python program together from which its lock holds them up (100 is the most)."""


def cpu_preprocessing(scene: Scene) -> Finding | None:
    """The loader workers decode or augment as fast as their CPUs allow, and the GPUs wait for them."""
    group = scene.loaders
    cpu = scene.of(group, "cpu")
    if not starved(scene) or group == "ranks" or cpu is None:
        return None
    ready = cpu + (scene.of(group, "run_delay") or 0.0)
    waited = disk_wait(scene, group) or 0.0
    together = _together(scene)
    if together < SHARED_LOCK and (ready < CPU_BOUND or cpu < 40 or waited > cpu):
        return None
    finding = Finding("cpu_preprocessing")
    finding.support(
        "worker_cpu_percent", cpu, "%", CPU_BOUND, f"{group_words(group)} use {percent(cpu)} % of a CPU each"
    )
    if together >= SHARED_LOCK:
        text = f"together they use {percent(together)} % of a CPU, and one Python runs one thread at a time"
        finding.inform("threads_cpu_percent", together, "%", text)
    main = scene.of("ranks", "main_cpu")
    if main is not None and main < 60:
        finding.support("main_thread_cpu_percent", main, "%", 60, f"the main thread waits ({percent(main)} % CPU)")
    if waited < 15:
        read = scene.mean(lambda moment: moment.read)
        finding.support(
            "blocked_percent", waited, "%", 15, f"the disk is not it: {per_second(read)}, {percent(waited)} % waits"
        )
    oppose_if_loaders_are_ahead(finding, scene)
    newest = scene.moments[-1]
    count = newest.workers.count if group == "workers" else newest.threads.count
    kind = group.removesuffix("s")
    who = (
        f"the {count} loader {kind}s are CPU-bound ({percent(cpu)} % each)"
        if count != 1
        else f"the loader {kind} is CPU-bound ({percent(cpu)} %)"
    )
    finding.summary = f"{who}; {idle_words(scene)}"
    idle = scene.system("cpu_idle_percent")
    if group == "threads":
        finding.advice = "worker processes (num_workers): threads of one Python share its lock; cheaper or GPU decoding"
    elif idle is not None and idle > 20:
        finding.inform("cpu_idle_percent", idle, "%", f"{percent(idle)} % of the CPUs are idle")
        finding.advice = f"raise num_workers (now {count}): CPUs are free; cheaper or GPU decoding (DALI, nvJPEG)"
    else:
        finding.advice = (
            "cheaper augmentation, decode on the GPU (DALI, nvJPEG), resize once and store; more cores per GPU"
        )
    return finding


def _together(scene: Scene) -> float:
    """CPU use of all loader threads of one rank together, 0 where they don't share the lock of one Python."""
    if scene.loaders != "threads" or not all(is_python(rank.row) for rank in scene.job.ranks):
        return 0.0
    used = scene.mean(lambda moment: (moment.threads.cpu or 0.0) * moment.threads.count or None) or 0.0
    return used / len(scene.job.ranks)


def inline_loading(scene: Scene) -> Finding | None:
    """There are no workers: the main process reads and prepares each batch while the GPU waits."""
    if not starved(scene) or scene.loaders != "ranks":
        return None
    reads = scene.mean(lambda moment: moment.main_read)
    if reads is None:
        logical = scene.mean(lambda moment: moment.rank_logical_read) or 0.0
        reads = max(logical, scene.mean(lambda moment: moment.rank_read) or 0.0)
    faults = scene.mean(lambda moment: moment.major_faults) or 0.0
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
    busy = min(100.0, (waited or 0.0) + (cpu or 0.0))  # both are looked at apart, and may add up to a little more
    idle = scene.idle
    if busy >= (60 if idle is None else max(25, 0.5 * idle)):
        what = f"disk {percent(waited or 0)} %, CPU {percent(cpu or 0)} %"
        finding.support("main_busy_percent", busy, "%", 60, f"it is busy {percent(busy)} % of the time ({what})")
    elif busy < 15:
        finding.oppose("main_busy_percent", busy, "%", 15, f"it is busy only {percent(busy)} % of the time")
    meanwhile = ", the GPU waits meanwhile" if scene.has_gpu else ""
    finding.summary = f"the main process loads the data itself{meanwhile}; {idle_words(scene)}"
    finding.advice = "DataLoader(num_workers=4 or more, persistent_workers=True, pin_memory=True)"
    if scene.never_ran:
        finding.ceiling = "medium"
        finding.summary = f"the main process loads data, and nothing has run on the GPU yet; {idle_words(scene)}"
        finding.advice = "it may be starting (weights, an index): if it stays so, " + finding.advice
    return finding
