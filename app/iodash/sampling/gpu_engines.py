"""How busy a GPU's engines were, for GPUs whose kernel driver counts it by client (AMD, Intel)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.model.missing import Missing

if TYPE_CHECKING:
    from iodash.model.missing import Number
    from iodash.model.sample import EngineCounters, GpuCounters

Shares = dict[tuple[int, str], float]
"""Percent of the interval by pid and kind of engine."""


def engine_shares(old: GpuCounters | None, new: GpuCounters) -> Shares | Missing:
    """What each process used of each kind of engine between two readings.

    A client that was not there before opened the device since, and its counters began at 0. A counter that fell belongs
    to a client whose number was used again; it counts from 0 too.
    """
    if old is None:
        return Missing.NEW
    before = {(engine.client, engine.engine): engine for engine in old.engines}
    shares: Shares = {}
    for engine in new.engines:
        share = _share(before.get((engine.client, engine.engine)), engine, new.read_at - old.read_at)
        key = (engine.pid, engine.engine)
        shares[key] = min(100.0, shares.get(key, 0.0) + share)
    return shares


def with_shares(gpu: GpuCounters, shares: Shares | Missing) -> GpuCounters:
    """The GPU with each process's share, and with its own where it says none: that of its busiest kind of engine."""
    whole: dict[str, float] = {}
    most: dict[int, float] = {}
    for (pid, engine), share in ({} if isinstance(shares, Missing) else shares).items():
        whole[engine] = min(100.0, whole.get(engine, 0.0) + share)
        most[pid] = max(most.get(pid, 0.0), share)
    own: Number = shares if isinstance(shares, Missing) else max(whole.values(), default=0.0)
    processes = gpu.processes
    if not isinstance(processes, Missing) and not isinstance(shares, Missing):
        processes = tuple(replace(process, sm_percent=most.get(process.pid, 0.0)) for process in processes)
    util = own if isinstance(gpu.util_percent, Missing) else gpu.util_percent
    return replace(gpu, util_percent=util, processes=processes)


def _share(old: EngineCounters | None, new: EngineCounters, seconds: float) -> float:
    since = old.busy if old is not None and old.busy <= new.busy else 0
    if new.total is None:
        return 100 * (new.busy - since) / (seconds * 1e9 * new.capacity)
    started = old.total if old is not None and old.total is not None and old.total < new.total else None
    return 0.0 if started is None else 100 * (new.busy - since) / ((new.total - started) * new.capacity)
