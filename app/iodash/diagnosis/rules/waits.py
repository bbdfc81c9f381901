"""Questions that several rules ask: how long the loaders wait, for what, and how the idle share reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.formatting.units import byte_rate_in_words, percent

if TYPE_CHECKING:
    from iodash.diagnosis.finding import Finding
    from iodash.diagnosis.scene import Group, Scene

STARVED_IDLE = 5.0
"""Idle share of the GPUs from which something is to blame (TensorFlow's input analyser starts at 5 %)."""

WAITING = 30.0
"""Share of time in a wait from which it counts as a signal."""

MIB = 1024.0 * 1024.0


def idle_words(scene: Scene) -> str:
    """`the GPU idles 62 % of the time`, or that no GPU was seen."""
    idle = scene.idle
    if idle is None:
        return "no GPU was seen, judged by the job's own waits"
    subject = "the GPU idles" if len(scene.job.gpus) == 1 else "the GPUs idle"
    if scene.late is not None:
        subject = "its GPU idles"
    return f"{subject} {percent(idle)} % of the time"


def starved(scene: Scene) -> bool:
    """Whether there is an idle share to explain; without a readable GPU the waits alone must tell."""
    idle = scene.idle
    return idle is None or idle > STARVED_IDLE


def group_words(group: Group) -> str:
    """How a group is called in a sentence."""
    return {"workers": "the loader workers", "threads": "the loader threads", "ranks": "the main process"}[group]


def disk_wait(scene: Scene, group: Group) -> float | None:
    """Share of time that a group waited for a block device, in percent; None when nobody could look.

    It is state D less what is known to be another wait. Waits in state S on a block device don't exist.
    """
    blocked = scene.of(group, "blocked")
    if blocked is None:
        return None
    return max(0.0, blocked - scene.waiting(group, "network", "fuse", "writeback", "memory"))


def remote_wait(scene: Scene, group: Group) -> float:
    """Share of time that a group waited for a file server, a FUSE daemon or a socket."""
    return scene.waiting(group, "network", "fuse", "socket")


def idle_loaders(scene: Scene) -> float | None:
    """Share of time that the workers waited for work: near 100 they are ahead of the GPU.

    None without workers, and where the main process waits in the same way: then it has no batch, and what they wait for
    is something else, such as a thread of theirs.
    """
    if scene.loaders == "ranks" or scene.waiting("ranks", "queue") >= 60:
        return None
    looks = scene.of(scene.loaders, "looks")
    return scene.waiting(scene.loaders, "queue") if looks else None


def support_if_loaders_wait(finding: Finding, scene: Scene) -> None:
    """Loaders that wait for a block device speak for every cause that slows one."""
    waited = disk_wait(scene, scene.loaders)
    if waited is not None and waited >= WAITING:
        words = f"{group_words(scene.loaders)} wait {percent(waited)} %"
        finding.support("blocked_percent", waited, "%", WAITING, words)


def oppose_if_loaders_are_ahead(finding: Finding, scene: Scene) -> None:
    """Workers that mostly wait for work contradict every cause that slows loading."""
    ahead = idle_loaders(scene)
    if ahead is not None and ahead > 60:
        finding.oppose(
            "worker_queue_wait_percent",
            ahead,
            "%",
            60,
            f"{group_words(scene.loaders)} wait for work {percent(ahead)} % of the time",
        )


def per_second(value: float | None) -> str:
    """A byte rate in a sentence."""
    return "-" if value is None else byte_rate_in_words(value)
