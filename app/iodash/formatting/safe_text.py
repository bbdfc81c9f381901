r"""The one door through which text from outside enters: names, command lines, mount points, device models.

Whatever a terminal, a markup parser or a line of output could take for more than a letter is written as a backslash
escape (`\x1b`, `\n`, `\u202e`), so that it can be seen and does nothing. Behind this door nobody escapes anything.
"""

from __future__ import annotations

import re
import unicodedata

_PLAIN = re.compile(r"[ -~]*")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MARKS_IN_A_ROW = 2


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8, as os.fsdecode carries it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_harmless(character: str, marks_before: int) -> bool:
    category = unicodedata.category(character)
    if category[0] == "M":
        variation = "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100"
        return not variation and marks_before < _MARKS_IN_A_ROW
    if category in ("Zl", "Zp") or category[0] == "C":
        return False
    # Regional indicators, skin tones and Hangul jamo change the width of their neighbours in some terminals.
    return not ("\U0001f1e6" <= character <= "\U0001f1ff" or "\U0001f3fb" <= character <= "\U0001f3ff") and not (
        "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7fb"
    )


def safe_text(raw: bytes | str, limit: int = 4096) -> str:
    r"""`raw` as text that is safe to show anywhere, at most `limit` characters of input.

    Bytes are read as UTF-8; bytes that are none show as `\xNN`. Control characters, format characters (bidi marks,
    joiners), line separators, unassigned and private code points and floods of combining marks are escaped. The result
    holds no character of negative width and no newline.
    """
    text = raw[: limit * 4].decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
    text = text[:limit]
    if _PLAIN.fullmatch(text):
        return text
    parts: list[str] = []
    marks = 0
    for character in text:
        if " " <= character <= "~":
            parts.append(character)
            marks = 0
        elif _is_harmless(character, marks):
            parts.append(character)
            marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        else:
            parts.append(_escape(character))
    return "".join(parts)


def safe_command(raw: bytes, limit: int = 8192) -> str:
    """A command line as /proc/PID/cmdline holds it (arguments that end in NUL), one line of safe text."""
    return safe_text(raw.rstrip(b"\0").replace(b"\0", b" "), limit)
