"""Sentences about what this host hides from iodash, each with the exact remedy."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from iodash.model.remedies import OTHERS_HIDDEN, SEE_THE_HOST, see_into_others
from iodash.sources.local.kept_file import read_bytes
from iodash.sources.local.mounts import MountTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from iodash.model.sample import Host

_LOOK_AGAIN_S = 30.0
_VISIBLE_TO_ALL = ("0", "off")


class Hidden:
    """Says what is hidden. iodash itself changes none of it."""

    def __init__(self, procfs: Path) -> None:
        self._procfs = procfs
        self._hidepid = ""
        self._look_at = 0.0
        self._accounting: bool | None = None
        self._switched_on = False

    def notes(self, host: Host, unreadable: int, processes: int, lack: str = "") -> tuple[str, ...]:
        """One sentence for each kind of thing that is hidden.

        Args:
            host: what is known of the machine.
            unreadable: of how many processes the I/O may not be read.
            processes: how many there are in all.
            lack: what to do about a shortage of descriptors, empty without one.
        """
        if self._accounting is False and host.delay_accounting:
            self._switched_on = True
        self._accounting = host.delay_accounting
        return tuple(self._sentences(host, unreadable, processes, lack))

    def _sentences(self, host: Host, unreadable: int, processes: int, lack: str) -> Iterator[str]:
        if lack:
            yield f"Parts may be missing: {lack}."
        hidepid = self._hidden_processes()
        if hidepid:
            yield (
                f"{OTHERS_HIDDEN}: {self._procfs} is mounted with hidepid={hidepid}. "
                f"Run as root, or: mount -o remount,hidepid=0 {self._procfs}"
            )
        if unreadable:
            yield f"The I/O of {unreadable} of {processes} rows may not be read: {see_into_others(host)}."
        if host.pid_namespace:
            yield f"Only this container's processes are in sight: {SEE_THE_HOST}."
        if host.delay_accounting is False:
            yield (
                "IO% is off: sysctl kernel.task_delayacct=1 switches it on for processes that are started afterwards."
            )
        elif self._switched_on:
            yield "IO% counts only for processes that were started after kernel.task_delayacct was switched on."

    def _hidden_processes(self) -> str:
        """The `hidepid` of the mount where it hides something from this process, looked at now and then (proc(5))."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _LOOK_AGAIN_S
            self._hidepid = self._read_hidepid()
        return self._hidepid

    def _read_hidepid(self) -> str:
        if read_bytes(self._procfs / "1/stat") is not None:
            return ""
        mount = MountTable.parse(read_bytes("/proc/self/mountinfo") or b"").find(os.path.realpath(self._procfs))
        if mount is None or mount.file_system != "proc":
            return ""
        options = dict(option.partition("=")[::2] for option in mount.options.split(","))
        value = options.get("hidepid", "0")
        return "" if value in _VISIBLE_TO_ALL else value
