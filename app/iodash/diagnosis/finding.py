"""A finding: what one rule says of a scene, with what speaks for it and what against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iodash.model.frame import Evidence

if TYPE_CHECKING:
    from iodash.model.frame import Confidence
    from iodash.model.sample import ProcessKey

LEVELS: tuple[Confidence, ...] = ("low", "medium", "high")


@dataclass(slots=True)
class Finding:
    """One cause under suspicion.

    Each independent signal that supports it is one `Evidence` in `supporting`; `opposing` contradict it, `context` only
    informs. `ceiling` is the most confidence that this cause can have here.
    """

    cause: str
    summary: str = ""
    advice: str = ""
    supporting: list[Evidence] = field(default_factory=list)
    opposing: list[Evidence] = field(default_factory=list)
    context: list[Evidence] = field(default_factory=list)
    ceiling: Confidence = "high"
    devices: tuple[str, ...] = ()
    processes: tuple[ProcessKey, ...] = ()

    def support(self, signal: str, value: float, unit: str, threshold: float | None, text: str) -> None:
        """Adds a signal that speaks for the cause."""
        self.supporting.append(Evidence(signal, value, unit, threshold, text))

    def oppose(self, signal: str, value: float, unit: str, threshold: float | None, text: str) -> None:
        """Adds a signal that speaks against it."""
        self.opposing.append(Evidence(signal, value, unit, threshold, text))

    def inform(self, signal: str, value: float, unit: str, text: str) -> None:
        """Adds a number worth knowing that decides nothing."""
        self.context.append(Evidence(signal, value, unit, None, text))

    @property
    def weight(self) -> int:
        """Signals for it less signals against it."""
        return len(self.supporting) - len(self.opposing)

    @property
    def confidence(self) -> Confidence:
        """`high` takes two independent signals, one alone is `low`; each that contradicts costs a level."""
        if not self.supporting:
            return "low"
        level = (2 if len(self.supporting) >= 2 else 0) - len(self.opposing)
        return LEVELS[max(0, min(level, LEVELS.index(self.ceiling)))]
