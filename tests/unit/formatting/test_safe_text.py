from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from iodash.formatting.cells import cell_width
from iodash.formatting.safe_text import safe_command, safe_text

ANY_TEXT = st.text(alphabet=st.characters(), max_size=60)
MANY_MARKS = st.text(alphabet="ae\u0301\u20dd\u0489\u0903\u200d\ufe0f\u0e31", max_size=40)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"python3", "python3"),
        (b"\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        (b"a\nb\tc\rd", "a\\nb\\tc\\rd"),
        (b"[/x] [red]", "[/x] [red]"),
        ("\u202egnp.exe\u2066".encode(), "\\u202egnp.exe\\u2066"),
        (b"caf\xc3\xa9 \xff\xfe", "café \\xff\\xfe"),
        ("日本語".encode(), "日本語"),
        ("line\u2028line\u2029".encode(), "line\\u2028line\\u2029"),
        ("e\u0301\u0301\u0301".encode(), "e\u0301\u0301\\u0301"),
        ("e\u20dd\u20dd\u20dd\u20dd".encode(), "e\u20dd\u20dd\\u20dd\\u20dd"),
        ("\u2764\ufe0f".encode(), "\u2764\\ufe0f"),
        ("\U0001f1e9\U0001f1ea".encode(), "\\U0001f1e9\\U0001f1ea"),
        ("\x85\x9b31m".encode(), "\\x85\\x9b31m"),
        ("\ue000\U000f0000".encode(), "\\ue000\\U000f0000"),
        (b"\\x1b", "\\x1b"),
        ("\udcff", "\\xff"),
        (b"", ""),
    ],
)
def test_what_could_do_harm_is_written_as_an_escape(raw: bytes | str, shown: str) -> None:
    assert safe_text(raw) == shown


@given(ANY_TEXT | MANY_MARKS | st.binary(max_size=60))
def test_nothing_that_a_terminal_obeys_comes_through(raw: str | bytes) -> None:
    text = safe_text(raw)
    assert not [character for character in text if unicodedata.category(character)[0] == "C"]
    assert not {"\u2028", "\u2029"} & set(text)
    assert all(wcwidth(character) >= 0 for character in text)


@given(ANY_TEXT | MANY_MARKS | st.binary(max_size=60))
def test_what_is_safe_stays_as_it_is(raw: str | bytes) -> None:
    text = safe_text(raw)
    assert safe_text(text, limit=len(text)) == text
    assert safe_text(text.encode(), limit=len(text)) == text


@given(ANY_TEXT | MANY_MARKS)
def test_a_flood_of_marks_can_not_hide_a_row(raw: str) -> None:
    text = safe_text(raw)
    assert len(text) <= 3 * cell_width(text) + 2


def test_the_input_is_bounded() -> None:
    assert safe_text("x" * 100_000) == "x" * 4096
    assert safe_text(b"x" * 100_000, limit=10) == "x" * 10
    assert safe_text("語".encode() * 100_000, limit=10) == "語" * 10


def test_a_command_line_is_one_line_of_its_arguments() -> None:
    assert safe_command(b"python3\0train.py\0--name=a b\0\0") == "python3 train.py --name=a b"
    assert safe_command(b"sh\0-c\0a\nb\0") == "sh -c a\\nb"
    assert safe_command(b"") == ""
    assert len(safe_command(b"a\0" * 100_000)) == 8192
