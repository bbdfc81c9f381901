"""`iodash doctor` as people and CI call it: text, JSON, and the status that `--fail-on` gives."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from iodash.commands.doctor import _matches
from iodash.diagnosis.checkup import check_host
from iodash.model.frame import Verdict
from iodash.model.missing import Missing
from iodash.model.sample import GpuDriver, Host
from iodash.outputs.doctor import doctor_json, doctor_lines
from iodash.sources.local.notes import Hidden
from tests.ui.frames import MIB, device, frame, process, system


def doctor(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iodash", "doctor", "--for", "0.4", "-d", "0.2", "--no-gpu", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def verdict(cause: str, confidence: str) -> Verdict:
    return Verdict(cause, confidence, "", (), "", 10.0)  # type: ignore[arg-type]


def test_json_is_one_object_with_verdict_and_host() -> None:
    done = doctor("--format", "json", "-p", "1")
    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr, told["schema"]) == (0, "", "iodash.doctor/1")
    assert told["verdict"] in told["verdicts"]
    assert {"what", "status", "remedy"} <= told["host"][0].keys()


def test_text_says_what_the_host_hides() -> None:
    done = doctor("-p", "1")
    assert done.returncode == 0
    assert "What this host shows and hides:" in done.stdout
    assert "leave out --no-gpu" in done.stdout


def test_a_process_that_is_not_there_is_told_and_no_failure() -> None:
    done = doctor("-p", "4194999")
    assert (done.returncode, done.stderr) == (0, "iodash: there is no process 4194999\n")


def test_nobody_waits_for_a_process_that_is_not_there() -> None:
    assert "watched for 0 s" in doctor("-p", "4194999", "--for", "600").stdout


def test_a_cause_that_is_found_fails() -> None:
    assert doctor("-p", "4194999", "--fail-on", "gpu_throttled,no_gpu_work").returncode == 3
    assert doctor("-p", "4194999", "--fail-on", "any").returncode == 0


def test_a_wrong_cause_or_time_is_wrong_usage() -> None:
    wrong = doctor("--fail-on", "bogus")
    assert wrong.returncode == 2
    assert "the causes are gpu_fed, no_gpu_work, device_saturated" in wrong.stderr
    assert doctor("--for", "-3").returncode == 2


@pytest.mark.parametrize(
    ("cause", "confidence", "wanted", "matched"),
    [
        ("device_saturated", "medium", {"any"}, True),
        ("device_saturated", "low", {"any"}, False),
        ("device_saturated", "low", {"device_saturated"}, True),
        ("gpu_fed", "high", {"any"}, False),
        ("unknown", "high", {"any"}, False),
    ],
)
def test_what_fails(cause: str, confidence: str, wanted: set[str], matched: bool) -> None:
    assert _matches([verdict(cause, confidence)], frozenset(wanted)) is matched


def test_a_small_shared_memory_and_missing_delays_have_remedies() -> None:
    host = Host(name="node", kernel="6.18", container="docker", cpu_count=4, delay_accounting=False)
    small = system(shared_memory_total_bytes=64 * MIB, shared_memory_used_bytes=60 * MIB)
    checks = {check.what: check for check in check_host(frame(host=host, system=small))}
    assert "--shm-size" in (checks["/dev/shm"].remedy or "")
    assert "task_delayacct=1" in (checks["I/O delay of processes"].remedy or "")
    assert not checks["GPUs"].ok


def test_it_says_how_long_it_really_watched() -> None:
    nobody = Verdict("no_gpu_work", "low", "no training seen", (), "name the job", 1.0)
    job = Verdict("small_reads", "high", "many small reads", (), "read more", 10.0, job="train.py")
    told = doctor_lines([nobody, job], [], 30.2)
    assert [line.strip() for line in told if "watched" in line] == [
        "watched for 30 s",
        "watched for 30 s, judged by the last 10 s",
    ]
    assert json.loads(doctor_json(job, [job], [], 30.2))["watched_s"] == 30.2


@pytest.mark.parametrize(
    ("message", "status", "remedy"),
    [
        ("no GPU in this container: start it with --gpus all", "no GPU in this container", "start it with --gpus all"),
        ("no GPU driver on this host", "no GPU driver on this host", "install the NVIDIA driver"),
    ],
)
def test_a_remedy_is_said_once(message: str, status: str, remedy: str) -> None:
    gpus = check_host(frame(gpu_driver=GpuDriver("no_library", None, message)))[0]
    assert (gpus.status, gpus.remedy) == (f"no library: {status}", remedy)


@pytest.mark.parametrize(
    ("host", "remedy"),
    [
        ({"may_trace": True}, "the kernel protects it even from root"),
        ({"container": "docker"}, "start the container with docker run --user root --cap-add SYS_PTRACE --pid=host"),
    ],
)
def test_what_helps_is_said_as_in_batch(host: dict[str, Any], remedy: str) -> None:
    hidden = process(7, read_bytes_per_s=Missing.NO_PERMISSION)
    machine = Host("node", "6.18", **host)
    checks = {check.what: check for check in check_host(frame(host=machine, processes=(hidden,)))}
    assert checks["I/O of processes"].remedy == remedy
    (note,) = Hidden().notes(replace(machine, delay_accounting=True), 1, 1)
    assert remedy in note


def test_hidden_processes_are_no_container_s() -> None:
    host = Host("node", "6.18", hidepid="invisible")
    checks = {check.what: check for check in check_host(frame(host=host))}
    check = checks["processes of the whole host"]
    assert check.status == "those of other users are hidden (hidepid=invisible)"
    assert check.remedy == "run as root, or: mount -o remount,hidepid=0 /proc"


def test_hidden_sys_is_said_of_the_devices() -> None:
    host = Host("node", "6.18", sysfs_hidden=True)
    checks = {check.what: check for check in check_host(frame(host=host, devices=(device(total=True),)))}
    assert checks["block devices"].status == "1 that are disks by their names: /sys is hidden"
    assert "--sysfs" in checks["block devices"].remedy
