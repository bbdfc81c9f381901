"""GPU rows from two samples: means over the interval where the driver counts or samples by itself, else gauges."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from iodash.model.frame import GpuRow
from iodash.model.missing import Missing
from iodash.sampling.counters import delta, per_second
from iodash.sampling.gpu_engines import engine_shares, with_shares

if TYPE_CHECKING:
    from iodash.model.missing import Number
    from iodash.model.sample import GpuCounters, Sample

HOLDS_S = 1.5
"""How old a reading may be, at the frame's end, to stand for a frame in which no newer one came."""

SAMPLE_REACH_S = 1.0
"""How far outside the interval a driver's sample may lie: the driver takes them in its own rhythm (1/6 to 1 s)."""


class GpuRates:
    """Makes the GPU rows of successive frames.

    GPUs are matched by uuid. Polls of the driver and frames each have their own rhythm: a reading that was in an
    earlier frame gives no samples again, and its values stand for at most `HOLDS_S`; after that they are
    `not_measured` and the row says for how long.
    """

    def __init__(self) -> None:
        self._rows: dict[str, tuple[float, GpuRow]] = {}
        self._last_sample: dict[str, float] = {}

    def rows(self, old: Sample, new: Sample) -> tuple[GpuRow, ...]:
        """One row for each GPU of `new`, in its order."""
        before = {gpu.uuid: gpu for gpu in old.gpus}
        rows = tuple(self._row(before.get(gpu.uuid), gpu, old.monotonic, new.monotonic) for gpu in new.gpus)
        present = {gpu.uuid for gpu in new.gpus}
        self._rows = {uuid: row for uuid, row in self._rows.items() if uuid in present}
        self._last_sample = {uuid: at for uuid, at in self._last_sample.items() if uuid in present}
        return rows

    def _row(self, old: GpuCounters | None, new: GpuCounters, start: float, end: float) -> GpuRow:
        if new.status != "ok":
            return _measure(None, new, (), new.util_percent)
        is_newer = old is None or new.read_at > old.read_at
        age = end - new.read_at
        if not is_newer and age > HOLDS_S:
            silent = new.unmeasured(Missing.NOT_MEASURED, new.status, f"no new reading for {age:.0f} s")
            return _measure(None, silent, (), silent.util_percent)
        read_at, row = self._rows.get(new.uuid, (None, None))
        if row is not None and read_at == new.read_at:
            return replace(row, util_samples=())
        since = start - SAMPLE_REACH_S if old is None else min(start, old.read_at) - SAMPLE_REACH_S
        last = self._last_sample.get(new.uuid, since)
        samples = [(at, percent) for at, percent in new.util_samples if last < at <= end + SAMPLE_REACH_S]
        before = old if is_newer else None
        if new.engines:
            new = with_shares(new, engine_shares(before, new))
        util = self._mean(new.uuid, samples) if samples else new.util_percent
        before_end = tuple((max(0.0, end - at), percent) for at, percent in samples)
        row = _measure(before, new, before_end, util)
        self._rows[new.uuid] = (new.read_at, row)
        return row

    def _mean(self, uuid: str, samples: list[tuple[float, float]]) -> float:
        """The mean of the samples, each weighted by the time since the one before it, which is what it stands for."""
        gaps = [later[0] - earlier[0] for earlier, later in pairwise(samples)]
        usual = sum(gaps) / len(gaps) if gaps else 1.0
        first = samples[0][0] - self._last_sample.get(uuid, samples[0][0] - usual)
        self._last_sample[uuid] = samples[-1][0]
        weights = [first if first <= HOLDS_S else usual, *gaps]
        return sum(weight * percent for weight, (_, percent) in zip(weights, samples, strict=True)) / sum(weights)


def _measure(
    old: GpuCounters | None, new: GpuCounters, util_samples: tuple[tuple[float, float], ...], util_percent: Number
) -> GpuRow:
    seconds = 0.0 if old is None else new.read_at - old.read_at
    power = new.power_watts
    if old is not None:
        mean = per_second(_grown(old.energy_joules_total, new.energy_joules_total), seconds)
        power = power if isinstance(mean, Missing) else mean
    return GpuRow(
        index=new.index,
        uuid=new.uuid,
        name=new.name,
        status=new.status,
        util_percent=util_percent,
        util_samples=util_samples,
        memory_util_percent=new.memory_util_percent,
        memory_used_bytes=new.memory_used_bytes,
        memory_total_bytes=new.memory_total_bytes,
        power_watts=power,
        power_limit_watts=new.power_limit_watts,
        temperature_celsius=new.temperature_celsius,
        sm_clock_mhz=new.sm_clock_mhz,
        memory_clock_mhz=new.memory_clock_mhz,
        sm_active_percent=new.sm_active_percent,
        pcie_receive_bytes_per_s=_rate(old, new, "pcie_receive_bytes", seconds),
        pcie_transmit_bytes_per_s=_rate(old, new, "pcie_transmit_bytes", seconds),
        throttle_reasons=new.throttle_reasons,
        mig=new.mig,
        encoder_percent=new.encoder_percent,
        decoder_percent=new.decoder_percent,
        ecc_errors=new.ecc_errors,
        xid=new.xid,
        pcie_generation=new.pcie_generation,
        pcie_width=new.pcie_width,
        nvlink_receive_bytes_per_s=_rate(old, new, "nvlink_receive_bytes", seconds),
        nvlink_transmit_bytes_per_s=_rate(old, new, "nvlink_transmit_bytes", seconds),
        vendor=new.vendor,
        processes=new.processes,
        message=new.message,
        processes_note=new.processes_note,
        instance=new.instance,
    )


def _rate(old: GpuCounters | None, new: GpuCounters, counter: str, seconds: float) -> Number:
    """Bytes a second from the counter between two readings, else the driver's own rate."""
    total: Number = getattr(new, f"{counter}_total")
    gauge: Number = getattr(new, f"{counter}_per_s")
    if isinstance(total, Missing):
        return gauge
    if old is None:
        return Missing.NEW if isinstance(gauge, Missing) else gauge
    return per_second(_grown(getattr(old, f"{counter}_total"), total), seconds)


def _grown(old: Number, new: Number) -> Number:
    """Growth of a counter that is not whole (NVML counts energy in millijoules, the sample holds joules)."""
    if isinstance(old, Missing) or isinstance(new, Missing):
        return delta(*(value if isinstance(value, Missing) else 0 for value in (old, new)))
    return delta(round(old * 1000), round(new * 1000)) / 1000
