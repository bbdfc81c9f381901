"""What the footer says of the selected row."""

from __future__ import annotations

from typing import Any

import pytest

from iodash.columns import PROCESS_COLUMNS, PROCESS_RATES
from iodash.model.missing import Missing
from iodash.model.sample import Host
from iodash.ui.reasons import device_reason, process_reason
from tests.ui.frames import device, process


def test_discards_that_await_includes_are_named_since_the_short_table_does_not_show_them() -> None:
    row = device(await_ms=0.14, write_await_ms=0, discards_per_s=12.0, discard_await_ms=0.3)
    assert device_reason(row) == "nvme0n1: await includes 12 discards/s of 0.30 ms"


def test_the_reason_of_the_state_comes_before_the_discards() -> None:
    row = device(
        state="slow", state_reason="reads wait 90 ms", await_ms=9.0, discards_per_s=2000.0, discard_await_ms=Missing.OFF
    )
    assert device_reason(row) == "nvme0n1 SLOW: reads wait 90 ms; await includes 2.00k discards/s of - ms"


@pytest.mark.parametrize("discards", [0, 0.0, Missing.UNSUPPORTED])
def test_without_discards_nothing_is_said_of_them(discards: float | Missing) -> None:
    assert device_reason(device(await_ms=1.0, discards_per_s=discards)) == ""
    assert device_reason(device(await_ms=Missing.NO_IO, discards_per_s=3.0)) == ""


def test_a_state_that_is_not_known_has_its_reason() -> None:
    assert device_reason(device(state=Missing.OFF)) == "nvme0n1: switched off in the kernel"


@pytest.mark.parametrize(
    ("host", "remedy"),
    [
        ({}, "run as root, or in a container with docker run --user root --cap-add SYS_PTRACE --pid=host"),
        ({"container": "docker"}, "start the container with docker run --user root --cap-add SYS_PTRACE --pid=host"),
        ({"container": "docker", "may_trace": True}, "the kernel protects it even from root"),
    ],
)
def test_what_may_not_be_read_has_the_remedy_of_this_host(host: dict[str, Any], remedy: str) -> None:
    row = process(1, read_bytes_per_s=Missing.NO_PERMISSION)
    columns = [column for column in PROCESS_COLUMNS if column.key in PROCESS_RATES]
    assert process_reason(row, columns, Host("n", "6", **host), of=" of 1") == f"READ/s of 1: no permission: {remedy}"


HOST = Host("n", "6")
SHOWN = [column for column in PROCESS_COLUMNS if column.key in PROCESS_RATES]


def test_every_dash_is_explained_the_nearest_to_the_sorted_column_first() -> None:
    row = process(7, cache_hit_percent=Missing.NO_IO, io_delay_percent=Missing.OFF, state=Missing.NEW)
    cached, delay = "CACHE%{}: it read nothing by read calls", "IO%{}: off; sysctl kernel.task_delayacct=1 turns it on"
    by_reads = process_reason(row, SHOWN, HOST, of=" of 7", sorted_by=("read_bytes_per_s", "write_bytes_per_s"))
    state, first, second = by_reads.split(". ")
    assert state == "S of 7: first seen in this frame; the next one has it"
    assert first == cached.format("")
    assert second.startswith(delay.format(""))
    by_delay = process_reason(row, SHOWN, HOST, of=" of 7", sorted_by=("io_delay_percent",))
    assert by_delay.startswith(delay.format(" of 7"))
    assert by_delay.split(". ")[1] == cached.format("")


def test_columns_that_share_a_reason_share_a_sentence() -> None:
    hidden: dict[str, Any] = dict.fromkeys(("read_bytes_per_s", "write_bytes_per_s", "cache_hit_percent"), Missing.OFF)
    row = process(7, gpus=Missing.NO_DRIVER, **hidden)
    words = process_reason(row, SHOWN, HOST, of=" of 7", sorted_by=("cpu_percent",))
    assert words == "READ/s, WRITE/s, CACHE% of 7: switched off in the kernel"


def test_a_process_that_reads_is_not_said_to_read_nothing() -> None:
    row = process(7, read_bytes_per_s=32768.0, logical_read_bytes_per_s=30000.0, cache_hit_percent=Missing.NO_IO)
    assert process_reason(row, SHOWN, HOST).startswith("CACHE%: storage gave more than its read calls asked for")
