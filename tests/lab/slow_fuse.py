"""A slow FUSE file system, spoken to the kernel directly, and a slow disk: a loop device on a file of it.

It shows the plain files of one directory (include/uapi/linux/fuse.h, protocol 7.31). Each read takes `--read-ms`, and
all reads together get `--mb-per-s`; `--parallel` of them are served at once. With `--disk FILE` the mount lives in a
mount namespace of its own and FILE becomes a loop device, whose name is printed: to everybody else that is a disk with
a real limit. Run it as a module; it prints one line when it is ready and ends on SIGTERM.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

CLONE_NEWNS = 0x20000
MS_PRIVATE_RECURSIVE = 0x44000
MNT_DETACH = 2

_ROOT = 1
_HEAD = struct.Struct("<IIQQIIIHH")
_ATTRIBUTES = struct.Struct("<6Q3I7I")
_MAX_PAGES_FLAG = 1 << 22
_ASYNC_READ, _ASYNC_DIRECT = 1 << 0, 1 << 15
_LOOKUP, _FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _STATFS, _RELEASE = 1, 2, 3, 4, 14, 15, 16, 17, 18
_FSYNC, _FLUSH, _INIT, _OPENDIR, _READDIR, _RELEASEDIR, _INTERRUPT, _DESTROY, _BATCH_FORGET = (
    20, 25, 26, 27, 28, 29, 36, 38, 42,
)  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    """mount(2). Raises `OSError`."""
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def own_mounts() -> None:
    """From now on this process's mounts are its own."""
    if _libc.unshare(CLONE_NEWNS):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    mount("none", "/", "none", MS_PRIVATE_RECURSIVE, "")


class SlowFiles:
    """The file system: one directory's files, with a pace."""

    def __init__(self, directory: Path, read_ms: float, mb_per_s: float, cached: bool) -> None:
        self._pause = read_ms / 1000
        self._rate = mb_per_s * 1e6
        self._cached = cached
        self._lock = threading.Lock()
        self._free_at = 0.0
        self._paths = sorted(path for path in directory.iterdir() if path.is_file())
        self._ids = {path.name.encode(): number for number, path in enumerate(self._paths, _ROOT + 1)}
        self._files = [os.open(path, os.O_RDWR) for path in self._paths]
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)

    def mount(self, point: Path, name: str) -> None:
        """Mounts it; `serve` must run for it to answer."""
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other,max_read=1048576"
        mount(name, str(point), "fuse.slow", 0, options)

    def serve(self) -> None:
        """Answers requests until the file system is unmounted."""
        while True:
            try:
                request = os.read(self.device, (1 << 20) + 8192)
            except InterruptedError:
                continue
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, opcode, unique, node, *_ = _HEAD.unpack_from(request)
            if opcode in (_FORGET, _BATCH_FORGET, _INTERRUPT):
                continue
            answer = self._answer(opcode, node, request[_HEAD.size :])
            body, code = (b"", -answer) if isinstance(answer, int) else (answer, 0)
            try:
                os.write(self.device, struct.pack("<IiQ", 16 + len(body), code, unique) + body)
            except OSError:
                continue

    def _answer(self, opcode: int, node: int, body: bytes) -> bytes | int:
        if opcode == _INIT:
            flags = _MAX_PAGES_FLAG | _ASYNC_READ | _ASYNC_DIRECT
            return struct.pack("<IIIIHHIIHH8I", 7, 31, 1 << 17, flags, 64, 48, 1 << 20, 1, 256, 0, *[0] * 8)
        if opcode == _LOOKUP:
            found = self._ids.get(body.split(b"\0")[0])
            if found is None:
                return errno.ENOENT
            return struct.pack("<4Q2I", found, 0, 3600, 3600, 0, 0) + self._attributes(found)
        if opcode in (_GETATTR, _SETATTR):
            return struct.pack("<QII", 3600, 0, 0) + self._attributes(node)
        if opcode in (_OPEN, _OPENDIR):
            return struct.pack("<QII", node, 2 if self._cached and opcode == _OPEN else 0, 0)
        if opcode == _READ:
            return self._read(node, body)
        if opcode == _WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            self._take_time(size)
            os.pwrite(self._files[node - 2], body[40 : 40 + size], offset)
            return struct.pack("<II", size, 0)
        if opcode == _READDIR:
            return self._names(body)
        if opcode == _STATFS:
            return struct.pack("<5Q4I6I", 1 << 20, 1 << 19, 1 << 19, 1000, 500, 4096, 255, 4096, 0, *[0] * 6)
        if opcode in (_RELEASE, _RELEASEDIR, _FLUSH, _FSYNC, _DESTROY):
            return b""
        return errno.ENOSYS

    def _read(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        self._take_time(size)
        return os.pread(self._files[node - 2], size, offset)

    def _take_time(self, size: int) -> None:
        wake = time.monotonic() + self._pause
        if self._rate:
            with self._lock:
                self._free_at = max(self._free_at, time.monotonic()) + size / self._rate
                wake = max(wake, self._free_at)
        time.sleep(max(0.0, wake - time.monotonic()))

    def _attributes(self, node: int) -> bytes:
        if node == _ROOT:
            return _ATTRIBUTES.pack(1, 4096, 8, *[0] * 6, 0o40755, 2, 0, 0, 0, 4096, 0)
        size = os.fstat(self._files[node - 2]).st_size
        return _ATTRIBUTES.pack(node, size, -(-size // 512), *[0] * 6, 0o100644, 1, 0, 0, 0, 4096, 0)

    def _names(self, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        answer = b""
        for number, name in list(enumerate(self._ids, 1))[offset:]:
            entry = struct.pack("<QQII", number + 1, number, len(name), 8) + name
            entry += b"\0" * (-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer


def main() -> int:
    """Mounts, serves, and says so."""
    parser = argparse.ArgumentParser(prog="slow_fuse", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("mount_point", type=Path)
    parser.add_argument("--read-ms", type=float, default=0.0)
    parser.add_argument("--mb-per-s", type=float, default=0.0)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--disk", metavar="FILE", help="make a loop device of this file of the directory")
    options = parser.parse_args()
    if options.disk:
        own_mounts()
    files = SlowFiles(options.directory, options.read_ms, options.mb_per_s, not options.disk)
    files.mount(options.mount_point, "slow")
    for _ in range(options.parallel):
        threading.Thread(target=files.serve, daemon=True).start()
    said = "ready"
    if options.disk:
        command = ["losetup", "--find", "--show", "--direct-io=on", str(options.mount_point / options.disk)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    print(said, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    if options.disk:
        subprocess.run(["losetup", "--detach", said], check=False, capture_output=True)
    _libc.umount2(str(options.mount_point).encode(), MNT_DETACH)
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main())
