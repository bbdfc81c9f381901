"""Completes a frame with judgements: device states, jobs, verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.diagnosis.devices import DeviceStates

if TYPE_CHECKING:
    from iodash.model.frame import Frame


class Diagnosis:
    """What judges successive frames; it keeps what it has learnt of each device."""

    def __init__(self) -> None:
        self._devices = DeviceStates()

    def complete(self, frame: Frame) -> Frame:
        """The frame with a state and its reason for every device."""
        return replace(frame, devices=self._devices.judge(frame))
