"""GPUs that need no vendor's library: AMD's and Intel's, from /sys and the DRM clients of /proc."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.formatting.safe_text import safe_text
from iodash.model.missing import Missing
from iodash.model.sample import GpuCounters, GpuProcess
from iodash.sources.local.beside import BesideReader
from iodash.sources.local.gpu.drm import DrmClient, DrmClients
from iodash.sources.local.gpu.sysfs import Card, find_cards

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

LOOK_AGAIN_S = 30.0

PATIENCE_S = 0.05
"""How long a reading may hold up the sampler. One that takes longer is in the next sample."""

TIME_LIMIT_S = 1.0
"""How long one card may take before the others are read without it."""


class OtherGpus:
    """Reads the cards in a thread of its own: a file of a wedged card may hang, which costs the row of that card."""

    def __init__(self, procfs: Path, sysfs: Path) -> None:
        self._sysfs = sysfs
        self._clients = DrmClients(procfs, sysfs)
        self._cards: dict[str, Card] = {}
        self._look_at = 0.0
        self._beside = BesideReader("iodash-drm", self._read, TIME_LIMIT_S)
        self._visible: frozenset[int] = frozenset()
        self._last: dict[str, GpuCounters] = {}

    def read(self, visible_pids: Collection[int], first_index: int) -> tuple[GpuCounters, ...]:
        """One row a card, numbered from `first_index`. Waits for at most `PATIENCE_S`; without a card for nothing."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_AGAIN_S
            self._cards = {card.address: card for card in find_cards(self._sysfs)}
        if not self._cards:
            return ()
        if not self._beside.busy:
            self._visible = frozenset(visible_pids)
            self._beside.ask(self._cards)
        for address, gpu, _ in self._beside.collect(PATIENCE_S):
            self._last[address] = gpu
        return tuple(
            replace(self._last[address], index=first_index + at)
            for at, address in enumerate(self._cards)
            if address in self._last
        )

    def close(self) -> None:
        """Ends the thread without waiting for it."""
        self._beside.close()

    def _read(self, address: str) -> Iterator[GpuCounters]:
        """The card alone, then with its clients."""
        card = self._cards.get(address)
        if card is None:
            return
        gpu = _counters(card)
        yield gpu
        if gpu.status == "ok":
            clients = self._clients.read(address)
            engines = tuple(engine for client in clients for engine in client.engines)
            yield replace(gpu, processes=_processes(clients, self._visible), engines=engines)


def _counters(card: Card) -> GpuCounters:
    """What one card shows itself. `unsupported` is what its driver has no file for."""
    bare = GpuCounters(
        index=0,
        uuid=f"pci-{card.address}",
        name=safe_text(card.name()),
        vendor=card.vendor,
        status="ok",
        message="",
        read_at=time.monotonic(),
        util_percent=Missing.UNSUPPORTED,
        util_samples=(),
        memory_util_percent=Missing.UNSUPPORTED,
        memory_used_bytes=Missing.UNSUPPORTED,
        memory_total_bytes=Missing.UNSUPPORTED,
        power_watts=Missing.UNSUPPORTED,
        power_limit_watts=Missing.UNSUPPORTED,
        energy_joules_total=Missing.UNSUPPORTED,
        temperature_celsius=Missing.UNSUPPORTED,
        sm_clock_mhz=Missing.UNSUPPORTED,
        memory_clock_mhz=Missing.UNSUPPORTED,
        sm_active_percent=Missing.UNSUPPORTED,
        pcie_receive_bytes_total=Missing.UNSUPPORTED,
        pcie_transmit_bytes_total=Missing.UNSUPPORTED,
        pcie_receive_bytes_per_s=Missing.UNSUPPORTED,
        pcie_transmit_bytes_per_s=Missing.UNSUPPORTED,
        nvlink_receive_bytes_total=Missing.UNSUPPORTED,
        nvlink_transmit_bytes_total=Missing.UNSUPPORTED,
        nvlink_receive_bytes_per_s=Missing.UNSUPPORTED,
        nvlink_transmit_bytes_per_s=Missing.UNSUPPORTED,
        throttle_reasons=Missing.UNSUPPORTED,
        mig=Missing.UNSUPPORTED,
        encoder_percent=Missing.UNSUPPORTED,
        decoder_percent=Missing.UNSUPPORTED,
        ecc_errors=Missing.UNSUPPORTED,
        xid=Missing.UNSUPPORTED,
        pcie_generation=Missing.UNSUPPORTED,
        pcie_width=Missing.UNSUPPORTED,
        processes=Missing.NOT_MEASURED,
    )
    if not card.awake():
        asleep = bare.unmeasured(Missing.OFF, "asleep", "asleep: reading it would wake it")
        return replace(asleep, processes=())
    return replace(
        bare,
        util_percent=card.util_percent(),
        memory_util_percent=card.memory_util_percent(),
        memory_used_bytes=card.memory_used_bytes(),
        memory_total_bytes=card.memory_total_bytes(),
        power_watts=card.power_watts(),
        power_limit_watts=card.power_limit_watts(),
        energy_joules_total=card.energy_joules(),
        temperature_celsius=card.temperature_celsius(),
        sm_clock_mhz=card.clock_mhz(),
        memory_clock_mhz=card.memory_clock_mhz(),
        pcie_generation=card.pcie_generation(),
        pcie_width=card.pcie_width(),
    )


def _processes(clients: list[DrmClient], visible: frozenset[int]) -> tuple[GpuProcess, ...]:
    """A process for all its clients. Its share of the engines is worked out from two readings."""
    memory: dict[int, int | None] = {}
    for client in clients:
        held = memory.get(client.pid)
        memory[client.pid] = held if client.memory_bytes is None else client.memory_bytes + (held or 0)
    return tuple(
        GpuProcess(pid, Missing.UNSUPPORTED if held is None else held, Missing.NEW, visible=pid in visible)
        for pid, held in sorted(memory.items())
    )
