"""Completes a frame with judgements: device states, jobs, verdicts."""

from iodash.diagnosis.diagnosis import Diagnosis

__all__ = ["Diagnosis"]
