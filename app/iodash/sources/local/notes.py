"""Sentences about what this host hides from iodash, each with the exact remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodash.model.remedies import SEE_THE_HOST, SYS_HIDDEN, see_hidden_processes, see_into_others, see_the_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iodash.model.sample import Host


class Hidden:
    """Says what is hidden. iodash itself changes none of it."""

    def __init__(self) -> None:
        self._accounting: bool | None = None
        self._switched_on = False

    def notes(self, host: Host, unreadable: int, programs: int, lack: str = "") -> tuple[str, ...]:
        """One sentence for each kind of thing that is hidden.

        Args:
            host: what is known of the machine.
            unreadable: of how many programs the I/O may not be read; the kernel's own threads are none.
            programs: how many there are in all.
            lack: what to do about a shortage of descriptors, empty without one.
        """
        if self._accounting is False and host.delay_accounting:
            self._switched_on = True
        self._accounting = host.delay_accounting
        return tuple(self._sentences(host, unreadable, programs, lack))

    def _sentences(self, host: Host, unreadable: int, programs: int, lack: str) -> Iterator[str]:
        if lack:
            yield f"Parts may be missing: {lack}."
        if host.hidepid:
            yield (
                f"Other users' processes are hidden, {host.procfs} is mounted with hidepid={host.hidepid}: "
                f"{see_hidden_processes(host)}."
            )
        if unreadable:
            yield f"The I/O of {unreadable} of {programs} programs may not be read: {see_into_others(host)}."
        if host.pid_namespace:
            yield f"Only this container's processes are in sight: {SEE_THE_HOST}."
        if host.delay_accounting is False:
            yield (
                "IO% is off: sysctl kernel.task_delayacct=1 switches it on for processes that are started afterwards."
            )
        elif self._switched_on:
            yield "IO% counts only for processes that were started after kernel.task_delayacct was switched on."
        if host.only_processes:
            yield f"Nothing of the machine is in sight, {see_the_machine(host)}."
        if host.sysfs_hidden:
            yield (
                f"{SYS_HIDDEN}: which devices are disks, and so the machine's totals, is told by their names. "
                "Mount the host's /sys and name it with --sysfs."
            )
