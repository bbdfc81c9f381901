"""Writing that loses nothing: not when a signal cuts a write short, nor where a pipe is set not to block."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO


def write_whole(stream: BinaryIO, content: bytes) -> None:
    """Writes all of `content` to an unbuffered stream. Raises OSError."""
    rest = memoryview(content)
    while rest:
        count: int | None = stream.write(rest)
        if count is None:
            select.select([], [stream], [])
        else:
            rest = rest[count:]
