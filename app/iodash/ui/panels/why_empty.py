"""What an empty table says: why nothing is there, and what to type to see something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.model.remedies import see_the_machine
from iodash.outputs.row_filter import row_filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame
    from iodash.model.settings import Settings

COLLECTING = ("collecting the first sample",)
"""What stands there until the first frame comes."""


def why_no_process(choice: Settings, frame: Frame, absent: Sequence[int]) -> list[str]:
    """The lines that stand in the place of processes."""
    if not frame.processes:
        return [*frame.notes, "No processes can be seen: /proc lists none.", "In a container add --pid=host."]
    if choice.pid and len(absent) == len(choice.pid):
        return [f"No process has PID {' or '.join(map(str, absent))}."]
    if choice.filter:
        because = row_filter(choice.filter).literal_because
        how = f", searched literally: {because}" if because else ""
        return [f"Nothing matches the filter {choice.filter}{how}", "Esc clears it."]
    if choice.only:
        what = "has done" if choice.accumulated else "does"
        return [f"No process {what} I/O now.", "o shows all."]
    if choice.user:
        return [f"No process belongs to {' or '.join(choice.user)}.", "Esc shows everybody's, u chooses another user."]
    return ["No process is left by the choice."]


def why_no_device(choice: Settings, frame: Frame, absent: Sequence[str]) -> list[str]:
    """The lines that stand in the place of devices."""
    if choice.device and absent:
        names = " or ".join(absent)
        return [f"No device is called {names}.", "Start without --device to see those that are there."]
    if frame.devices:
        return [
            "Only partitions, loop, ram or unused zram are here.",
            "Start with --all-devices to see them.",
        ]
    if frame.host.only_processes:
        return ["No block device can be seen.", see_the_machine(frame.host)]
    return [
        f"No block device can be seen: {frame.host.procfs}/diskstats is empty or hidden.",
        "Mount the host's /proc and name it with --procfs.",
    ]
