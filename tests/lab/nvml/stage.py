"""A simulated driver on stage: a scenario, the library it plays in, a log of its calls, and readers that watch it."""

from __future__ import annotations

import ctypes
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from iodash.sources.local.gpu.client import GpuReader
from iodash.sources.local.gpu.driver import Driver
from iodash.sources.local.gpu.link import WorkerOptions
from iodash.sources.local.gpu.nvml import Nvml, load
from tests.lab.nvml.build import SONAME, compiler, library_directory
from tests.lab.nvml.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from iodash.model.sample import GpuCounters, GpuDriver
    from tests.lab.nvml.scenario import Value

PATIENCE_S = 20.0

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler to build the simulated NVML library")


class Stage:
    """Sets the scene for one test; everything it started is closed by `close`."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._readers: list[GpuReader] = []
        self.log = tmp_path / "calls"
        self.scenario = Scenario(tmp_path / "scenario")
        self.sysfs = tmp_path / "sys"
        self.procfs = tmp_path / "proc"
        self.sysfs.mkdir()
        self.procfs.mkdir()

    def play(self, keys: Mapping[str, Value], variant: str = "current") -> None:
        """Plays a scenario from now on."""
        self.scenario.set(keys)
        for name, value in self.scenario.environment(library_directory(variant), self.log).items():
            self._monkeypatch.setenv(name, value)

    def reader(
        self,
        *,
        floor_s: float = 0.02,
        slow_s: float = 5.0,
        retry_s: float = 0.1,
        blocking_pcie: bool = False,
        pid_namespace: bool | None = False,
        start: bool = True,
    ) -> GpuReader:
        """A reader of this stage, quick enough for tests."""
        options = WorkerOptions(floor_s=floor_s, slow_s=slow_s, retry_s=retry_s, blocking_pcie=blocking_pcie)
        made = GpuReader(self.procfs, self.sysfs, enabled=True, options=options, pid_namespace=pid_namespace)
        self._readers.append(made)
        if start:
            made.start()
            made.wait_first(PATIENCE_S)
        return made

    def driver(self, *, slow_s: float = 0.0, retry_s: float = 0.0, blocking_pcie: bool = False) -> Driver:
        """The worker's driver in this process, for tests that need no process of their own."""
        return Driver(in_process(), sysfs=str(self.sysfs), slow_s=slow_s, retry_s=retry_s, blocking_pcie=blocking_pcie)

    def calls(self) -> Counter[str]:
        """How often each call was made."""
        return Counter(line.split()[2] for line in self.lines())

    def lines(self) -> list[str]:
        """The log: time, process, call, GPU, handle."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def add_pci_gpu(self, address: str, runtime_status: str) -> Path:
        """An NVIDIA device on the stage's PCI bus; the file of its power state."""
        device = self.sysfs / "bus/pci/devices" / address
        (device / "power").mkdir(parents=True)
        (device / "vendor").write_text("0x10de\n")
        (device / "class").write_text("0x030200\n")
        (device / "power/runtime_status").write_text(runtime_status + "\n")
        return device / "power/runtime_status"

    def close(self) -> None:
        """Ends what the test left running."""
        for reader in self._readers:
            reader.close()


def until(
    reader: GpuReader,
    holds: Callable[[GpuDriver, tuple[GpuCounters, ...]], bool],
    visible: frozenset[int] = frozenset(),
) -> tuple[GpuDriver, tuple[GpuCounters, ...]]:
    """Reads, as the sampler would, until something holds; fails after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        driver, gpus = reader.read(visible)
        if holds(driver, gpus):
            return driver, gpus
        if time.monotonic() > deadline:
            pytest.fail(f"still {driver} with {gpus}")
        time.sleep(0.03)


def in_process() -> Nvml:
    """The binding in this process, on the simulated library, which answers for the soname once it is loaded."""
    ctypes.CDLL(str(library_directory() / SONAME))
    nvml = load("")
    assert isinstance(nvml, Nvml)
    return nvml
