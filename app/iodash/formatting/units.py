"""Numbers as short text whose width doesn't jump: at most four significant digits, the unit letter last."""

from __future__ import annotations

from enum import Enum

from iodash.model.missing import Missing, Number

DASH = "-"
"""Stands for a number that is not known; its reason is within reach elsewhere."""

_BYTE_LETTERS = "BKMGTPE"
_BIT_LETTERS = "bkMGTPE"


class Units(Enum):
    """How byte amounts are written. `BITS` writes network rates in bits and all else as `IEC`."""

    IEC = "IEC"
    SI = "SI"
    BITS = "bits"
    KIB = "KiB"

    @property
    def next(self) -> Units:
        """The next style of the `b` key: IEC, SI, bits for the network, and round again."""
        return {Units.IEC: Units.SI, Units.SI: Units.BITS}.get(self, Units.IEC)


def _digits(value: float) -> str:
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}"


def _scaled(value: float, base: int, letters: str) -> str:
    if value < 0.5:
        return "0"
    if value < 999.5 or (base == 1024 and value < 1023.5):
        return f"{value:.0f}{letters[0]}" if value >= 9.95 or value == int(value) else f"{value:.1f}{letters[0]}"
    step = 0
    limit = base - 0.5
    while value >= limit and step < len(letters) - 1:
        value /= base
        step += 1
    return _digits(value) + letters[step]


def byte_amount(value: Number, units: Units = Units.IEC) -> str:
    """Bytes (or bytes a second) in at most five cells: `0`, `812B`, `9.99K`, `24.0M`, `1023M`, `1.88G`.

    What is next to nothing, less than half a byte, reads as `0`. Powers of 1024, of 1000 with `Units.SI`; with
    `Units.KIB` whole KiB without a letter, `<1` up to half of one.
    """
    if isinstance(value, Missing):
        return DASH
    if units is Units.KIB:
        return "<1" if 0.5 <= value <= 512 else f"{value / 1024:.0f}"
    return _scaled(value, 1000 if units is Units.SI else 1024, _BYTE_LETTERS)


def bytes_in_words(value: Number) -> str:
    """Bytes as a sentence says them, with the whole unit: `812 B`, `14.4 MiB`, `1.88 GiB`; powers of 1024 always.

    The letter of `byte_amount` needs a heading or a table beside it, and means another power after the `b` key; a
    sentence goes into logs and files where neither is known.
    """
    if isinstance(value, Missing):
        return DASH
    text = byte_amount(value)
    number, letter = (text, "B") if text == "0" else (text[:-1], text[-1])
    return f"{number} B" if letter == "B" else f"{number} {letter}iB"


def byte_rate_in_words(value: Number) -> str:
    """Bytes a second as a sentence says them: `14.4 MiB/s`."""
    return DASH if isinstance(value, Missing) else f"{bytes_in_words(value)}/s"


def network_rate(value: Number, units: Units = Units.IEC) -> str:
    """Bytes a second of a network, in bits (powers of 1000) with `Units.BITS`, else as `byte_amount`."""
    if isinstance(value, Missing):
        return DASH
    if units is Units.BITS:
        return _scaled(value * 8, 1000, _BIT_LETTERS)
    return byte_amount(value, units)


def count(value: Number, units: Units = Units.IEC) -> str:
    """A count (or counts a second) in at most five cells: `0`, `0.3`, `14`, `999`, `12.1k`, `1.20M`."""
    if isinstance(value, Missing):
        return DASH
    if value < 999.5:
        if 0.05 <= value < 9.95 and value != int(value):
            return f"{value:.1f}"
        return f"{value:.0f}"
    return _scaled(value, 1000, " kMGTPE")


def whole(value: Number, units: Units = Units.IEC) -> str:
    """A whole number, written out."""
    return DASH if isinstance(value, Missing) else f"{value:.0f}"


def percent(value: Number, units: Units = Units.IEC) -> str:
    """A share in whole percent. Above 0 it never reads as `0`."""
    if isinstance(value, Missing):
        return DASH
    return "<1" if 0 < value <= 0.5 else f"{value:.0f}"


def percent_tenths(value: Number, units: Units = Units.IEC) -> str:
    """A share with one decimal, as iostat writes `%util`; whole from 1000 on."""
    if isinstance(value, Missing):
        return DASH
    return f"{value:.1f}" if value < 999.95 else f"{value:.0f}"


def milliseconds(value: Number, units: Units = Units.IEC) -> str:
    """A wait in ms in at most five cells: `0.070`, `5.21`, `63.2`, `1024`; from 10 s on in seconds: `12.3s`."""
    if isinstance(value, Missing):
        return DASH
    if value < 0.0005:
        return "0"
    if value < 0.0995:
        return f"{value:.3f}"
    if value < 9999.5:
        return _digits(value)
    seconds = value / 1000
    return f"{seconds:.1f}s" if seconds < 99.95 else f"{seconds:.0f}s"


def decimal(value: Number, units: Units = Units.IEC) -> str:
    """A plain number with up to two decimals, such as a queue length or a load."""
    return DASH if isinstance(value, Missing) else _digits(value)


def duration(seconds: float) -> str:
    """A span for people: `8 s`, `2 min 5 s`, `1 h 3 min`."""
    whole_seconds = int(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return f"{whole_seconds // 60} min {whole_seconds % 60} s"
    return f"{whole_seconds // 3600} h {whole_seconds % 3600 // 60} min"


def ago(seconds: float) -> str:
    """A moment in the past on a time axis, without the parts that are zero: `-8 s`, `-2 min`, `-1 h 30 min`."""
    return "-" + duration(seconds).replace(" 0 s", "").replace(" 0 min", "")
