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
    assert process_reason(row, columns, Host("n", "6", **host)) == f"READ/s of 1: no permission: {remedy}"
