"""What a counter counted between two readings. No other module takes the difference of two counters."""

from __future__ import annotations

from iodash.model.missing import Count, Missing, Number

WRAP_32 = 1 << 32


def delta(old: Count, new: Count) -> Count:
    """How much a 64-bit counter grew. One that fell was reset: there is no such thing as its wrap."""
    if isinstance(new, Missing):
        return new
    if isinstance(old, Missing):
        return old
    return new - old if new >= old else Missing.RESET


def delta_32(old: Count, new: Count, limit: float) -> Count:
    """How much a counter that the kernel prints as 32 bits grew, across a wrap.

    A fall is a wrap only when the growth it stands for is at most `limit`, else it was a reset.
    """
    if isinstance(new, Missing):
        return new
    if isinstance(old, Missing):
        return old
    if new >= old:
        return new - old
    grown = new - old + WRAP_32
    return grown if 0 <= grown <= limit else Missing.RESET


def per_second(amount: Number, seconds: float) -> Number:
    """`amount` spread over `seconds`; not measured where no time has passed."""
    return amount / seconds if seconds > 0 else Missing.NOT_MEASURED


def rate(old: Count, new: Count, seconds: float) -> Number:
    """Growth of a 64-bit counter a second."""
    return per_second(delta(old, new), seconds)


def ratio(part: Number, whole: Number) -> Number:
    """`part / whole`, `no_io` where the whole is 0: the mean of nothing is not 0."""
    if isinstance(whole, Missing):
        return whole
    return part / whole if whole else Missing.NO_IO


def cache_hit_percent(asked: Number, fetched: Number) -> Number:
    """Share of the bytes `asked` for by calls that storage did not fetch; `no_io` where it fetched more than that."""
    if isinstance(asked, Missing) or isinstance(fetched, Missing):
        return asked + fetched
    return Missing.NO_IO if asked == 0 or asked < fetched else 100 * (1 - fetched / asked)
