"""The GPU worker as a process on the simulated library: what it reads, what it survives, what it leaves alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from iodash.model.missing import Missing
from iodash.model.sample import GpuProcess
from iodash.sources.local.gpu.library import Library
from iodash.sources.local.gpu.link import LAUNCH
from tests.lab.nvml.build import SONAME, library_directory
from tests.lab.nvml.scenario import EIGHT, GIB, HEALTHY, MIG
from tests.lab.nvml.stage import needs_compiler, until

if TYPE_CHECKING:
    from iodash.model.sample import GpuCounters, GpuDriver
    from tests.lab.nvml.stage import Stage

pytestmark = needs_compiler


def is_ok(driver: GpuDriver, gpus: tuple[GpuCounters, ...]) -> bool:
    return driver.status == "ok" and bool(gpus)


def fresh(gpus: tuple[GpuCounters, ...]) -> GpuReaderCondition:
    newest = gpus[0].read_at
    return lambda driver, now: driver.status == "ok" and now[0].read_at > newest


if TYPE_CHECKING:
    from collections.abc import Callable

    GpuReaderCondition = Callable[[GpuDriver, tuple[GpuCounters, ...]], bool]


def worker_of(parent: int) -> int:
    """The GPU worker that a process has started last."""
    workers = []
    for child in sorted(psutil.Process(parent).children(), key=lambda child: float(child.create_time())):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.fsencode(LAUNCH) in Path(f"/proc/{child.pid}/cmdline").read_bytes():
                workers.append(int(child.pid))
    return workers[-1]


def test_every_field_of_a_healthy_gpu(stage: Stage) -> None:
    stage.play(
        {
            **HEALTHY,
            "gpu.memused": 64 * GIB,
            "gpu.field138": 10,
            "gpu.field139": 20,
            "gpu.enc": 5,
            "gpu.dec": 6,
            "gpu.ecc": 2,
            "gpu.xid": 79,
            "gpu.throttle": 0x1FF,
            "gpu.mig": 0,
            "gpu.proc0": f"{os.getpid()} {63 * GIB} 4294967295 4294967295 88 10",
        }
    )
    reader = stage.reader(floor_s=0.11)
    _, gpus = until(reader, lambda d, g: is_ok(d, g) and not isinstance(g[0].sm_active_percent, Missing))
    driver, (gpu,) = until(reader, fresh(gpus), frozenset({os.getpid()}))
    assert (driver.status, driver.version) == ("ok", "570.124.06")
    assert (gpu.index, gpu.name, gpu.vendor, gpu.status) == (0, "NVIDIA H200", "nvidia", "ok")
    assert gpu.util_percent == 95
    assert gpu.memory_used_bytes == 64 * GIB
    assert gpu.memory_total_bytes == 141 * GIB
    assert gpu.power_watts == pytest.approx(70 + 560 * 0.95)
    assert gpu.power_limit_watts == 700
    assert gpu.temperature_celsius == 63
    assert (gpu.sm_clock_mhz, gpu.memory_clock_mhz) == (1980, 3201)
    assert gpu.sm_active_percent == pytest.approx(85.5)
    assert (gpu.nvlink_transmit_bytes_total, gpu.nvlink_receive_bytes_total) == (10240, 20480)
    assert gpu.throttle_reasons == (
        "idle",
        "application_clocks",
        "power_cap",
        "hw_slowdown",
        "sync_boost",
        "sw_thermal",
        "hw_thermal",
        "power_brake",
        "display_clock",
    )
    assert (gpu.encoder_percent, gpu.decoder_percent, gpu.ecc_errors, gpu.xid) == (5, 6, 2, 79)
    assert (gpu.pcie_generation, gpu.pcie_width) == (5, 16)
    assert gpu.mig is Missing.OFF
    assert not isinstance(gpu.processes, Missing)
    assert [(process.pid, process.memory_bytes, process.visible) for process in gpu.processes] == [
        (os.getpid(), 63 * GIB, True)
    ]
    assert gpu.processes_note == "1.00 GiB are held by no process that is listed"


def test_samples_lie_on_the_monotonic_clock_and_each_comes_once(stage: Stage) -> None:
    stage.play({"gpu.pattern": "2000 700"})
    reader = stage.reader(floor_s=0.05)
    seen: list[tuple[float, float]] = []
    deadline = time.monotonic() + 1.2
    while time.monotonic() < deadline:
        _, gpus = reader.read(())
        seen.extend(gpus[0].util_samples)
        time.sleep(0.05)
    stamps = [at for at, _ in seen]
    assert stamps == sorted(stamps)
    gaps = [later - earlier for earlier, later in pairwise(stamps)]
    assert len(gaps) >= 5
    assert all(gap == pytest.approx(1 / 6, abs=0.01) for gap in gaps)
    assert deadline - 3 < stamps[0] < stamps[-1] <= time.monotonic()


@pytest.mark.parametrize("shift_s", [-3600, 86400])
def test_samples_of_another_clock_are_aligned(stage: Stage, shift_s: int) -> None:
    stage.play({"gpu.util": 50, "gpu.stamp_shift_us": shift_s * 1_000_000})
    reader = stage.reader()
    _, gpus = until(reader, lambda _, g: bool(g and g[0].util_samples) or (shift_s < 0 and is_ok(_, g)))
    for at, percent in gpus[0].util_samples:
        assert time.monotonic() - 25 < at <= time.monotonic()
        assert percent == 50


def test_the_pcie_call_that_blocks_is_made_only_when_asked_for(stage: Stage) -> None:
    stage.play({"count": 2, "gpu.pcie_rx_kb": 1000, "gpu.pcie_tx_kb": 10})
    _, gpus = until(stage.reader(), is_ok)
    assert gpus[0].pcie_receive_bytes_per_s is Missing.UNSUPPORTED
    assert stage.calls()["nvmlDeviceGetPcieThroughput"] == 0
    asked = stage.reader(blocking_pcie=True)
    _, gpus = until(asked, lambda _, g: bool(g) and not isinstance(g[1].pcie_transmit_bytes_per_s, Missing))
    until(asked, lambda _, g: g[0].pcie_receive_bytes_per_s == 1_024_000)
    assert gpus[1].pcie_transmit_bytes_per_s == 10_240


def test_pcie_comes_from_gpm_where_there_are_no_counters(stage: Stage) -> None:
    stage.play({"gpu.gpm": 1, "gpu.gpm21": 100, "gpu.gpm20": 2, "gpu.gpm60": 3, "gpu.gpm61": 4})
    _, (gpu,) = until(stage.reader(floor_s=0.11), lambda _, g: bool(g) and g[0].pcie_receive_bytes_per_s == 100 << 20)
    assert gpu.pcie_receive_bytes_total is Missing.UNSUPPORTED
    assert gpu.pcie_transmit_bytes_per_s == 2 << 20
    assert (gpu.nvlink_receive_bytes_per_s, gpu.nvlink_transmit_bytes_per_s) == (3 << 20, 4 << 20)


def test_a_pcie_counter_of_32_bits_is_not_believed(stage: Stage) -> None:
    stage.play({"gpu.field198": 7, "gpu.field198_type": 1, "gpu.field197": 7})
    _, (gpu,) = until(stage.reader(), is_ok)
    assert (gpu.pcie_receive_bytes_total, gpu.pcie_transmit_bytes_total) == (Missing.UNSUPPORTED, 7)


def test_mig_instances_are_rows_without_utilisation(stage: Stage) -> None:
    stage.play({**MIG, "gpu0.gpm": 1, "gpu0.gpm2_gi7": 40, "gpu0.proc0": f"4321 {GIB} 7 0 0 0"})
    _, gpus = until(stage.reader(floor_s=0.11), lambda d, g: len(g) == 4 and g[1].sm_active_percent == 40)
    parent, small, large, plain = gpus
    assert [gpu.mig for gpu in gpus] == ["enabled", "1g.5gb", "3g.20gb", Missing.OFF]
    assert [(gpu.index, gpu.instance) for gpu in gpus] == [(0, None), (0, 0), (0, 1), (1, None)]
    assert parent.util_percent is small.util_percent is large.util_percent is Missing.UNSUPPORTED
    assert (small.memory_used_bytes, small.memory_total_bytes) == (2 * GIB, 5 * GIB)
    assert small.uuid.startswith("MIG-a")
    assert small.processes == (GpuProcess(4321, GIB, Missing.UNSUPPORTED, visible=False),)
    assert (parent.processes, large.processes) == ((), ())
    assert plain.util_percent == 80


@pytest.mark.parametrize("variant", ["no_v3", "no_memory_v2", "no_temperature_v", "no_gpm"])
def test_an_older_driver_gives_the_same_numbers_by_its_older_calls(stage: Stage, variant: str) -> None:
    stage.play({**HEALTHY, "gpu.memused": GIB, "gpu.proc0": f"77 {GIB}"}, variant)
    _, (gpu,) = until(stage.reader(), is_ok)
    assert (gpu.util_percent, gpu.memory_used_bytes, gpu.temperature_celsius) == (95, GIB, 63)
    assert gpu.processes == (GpuProcess(77, GIB, 0, visible=False),)
    if variant == "no_gpm":
        assert gpu.sm_active_percent is Missing.UNSUPPORTED


def test_process_records_of_another_size_are_dropped_and_said_so(stage: Stage) -> None:
    stage.play({**HEALTHY, **{f"gpu.proc{n}": f"{1000 + n} {GIB}" for n in range(3)}}, "r535")
    _, (gpu,) = until(stage.reader(), is_ok)
    assert gpu.processes is Missing.UNSUPPORTED
    assert "not readable" in gpu.processes_note
    assert gpu.util_percent == 95


def test_a_driver_of_2020_still_shows_what_it_has(stage: Stage) -> None:
    stage.play({**HEALTHY, "gpu.memused": GIB, "gpu.throttle": 4, "gpu.proc0": f"77 {GIB}"}, "r430")
    _, (gpu,) = until(stage.reader(), is_ok)
    assert (gpu.util_percent, gpu.memory_used_bytes, gpu.temperature_celsius) == (95, GIB, 63)
    assert gpu.throttle_reasons == ("power_cap",)
    assert gpu.processes is Missing.UNSUPPORTED


def test_a_driver_that_hangs_is_said_so_and_recovers(stage: Stage) -> None:
    stage.play(EIGHT)
    reader = stage.reader(floor_s=0.1)
    _, gpus = until(reader, is_ok)
    stage.scenario.set({"hang.nvmlDeviceGetPowerUsage": 1})
    driver, silent = until(reader, lambda d, _: d.status == "not_answering")
    assert driver.message.startswith("no answer from the driver for ")
    assert [gpu.uuid for gpu in silent] == [gpu.uuid for gpu in gpus]
    assert {gpu.util_percent for gpu in silent} == {Missing.NOT_MEASURED}
    assert silent[0].memory_total_bytes == 141 * GIB
    started = time.monotonic()
    for _ in range(10):
        reader.read(())
    assert time.monotonic() - started < 1
    stage.scenario.unset("hang.nvmlDeviceGetPowerUsage")
    _, again = until(reader, is_ok)
    assert again[0].power_watts is not Missing.NOT_MEASURED


def test_a_driver_that_hangs_from_the_start(stage: Stage) -> None:
    stage.play({"hang.nvmlInitWithFlags": 1})
    reader = stage.reader(start=False)
    assert reader.read(())[0].status == "starting"
    reader.start()
    reader.wait_first(0.05)
    assert reader.read(())[0].status == "starting"
    driver, gpus = until(reader, lambda d, _: d.status == "not_answering")
    assert "still be starting" in driver.message
    assert gpus == ()
    stage.scenario.unset("hang.nvmlInitWithFlags")
    until(reader, is_ok)


def test_a_stopped_worker_is_left_alone_and_quitting_is_instant(stage: Stage) -> None:
    stage.play(HEALTHY)
    reader = stage.reader(floor_s=0.1)
    until(reader, is_ok)
    pid = worker_of(os.getpid())
    os.kill(pid, signal.SIGSTOP)
    until(reader, lambda d, _: d.status == "not_answering")
    started = time.monotonic()
    reader.close()
    assert time.monotonic() - started < 0.5
    _wait_gone(pid)
    assert reader.read(())[0].status == "off"


def test_a_worker_that_died_is_started_again(stage: Stage) -> None:
    stage.play(HEALTHY)
    reader = stage.reader()
    until(reader, is_ok)
    pid = worker_of(os.getpid())
    os.kill(pid, signal.SIGSEGV)
    driver, _ = until(reader, lambda d, _: d.status == "error")
    assert driver.message == "the GPU worker ended by signal 11; it is started again"
    until(reader, is_ok)
    assert worker_of(os.getpid()) != pid
    assert reader.own()[0] > 0


def test_a_worker_killed_with_half_an_answer_in_the_pipe_is_started_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it ends where memory runs out while its answer waits for a reader that is held up."""
    threads: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: threads.append(failure.exc_value))
    crowd = {f"gpu.proc{n}": f"{n + 1} {GIB >> 1} 0 0 {n % 3} 0" for n in range(600)}
    stage.play({"count": 8, "gpu.memused": 140 * GIB, **crowd})
    reader = stage.reader()
    until(reader, is_ok)
    pid = worker_of(os.getpid())
    link = reader._link
    assert link is not None
    with link._lock:
        assert link._requests is not None
        deadline = time.monotonic() + 20
        while "pipe_write" not in Path(f"/proc/{pid}/wchan").read_text() and time.monotonic() < deadline:
            os.write(link._requests, f"{time.monotonic():.6f}\n".encode())
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        _wait_gone(pid)
    until(reader, lambda d, _: d.status == "error" and d.message.startswith("the GPU worker ended by signal 9"))
    until(reader, is_ok)
    assert worker_of(os.getpid()) != pid
    assert threads == []


def test_the_worker_ends_with_its_parent(stage: Stage, tmp_path: Path) -> None:
    stage.play({**HEALTHY, "hang.nvmlDeviceGetPowerUsage": 1})
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom iodash.sources.local.gpu.client import GpuReader\n"
        "r = GpuReader(Path('/proc'), Path(sys.argv[1]), enabled=True)\nr.start()\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(stage.sysfs)]) as parent:
        deadline = time.monotonic() + 20
        while not stage.calls()["nvmlDeviceGetPowerUsage"] and time.monotonic() < deadline:
            time.sleep(0.02)
        pid = worker_of(parent.pid)
        parent.kill()
    _wait_gone(pid)


def _wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        stat = Path(f"/proc/{pid}/stat")
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.02)
    pytest.fail(f"worker {pid} still lives")


def test_a_lost_gpu_costs_its_row_and_is_found_again_by_uuid(stage: Stage) -> None:
    stage.play({"count": 2, "gpu.util": 50})
    reader = stage.reader()
    until(reader, is_ok)
    stage.scenario.set({"fail0.*": 15})
    driver, gpus = until(reader, lambda _, g: g[0].status == "lost")
    assert driver.status == "ok"
    assert (gpus[0].util_percent, gpus[0].name) == (Missing.GONE, "NVIDIA H200")
    assert gpus[0].message.startswith("GPU is lost (15)")
    assert gpus[1].util_percent == 50
    until(reader, lambda _, g: stage.calls()["nvmlDeviceGetHandleByUUID"] >= 2)
    stage.scenario.unset("fail0.*")
    until(reader, lambda _, g: g[0].status == "ok" and g[0].util_percent == 50)
    calls = [line.split() for line in stage.lines() if line.split()[3] == "0"]
    lost = next(at for at, call in enumerate(calls) if call[2] == "nvmlDeviceGetHandleByUUID")
    before, after = ({call[4] for call in part if call[4] != "-1"} for part in (calls[:lost], calls[lost:]))
    assert before
    assert after
    assert not before & after, "no handle is used again once its GPU was lost"


def test_a_gpu_that_is_lost_at_the_start_hides_no_other(stage: Stage) -> None:
    stage.play({"count": 3, "gpu.util": 50, "fail1.nvmlDeviceGetHandleByIndex": 15})
    reader = stage.reader()
    _, gpus = until(reader, is_ok)
    assert [gpu.status for gpu in gpus] == ["ok", "lost", "ok"]
    stage.scenario.unset("fail1.nvmlDeviceGetHandleByIndex")
    until(reader, lambda _, g: g[1].status == "ok")


def test_a_driver_that_appears_later_is_found(stage: Stage) -> None:
    stage.play({"fail.nvmlInitWithFlags": 9})
    reader = stage.reader()
    driver, _ = until(reader, lambda d, _: d.status == "not_loaded")
    assert "modprobe nvidia" in driver.message
    stage.scenario.unset("fail.nvmlInitWithFlags")
    until(reader, is_ok)


def test_no_gpu_at_all_is_said(stage: Stage) -> None:
    stage.play({"count": 0})
    driver, gpus = until(stage.reader(), lambda d, _: d.status == "ok")
    assert (gpus, driver.message) == ((), "the driver runs, and has no GPU")


def test_a_gpu_added_later_is_found(stage: Stage) -> None:
    stage.play({"count": 1, "gpu.util": 10})
    reader = stage.reader()
    until(reader, is_ok)
    stage.scenario.set({"count": 2})
    until(reader, lambda _, g: len(g) == 2 and g[1].util_percent == 10)


def test_two_hundred_processes(stage: Stage) -> None:
    stage.play({"gpu.memused": 140 * GIB, **{f"gpu.proc{n}": f"{n + 1} {GIB >> 1} 0 0 {n % 3} 0" for n in range(200)}})
    _, (gpu,) = until(stage.reader(), is_ok, frozenset(range(1, 101)))
    assert not isinstance(gpu.processes, Missing)
    assert len(gpu.processes) == 200
    assert sum(process.visible for process in gpu.processes) == 100


def test_a_name_that_is_no_utf8_is_shown_harmlessly(stage: Stage) -> None:
    stage.play({"gpu.name": b"NVIDIA \xff\x1b[31m H200", "gpu.util": 1})
    _, (gpu,) = until(stage.reader(), is_ok)
    assert gpu.name == "NVIDIA \\xff\\x1b[31m H200"
    assert (gpu.status, gpu.util_percent) == ("ok", 1)


def test_absurd_values_are_dropped(stage: Stage) -> None:
    stage.play(
        {
            "gpu.util": 4000,
            "gpu.memtotal": GIB,
            "gpu.memused": 9223372036854775794,
            "gpu.power_mw": 4294967295,
            "gpu.energy_mj": 18446744073709551614,
            "gpu.temp": 2147483632,
            "gpu.sm_clock": 2147483632,
            "gpu.enc": 900,
            "gpu.ecc": 18446744073709551614,
            "gpu.gpm": 1,
            "gpu.gpm2": 140737488355328.0,
            "gpu.field198": 9223372036854775794,
            "gpu.usage0": "77 1200 0",
            "gpu.proc0": "77 1000",
        }
    )
    reader = stage.reader(floor_s=0.11)
    until(reader, is_ok)
    _, (gpu,) = until(reader, lambda _, g: bool(stage.calls()["nvmlGpmMetricsGet"]))
    missing = Missing.NOT_MEASURED
    assert (gpu.util_percent, gpu.util_samples) == (missing, ())
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (missing, missing)
    assert (gpu.power_watts, gpu.energy_joules_total, gpu.temperature_celsius) == (missing, missing, missing)
    assert (gpu.sm_clock_mhz, gpu.encoder_percent, gpu.ecc_errors) == (missing, missing, missing)
    assert isinstance(gpu.sm_active_percent, Missing)
    assert isinstance(gpu.pcie_receive_bytes_total, Missing)
    assert gpu.processes == (GpuProcess(77, 1000, 0, visible=False),)


def test_calls_are_few_and_handles_are_kept(stage: Stage) -> None:
    stage.play({**EIGHT, "count": 2})
    reader = stage.reader(floor_s=0.02, slow_s=60)
    _, gpus = until(reader, is_ok)
    for _ in range(5):
        _, gpus = until(reader, fresh(gpus))
    calls = stage.calls()
    polls = calls["nvmlDeviceGetUtilizationRates"] // 2
    assert polls >= 6
    assert calls["nvmlInitWithFlags"] == 1
    assert calls["nvmlDeviceGetHandleByIndex_v2"] == 2
    for once in ("Name", "UUID", "PciInfo_v3", "EnforcedPowerLimit", "CurrPcieLinkWidth", "TotalEccErrors", "MigMode"):
        assert calls[f"nvmlDeviceGet{once}"] == 2, once
    assert calls["nvmlDeviceGetMemoryInfo_v2"] == 2 * polls
    assert calls["nvmlDeviceGetMemoryInfo"] == 0


def test_polls_keep_the_distance_they_were_told(stage: Stage) -> None:
    stage.play(HEALTHY)
    reader = stage.reader(floor_s=0.5)
    deadline = time.monotonic() + 2.2
    while time.monotonic() < deadline:
        reader.read(())
        time.sleep(0.02)
    stamps = [float(line.split()[0]) for line in stage.lines() if "UtilizationRates" in line]
    assert 2 <= len(stamps) <= 6
    assert all(later - earlier > 0.45 for earlier, later in pairwise(stamps))


def test_a_sleeping_gpu_gets_no_call(stage: Stage) -> None:
    stage.add_pci_gpu("0000:10:00.0", "active")
    state = stage.add_pci_gpu("0000:11:00.0", "suspended")
    stage.play({"count": 2, "gpu.util": 50})
    reader = stage.reader(retry_s=0.05)
    _, gpus = until(reader, is_ok)
    for _ in range(3):
        _, gpus = until(reader, fresh(gpus))
    assert [gpu.status for gpu in gpus] == ["ok", "asleep"]
    assert gpus[1].util_percent is Missing.OFF
    assert gpus[1].processes == (), "nobody uses a GPU that sleeps"
    assert not [line for line in stage.lines() if line.split()[3] == "1"]
    state.write_text("active\n")
    until(reader, lambda _, g: g[1].status == "ok")


def test_while_every_gpu_sleeps_not_even_the_library_is_started(stage: Stage) -> None:
    state = stage.add_pci_gpu("0000:10:00.0", "suspended")
    stage.play({"count": 1, "gpu.util": 50})
    reader = stage.reader()
    driver, gpus = until(reader, is_ok)
    assert (gpus[0].status, driver.message) == ("asleep", "every GPU sleeps")
    assert stage.lines() == []
    state.write_text("active\n")
    _, gpus = until(reader, lambda _, g: g[0].status == "ok")
    assert gpus[0].uuid.startswith("GPU-")


def test_a_gpu_that_falls_asleep_is_left_alone_until_it_wakes(stage: Stage) -> None:
    state = stage.add_pci_gpu("0000:10:00.0", "active")
    stage.play({"count": 1, "gpu.util": 50})
    reader = stage.reader()
    until(reader, is_ok)
    state.write_text("suspended\n")
    until(reader, lambda _, g: g[0].status == "asleep")
    calls = len(stage.lines())
    _, gpus = until(reader, lambda _, g: g[0].status == "asleep")
    until(reader, lambda _, g: g[0].read_at > gpus[0].read_at)
    assert len([line for line in stage.lines()[calls:] if line.split()[3] == "0"]) == 0
    state.write_text("active\n")
    until(reader, lambda _, g: g[0].status == "ok")


def test_reading_never_blocks_while_the_driver_is_slow(stage: Stage) -> None:
    stage.play({**EIGHT, "delay_us.nvmlDeviceGetPowerUsage": 100_000})
    reader = stage.reader(floor_s=0.1)
    _, gpus = until(reader, is_ok)
    slowest = 0.0
    for _ in range(30):
        started = time.thread_time()
        reader.read(())
        slowest = max(slowest, time.thread_time() - started)
        time.sleep(0.02)
    assert slowest < 0.1
    until(reader, fresh(gpus))


def test_without_a_library_no_worker_runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iodash.sources.local.gpu.client.find_library", lambda: None)
    before = set(threading.enumerate())
    reader = stage.reader()
    driver, gpus = reader.read(())
    assert (driver.status, gpus) == ("no_library", ())
    assert driver.message
    assert reader.own() == (0.0, 0)
    assert set(threading.enumerate()) <= before


def test_a_library_that_appears_later_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iodash.sources.local.gpu.client.LOOK_AGAIN_S", 0.05)
    with monkeypatch.context() as before:
        before.setattr("iodash.sources.local.gpu.client.find_library", lambda: None)
        reader = stage.reader()
        assert reader.read(())[0].status == "no_library"
    stage.play(HEALTHY)
    until(reader, is_ok)


def test_the_worker_stays_small_and_apart() -> None:
    program = (
        f"launch = {{'__name__': 'launch', '__file__': {str(LAUNCH)!r}}}\n"
        "exec(open(launch['__file__']).read(), launch)\nlaunch['enter_packages']()\n"
        "import sys, iodash.sources.local.gpu.worker\nprint(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    ours = {name for name in done.stdout.split() if name.startswith("iodash.")}
    above = {"iodash.sources", "iodash.sources.local", "iodash.sources.local.gpu"}
    names = ("driver", "errors", "gpm", "lists", "mig", "nvidia", "nvml", "reading", "worker")
    assert ours == above | {f"iodash.sources.local.gpu.{name}" for name in names}
    assert not {"psutil", "textual", "dataclasses", "typing", "pynvml"} & set(done.stdout.split())


def test_the_worker_cost_is_known(stage: Stage) -> None:
    stage.play(EIGHT)
    reader = stage.reader()
    until(reader, is_ok)
    cpu_s, resident = reader.own()
    assert cpu_s > 0
    assert 5 << 20 < resident <= 30 << 20


def test_processes_of_live_children_are_joined(stage: Stage) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            stage.play({"gpu.proc0": f"{child.pid} {GIB} 0 0 42 0"})
            expected = (GpuProcess(child.pid, GIB, 42, visible=True),)
            until(stage.reader(), lambda _, g: bool(g) and g[0].processes == expected, frozenset({child.pid}))
        finally:
            child.kill()


def test_a_library_where_the_loader_does_not_look_is_loaded_by_its_path(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.play(HEALTHY)
    monkeypatch.delenv("LD_LIBRARY_PATH")
    found = Library(library_directory() / SONAME, preload=True)
    monkeypatch.setattr("iodash.sources.local.gpu.client.find_library", lambda: found)
    until(stage.reader(), is_ok)


def test_a_library_that_is_none_is_an_error_with_its_name(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = stage.procfs / SONAME
    broken.write_bytes(b"not a library")
    monkeypatch.setattr("iodash.sources.local.gpu.client.find_library", lambda: Library(broken, preload=True))
    driver, _ = until(stage.reader(), lambda d, _: d.status == "error")
    assert str(broken) in driver.message
