"""The machine as a source: joins the readers of host, system, devices, mounts, processes and GPUs into samples."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from iodash.model.missing import Missing
from iodash.model.sample import OwnCounters, Sample
from iodash.sources.descriptors import raise_limit, shortage
from iodash.sources.local.details import DetailsReader
from iodash.sources.local.devices import DeviceReader
from iodash.sources.local.gpu.client import GpuReader
from iodash.sources.local.host import HostReader
from iodash.sources.local.huge_pages import HugePages
from iodash.sources.local.kept_file import KeptFile
from iodash.sources.local.members import MemberReader
from iodash.sources.local.mounts import MountReader
from iodash.sources.local.network_mounts import NetworkMountReader
from iodash.sources.local.notes import Hidden
from iodash.sources.local.processes import ProcessReader
from iodash.sources.local.system import SystemReader
from iodash.sources.local.tracked import Budget
from iodash.sources.local.trees import is_own
from iodash.sources.local.users import UserNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from iodash.model.details import ProcessDetails
    from iodash.model.sample import ProcessKey
    from iodash.sources import Demand

T = TypeVar("T")
U = TypeVar("U")

_GPU_WAIT_S = 1.0
_LONG_S = 0.005
"""How long finding processes may take before the machine's counters are read again, so that all are of one moment."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class NotAProcTreeError(Exception):
    """The directory that should hold a proc tree holds none."""


class LocalSource:
    """Reads one machine through its proc and sys trees.

    Args:
        procfs: the proc tree; `/proc`, or another host's.
        sysfs: the sys tree of the same machine.
        gpu: whether GPUs are read at all.
        wait_for_gpu: start the GPU worker at once and let the first sample wait up to a second for it. Otherwise it is
            started after the first sample.

    Raises:
        NotAProcTreeError: `procfs` can't be listed.
    """

    def __init__(self, procfs: Path, sysfs: Path, *, gpu: bool = True, wait_for_gpu: bool = False) -> None:
        try:
            os.listdir(procfs)
        except OSError as error:
            raise NotAProcTreeError(f"{procfs} is no proc tree: {error.strerror}") from None
        self._procfs = procfs
        self._wait_for_gpu = wait_for_gpu
        self._local = _is_own_namespace(procfs)
        self._host = HostReader(procfs, sysfs)
        self._mount_table = MountReader(procfs)
        self._system = SystemReader(procfs, sysfs, self._mount_table)
        self._devices = DeviceReader(procfs, sysfs, self._mount_table)
        self._mounts = NetworkMountReader(procfs, sysfs, self._mount_table)
        self._members = MemberReader(procfs, sysfs)
        self._gpu = GpuReader(procfs, sysfs, enabled=gpu)
        self._details = DetailsReader(procfs, sysfs)
        self._users = UserNames()
        self._own = KeptFile(Path("/proc/self/statm"))
        self._huge_pages = HugePages()
        self._budget = Budget(raise_limit())
        self._processes: ProcessReader | None = None
        self._threads = False
        self._hidden = Hidden()
        self._reading = threading.Lock()
        self._closed = False
        self._rehearsed = False

    def sample(self, demand: Demand) -> Sample:
        """Reads everything once. A part that can't be read is missing, and `notes` say why and what to do about it."""
        with self._reading:
            try:
                return self._sample(demand)
            finally:
                if self._closed:
                    self._let_go()

    def details(self, key: ProcessKey) -> ProcessDetails | None:
        """What only an opened row shows; None when the process is gone. May block on the process's memory lock."""
        return self._details.read(key)

    def close(self) -> None:
        """Lets go of everything, waiting for nothing: a reading in progress does it at its end."""
        self._closed = True
        self._gpu.close()
        if self._reading.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._reading.release()

    def _sample(self, demand: Demand) -> Sample:
        began = time.monotonic()
        self._huge_pages.tick()
        if self._wait_for_gpu:
            self._gpu.start()
        failures: list[str] = []
        host = self._host.read()
        system = self._system.read()
        reader, count = self._process_reader(demand.threads), system.processes_created
        looked = time.monotonic()
        found = _part(lambda: reader.find(demand, host, count), None, "The processes", failures)
        if not self._rehearsed:
            self._rehearse()
        now, monotonic = time.time(), time.monotonic()
        if monotonic - looked > _LONG_S:
            system = self._system.read()
        devices = _part(self._devices.read, Missing.NOT_MEASURED, "The devices", failures)
        mounts = _part(self._mounts.read, (), "The network mounts", failures)
        processes = reader.sweep(demand, system.busy_ticks) if found is not None else {}
        if self._wait_for_gpu:
            self._gpu.wait_first(max(0.0, began + _GPU_WAIT_S - time.monotonic()))
            self._wait_for_gpu = False
        gpu_driver, gpus = self._gpu.read(processes.keys())
        self._gpu.start()
        readings = self._members.read(demand.members, demand.threaded)
        unreadable, programs = reader.unreadable
        lack = shortage()
        return Sample(
            time=now,
            monotonic=monotonic,
            host=host,
            system=system,
            devices=devices,
            mounts=mounts,
            processes=processes,
            gpu_driver=gpu_driver,
            gpus=gpus,
            own=self._own_cost(),
            sample_ms=1000 * (time.monotonic() - began),
            threads=demand.threads,
            notes=(*failures, *self._hidden.notes(host, unreadable, programs, lack)),
            readings=readings,
            short_of_files=bool(lack),
        )

    def _rehearse(self) -> None:
        """Reads once for nothing what is slow the first time, so that the first counters too are of one moment."""
        self._rehearsed = True
        _part(self._devices.read, None, "", [])
        _part(self._mounts.read, None, "", [])

    def _process_reader(self, threads: bool) -> ProcessReader:
        if self._processes is None or self._threads != threads:
            if self._processes is not None:
                self._processes.close()
            self._threads = threads
            self._processes = ProcessReader(self._procfs, self._users, self._budget, local=self._local, threads=threads)
        return self._processes

    def _own_cost(self) -> OwnCounters:
        workers_cpu_s, workers_resident = self._gpu.own()
        return OwnCounters(time.process_time(), _resident_bytes(self._own), workers_cpu_s, workers_resident)

    def _let_go(self) -> None:
        if self._processes is not None:
            self._processes.close()
        self._users.close()
        self._members.close()
        for reader in (self._host, self._system, self._devices, self._mounts, self._mount_table, self._own):
            reader.close()


def _part(read: Callable[[], T], otherwise: U, what: str, failures: list[str]) -> T | U:
    """What a reader reads. One that fails costs its own part of the sample, with a sentence that says so."""
    try:
        return read()
    except OSError as error:
        failures.append(f"{what} can't be read: {(error.strerror or 'unknown error').lower()}.")
        return otherwise


def _is_own_namespace(procfs: Path) -> bool:
    """Whether the numbers in this tree are those by which this process would name others in a system call."""
    try:
        return is_own(procfs) and os.readlink(procfs / "self") == str(os.getpid())
    except OSError:
        return False


def _resident_bytes(own: KeptFile) -> int:
    """Resident memory of this process (proc(5), /proc/PID/statm, second field), 0 where its own /proc is hidden."""
    content = own.read()
    return 0 if isinstance(content, Missing) else int(content.split(None, 2)[1]) * _PAGE_BYTES
