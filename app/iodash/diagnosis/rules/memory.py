"""Memory as the deeper cause: swapping, a page cache too small for the data, a full /dev/shm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.rules.waits import (
    MIB,
    WAITING,
    idle_loaders,
    idle_words,
    oppose_if_loaders_are_ahead,
    per_second,
    starved,
    support_if_loaders_wait,
)
from iodash.formatting.units import percent

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene


REFAULTS = 30.0
"""Share of what is read that was in the page cache shortly before, from which the cache is too small."""


def _refault_share(scene: Scene) -> float:
    """How much of what the job reads from devices had been thrown out of the page cache, in percent."""
    read = scene.mean(lambda moment: moment.read)
    if not read:
        return 0.0
    refault = max(scene.cgroup("refault_bytes_per_s") or 0.0, scene.system("refault_bytes_per_s") or 0.0)
    return min(100.0, 100.0 * refault / read)


def _cgroup_fill(scene: Scene) -> float | None:
    """How much of its limit the job's cgroup holds, in percent."""
    used, limit = scene.cgroup("memory_used_bytes"), scene.cgroup("memory_limit_bytes")
    return 100 * used / limit if used is not None and limit else None


def _free_share(scene: Scene) -> float | None:
    """How much of the machine's memory is available, in percent."""
    available, whole = scene.system("memory_available_bytes"), scene.system("memory_total_bytes")
    return 100 * available / whole if available is not None and whole else None


def _support_if_cgroup_is_full(finding: Finding, scene: Scene, least: float) -> None:
    fill = _cgroup_fill(scene)
    if fill is not None and fill >= least:
        finding.support("memory_percent", fill, "%", least, f"its cgroup holds {percent(fill)} % of its limit")


def memory_pressure(scene: Scene) -> Finding | None:
    """Swapping or reclaim stalls the job.

    Waiting for file pages that were thrown out shortly before counts as memory pressure too (accounting/psi.rst): where
    they alone come back and nothing is swapped, the page cache is what is too small.
    """
    if not starved(scene):
        return None
    finding = Finding("memory_pressure")
    swap_in, swap_out = scene.system("swap_in_bytes_per_s") or 0.0, scene.system("swap_out_bytes_per_s") or 0.0
    swap = swap_in + swap_out
    if swap < MIB and _refault_share(scene) >= REFAULTS:
        return None
    if swap >= MIB:
        finding.support("swap", swap, "B/s", MIB, f"the machine swaps {per_second(swap)}")
    full = scene.cgroup("pressure_memory_full_percent")
    some = scene.cgroup("pressure_memory_some_percent")
    whose = "the job's cgroup"
    if some is None:
        full, some = scene.system("pressure_memory_full_percent"), scene.system("pressure_memory_some_percent")
        whose = "the machine"
    if (full or 0) >= 5 or (some or 0) >= 15:
        finding.support(
            "pressure_memory_some_percent",
            some or 0,
            "%",
            15,
            f"{whose} waits for memory {percent(some or 0)} % of the time",
        )
    waiting = max(scene.waiting("ranks", "memory"), scene.waiting(scene.loaders, "memory"))
    if waiting >= WAITING:
        finding.support("memory_wait_percent", waiting, "%", WAITING, f"the job waits in reclaim {percent(waiting)} %")
    if not finding.supporting:
        return None
    _support_if_cgroup_is_full(finding, scene, 95)
    free = _free_share(scene)
    if swap < MIB and free is not None and free > 30 and (_cgroup_fill(scene) or 0.0) < 90:
        finding.oppose("memory_available_percent", free, "%", 30, "memory is free")
    finding.summary = f"memory is short ({finding.supporting[0].text}); {idle_words(scene)}"
    finding.advice = (
        "fewer workers, smaller prefetch_factor or batch; raise the memory limit; look for a leak in the loader"
    )
    return finding


def page_cache_thrash(scene: Scene) -> Finding | None:
    """The data set outgrows the page cache: what is read was thrown out shortly before."""
    read = scene.mean(lambda moment: moment.read)
    if not starved(scene) or read is None or read < 2 * MIB:
        return None
    share = _refault_share(scene)
    refault = share * read / 100
    if share < REFAULTS:
        return None
    finding = Finding("page_cache_thrash")
    finding.support(
        "refault_percent", share, "%", REFAULTS, f"{percent(share)} % of what it reads was in memory before"
    )
    support_if_loaders_wait(finding, scene)
    _support_if_cgroup_is_full(finding, scene, 90)
    free = _free_share(scene)
    if free is not None and free > 50 and scene.cgroup("memory_limit_bytes") is None:
        finding.oppose("memory_available_percent", free, "%", 50, "half of memory is free")
    finding.summary = f"the data set outgrows the page cache: {per_second(refault)} is read again; {idle_words(scene)}"
    finding.advice = (
        "more memory (or a higher limit), fewer other users of it, a smaller or packed data set, a local SSD"
    )
    return finding


def shared_memory_full(scene: Scene) -> Finding | None:
    """/dev/shm, where workers hand over tensors, is full."""
    fill = scene.shared_memory
    if not starved(scene) or fill is None or fill < 80:
        return None
    finding = Finding("shared_memory_full")
    finding.support("shared_memory_percent", fill, "%", 95, f"/dev/shm is {percent(fill)} % full")
    blocked, cpu = scene.of("workers", "blocked"), scene.of("workers", "cpu")
    ahead = idle_loaders(scene)
    if scene.job.workers and (cpu or 0) < 30 and (blocked or 0) < WAITING and (ahead or 0) < 50:
        finding.support("worker_cpu_percent", cpu or 0.0, "%", 30, "the workers neither compute nor wait for a disk")
    if fill < 95:
        finding.ceiling = "medium"
    oppose_if_loaders_are_ahead(finding, scene)
    if not scene.job.workers:
        finding.oppose("workers", 0, "", 1, "there are no workers that would need it")
    finding.summary = f"/dev/shm is {percent(fill)} % full, so the workers can't hand over batches; {idle_words(scene)}"
    finding.advice = (
        "docker run --shm-size=16g (or --ipc=host); fewer workers or a smaller prefetch_factor; "
        "remove what dead runs left there (ls -l /dev/shm)"
    )
    return finding
