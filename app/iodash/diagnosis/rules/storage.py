"""Storage as the cause: a device at its limit or stuck, a remote mount, many small reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.diagnosis.finding import Finding
from iodash.diagnosis.rules.waits import (
    MIB,
    WAITING,
    disk_wait,
    group_words,
    idle_words,
    oppose_if_loaders_are_ahead,
    per_second,
    remote_wait,
    starved,
    support_if_loaders_wait,
)
from iodash.diagnosis.scene import WINDOW_S
from iodash.formatting.units import milliseconds, percent
from iodash.model.kinds import REMOTE_KINDS

if TYPE_CHECKING:
    from iodash.diagnosis.scene import Scene
    from iodash.model.frame import DeviceRow
    from iodash.model.members import DataPlace

SMALL_READ = 32 * 1024.0
"""Mean read size below which a data set of many small files or random reads is at work."""

BULK_READ = 4 * SMALL_READ
"""Mean size of the calls from which a job reads in bulk."""

ONE_REQUEST = 1.3
"""Mean queue length up to which a device is asked for one thing at a time, and may be able to do more."""


def device_stalled(scene: Scene) -> Finding | None:
    """Requests are in flight on a device of the job and none completes."""
    for disk in scene.disks:
        share = scene.device_states(disk.name).get("stalled", 0.0)
        if share < 20 or disk.state != "stalled":
            continue
        finding = Finding("device_stalled", devices=(disk.name,))
        finding.support("stalled_percent", share, "%", 20, f"{disk.name}: {disk.state_reason}")
        support_if_loaders_wait(finding, scene)
        finding.summary = f"{disk.name} does not answer: {disk.state_reason}; {idle_words(scene)}"
        finding.advice = (
            "look at dmesg for errors of this device, its controller or its network; nothing in the job can help"
        )
        return finding
    return None


def network_storage(scene: Scene) -> Finding | None:
    """A remote mount is slow, or the loaders wait on sockets for object storage."""
    if not starved(scene):
        return None
    group = scene.loaders
    remote = [place for place in scene.places if place.kind in REMOTE_KINDS]
    waited = remote_wait(scene, group)
    blocked = scene.of(group, "blocked") or 0.0
    sockets = group != "ranks" and scene.waiting(group, "socket") >= WAITING
    if not remote and not scene.remote_sockets and not sockets:
        return None
    local_read = scene.mean(lambda moment: moment.read) or 0.0
    busiest = max((scene.device(disk.name, "util_percent") or 0.0 for disk in scene.disks), default=0.0)
    name = remote[0].served_by if remote else "a server elsewhere (sockets)"
    if not remote and not scene.remote_sockets:
        name = "a server on this host (sockets)"
    finding = Finding("network_storage", devices=tuple(device for place in remote for device in place.devices))
    share = max(waited, blocked if _only_remote(scene, remote, busiest) else 0.0)
    if share >= WAITING:
        finding.support(
            "remote_wait_percent",
            share,
            "%",
            WAITING,
            f"{group_words(group)} wait for {name} {percent(share)} % of the time",
        )
    received = scene.system("network_receive_bytes_per_s")
    if not finding.supporting and not _event_loop(finding, scene, received):
        return None
    if busiest < 30:
        finding.support("util_percent", busiest, "%", 30, f"the local disks are idle ({percent(busiest)} %)")
    elif local_read > MIB:
        finding.oppose("util_percent", busiest, "%", 30, f"the local disks are busy too ({percent(busiest)} %)")
    if finding.ceiling == "high" and received is not None and received >= MIB:
        finding.inform("network_receive", received, "B/s", f"{per_second(received)} come in over the network")
    for device in finding.devices:
        rtt = scene.device(device, "rtt_ms")
        if rtt is not None:
            finding.inform("rtt_ms", rtt, "ms", f"{device} answers after {milliseconds(rtt)} ms")
    waiting = f"{group_words(group)} wait for it {percent(share)} %"
    if share < WAITING:
        waiting = f"{per_second(received)} come in and nothing is read from disks"
    finding.summary = f"{name} is too slow: {waiting}; {idle_words(scene)}"
    finding.advice = (
        "copy the data (or its hot part) to a local SSD, pack it into shards, more workers and prefetch_factor"
    )
    return finding


def _event_loop(finding: Finding, scene: Scene, received: float | None) -> bool:
    """Whether asynchronous clients of an object store hold loading up.

    Their sockets are served by an event loop, so that no thread is seen waiting for one. What tells is that data comes
    in over the network and none from disks, while workers and main process both wait for somebody else.
    """
    if scene.loaders == "ranks" or not scene.remote_sockets or received is None or received < MIB:
        return False
    read = scene.mean(lambda moment: moment.read) or 0.0
    cpu = scene.of("workers", "cpu") or 0.0
    waited = min(scene.waiting("ranks", "queue"), scene.waiting("workers", "queue"))
    if waited < 60 or cpu >= 50 or read >= 0.25 * MIB:
        return False
    finding.ceiling = "medium"
    finding.support("network_receive", received, "B/s", MIB, f"{per_second(received)} come in over the network")
    return True


def _only_remote(scene: Scene, remote: list[DataPlace], busiest: float) -> bool:
    """Whether state D can only mean the remote mounts: the job reads nothing from block devices.

    Reads from FUSE never show in a process's `read_bytes`, those from NFS do and are known of the mount.
    """
    if not remote:
        return False
    if any(place.kind not in ("nfs", "fuse") for place in remote):
        return busiest < 30
    read = scene.mean(lambda moment: moment.read) or 0.0
    from_servers = sum(scene.device(name, "read_bytes_per_s") or 0.0 for place in remote for name in place.devices)
    return read - from_servers < 0.25 * MIB


def small_reads(scene: Scene) -> Finding | None:
    """Many small or random reads, mostly the job's own, with workers that wait for them."""
    waited = disk_wait(scene, scene.loaders)
    if not starved(scene) or scene.loaders == "ranks" or waited is None or waited < WAITING or _reads_in_bulk(scene):
        return None
    for disk in scene.disks:
        size, reads = scene.device(disk.name, "read_size_bytes"), scene.device(disk.name, "reads_per_s")
        if size is None or reads is None or size >= SMALL_READ or reads < 100 or _own_share(scene, disk) < 50:
            continue
        finding = Finding("small_reads", devices=(disk.name,))
        finding.support(
            "read_size_bytes", size, "B", SMALL_READ, f"{reads:.0f} reads/s of {size / 1024:.0f} KiB on {disk.name}"
        )
        support_if_loaders_wait(finding, scene)
        _oppose_if_cpu_bound(finding, scene, waited)
        oppose_if_loaders_are_ahead(finding, scene)
        finding.summary = (
            f"many small reads ({reads:.0f}/s of {size / 1024:.0f} KiB) on {disk.name} hold the loaders up; "
            f"{idle_words(scene)}"
        )
        finding.advice = (
            "pack the files into shards (WebDataset, tar, LMDB), read in order; more workers hide some of it"
        )
        return finding
    return None


def _reads_in_bulk(scene: Scene) -> bool:
    """Whether the job asks for much at a time, so that small reads on a device that it shares are somebody else's."""
    calls = scene.mean(lambda moment: moment.read_calls) or 0.0
    asked = scene.mean(lambda moment: moment.logical_read) or 0.0
    fetched = scene.mean(lambda moment: moment.read) or 0.0
    return calls >= 1 and asked >= calls * BULK_READ and asked >= 0.8 * fetched


def device_saturated(scene: Scene) -> Finding | None:
    """A block device that serves the job is at its limit, by the job or by a neighbour."""
    group = scene.loaders
    waited = disk_wait(scene, group)
    if not starved(scene):
        return None
    best: tuple[Finding, DeviceRow, bool] | None = None
    for disk in scene.disks:
        states = scene.device_states(disk.name)
        full = sum(states.get(state, 0.0) for state in ("saturated", "queued", "slow"))
        util = scene.device(disk.name, "util_percent") or 0.0
        if full < 30 and util < 80:
            continue
        finding = Finding("device_saturated", devices=(disk.name,))
        if full >= 30:
            finding.support("state_percent", full, "%", 30, _at_limit(disk, full))
        elif util >= 90:
            finding.support("util_percent", util, "%", 90, f"{disk.name} is busy {percent(util)} % of the time")
        support_if_loaders_wait(finding, scene)
        if waited is not None and waited < 15:
            finding.oppose("blocked_percent", waited, "%", 15, f"{group_words(group)} hardly wait for it")
        if not finding.supporting or waited is None or waited < 15:
            continue
        queue = scene.device(disk.name, "queue_length") or 0.0
        alone = full < 30 and queue <= ONE_REQUEST
        if alone:
            text = f"it has {queue:.1f} requests at a time: more could be asked of it"
            finding.oppose("queue_length", queue, "", ONE_REQUEST, text)
        if best is None or finding.weight > best[0].weight:
            best = finding, disk, alone
    if best is None or waited is None:
        return None
    finding, disk, alone = best
    _oppose_if_cpu_bound(finding, scene, waited)
    oppose_if_loaders_are_ahead(finding, scene)
    own, wait = _own_share(scene, disk), scene.device(disk.name, "read_await_ms")
    by = _blame(finding, scene, own)
    finding.inform("own_share_percent", own, "%", f"{percent(own)} % of its traffic is the job's")
    after = f", reads wait {milliseconds(wait)} ms" if wait is not None else ""
    finding.summary = f"{disk.name} is at its limit{by}: {idle_words(scene)}{after}"
    if alone and not by:
        finding.summary = f"{disk.name} is asked for one read after the other: {idle_words(scene)}{after}"
        finding.advice = (
            "more workers or a larger prefetch_factor, so that it serves several at once; then a faster disk"
        )
    return finding


def _at_limit(disk: DeviceRow, share: float) -> str:
    """How long a device was at its limit, and what it is now."""
    now = f"{disk.state}: {disk.state_reason}" if disk.state_reason else str(disk.state)
    return f"{disk.name} is at its limit {percent(share)} % of the time, now {now}"


def _blame(finding: Finding, scene: Scene, own: float) -> str:
    """Who loads the device, for the summary; the advice fits."""
    culprit = scene.busiest_neighbour() if own < 50 else None
    if culprit is not None:
        finding.processes = (culprit.key,)
        finding.advice = f"move {culprit.name} ({culprit.key.pid}) elsewhere or slow it down; a local copy of the data"
        return f" by a neighbour, {culprit.name} ({culprit.key.pid})"
    if own < 50:
        finding.advice = "find who else uses it (other containers, the host); a local copy of the data"
        return " by others than the job"
    finding.advice = "a faster disk or several, a copy in memory or on a local SSD, compressed or smaller data"
    return ""


def _own_share(scene: Scene, disk: DeviceRow) -> float:
    """The job's share of a device's bytes, in percent, by what its processes read and wrote wherever that was."""
    device = scene.mean(lambda moment: _device_bytes(moment.devices, disk.name)) or 0.0
    if not device:
        return 0.0
    mine = (scene.mean(lambda moment: moment.read) or 0.0) + (scene.mean(lambda moment: moment.write) or 0.0)
    return min(100.0, 100.0 * mine / device)


def _device_bytes(rows: tuple[DeviceRow, ...], name: str) -> float | None:
    for row in rows:
        if row.name == name and isinstance(row.read_bytes_per_s, float | int):
            write = row.write_bytes_per_s
            return row.read_bytes_per_s + (write if isinstance(write, float | int) else 0.0)
    return None


def _oppose_if_cpu_bound(finding: Finding, scene: Scene, waited: float) -> None:
    cpu = scene.of(scene.loaders, "cpu")
    if cpu is not None and cpu > max(waited, 50) and scene.window_s >= WINDOW_S / 2:
        finding.oppose("cpu_percent", cpu, "%", waited, f"{group_words(scene.loaders)} compute more than they wait")
