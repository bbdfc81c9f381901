"""NVIDIA's binding, guarded: whatever goes wrong in a call becomes one exception with NVML's code.

Runs in the worker alone. Imports as little as it can, since the worker is to stay small.
"""

from __future__ import annotations

import ctypes
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
OPERATING_SYSTEM = 17
VERSION_MISMATCH = 18
NO_DATA = 21
ARGUMENT_VERSION_MISMATCH = 25
UNKNOWN = 999

LOST = frozenset({15, 16, 28})
"""Codes after which a handle must not be used again: the GPU is lost, needs a reset, is not found."""

UNSUPPORTED = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH})
EMPTY = frozenset({0, NOT_FOUND, NO_DATA})
"""Codes by which a list says that nothing is in it. 0 is the binding's way to raise a success."""

NAMES = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    4: "Insufficient Permissions",
    6: "Not Found",
    7: "Insufficient Size",
    9: "Driver Not Loaded",
    10: "Timeout",
    12: "NVML Shared Library Not Found",
    13: "Function Not Found",
    15: "GPU is lost",
    16: "GPU requires reset",
    17: "The operating system blocked the request",
    18: "Driver/library version mismatch",
    21: "No data",
    25: "Argument version mismatch",
    28: "GPU not found",
    999: "Unknown Error",
}


class NvmlError(Exception):
    """An NVML call that gave no answer."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    @property
    def words(self) -> str:
        """NVML's own words and its code."""
        return f"{NAMES.get(self.code, 'NVML error')} ({self.code})"

    @property
    def reason(self) -> str:
        """Why a field is missing, as the frame's schema words it."""
        if self.code in UNSUPPORTED:
            return "unsupported"
        if self.code == NO_PERMISSION:
            return "no_permission"
        return "gone" if self.code in LOST else "not_measured"


class Nvml:
    """Calls of the binding by name. A name that this binding or this driver does not have is `FUNCTION_NOT_FOUND`."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self._errors = (module.NVMLError,)
        self._mismatch = getattr(module, "NVMLLibraryMismatchError", module.NVMLError)

    def call(self, name: str, *arguments: Any) -> Any:
        """The call's value. A name that is no UTF-8 comes with its bytes escaped. Raises `NvmlError`."""
        function = getattr(self.module, name, None)
        if function is None:
            raise NvmlError(FUNCTION_NOT_FOUND)
        try:
            value = function(*arguments)
        except self._errors as error:
            raise NvmlError(error.value) from None
        except self._mismatch:  # the binding wants a function that this driver lacks; not one of its own errors
            raise NvmlError(FUNCTION_NOT_FOUND) from None
        except UnicodeDecodeError as error:
            value = error.object
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def load(library: str) -> Nvml | str:
    """The binding, or a sentence on why there is none. `library` is loaded by its path first, unless it is empty."""
    if library:
        try:
            ctypes.CDLL(library)
        except OSError as error:
            return f"{library} can't be loaded: {error}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pynvml
        except ImportError:
            return "the Python package nvidia-ml-py is not installed"
    if not hasattr(pynvml, "_nvmlGetFunctionPointer") or not str(pynvml.__file__).endswith("pynvml.py"):
        return f"another package took the place of nvidia-ml-py: {pynvml.__file__} (remove it, keep nvidia-ml-py)"
    return Nvml(pynvml)
