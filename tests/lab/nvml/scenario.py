"""Scenario files of the simulated NVML library: what its driver is, its GPUs, and what goes wrong.

A scenario is a flat mapping of keys to values. `gpuN.KEY` is of one GPU, `gpu.KEY` of all that don't say otherwise:

- `driver` `nvml` (versions) `count` `busy` (the file in which live trainers post their work, see busy.py)
- `gpuN.name` `uuid` `bus` `minor` `util` `memutil` `memtotal` `memused` `memreserved` `power_mw` `idle_mw` `limit_mw`
  `energy_mj` `temp` `sm_clock` `mem_clock` `throttle` (bits) `enc` `dec` `ecc` `xid` `fan` `pcie_gen` `pcie_width`
  `pcie_rx_kb` `pcie_tx_kb`
- `gpuN.pattern` "PERIOD_MS BUSY_MS [PHASE_MS]": busy for a part of each period; power, samples and energy follow it
- `gpuN.samples` "STAMP_US:PERCENT ..." (instead of those that follow from the load), `gpuN.stamp_shift_us`
- `gpuN.procK` (compute) `gprocK` (graphics) `mprocK` (MPS) "PID BYTES [GI CI SM MEM]", K from 0; BYTES -1: unknown
- `gpuN.usageK` "PID SM [MEM STAMP_US]": utilisation samples that differ from the lists
- `gpuN.fieldID` (a value) or `gpuN.fieldID_rate` (growth a second), `gpuN.fieldID_type`
- `gpuN.gpm` 1, `gpuN.gpmID` or `gpuN.gpmID_giK` (metrics)
- `gpuN.mig` 1, `gpuN.migK` "PROFILE TOTAL USED GI CI UUID"
- `fail.CALL` `failN.CALL` `failN.*` (an error code), `delay_us.CALL`, `hang.CALL` 1 (until the key is gone); CALL
  without its version suffix
- phases: a list of (milliseconds since the library was loaded, key, value)

The library reads the file again when it changes. Tests change it in steps; there is nothing to wait for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Value = str | int | float | bytes
Phase = tuple[int, str, Value]

GIB = 1 << 30


class Scenario:
    """A scenario file that can be changed while a driver plays it. Each change replaces the file whole."""

    def __init__(self, path: Path, keys: Mapping[str, Value] | None = None, phases: Iterable[Phase] = ()) -> None:
        self.path = path
        self._keys: dict[str, Value] = dict(keys or {})
        self._phases = tuple(phases)
        self._write()

    def set(self, keys: Mapping[str, Value]) -> None:
        """Adds or replaces keys."""
        self._keys.update(keys)
        self._write()

    def unset(self, *names: str) -> None:
        """Takes keys away."""
        for name in names:
            self._keys.pop(name, None)
        self._write()

    def environment(self, library: Path, log: Path | None = None) -> dict[str, str]:
        """The variables with which a program finds the library and plays this scenario."""
        variables = {"LD_LIBRARY_PATH": str(library), "IODASH_TEST_NVML": str(self.path)}
        return variables if log is None else {**variables, "IODASH_TEST_NVML_LOG": str(log)}

    def _write(self) -> None:
        lines = [key.encode() + b" " + _bytes(value) for key, value in self._keys.items()]
        lines += [f"phase {at} {key} ".encode() + _bytes(value) for at, key, value in self._phases]
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        fresh.write_bytes(b"\n".join(lines) + b"\n")
        fresh.replace(self.path)


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


HEALTHY: dict[str, Value] = {
    "count": 1,
    "gpu.util": 95,
    "gpu.gpm": 1,
    "gpu.field198_rate": 2e9,
    "gpu.field197_rate": 1e8,
}
SAW_TOOTH: dict[str, Value] = {"count": 1, "gpu.pattern": "2000 700"}
CHECKPOINT: dict[str, Value] = {"count": 1, "gpu.pattern": "20000 16000"}
WAITING_FOR_ANOTHER_RANK: dict[str, Value] = {
    "count": 1,
    "gpu.util": 100,
    "gpu.power_mw": 180000,
    "gpu.gpm": 1,
    "gpu.gpm2": 12,
}
IDLE: dict[str, Value] = {"count": 1}
EIGHT: dict[str, Value] = {
    "count": 8,
    "gpu.gpm": 1,
    "gpu.field198_rate": 1.2e9,
    "gpu.field197_rate": 1e8,
    "gpu.memused": 64 * GIB,
    **{f"gpu{n}.pattern": f"{1500 + 100 * n} 600 {n * 130}" for n in range(8)},
}
MIG: dict[str, Value] = {
    "count": 2,
    "gpu.name": "NVIDIA A100-SXM4-40GB",
    "gpu0.mig": 1,
    "gpu0.memtotal": 40 * GIB,
    "gpu0.mig0": f"1g.5gb {5 * GIB} {2 * GIB} 7 0 MIG-aaaaaaaa-0000-0000-0000-000000000000",
    "gpu0.mig1": f"3g.20gb {20 * GIB} {GIB} 2 0 MIG-bbbbbbbb-0000-0000-0000-000000000000",
    "gpu1.mig": 0,
    "gpu1.util": 80,
}
