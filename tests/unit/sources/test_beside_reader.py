"""Reading beside the sampler: answers in order, what hangs left behind, errors to who asks."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from iodash.sources.local.beside import BesideReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from iodash.sources.local.beside import Answer

PATIENCE_S = 20.0


def collect_until(
    reader: BesideReader[str, str], done: Callable[[list[Answer[str, str]]], bool]
) -> list[Answer[str, str]]:
    answers: list[Answer[str, str]] = []
    deadline = time.monotonic() + PATIENCE_S
    while not done(answers) and time.monotonic() < deadline:
        answers += reader.collect(0.05)
    return answers


def test_answers_come_in_the_order_of_the_questions_and_nothing_is_told_of_nobody() -> None:
    def read(key: str) -> Iterator[str]:
        if key != "nobody":
            yield "part"
            yield key.upper()

    reader = BesideReader("test", read, PATIENCE_S)
    reader.ask(["a", "nobody", "b"])
    reader.ask([])
    reader.ask(["c"])
    assert reader.busy
    assert reader.collect(PATIENCE_S) == [("a", "A", True), ("b", "B", True), ("c", "C", True)]
    assert not reader.busy
    assert reader.collect() == []
    reader.close()


def test_what_hangs_is_left_behind_with_its_part_and_answers_when_it_can() -> None:
    free = threading.Event()
    begun: list[str] = []

    def read(key: str) -> Iterator[str]:
        begun.append(key)
        if key != "mute":
            yield "part"
        if key in ("stuck", "mute"):
            free.wait(PATIENCE_S)
        yield "whole"

    reader = BesideReader("test", read, 0.05)
    reader.ask(["a", "stuck", "b", "mute"])
    reader.ask(["c"])
    answers = collect_until(reader, lambda answers: any(answer.key == "c" for answer in answers))
    assert answers == [("a", "whole", True), ("stuck", "part", False), ("b", "whole", True), ("c", "whole", True)]
    reader.ask(["stuck", "mute"])
    assert not reader.busy, "what hangs is not asked for again"
    free.set()
    late = collect_until(reader, lambda answers: len(answers) == 2)
    assert sorted(late) == [("mute", "whole", True), ("stuck", "whole", True)]
    assert begun == ["a", "stuck", "b", "mute", "c"]
    reader.close()


def test_an_error_reaches_who_asked() -> None:
    def read(key: str) -> Iterator[str]:
        yield "part"
        raise ValueError(key)

    reader = BesideReader("test", read, PATIENCE_S)
    reader.ask(["a"])
    with pytest.raises(ValueError, match="a"):
        reader.collect(PATIENCE_S)
    reader.close()
    reader.ask(["b"])
    assert reader.collect(PATIENCE_S) == []
