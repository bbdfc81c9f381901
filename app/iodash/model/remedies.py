"""What a person can do so that iodash sees more: sentences that several places say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iodash.model.sample import Host

SYS_HIDDEN = "/sys is hidden"
"""How every sentence begins that says so."""

OTHERS_HIDDEN = "Other users' processes are hidden"
"""How the sentence begins that says so; what to do follows after its first full stop."""

SEE_THE_HOST = "docker run --pid=host shows those of the whole host"
"""What brings the processes outside of a container into sight."""

_CONTAINER_FLAGS = "docker run --user root --cap-add SYS_PTRACE --pid=host"


def see_into_others(host: Host) -> str:
    """What lets iodash read the I/O and waits of other users' processes (ptrace(2), access mode checking)."""
    if host.may_trace:
        return "the kernel protects it even from root"
    if host.container is not None:
        return f"start the container with {_CONTAINER_FLAGS}"
    return f"run as root, or in a container with {_CONTAINER_FLAGS}"


def sys_is_hidden(notes: Iterable[str]) -> bool:
    """Whether one of a frame's notes says so."""
    return any(note.startswith(SYS_HIDDEN) for note in notes)
