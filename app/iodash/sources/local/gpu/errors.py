"""The driver's error reports (Xid) of one GPU, which come as events."""

from __future__ import annotations

from iodash.sources.local.gpu.nvml import NOT_FOUND, NOT_SUPPORTED, TIMEOUT, Nvml, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_XID_EVENT = 8
"""nvmlEventTypeXidCriticalError."""


class ErrorReports:
    """The last Xid since the worker began to listen. A driver that does not let it listen makes it unsupported."""

    def __init__(self, nvml: Nvml, handle: Any) -> None:
        self._nvml = nvml
        self._events: Any = None
        self._xid: int | None = None
        try:
            events = nvml.call("nvmlEventSetCreate")
            nvml.call("nvmlDeviceRegisterEvents", handle, _XID_EVENT, events)
        except NvmlError:
            return
        self._events = events

    def read(self) -> int:
        """The last error's number, without waiting for one. Raises `NvmlError`: not found while there was none."""
        if self._events is None:
            raise NvmlError(NOT_SUPPORTED)
        try:
            self._xid = int(self._nvml.call("nvmlEventSetWait_v2", self._events, 0).eventData)
        except NvmlError as failure:
            if failure.code not in (TIMEOUT, NOT_FOUND):
                raise
        if self._xid is None:
            raise NvmlError(NOT_FOUND)
        return self._xid
