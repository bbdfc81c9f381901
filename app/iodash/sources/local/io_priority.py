"""The I/O scheduling class and level of a task (ioprio_get(2)), as ionice prints them."""

from __future__ import annotations

import ctypes
import platform

from iodash.model.missing import Missing, Text

_IOPRIO_GET = {
    "x86_64": 252,
    "i386": 290,
    "i686": 290,
    "aarch64": 31,
    "riscv64": 31,
    "loongarch64": 31,
    "ppc64le": 274,
    "s390x": 283,
}
_WHO_PROCESS = 1
_CLASS_SHIFT = 13
_CLASSES = {1: "rt", 2: "be", 3: "idle"}


def _load() -> ctypes._NamedFuncPointer | None:
    if platform.machine() not in _IOPRIO_GET:
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_int]
    return function


_syscall = _load()
_number = _IOPRIO_GET.get(platform.machine(), 0)


def io_priority(task: int, from_nice: str) -> Text:
    """The class and level of a process or thread: `be/4`, `rt/0`, `idle`.

    `from_nice` is what the kernel uses for a task that was given none.
    """
    if _syscall is None:
        return Missing.UNSUPPORTED
    value = _syscall(_number, _WHO_PROCESS, task)
    if value < 0:
        return Missing.NO_PERMISSION if ctypes.get_errno() in (1, 13) else Missing.GONE
    name = _CLASSES.get(value >> _CLASS_SHIFT)
    if name is None:
        return from_nice
    return name if name == "idle" else f"{name}/{value & 7}"
