"""With --ascii no line of the screen holds a letter beyond ASCII, whatever is open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from iodash.model.frame import Evidence, Verdict
from iodash.model.settings import Settings
from tests.ui.frames import NOW, device, frame, gpu
from tests.ui.scripted import busy, crowd, stage

if TYPE_CHECKING:
    from tests.ui.scripted import Stage

ASCII = Settings(ascii=True)
VERDICT = Verdict(
    "device_saturated",
    "high",
    "nvme0n1 is at its limit",
    tuple(Evidence("blocked_percent", 81.0, "%", 30.0, f"the loader workers wait, reason {n}") for n in range(30)),
    "local SSD",
    10.0,
)
SHOWN = frame(
    gpus=(gpu(0), gpu(1)),
    devices=(device(), device("sda")),
    processes=(busy(10, 5), *crowd(200)),
    verdict=VERDICT,
    verdicts=(VERDICT,),
)

OPENED = {
    "help": ("question_mark",),
    "help, scrolled": ("question_mark", "down", "down", "pagedown"),
    "help, at its end": ("question_mark", "G"),
    "evidence": (),
    "details": ("down", "enter"),
    "the sort chooser": ("f6",),
    "the sort chooser, scrolled": ("f6", "pagedown", "pagedown"),
    "the filter": ("slash", *"idle"),
    "the history": ("e",),
}


def beyond_ascii(it: Stage) -> list[str]:
    return [line for line in it.screen() if not line.isascii()]


async def open_evidence(it: Stage) -> None:
    while it.app._dashboard.focused_panel.key != "verdict":
        await it.press("tab")
    await it.press("enter")


@pytest.mark.parametrize("size", [(120, 40), (60, 16)])
@pytest.mark.parametrize("what", OPENED)
async def test_every_line_is_ascii(what: str, size: tuple[int, int]) -> None:
    async with stage(ASCII, size=size) as it:
        await it.give(SHOWN)
        await it.give(replace(SHOWN, time=NOW + 1))
        before = it.text()
        if what == "evidence":
            await open_evidence(it)
        else:
            await it.press(*OPENED[what])
        assert it.text() != before
        assert beyond_ascii(it) == []


@pytest.mark.parametrize("severity", ["information", "warning", "error"])
async def test_a_message_is_ascii_beside_its_text(severity: str) -> None:
    async with stage(ASCII) as it:
        await it.give(SHOWN)
        it.app.notify("written to disk", title="Saved", severity=severity, markup=False)  # type: ignore[arg-type]
        assert await it.shows("written to disk")
        assert beyond_ascii(it) == []


async def test_without_the_option_frames_are_drawn_as_lines() -> None:
    async with stage() as it:
        await it.give(SHOWN)
        await it.press("question_mark")
        assert "╭" in it.text()
