"""Two samples become a frame: every table's rates are worked out here, over one measured interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.model.frame import Frame, OwnCost
from iodash.model.missing import Missing
from iodash.sampling.counters import per_second
from iodash.sampling.devices import device_rows, device_rows_since_boot
from iodash.sampling.gpus import GpuRates
from iodash.sampling.members import job_rows
from iodash.sampling.processes import ProcessRates
from iodash.sampling.system import cpu_rows, interface_rows, system_row, system_row_since_boot
from iodash.sampling.unattributed import Unattributed

if TYPE_CHECKING:
    from iodash.model.missing import Number
    from iodash.model.sample import Sample
    from iodash.sampling.devices import Resting


class FrameBuilder:
    """Makes frames of successive samples, and keeps what must outlive one frame (totals since start, baselines)."""

    def __init__(self) -> None:
        self._processes = ProcessRates()
        self._gpus = GpuRates()
        self._unattributed = Unattributed()
        self._resting: Resting = {}

    def frame(self, old: Sample, new: Sample, *, missed_ticks: int = 0) -> Frame:
        """What happened between two samples, `old` read first. The interval is that of their monotonic stamps."""
        seconds = new.monotonic - old.monotonic
        devices = device_rows(old, new, seconds, self._resting)
        gpus = self._gpus.rows(old, new)
        processes = self._processes.rows(old, new, seconds, gpus)
        switched = old.threads != new.threads
        unattributed = (
            self._unattributed.unmeasured(new)
            if switched
            else self._unattributed.row(old, new, seconds, devices, processes, self._processes.moving)
        )
        return Frame(
            time=new.time,
            interval_s=seconds,
            host=new.host,
            system=system_row(old, new, seconds, devices),
            devices=devices,
            processes=processes,
            unattributed=unattributed,
            gpu_driver=new.gpu_driver,
            gpus=gpus,
            own=OwnCost(
                cpu_percent=_own_cpu(old, new, seconds),
                resident_bytes=new.own.resident_bytes + new.own.workers_resident_bytes,
                sample_ms=new.sample_ms,
                processes_seen=len(new.processes),
                missed_ticks=missed_ticks,
            ),
            cpus=cpu_rows(old, new),
            interfaces=interface_rows(old, new, seconds),
            threads=new.threads,
            notes=new.notes,
            readings=job_rows(old.readings, new.readings, seconds, new.host.page_bytes),
            short_of_files=new.short_of_files,
            switched=switched,
        )


def frame_since_boot(sample: Sample) -> Frame:
    """The means since boot, as the first report of iostat and dstat shows them. It has no process rates."""
    seconds = sample.system.uptime_s
    devices = device_rows_since_boot(sample)
    builder = FrameBuilder()
    base = builder.frame(sample, sample)
    return Frame(
        time=sample.time,
        interval_s=0.0 if isinstance(seconds, Missing) else seconds,
        host=base.host,
        system=system_row_since_boot(sample, devices),
        devices=devices,
        processes=(),
        unattributed=base.unattributed,
        gpu_driver=base.gpu_driver,
        gpus=base.gpus,
        own=base.own,
        cpus=cpu_rows(None, sample),
        interfaces=interface_rows(None, sample, seconds),
    )


def _own_cpu(old: Sample, new: Sample, seconds: float) -> Number:
    own = new.own.cpu_s - old.own.cpu_s
    workers = max(0.0, new.own.workers_cpu_s - old.own.workers_cpu_s)
    return per_second(100 * (own + workers), seconds)
