"""The labelled scenarios: what is played on a ground, and which cause is right.

Each has a name, the causes that are right (the first is the one meant; others stand where two are equally true), and a
function that starts the loads. Confounders are marked: there something looks like a cause that it isn't.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.lab.trainer import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.lab.ground import Ground
    from tests.lab.nvml.scenario import Value

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Scenario:
    """One scenario. `right` is of the verdict in the header, `jobs` of each trainer in the order of their start.

    `pinned` names the trainer to iodash with -p, `no_gpu` takes the driver away. `quick` ones are played by CI too,
    `steady` ones for a whole minute.
    """

    name: str
    right: tuple[str, ...]
    play: Callable[[Ground], object]
    jobs: tuple[tuple[str, ...], ...] = ()
    gpus: Mapping[str, Value] = field(default_factory=dict)
    pinned: bool = False
    no_gpu: bool = False
    quick: bool = False
    steady: bool = False
    settle_s: float = 2.0


def _loads(*words: object) -> list[str]:
    return [sys.executable, "-m", "tests.lab.loads", *map(str, words)]


def _sequential(ground: Ground, mb_per_s: float, **changes: object) -> Run:
    data = ground.disk(24, 4 * MIB, read_ms=0.5, mb_per_s=mb_per_s)
    plain = {"dataset": data, "workers": 4, "cold": True, "item_bytes": MIB, "batch": 4, "step_ms": 30.0}
    return Run(**{**plain, **changes})  # type: ignore[arg-type]


def _neighbour(ground: Ground) -> None:
    run = _sequential(ground, 60, workers=2, item_bytes=256 * KIB, batch=8, step_ms=50.0)
    assert run.dataset is not None
    ground.load(_loads("read", run.dataset, 12))
    ground.train(run)


def _throttled(ground: Ground, file: str, limit: int, **changes: object) -> None:
    data = ground.data(24, 4 * MIB)
    group = ground.cgroup("blkio", {file: f"{ground.device_number(data)} {limit}"})
    plain = {"dataset": data, "workers": 3, "cold": True, "item_bytes": 512 * KIB, "batch": 4, "step_ms": 40.0}
    ground.train(Run(**{**plain, **changes}), groups=[group])  # type: ignore[arg-type]


def _small_files(ground: Ground, read_ms: float, workers: int, files: int, size: int) -> None:
    data = ground.disk(files, size, read_ms=read_ms, parallel=2 * workers)
    ground.train(Run(dataset=data, workers=workers, cold=True, item_bytes=size, batch=32, step_ms=25))


def _random_small(ground: Ground) -> None:
    data = ground.disk(8, 8 * MIB, read_ms=4, parallel=12)
    ground.train(Run(dataset=data, workers=6, read="random", direct=True, item_bytes=4 * KIB, batch=64, step_ms=20))


def _hot(ground: Ground, **changes: object) -> Run:
    data = ground.data(8, 4 * MIB, hot=True)
    plain = {"dataset": data, "workers": 2, "item_bytes": MIB, "batch": 4, "step_ms": 80.0}
    return Run(**{**plain, **changes})  # type: ignore[arg-type]


def _quota(ground: Ground, cpus: float, **changes: object) -> None:
    period = 100_000
    group = ground.cgroup("cpu", {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": str(int(cpus * period))})
    ground.train(_hot(ground, **{"workers": 3, "cpu_ms": 12, "step_ms": 30.0, **changes}), groups=[group])


def _checkpoint(ground: Ground, every: int, size: int, *, asynchronous: bool = False, fsync_disk: float = 25) -> None:
    disk = ground.disk(1, MIB, room=4 * size + 64 * MIB, mb_per_s=fsync_disk)
    run = _hot(
        ground,
        step_ms=60.0,
        checkpoint_every=every,
        checkpoint_bytes=size,
        checkpoint_path=disk.parent / "model.pt",
        asynchronous=asynchronous,
    )
    ground.train(run)


def _thrash(ground: Ground, limit: int, files: int, workers: int) -> None:
    data = ground.disk(files, 8 * MIB, read_ms=0.3, mb_per_s=70)
    group = ground.cgroup("memory", {"memory.limit_in_bytes": str(limit)})
    ground.train(Run(dataset=data, workers=workers, item_bytes=MIB, batch=4, step_ms=25), groups=[group])


def _fuse(ground: Ground, **changes: object) -> None:
    data = ground.fuse(16, 4 * MIB, read_ms=30, parallel=8)
    plain = {"dataset": data, "workers": 4, "cold": True, "item_bytes": MIB, "batch": 4, "step_ms": 30.0}
    ground.train(Run(**{**plain, **changes}))  # type: ignore[arg-type]


def _shared_memory_full(ground: Ground) -> None:
    ground.shared_memory(64 * MIB)
    ground.train(Run(workers=3, read="none", cpu_ms=2, shm_bytes=12 * MIB, prefetch=4, step_ms=30))


def _two_jobs(ground: Ground) -> None:
    data = ground.data(8, 4 * MIB, hot=True)
    ground.train(Run(dataset=data, workers=1, batch=2, step_ms=90))
    ground.train(Run(dataset=data, workers=1, batch=4, cpu_ms=25, step_ms=20, gpu=1))


def _two_jobs_disk(ground: Ground) -> None:
    ground.train(_sequential(ground, 30, gpu=1))
    ground.train(_hot(ground))


def _unrelated(ground: Ground, **changes: object) -> None:
    busy = ground.disk(8, 4 * MIB, mb_per_s=60)
    ground.load(_loads("read", busy, 8))
    ground.train(_hot(ground, **changes))


def _hot_on_a_busy_disk(ground: Ground) -> None:
    run = _sequential(ground, 60, cold=False, step_ms=100.0, workers=2)
    assert run.dataset is not None
    for path in run.dataset.iterdir():
        path.read_bytes()
    ground.load(_loads("read", run.dataset, 8))
    ground.train(run)


def _sleeps_beside_a_busy_disk(ground: Ground) -> None:
    busy = ground.disk(8, 4 * MIB, mb_per_s=40)
    ground.load(_loads("read", busy, 8))
    ground.train(Run(dataset=busy, workers=0, read="none", batch=1, wait_ms=900, step_ms=100))


def _small_files_here(ground: Ground) -> None:
    data = ground.data(3000, 8 * KIB)
    ground.train(Run(dataset=data, workers=3, cold=True, item_bytes=8 * KIB, batch=400, step_ms=10))


def _logs_on_fuse(ground: Ground) -> None:
    """The data is on a busy disk; what lies on the remote mount is never waited for."""
    logs = ground.fuse(1, MIB, read_ms=5) / "shard-00000.bin"
    ground.train(_sequential(ground, 50, workers=3, checkpoint_path=logs))


def _two_jobs_throttled(ground: Ground) -> None:
    ground.train(_hot(ground))
    data = ground.data(24, 4 * MIB, "more")
    limit = {"blkio.throttle.read_bps_device": f"{ground.device_number(data)} {8 * MIB}"}
    run = Run(dataset=data, workers=2, cold=True, item_bytes=256 * KIB, batch=8, step_ms=30, gpu=1)
    ground.train(run, groups=[ground.cgroup("blkio", limit)])


def _workers_sleep_beside_a_busy_disk(ground: Ground) -> None:
    busy = ground.disk(8, 4 * MIB, mb_per_s=50)
    ground.load(_loads("read", busy, 6))
    ground.train(Run(dataset=busy, workers=2, read="none", batch=2, wait_ms=200, step_ms=50))


def _stalled(ground: Ground) -> None:
    ground.train(_sequential(ground, 50))
    time.sleep(3)
    ground.stall()


def _checkpoint_on_fuse(ground: Ground) -> None:
    path = ground.fuse(1, 20 * MIB, mb_per_s=10) / "shard-00000.bin"
    ground.train(_hot(ground, checkpoint_every=40, checkpoint_bytes=20 * MIB, checkpoint_path=path, in_place=True))


def _neighbours_take_the_cores(ground: Ground) -> None:
    ground.load(_loads("burn", 6))
    ground.train(_hot(ground, cpu_ms=12, step_ms=30.0))


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "disk saturated by the job",
        ("device_saturated",),
        lambda g: g.train(_sequential(g, 40)),
        quick=True,
        steady=True,
    ),
    Scenario(
        "disk saturated by many direct readers",
        ("device_saturated",),
        lambda g: g.train(_sequential(g, 70, workers=8, direct=True, cold=False, item_bytes=512 * KIB, step_ms=20.0)),
    ),
    Scenario("disk saturated by a neighbour", ("device_saturated",), _neighbour),
    Scenario(
        "disk saturated, workers anew each epoch",
        ("device_saturated",),
        lambda g: g.train(_sequential(g, 40, epoch_steps=20)),
    ),
    Scenario(
        "disk saturated, main thread spins", ("device_saturated",), lambda g: g.train(_sequential(g, 40, spin=True))
    ),
    Scenario("disk saturated, logs on a FUSE mount", ("device_saturated",), _logs_on_fuse),
    Scenario(
        "the machine's disk saturated by the job",
        ("device_saturated",),
        lambda g: g.train(
            Run(dataset=g.data(24, 16 * MIB), workers=8, direct=True, item_bytes=4 * MIB, batch=16, step_ms=2)
        ),
    ),
    Scenario("disk that stops answering", ("device_stalled",), _stalled),
    Scenario(
        "reads throttled in bytes",
        ("io_throttled",),
        lambda g: _throttled(g, "blkio.throttle.read_bps_device", 12 * MIB),
    ),
    Scenario(
        "reads throttled in operations",
        ("io_throttled",),
        lambda g: _throttled(g, "blkio.throttle.read_iops_device", 60, workers=5, item_bytes=128 * KIB, direct=True),
    ),
    Scenario("many small cold files", ("small_reads",), lambda g: _small_files(g, 4, 4, 1500, 6 * KIB)),
    Scenario(
        "many small cold files on the machine's disk",
        ("small_reads", "cpu_preprocessing", "cpu_limited"),
        _small_files_here,
    ),
    Scenario("small random reads", ("small_reads",), _random_small),
    Scenario(
        "inline, waits for the disk",
        ("inline_loading", "device_saturated"),
        lambda g: g.train(_sequential(g, 60, workers=0)),
    ),
    Scenario(
        "inline, mapped files",
        ("inline_loading", "device_saturated"),
        lambda g: g.train(
            Run(dataset=g.disk(24, 4 * MIB, read_ms=3), workers=0, read="mmap", cold=True, batch=8, step_ms=60)
        ),
    ),
    Scenario(
        "inline, computes",
        ("inline_loading",),
        lambda g: g.train(_hot(g, workers=0, cpu_ms=20, step_ms=40.0)),
        quick=True,
    ),
    Scenario(
        "one worker bound by the CPU",
        ("cpu_preprocessing",),
        lambda g: g.train(_hot(g, workers=1, cpu_ms=20, step_ms=25.0)),
    ),
    Scenario("a CPU quota", ("cpu_limited",), lambda g: _quota(g, 0.5)),
    Scenario("a CPU quota of more than one", ("cpu_limited",), lambda g: _quota(g, 1.2)),
    Scenario("a CPU quota, inline", ("cpu_limited",), lambda g: _quota(g, 0.3, workers=0)),
    Scenario(
        "pinned to one core",
        ("cpu_limited",),
        lambda g: g.train(_hot(g, workers=4, cpu_ms=10, step_ms=30.0), cpus="1"),
    ),
    Scenario(
        "too few cores",
        ("cpu_limited",),
        lambda g: g.train(_hot(g, workers=6, cpu_ms=10, step_ms=15.0)),
    ),
    Scenario("checkpoints often", ("checkpoint_write",), lambda g: _checkpoint(g, 30, 32 * MIB)),
    Scenario(
        "checkpoints seldom", ("checkpoint_write",), lambda g: _checkpoint(g, 90, 96 * MIB, fsync_disk=30), steady=True
    ),
    Scenario("checkpoints beside", ("gpu_fed",), lambda g: _checkpoint(g, 60, 32 * MIB, asynchronous=True)),
    Scenario("hot page cache", ("gpu_fed",), lambda g: g.train(_hot(g)), quick=True, steady=True),
    Scenario("page cache thrashed", ("page_cache_thrash",), lambda g: _thrash(g, 128 * MIB, 32, 3), steady=True),
    Scenario("slow FUSE mount", ("network_storage",), _fuse),
    Scenario("slow FUSE mount, inline", ("network_storage",), lambda g: _fuse(g, workers=0, batch=2)),
    Scenario(
        "object storage",
        ("network_storage",),
        lambda g: g.train(
            Run(workers=3, read="none", source=g.object_store(60), item_bytes=256 * KIB, batch=8, step_ms=40)
        ),
    ),
    Scenario("/dev/shm full", ("shared_memory_full",), _shared_memory_full),
    Scenario(
        "too hot",
        ("gpu_throttled",),
        lambda g: g.train(_hot(g)),
        gpus={"gpu.throttle": 0x40, "gpu.temp": 91, "gpu.power_mw": 420_000},
    ),
    Scenario(
        "power brake while data is slow too",
        ("gpu_throttled", "device_saturated", "cpu_preprocessing"),
        lambda g: g.train(_hot(g)),
        gpus={"gpu.throttle": 0x80},
    ),
    Scenario(
        "resident but idle",
        ("gpu_resident_idle",),
        lambda g: g.train(_hot(g, step_ms=200.0)),
        gpus={"gpu.power_mw": 150_000, "gpu.gpm2": 9},
    ),
    Scenario(
        "resident but idle, power alone tells",
        ("gpu_resident_idle",),
        lambda g: g.train(_hot(g, step_ms=300.0)),
        gpus={"gpu.power_mw": 140_000, "gpu.gpm": 0},
    ),
    Scenario("host dispatch", ("host_dispatch",), lambda g: g.train(_hot(g, dispatch_ms=50, step_ms=50.0))),
    Scenario(
        "host dispatch, all in memory",
        ("host_dispatch",),
        lambda g: g.train(Run(workers=0, read="none", batch=1, dispatch_ms=30, step_ms=20)),
    ),
    Scenario(
        "PCIe full",
        ("gpu_copy_bound",),
        lambda g: g.train(_hot(g, copy_ms=50, copy_bytes=2_600_000_000, step_ms=40.0)),
    ),
    Scenario(
        "two jobs, one starved",
        ("cpu_preprocessing",),
        _two_jobs,
        jobs=(("gpu_fed",), ("cpu_preprocessing",)),
        gpus={"count": 2},
    ),
    Scenario(
        "two jobs, one waits for the disk",
        ("device_saturated",),
        _two_jobs_disk,
        jobs=(("device_saturated",), ("gpu_fed",)),
        gpus={"count": 2},
    ),
    Scenario(
        "two jobs, one throttled",
        ("io_throttled",),
        _two_jobs_throttled,
        jobs=(("gpu_fed",), ("io_throttled",)),
        gpus={"count": 2},
    ),
    Scenario("unrelated disk load, fed", ("gpu_fed",), _unrelated),
    Scenario("busy data disk, hot data", ("gpu_fed",), _hot_on_a_busy_disk),
    Scenario(
        "loader threads, slow disk",
        ("device_saturated",),
        lambda g: g.train(_sequential(g, 30, start="threads", direct=True, cold=False)),
        quick=True,
    ),
    Scenario(
        "loader threads, small cold files",
        ("small_reads",),
        lambda g: g.train(
            Run(
                dataset=g.disk(1500, 6 * KIB, read_ms=4, parallel=8),
                workers=4,
                start="threads",
                cold=True,
                item_bytes=6 * KIB,
                batch=32,
                step_ms=25,
            )
        ),
    ),
    Scenario("loader threads, slow FUSE mount", ("network_storage",), lambda g: _fuse(g, start="threads")),
    Scenario(
        "loader threads, computing",
        ("cpu_preprocessing",),
        lambda g: g.train(_hot(g, start="threads", cpu_ms=20, step_ms=25.0)),
    ),
    Scenario(
        "a forked server's worker, computing",
        ("cpu_preprocessing",),
        lambda g: g.train(_hot(g, workers=1, start="forkserver", cpu_ms=20, step_ms=25.0)),
    ),
    Scenario(
        "spawned workers, slow disk",
        ("device_saturated",),
        lambda g: g.train(_sequential(g, 30, workers=2, start="spawn")),
    ),
    Scenario("checkpoints on a slow FUSE mount", ("checkpoint_write", "network_storage"), _checkpoint_on_fuse),
    Scenario("neighbours take the cores", ("cpu_limited", "cpu_preprocessing"), _neighbours_take_the_cores),
    Scenario(
        "starts, computing",
        ("unknown",),
        lambda g: g.train(Run(workers=0, read="none", batch=1, dispatch_ms=100_000, step_ms=20)),
    ),
    Scenario("sleeps", ("unknown",), lambda g: g.train(Run(workers=0, read="none", batch=1, wait_ms=400, step_ms=60))),
    Scenario("sleeps beside a busy disk", ("unknown",), _sleeps_beside_a_busy_disk),
    Scenario("workers sleep beside a busy disk", ("unknown",), _workers_sleep_beside_a_busy_disk),
    Scenario(
        "no GPU library, named, waits for the disk",
        ("device_saturated",),
        lambda g: g.train(_sequential(g, 40)),
        pinned=True,
        no_gpu=True,
    ),
    Scenario(
        "no GPU library, named, computes",
        ("cpu_preprocessing",),
        lambda g: g.train(_hot(g, workers=1, cpu_ms=20, step_ms=25.0)),
        pinned=True,
        no_gpu=True,
    ),
    Scenario("nobody trains", ("no_gpu_work",), lambda g: g.load(_loads("burn", 1)), quick=True),
)
