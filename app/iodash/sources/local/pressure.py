"""Pressure stall information (Documentation/accounting/psi.rst): how long tasks waited for CPU, I/O and memory."""

from __future__ import annotations

from iodash.model.missing import Count, Missing


def parse_pressure(content: bytes | Missing) -> tuple[Count, Count]:
    """The `total` of the `some` and of the `full` line in microseconds.

    A line that the kernel doesn't print, as `full` of the CPU before Linux 5.13, is unsupported.
    """
    if isinstance(content, Missing):
        return content, content
    totals: dict[bytes, int] = {}
    for line in content.splitlines():
        kind, _, rest = line.partition(b" ")
        _, found, total = rest.partition(b"total=")
        if found and total.isdigit():
            totals[kind] = int(total)
    return totals.get(b"some", Missing.UNSUPPORTED), totals.get(b"full", Missing.UNSUPPORTED)
