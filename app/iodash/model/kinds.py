"""Words of the model that share a meaning: apart from the rows, so that the screen can start without these."""

from __future__ import annotations

NETWORK_KINDS: frozenset[str] = frozenset({"nfs", "cifs", "fuse"})
"""Device kinds that are mounts, served by no block device of this host."""

REMOTE_KINDS: frozenset[str] = NETWORK_KINDS | {"other"}
"""The same with the network file systems that count nothing, such as Lustre."""

HARD_THROTTLES: frozenset[str] = frozenset({"hw_slowdown", "sw_thermal", "hw_thermal", "power_brake"})
"""Throttle words that stand for heat or power; `power_cap` at full load is normal."""
