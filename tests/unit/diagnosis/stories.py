"""Stories: frames of a training job told by what its parts do, for the rules to judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from iodash.diagnosis.jobs import find_jobs
from iodash.diagnosis.scene import Scene
from iodash.diagnosis.signals import measure
from iodash.diagnosis.verdicts import judge
from iodash.model.members import CgroupRow, DataPlace, JobRows, MemberRow
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver
from tests.ui.frames import NOW, device, frame, gpu, gpu_process, process, system

if TYPE_CHECKING:
    from iodash.model.frame import DeviceRow, Frame, GpuRow, ProcessRow, Verdict

MIB = 1024 * 1024
MAIN, FIRST_WORKER = 4120, 4131
OK_DRIVER = GpuDriver("ok", "570.86", "")

LOCAL = DataPlace("/data", "ext4", "disk", ("nvme0n1",), "nvme0n1", 3)
NFS = DataPlace("/data", "nfs4", "nfs", ("nas:/data",), "nas:/data (nfs4)", 3)
FUSE = DataPlace("/data", "fuse.s3fs", "fuse", ("s3fs",), "s3fs (fuse)", 3)


def member(row: ProcessRow, **values: Any) -> MemberRow:
    """A member that sleeps in a queue unless told otherwise; `blocked` is its share of state D."""
    plain = MemberRow(row.key, 0.0, 0.0, 10, 0.0, 0.0, {"queue": 100.0}, True)
    return replace(plain, **values)


def cgroup(**values: Any) -> CgroupRow:
    """A control group without limits and at rest."""
    plain = CgroupRow("/job", Missing.OFF, 0.0, (), {}, {}, 0, Missing.OFF, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return replace(plain, **values)


@dataclass
class Story:
    """One second after the other of the same condition."""

    util: float | None = 50.0
    gpu: dict[str, Any] = field(default_factory=dict)
    main: dict[str, Any] = field(default_factory=dict)
    main_member: dict[str, Any] = field(default_factory=dict)
    workers: int = 4
    worker: dict[str, Any] = field(default_factory=dict)
    worker_member: dict[str, Any] = field(default_factory=dict)
    threads: tuple[dict[str, Any], ...] = ()
    devices: tuple[DeviceRow, ...] = (device(),)
    machine: dict[str, Any] = field(default_factory=dict)
    cgroup: CgroupRow | None = None
    places: tuple[DataPlace, ...] = (LOCAL,)
    neighbours: tuple[ProcessRow, ...] = ()
    shared_memory: float | None = 5.0
    remote_sockets: int | None = 0

    def frame(self, second: int = 0, util: float | None = None, **main: Any) -> Frame:
        """The frame of one second; `util` and fields of the main process may differ from the rest."""
        on_gpu: dict[str, Any] = {"gpus": (0,)} if self.util is not None else {"gpus": Missing.NO_DRIVER}
        root = process(MAIN, "pt_main_thread", command="python train.py", **{**on_gpu, **self.main, **main})
        loaders = [
            process(FIRST_WORKER + n, "pt_data_worker", command="python train.py", ppid=MAIN, **self.worker)
            for n in range(self.workers)
        ]
        members = {root.key: member(root, **self.main_member)}
        members.update({row.key: member(row, **self.worker_member) for row in loaders})
        for number, values in enumerate(self.threads, 1):
            key = root.key._replace(tid=MAIN + number)
            members[key] = replace(member(root, **values), key=key)
        used = self.util if util is None else util
        gpus: tuple[GpuRow, ...] = ()
        if used is not None:
            gpus = (gpu(0, util_percent=used, processes=(gpu_process(MAIN),), **self.gpu),)
        return frame(
            time=NOW + second,
            processes=(root, *loaders, *self.neighbours),
            devices=self.devices,
            system=system(**self.machine),
            gpus=gpus,
            gpu_driver=OK_DRIVER if gpus else GpuDriver("no_library", None, "no NVIDIA library"),
            readings=JobRows(members=members, cgroups={} if self.cgroup is None else {"/job": self.cgroup}),
        )

    def scene(self, frames: list[Frame] | None = None) -> Scene:
        """The window of the last ten frames (ten equal seconds by default), as the rules see it."""
        told = frames if frames is not None else [self.frame(second) for second in range(10)]
        pinned = frozenset({MAIN}) if self.util is None else frozenset()
        jobs = [find_jobs(one, {}, pinned) for one in told]
        assert all(len(found) == 1 for found in jobs)
        names = frozenset(name for place in self.places for name in place.devices) | {
            row.name for row in self.devices if row.total
        }
        moments = tuple(measure(one, found[0], names, "/job") for one, found in zip(told, jobs, strict=True))
        return Scene(
            job=jobs[-1][0],
            frame=told[-1],
            moments=moments[-10:],
            settled=moments,
            places=self.places,
            remote_sockets=self.remote_sockets,
            shared_memory=self.shared_memory,
        )

    def verdict(self, frames: list[Frame] | None = None) -> Verdict:
        """What is said of it."""
        return judge(self.scene(frames))
