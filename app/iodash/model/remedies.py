"""What a person can do so that iodash sees more: sentences that several places say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iodash.model.sample import Host

SYS_HIDDEN = "/sys is hidden"
"""How every sentence begins that says so."""

SEE_THE_HOST = "docker run --pid=host shows those of the whole host"
"""What brings the processes outside of a container into sight."""

_CONTAINER_FLAGS = "docker run --user root --cap-add SYS_PTRACE --pid=host"

SEE_INTO_OTHERS = f"run as root, or in a container with {_CONTAINER_FLAGS}"
"""What lets iodash read the I/O and waits of other users' processes, where nothing is known of the host."""


def see_into_others(host: Host) -> str:
    """What lets iodash read the I/O and waits of other users' processes (ptrace(2), access mode checking)."""
    if host.may_trace:
        return "the kernel protects it even from root"
    if host.container is not None:
        return f"start the container with {_CONTAINER_FLAGS}"
    return SEE_INTO_OTHERS


def see_the_machine(host: Host) -> str:
    """Why nothing but processes is in sight, and what shows the rest (proc(5), subset)."""
    return (
        f"{host.procfs} shows processes only (subset=pid): mount -t proc proc {host.procfs}, "
        "or mount the host's and name it with --procfs"
    )


def see_hidden_processes(host: Host) -> str:
    """What brings the processes of other users into sight that a mount option hides (proc(5), hidepid)."""
    return f"run as root, or: mount -o remount,hidepid=0 {host.procfs}"
