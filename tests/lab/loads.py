"""Loads that are no training: `python -m tests.lab.loads read PATH THREADS` or `burn PROCESSES` or `write PATH`."""

from __future__ import annotations

import mmap
import os
import random
import sys
import threading
import time
from pathlib import Path

from tests.lab.trainer import burn, die_with_parent, write_checkpoint

_BLOCK = 1 << 20


def read(directory: Path) -> None:
    """Reads the files of a directory past the page cache, for ever."""
    buffer = mmap.mmap(-1, _BLOCK)
    paths = sorted(directory.iterdir())
    while True:
        descriptor = os.open(random.choice(paths), os.O_RDONLY | os.O_DIRECT)
        try:
            while os.readv(descriptor, [buffer]):
                pass
        finally:
            os.close(descriptor)


def main() -> None:
    """Loads the machine until it is ended."""
    kind, what, *more = sys.argv[1:]
    if kind == "read":
        for _ in range(int(more[0])):
            threading.Thread(target=read, args=(Path(what),), daemon=True).start()
        time.sleep(3600)
    elif kind == "burn":
        for _ in range(int(what) - 1):
            if os.fork() == 0:
                die_with_parent()
                break
        burn(3600)
    else:
        while True:
            write_checkpoint(Path(what), 64 << 20)


if __name__ == "__main__":
    main()
