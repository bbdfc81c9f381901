from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import pytest

from iodash.model.frame import (
    CpuRow,
    DeviceRow,
    Evidence,
    GpuRow,
    InterfaceRow,
    ProcessRow,
    SystemRow,
    UnattributedRow,
    Verdict,
)
from iodash.model.missing import Missing
from iodash.model.sample import GpuProcess, ProcessKey
from iodash.outputs.json import frame_line, frame_object, utc_time
from tests.ui import frames


def names(text: str) -> list[str]:
    return text.split()


FRAME = names("schema time interval_s host system devices processes unattributed gpu_driver gpus verdict verdicts self")
HOST = ["name", "kernel", "container"]
SYSTEM = names("""cpu_user_percent cpu_system_percent cpu_idle_percent cpu_iowait_percent cpu_steal_percent cpu_count
memory_total_bytes memory_used_bytes memory_available_bytes memory_cached_bytes memory_buffers_bytes memory_dirty_bytes
memory_writeback_bytes swap_total_bytes swap_used_bytes swap_in_bytes_per_s swap_out_bytes_per_s page_in_bytes_per_s
page_out_bytes_per_s major_faults_per_s refault_bytes_per_s disk_read_bytes_per_s disk_write_bytes_per_s disk_devices
network_receive_bytes_per_s network_transmit_bytes_per_s interrupts_per_s context_switches_per_s processes_running
processes_blocked processes_created_per_s load_1 load_5 load_15 pressure_cpu_some_percent pressure_io_some_percent
pressure_io_full_percent pressure_memory_some_percent pressure_memory_full_percent missing""")
DEVICE = names("""name kind major minor mounts backed_by reads_per_s writes_per_s discards_per_s flushes_per_s
read_bytes_per_s write_bytes_per_s discard_bytes_per_s reads_merged_per_s writes_merged_per_s discards_merged_per_s
reads_merged_percent
writes_merged_percent discards_merged_percent await_ms read_await_ms write_await_ms discard_await_ms flush_await_ms
read_size_bytes write_size_bytes discard_size_bytes queue_length in_flight util_percent operations_per_s rtt_ms queue_ms
retransmits_per_s state state_reason missing""")
PROCESS = names("""pid ppid name command user uid state threads start_time read_bytes_per_s write_bytes_per_s
cancelled_write_bytes_per_s logical_read_bytes_per_s logical_write_bytes_per_s read_calls_per_s write_calls_per_s
cache_hit_percent io_delay_percent cpu_percent resident_bytes read_bytes_total write_bytes_total major_faults_per_s
io_priority cgroup container gpus gpu_memory_bytes gpu_sm_percent job role missing""")
UNATTRIBUTED = names("read_bytes_per_s write_bytes_per_s reasons missing")
GPU = names("""index uuid name status util_percent util_samples memory_util_percent memory_used_bytes memory_total_bytes
power_watts power_limit_watts temperature_celsius sm_clock_mhz memory_clock_mhz sm_active_percent
pcie_receive_bytes_per_s pcie_transmit_bytes_per_s throttle_reasons mig encoder_percent decoder_percent ecc_errors xid
pcie_generation pcie_width nvlink_receive_bytes_per_s nvlink_transmit_bytes_per_s vendor processes missing""")
GPU_PROCESS = ["pid", "memory_bytes", "sm_percent", "visible"]
VERDICT = names("cause confidence summary evidence advice window_s job")
EVIDENCE = names("signal value unit threshold text")
OWN = names("cpu_percent resident_bytes sample_ms processes_seen missed_ticks")


def full_frame() -> dict[str, Any]:
    verdict = Verdict(
        cause="device_saturated",
        confidence="high",
        summary="nvme0n1 is at its limit",
        evidence=(Evidence("await_ms", 5.2, "ms", 1.0, "reads wait"),),
        advice="spread the data",
        window_s=30.0,
        job="train.py",
        processes=(ProcessKey(4120, 41200),),
    )
    frame = frames.frame(
        gpus=(frames.gpu(0, util_samples=((0.5, 90.0), (0.0, 40.0)), processes=(frames.gpu_process(4120),)),),
        verdict=verdict,
        verdicts=(verdict,),
        cpus=(CpuRow(0, 10, 5, 80, 5, 0),),
        interfaces=(InterfaceRow("eth0", 1.0, 2.0, True),),
        notes=("all is well",),
    )
    parsed: dict[str, Any] = json.loads(frame_line(frame))
    return parsed


@pytest.mark.parametrize(
    ("where", "promised"),
    [
        ((), FRAME),
        (("host",), HOST),
        (("system",), SYSTEM),
        (("devices", 0), DEVICE),
        (("processes", 0), PROCESS),
        (("unattributed",), UNATTRIBUTED),
        (("gpu_driver",), ["status", "version", "message"]),
        (("gpus", 0), GPU),
        (("gpus", 0, "processes", 0), GPU_PROCESS),
        (("verdict",), VERDICT),
        (("verdicts", 0), VERDICT),
        (("verdict", "evidence", 0), EVIDENCE),
        (("self",), OWN),
    ],
)
def test_every_promised_field_is_there(where: tuple[Any, ...], promised: list[str]) -> None:
    part = full_frame()
    for step in where:
        part = part[step]
    assert [name for name in promised if name not in part] == []


def test_instances_of_a_divided_gpu_have_its_index_and_a_number_of_their_own() -> None:
    gpus = frame_object(frames.frame(gpus=frames.divided_gpu(71, 72)))["gpus"]
    assert [(gpu["index"], gpu["instance"]) for gpu in gpus] == [(0, None), (0, 0), (0, 1)]


def test_what_is_ours_alone_stays_inside() -> None:
    process = full_frame()["processes"][0]
    assert {"key", "kernel_thread", "tid"}.isdisjoint(process)


def test_the_frame_says_what_it_is_and_when_it_ended() -> None:
    parsed = full_frame()
    assert parsed["schema"] == "iodash.frame/1"
    assert parsed["time"] == "2026-09-21T14:13:20.000Z"
    assert parsed["gpus"][0]["util_samples"] == [[0.5, 90.0], [0.0, 40.0]]
    assert parsed["verdict"]["processes"] == [4120]


def test_time_is_utc_with_milliseconds() -> None:
    assert utc_time(1_796_006_400.1234) == "2026-11-30T02:40:00.123Z"


def test_threads_carry_their_id() -> None:
    row = frames.process(10)
    thread = ProcessRow(**{item.name: getattr(row, item.name) for item in fields(row)} | {"key": ProcessKey(10, 1, 12)})
    shown = frame_object(frames.frame(processes=(thread,), threads=True))["processes"][0]
    assert (shown["pid"], shown["tid"]) == (10, 12)


@pytest.mark.parametrize("reason", list(Missing))
def test_a_missing_number_is_null_with_its_reason(reason: Missing) -> None:
    row = frames.process(10, read_bytes_per_s=reason)
    shown = frame_object(frames.frame(processes=(row,)))["processes"][0]
    assert shown["read_bytes_per_s"] is None
    assert shown["missing"] == {"read_bytes_per_s": reason.value}


def test_a_measured_zero_is_zero() -> None:
    shown = full_frame()["processes"][0]
    assert shown["read_bytes_per_s"] == 0
    assert shown["missing"] == {}


def test_what_has_no_value_by_nature_is_null_without_a_reason() -> None:
    shown = full_frame()["processes"][0]
    assert shown["container"] is None
    assert "container" not in shown["missing"]


def test_small_objects_name_what_is_missing_only_when_something_is() -> None:
    gpu = frames.gpu(0, processes=(GpuProcess(1, Missing.UNSUPPORTED, 3.0), GpuProcess(2, 5, 3.0)))
    first, second = frame_object(frames.frame(gpus=(gpu,)))["gpus"][0]["processes"]
    assert first["missing"] == {"memory_bytes": "unsupported"}
    assert "missing" not in second


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_never_reaches_json(value: float) -> None:
    line = frame_line(frames.frame(system=frames.system(load_1=value)))
    parsed = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert parsed["system"]["load_1"] is None
    assert parsed["system"]["missing"] == {"load_1": "not_measured"}


def test_a_line_is_one_line_of_ascii() -> None:
    line = frame_line(frames.frame(processes=(frames.process(1, "训练\\n"),)))
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["processes"][0]["name"] == "训练\\n"


def test_rates_keep_more_digits_than_were_measured() -> None:
    shown = frame_object(frames.frame(interval_s=0.1004321, devices=(frames.device(await_ms=0.0712345),)))
    assert shown["interval_s"] == pytest.approx(0.1004321, rel=1e-4)
    assert shown["devices"][0]["await_ms"] == pytest.approx(0.0712345, rel=1e-3)


def test_every_field_of_the_rows_is_shown() -> None:
    """A field added to a row reaches JSON by itself."""
    parsed = full_frame()
    for row_type, shown, internal in (
        (SystemRow, parsed["system"], set()),
        (DeviceRow, parsed["devices"][0], set()),
        (ProcessRow, parsed["processes"][0], {"key", "kernel_thread"}),
        (GpuRow, parsed["gpus"][0], set()),
        (UnattributedRow, parsed["unattributed"], set()),
    ):
        assert {item.name for item in fields(row_type)} - internal <= set(shown)
