"""A number that is not known, as a value that carries its reason."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable


class Missing(Enum):
    """Why a number is not known.

    A `Missing` takes part in arithmetic and stays what it is, so that formulas need no special cases: `Missing.NEW / 2`
    is `Missing.NEW`. Of two missing operands the left one wins. The values are the words of the JSON output.
    """

    NO_PERMISSION = "no_permission"
    OFF = "off"
    NEW = "new"
    GONE = "gone"
    RESET = "reset"
    NO_IO = "no_io"
    UNSUPPORTED = "unsupported"
    NOT_IN_CONTAINER = "not_in_container"
    NO_DRIVER = "no_driver"
    STARTING = "starting"
    NOT_MEASURED = "not_measured"

    @property
    def words(self) -> str:
        """The reason as it reads on the screen, such as `no permission`."""
        return self.value.replace("_", " ")

    def __add__(self, other: object) -> Missing:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__

    def __neg__(self) -> Missing:
        return self


Number: TypeAlias = float | Missing
"""A measured number, or why there is none."""

Count: TypeAlias = int | Missing
"""A measured whole number, or why there is none."""

Text: TypeAlias = str | Missing
"""A piece of text from the machine, or why there is none."""


def known(value: Number) -> float | None:
    """The number, or None where it is missing: for places that choose between the two."""
    return None if isinstance(value, Missing) else value


def or_zero(value: Number) -> float:
    """The number, or 0 where it is missing: only for sums that state elsewhere what they leave out."""
    return 0 if isinstance(value, Missing) else value


def sum_known(values: Iterable[Number], nothing: Number = 0.0) -> Number:
    """The sum of what is known; only where nothing is, the first reason; `nothing` where there are no values."""
    reason: Missing | None = None
    numbers: list[float] = []
    for value in values:
        if isinstance(value, Missing):
            reason = reason or value
        else:
            numbers.append(value)
    return float(sum(numbers)) if numbers else reason or nothing
