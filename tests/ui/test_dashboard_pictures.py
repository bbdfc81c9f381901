"""A few pictures of the whole screen, so that a change of its looks is seen and meant."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from iodash.model.frame import UnattributedRow
from iodash.model.missing import Missing
from iodash.model.settings import Settings
from iodash.ui.app import DashboardApp
from tests.ui.frames import MIB, NOW, device, frame, gpu, process
from tests.ui.jobs import job_of
from tests.ui.scripted import ScriptedMonitor, busy, crowd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.pilot import Pilot

    from iodash.monitor import Monitor

_JOB: dict[str, Any] = {"job": "train.py:4120", "io_delay_percent": 61.0}
_TRAINING = (
    busy(4120, 12, role="train.py, 2 workers", gpus=(0, 1), cpu_percent=140.0, **_JOB),
    busy(4131, 940, name="pt_data_worker", ppid=4120, role="loader worker 0", state="D", cpu_percent=12.0, **_JOB),
    busy(4132, 960, name="pt_data_worker", ppid=4120, role="loader worker 1", state="D", cpu_percent=11.0, **_JOB),
)

SCENE = frame(
    processes=(
        *_TRAINING,
        busy(77, 0, 12, name="文件服务器", user="root"),
        process(901, "kubelet", read_bytes_per_s=Missing.NO_PERMISSION, write_bytes_per_s=Missing.NO_PERMISSION),
        *crowd(60),
    ),
    devices=(
        device("vda", mounts=("/",), writes_per_s=2.0, write_bytes_per_s=1e5, util_percent=0.1),
        device(
            state="saturated",
            state_reason="reads wait 5.2 ms, usually 0.3",
            util_percent=100.0,
            reads_per_s=12_100.0,
            read_bytes_per_s=1.89e9,
            await_ms=5.2,
            read_await_ms=5.2,
            queue_length=63.2,
            in_flight=64,
        ),
        device("nas:/ckpt", kind="nfs", state="ok", mounts=("/ckpt",), util_percent=Missing.UNSUPPORTED),
    ),
    gpus=(gpu(0), gpu(1)),
    unattributed=UnattributedRow(5.0 * MIB, 0.0, ("exited",)),
    jobs=(job_of(_TRAINING, stragglers=(_TRAINING[1].key,)),),
)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("size", "theme"), [((200, 60), "dark"), ((120, 40), "light"), ((80, 24), "high-contrast"), ((60, 16), "terminal")]
)
def test_the_screen(snap_compare: Callable[..., bool], size: tuple[int, int], theme: str) -> None:
    monitor = ScriptedMonitor()

    async def show(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        for second in range(3):
            await monitor.give(SCENE if second == 2 else frame(time=NOW - 2 + second, gpus=SCENE.gpus))
        await pilot.press("down", "down")
        await pilot.pause()

    app = DashboardApp(lambda: cast("Monitor", monitor), Settings(theme=theme))
    assert snap_compare(app, terminal_size=size, run_before=show)
