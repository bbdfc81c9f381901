"""Why something could not be written, and what to do about it."""

from __future__ import annotations

import errno

_MAY_NOT = "choose a place where you may write"
_NO_ROOM = "make room, or choose a place with room"
_REMEDIES = {
    errno.ENOENT: "make its folder first, or choose another place",
    errno.ENOTDIR: "one of its folders is a file, choose another place",
    errno.EISDIR: "name a file in it",
    errno.ENAMETOOLONG: "choose a shorter name",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _MAY_NOT),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _NO_ROOM),
}


def reason(error: Exception) -> str:
    """Why it failed, in the system's words: `No such file or directory`."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def with_remedy(error: Exception) -> str:
    """The reason and what to do: `No space left on device; make room, or choose a place with room`."""
    number = error.errno if isinstance(error, OSError) else None
    return f"{reason(error)}; {_REMEDIES.get(number or 0, 'choose another place')}"
