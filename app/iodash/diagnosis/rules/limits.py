"""Limits set on the job: a ceiling on its I/O, a quota or too few cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.rules.waits import (
    WAITING,
    disk_wait,
    group_words,
    idle_words,
    oppose_if_loaders_are_ahead,
    per_second,
    starved,
)
from iodash.diagnosis.signals import mean
from iodash.formatting.units import percent
from iodash.model.missing import known

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene
    from iodash.model.members import IoLimit


EXHAUSTED = 8.0
"""Idle share of the CPUs, in percent, at which none is left."""


def io_throttled(scene: Scene) -> Finding | None:
    """A cgroup limit holds the job's I/O down while the device has time to spare."""
    if not starved(scene):
        return None
    reached = reached_limit(scene)
    if reached is None:
        return None
    limit, rate = reached
    share = 100 * rate / limit.per_s
    finding = Finding("io_throttled", devices=(limit.device,))
    amount = per_second(limit.per_s) if limit.unit == "bytes" else f"{limit.per_s:.0f} operations/s"
    finding.support(
        "limit_percent",
        share,
        "%",
        80,
        f"its {limit.direction}s run at {percent(share)} % of the cgroup's limit ({amount})",
    )
    waited = disk_wait(scene, scene.loaders)
    if limit.direction == "write":
        waited = max(waited or 0.0, scene.of("ranks", "blocked") or 0.0)
    if waited is not None and waited >= WAITING:
        finding.support(
            "blocked_percent", waited, "%", WAITING, f"{group_words(scene.loaders)} wait {percent(waited)} %"
        )
    util = scene.device(limit.device, "util_percent")
    if util is not None and util < 50:
        finding.support("util_percent", util, "%", 50, f"{limit.device} itself is only {percent(util)} % busy")
    oppose_if_loaders_are_ahead(finding, scene)
    finding.summary = (
        f"a limit of {amount} on {limit.device} holds the job's {limit.direction}s down, the device is free; "
        f"{idle_words(scene)}"
    )
    finding.advice = (
        "raise io.max (blkio.throttle) of the job's cgroup: docker --device-read-bps, the pod's or slice's limit"
    )
    return finding


def reached_limit(scene: Scene) -> tuple[IoLimit, float] | None:
    """The limit that is used the most, when it is used at least 80 %."""
    rates: dict[IoLimit, list[float | None]] = {}
    for moment in scene.moments:
        for limit, rate in moment.cgroup.io_limits if moment.cgroup is not None else ():
            rates.setdefault(limit, []).append(known(rate))
    used = [(limit, average) for limit, seen in rates.items() if (average := mean(seen)) is not None and limit.per_s]
    worst = max(used, key=lambda pair: pair[1] / pair[0].per_s, default=None)
    return worst if worst is not None and worst[1] >= 0.8 * worst[0].per_s else None


def cpu_limited(scene: Scene) -> Finding | None:
    """A CPU quota throttles the job, or there are too few cores for what is ready to run."""
    if not starved(scene):
        return None
    delay = max(scene.of("ranks", "run_delay") or 0.0, scene.of(scene.loaders, "run_delay") or 0.0)
    finding = _by_quota(scene, delay) or _by_cores(scene, delay)
    if finding is None:
        return None
    waited = disk_wait(scene, scene.loaders)
    if waited is not None and waited >= 50:
        finding.oppose(
            "blocked_percent", waited, "%", 50, f"loading waits for the disk {percent(waited)} % of the time"
        )
    oppose_if_loaders_are_ahead(finding, scene)
    return finding


def _by_quota(scene: Scene, delay: float) -> Finding | None:
    """The cgroup's quota stops the job in a good part of its periods."""
    throttled, quota = scene.cgroup("cpu_throttled_percent"), scene.cgroup("cpu_quota")
    if throttled is None or throttled < 20:
        return None
    finding = Finding("cpu_limited")
    finding.support("throttled_percent", throttled, "%", 20, f"the quota stops it in {percent(throttled)} % of periods")
    used = _cpu(scene)
    if quota is not None and used is not None and used >= 80 * quota:
        finding.support("cpu_percent", used, "%", 80 * quota, f"it uses {used / 100:.1f} of {quota:g} CPUs allowed")
    elif delay >= 20:
        _support_run_delay(finding, delay, 20)
    allowed = "a CPU quota" if quota is None else f"a CPU quota of {quota:g} CPUs"
    finding.summary = f"{allowed} holds the job down; {idle_words(scene)}"
    finding.advice = "raise cpu.max (docker --cpus, the pod's CPU limit), or use fewer workers and torch threads"
    return finding


def _by_cores(scene: Scene, delay: float) -> Finding | None:
    """The job is ready without a CPU for long: it may use few, or others take them."""
    cpu = max(scene.of("ranks", "main_cpu") or 0.0, scene.of(scene.loaders, "main_cpu") or 0.0)
    idle = scene.system("cpu_idle_percent")
    exhausted = idle is not None and idle <= EXHAUSTED
    if delay < 30 or (delay < 0.8 * cpu and not exhausted):
        return None
    finding = Finding("cpu_limited")
    _support_run_delay(finding, delay, 30)
    used, cores, allowed = _cpu(scene) or 0.0, scene.system("cpu_count") or 0, scene.cpus_allowed
    if allowed and allowed < cores and used >= 70 * allowed:
        finding.support("cpus_allowed", allowed, "", cores, f"it may use {allowed:.0f} of {cores:.0f} CPUs")
        cores = allowed
    elif exhausted and idle is not None:
        finding.support("cpu_idle_percent", idle, "%", EXHAUSTED, f"the CPUs are idle only {percent(idle)} %")
    elif idle is not None and idle > 30:
        finding.inform("cpu_idle_percent", idle, "%", "other CPUs are idle: it may be pinned (taskset, cpuset)")
    own = used / 100
    finding.summary = (
        f"too few CPUs ({cores:.0f}) for what is ready to run, the job gets {own:.1f} of them; {idle_words(scene)}"
    )
    finding.advice = "more cores per GPU, fewer workers or torch threads (OMP_NUM_THREADS=1), decode on the GPU (DALI)"
    other = scene.busiest_by_cpu() if exhausted and own < cores / 2 else None
    if other is not None:
        neighbour, taken = other
        name = f"{neighbour.name} ({neighbour.key.pid})"
        finding.processes = (neighbour.key,)
        finding.inform("neighbour_cpu_percent", taken, "%", f"{name} uses {percent(taken)} %")
        finding.advice = f"others take the CPUs, most of all {name}: move or slow them"
    return finding


def _cpu(scene: Scene) -> float | None:
    return scene.mean(lambda moment: moment.cpu)


def _support_run_delay(finding: Finding, delay: float, least: float) -> None:
    words = f"it is ready without a CPU {percent(delay)} % of the time"
    finding.support("run_delay_percent", delay, "%", least, words)
