"""What a host hides from iodash, and how to show it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostCheck:
    """One thing that iodash needs to see. `status` begins with `ok` or says what is wrong; `remedy` is empty when ok.

    The remedy is for a person to decide on: iodash changes nothing itself.
    """

    what: str
    status: str
    remedy: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is hidden here."""
        return self.status == "ok" or self.status.startswith("ok,")
