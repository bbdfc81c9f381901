"""AMD's and Intel's GPUs, from the files that their kernel drivers show."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from iodash.model.missing import Missing
from iodash.model.sample import EngineCounters
from iodash.sources.local.gpu import drm as drm_module
from iodash.sources.local.gpu import others as others_module
from iodash.sources.local.gpu.client import GpuReader
from iodash.sources.local.gpu.drm import parse_client
from iodash.sources.local.gpu.others import OtherGpus
from iodash.sources.local.gpu.sysfs import Card, find_cards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from iodash.model.missing import Number
    from iodash.model.sample import GpuCounters
    from iodash.sources.local.gpu.drm import DrmClient

AMD, INTEL = "0000:03:00.0", "0000:00:02.0"


class Machine:
    def __init__(self, root: Path) -> None:
        self.procfs = root / "proc"
        self.sysfs = root / "sys"
        self.procfs.mkdir()
        (self.sysfs / "class/drm").mkdir(parents=True)

    def card(self, name: str, address: str, **files: str) -> Path:
        device = self.sysfs / "devices" / address
        device.mkdir(parents=True)
        for path, content in files.items():
            file = device / path.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content + "\n")
        card = self.sysfs / "class/drm" / name
        card.mkdir()
        (card / "device").symlink_to(device)
        return card

    def client(self, pid: int, descriptor: int, fdinfo: str, target: str = "/dev/dri/renderD128") -> None:
        for part in ("fd", "fdinfo"):
            (self.procfs / str(pid) / part).mkdir(parents=True, exist_ok=True)
        (self.procfs / str(pid) / "fd" / str(descriptor)).symlink_to(target)
        (self.procfs / str(pid) / "fdinfo" / str(descriptor)).write_text(fdinfo)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def gpus(machine: Machine) -> Iterator[OtherGpus]:
    made = OtherGpus(machine.procfs, machine.sysfs)
    yield made
    made.close()


def amd(machine: Machine) -> None:
    machine.card(
        "card1",
        AMD,
        vendor="0x1002",
        device="0x744c",
        product_name="Radeon PRO W7900",
        gpu_busy_percent="73",
        mem_busy_percent="21",
        mem_info_vram_used=str(10 << 30),
        mem_info_vram_total=str(48 << 30),
        current_link_speed="16.0 GT/s PCIe",
        current_link_width="16",
        power__runtime_status="active",
        hwmon__hwmon4__power1_average="180000000",
        hwmon__hwmon4__power1_cap="241000000",
        hwmon__hwmon4__temp1_input="61000",
        hwmon__hwmon4__freq1_input="2400000000",
        hwmon__hwmon4__freq2_input="1124000000",
    )


def intel(machine: Machine, **files: str) -> None:
    card = machine.card("card0", INTEL, vendor="0x8086", device="0x56a0", **files)
    (card / "gt_act_freq_mhz").write_text("2050\n")


AMD_CLIENT = f"""pos:\t0
drm-driver:\tamdgpu
drm-pdev:\t{AMD}
drm-client-id:\t41
drm-memory-vram:\t2048 KiB
drm-engine-gfx:\t123456789 ns
drm-engine-compute:\t1000 ns
"""

XE_CLIENT = f"""drm-driver:\txe
drm-pdev:\t{INTEL}
drm-client-id:\t7
drm-resident-vram0:\t1 MiB
drm-cycles-ccs:\t500
drm-total-cycles-ccs:\t2000
drm-cycles-lost:\t1
drm-engine-capacity-ccs:\t4
"""


def read(gpus: OtherGpus, first_index: int = 0) -> tuple[GpuCounters, ...]:
    deadline = time.monotonic() + 10
    while not (found := gpus.read({7}, first_index)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_amd_shows_what_its_files_say(machine: Machine, gpus: OtherGpus) -> None:
    amd(machine)
    machine.client(7, 3, AMD_CLIENT)
    machine.client(7, 4, AMD_CLIENT)
    (gpu,) = read(gpus, first_index=2)
    assert (gpu.index, gpu.uuid, gpu.name, gpu.vendor) == (2, f"pci-{AMD}", "Radeon PRO W7900", "amd")
    assert (gpu.util_percent, gpu.memory_util_percent) == (73, 21)
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (10 << 30, 48 << 30)
    assert gpu.power_watts == pytest.approx(180)
    assert gpu.power_limit_watts == pytest.approx(241)
    assert gpu.temperature_celsius == pytest.approx(61)
    assert (gpu.sm_clock_mhz, gpu.memory_clock_mhz) == (2400, 1124)
    assert (gpu.pcie_generation, gpu.pcie_width) == (4, 16)
    assert gpu.ecc_errors is Missing.UNSUPPORTED
    assert not isinstance(gpu.processes, Missing)
    assert [(p.pid, p.memory_bytes, p.visible) for p in gpu.processes] == [(7, 2 << 20, True)]
    assert set(gpu.engines) == {EngineCounters(7, 41, "gfx", 123456789), EngineCounters(7, 41, "compute", 1000)}


def test_intel_shows_its_engines(machine: Machine, gpus: OtherGpus) -> None:
    intel(machine, hwmon__hwmon2__energy1_input="5000000")
    machine.client(8, 3, XE_CLIENT, "/dev/dri/card0")
    machine.client(8, 4, "garbage", "/dev/dri/card0")
    (gpu,) = read(gpus)
    assert (gpu.name, gpu.vendor, gpu.util_percent) == ("Intel GPU 0x56a0", "intel", Missing.UNSUPPORTED)
    assert gpu.energy_joules_total == pytest.approx(5)
    assert gpu.sm_clock_mhz == 2050
    assert gpu.engines == (EngineCounters(8, 7, "ccs", 500, 2000, 4),)
    assert not isinstance(gpu.processes, Missing)
    assert [(p.pid, p.memory_bytes, p.visible) for p in gpu.processes] == [(8, 1 << 20, False)]
    assert (gpu.power_watts, gpu.pcie_generation, gpu.pcie_width) == (Missing.UNSUPPORTED,) * 3


@pytest.mark.parametrize("where", ["sysfs", "fdinfo"])
def test_a_card_that_hangs_costs_no_other_card(machine: Machine, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(others_module, "TIME_LIMIT_S", 0.05)
    free = threading.Event()
    temperature, parse = Card.temperature_celsius, drm_module.parse_client

    def temperature_of(card: Card) -> Number:
        assert where == "fdinfo" or card.address != INTEL or free.wait(20)
        return temperature(card)

    def client_of(pid: int, content: bytes) -> DrmClient | None:
        assert where == "sysfs" or INTEL.encode() not in content or free.wait(20)
        return parse(pid, content)

    monkeypatch.setattr(Card, "temperature_celsius", temperature_of)
    monkeypatch.setattr(drm_module, "parse_client", client_of)
    intel(machine)
    amd(machine)
    machine.client(7, 3, AMD_CLIENT, "/dev/dri/card1")
    machine.client(8, 3, XE_CLIENT, "/dev/dri/card0")
    reader = OtherGpus(machine.procfs, machine.sysfs)
    rows: dict[str, GpuCounters] = {}
    deadline = time.monotonic() + 10
    while f"pci-{AMD}" not in rows or (where == "fdinfo" and len(rows) < 2):
        assert time.monotonic() < deadline
        rows = {gpu.uuid: gpu for gpu in reader.read({7}, 0)}
    assert (rows[f"pci-{AMD}"].index, rows[f"pci-{AMD}"].util_percent) == (1, 73)
    assert len(rows[f"pci-{AMD}"].engines) == 2
    if where == "fdinfo":
        assert (rows[f"pci-{INTEL}"].index, rows[f"pci-{INTEL}"].processes) == (0, Missing.NOT_MEASURED)
    free.set()
    while not (rows.get(f"pci-{INTEL}") and rows[f"pci-{INTEL}"].engines):
        assert time.monotonic() < deadline
        rows = {gpu.uuid: gpu for gpu in reader.read({7}, 0)}
    reader.close()


def test_a_card_that_sleeps_is_not_read(machine: Machine, gpus: OtherGpus) -> None:
    machine.card("card0", AMD, vendor="0x1002", gpu_busy_percent="5", power__runtime_status="suspended")
    (gpu,) = read(gpus)
    assert (gpu.status, gpu.util_percent, gpu.processes) == ("asleep", Missing.OFF, ())


def test_values_that_can_not_be_are_missing(machine: Machine, gpus: OtherGpus) -> None:
    machine.card("card0", AMD, vendor="0x1002", gpu_busy_percent="250", mem_info_vram_used="-1", current_link_width="0")
    (gpu,) = read(gpus)
    assert (gpu.util_percent, gpu.memory_used_bytes, gpu.pcie_width) == (Missing.UNSUPPORTED,) * 3


def test_cards_are_numbered_as_the_kernel_does_and_displays_are_no_cards(machine: Machine) -> None:
    for name in ("card10", "card2"):
        machine.card(name, f"0000:{name[4:]}:00.0", vendor="0x1002")
    machine.card("card3", "0000:99:00.0", vendor="0x1a03")
    (machine.sysfs / "class/drm/card2-DP-1").mkdir()
    assert [card.address for card in find_cards(machine.sysfs)] == ["0000:2:00.0", "0000:10:00.0"]


def test_a_client_without_a_device_or_number_is_none() -> None:
    assert parse_client(1, b"drm-driver: x\n") is None
    assert parse_client(1, b"drm-pdev: 0000:00:02.0\ndrm-client-id: x\n") is None


def test_rows_come_without_any_vendor_library(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iodash.sources.local.gpu.client.find_library", lambda: None)
    amd(machine)
    reader = GpuReader(machine.procfs, machine.sysfs, enabled=True)
    reader.start()
    deadline = time.monotonic() + 10
    while not (found := reader.read({7}))[1] and time.monotonic() < deadline:
        time.sleep(0.01)
    reader.close()
    driver, (gpu,) = found
    assert (driver.status, gpu.util_percent) == ("ok", 73)
