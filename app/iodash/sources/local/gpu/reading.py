"""One reading of a GPU: values by field, and the reason for each that could not be had."""

from __future__ import annotations

from iodash.sources.local.gpu.nvml import LOST, NOT_FOUND, Nvml, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class GoneError(Exception):
    """The handle must not be used again."""

    def __init__(self, failure: NvmlError) -> None:
        super().__init__(failure.words)
        self.failure = failure


class Reading:
    """Calls on one handle, noted by field. A code that spoils the handle raises `GoneError`; nothing else is raised."""

    def __init__(self, nvml: Nvml, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._record: dict[str, Any] = {}
        self._missing: dict[str, str] = {}
        self._troubles: dict[str, NvmlError] = {}
        self._kept: dict[str, tuple[Any, str | None]] = {}

    def _begin(self) -> None:
        self._record = {}
        self._missing = {}
        self._troubles = {}

    def _keep(self, names: tuple[str, ...], fresh: tuple[str, ...]) -> None:
        """Notes the fresh values and fills in the others from before."""
        for name in names:
            if name in fresh:
                self._kept[name] = (self._record.get(name), self._missing.get(name))
            value, missing = self._kept.get(name, (None, "not_measured"))
            if value is not None:
                self._record[name] = value
                self._missing.pop(name, None)
            elif missing is not None:
                self._missing[name] = missing

    def _set(self, name: str, read: Callable[[], Any]) -> None:
        """Notes a value, or why there is none."""
        try:
            self._record[name] = read()
        except NvmlError as failure:
            self._fail(name, failure)

    def _fail(self, name: str, failure: NvmlError) -> None:
        if failure.code in LOST:
            raise GoneError(failure)
        self._troubles[name] = failure
        self._missing[name] = failure.reason

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._nvml.call(name, self._handle, *arguments)

    def _try(self, name: str, *arguments: Any) -> Any:
        """A value that can be done without. Raises `GoneError` alone."""
        try:
            return self._nvml.call(name, *arguments)
        except NvmlError as failure:
            if failure.code in LOST:
                raise GoneError(failure) from None
            return None

    def _within(self, value: Any, least: float, most: float) -> Any:
        """`value`, unless it is impossible: drivers use huge numbers for `blank`."""
        if not least <= value <= most:
            raise NvmlError(NOT_FOUND)
        return value

    def _gauge(self, name: str, call: str, arguments: tuple[int, ...], unit: float, least: float, most: float) -> None:
        self._set(name, lambda: self._within(self._call(call, *arguments) * unit, least, most))
