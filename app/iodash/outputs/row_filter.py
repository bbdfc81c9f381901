"""What a filter finds: a regular expression, or plain text, in what a process is known by."""

from __future__ import annotations

import re
import time
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from iodash.model.frame import ProcessRow

LIMIT_S = 0.25
"""How much CPU time a regular expression may take for the rows of one frame: some would never end."""

NOT_VALID = "it is no valid regular expression"
TOO_SLOW = "as a regular expression it takes too long"


class RowFilter:
    """Picks the rows whose name, command line, user, container, PID or TID hold a text, without regard to case.

    `literal_because` says why the text is searched literally though it looks like a regular expression: empty, it is no
    valid one, or it took too long. The last one shows only when it is used, and then stays.
    """

    def __init__(self, text: str) -> None:
        self.literal_because = ""
        self._text = text.casefold()
        self._search: Callable[[str, float], object] | None = None
        if re.escape(text) != text:
            self._search = _compiled(text)
            if self._search is None:
                self.literal_because = NOT_VALID

    def pick(self, rows: Iterable[ProcessRow]) -> list[ProcessRow]:
        """The rows that hold it, in their order."""
        rows = list(rows)
        if self._search is not None:
            try:
                return self._find(rows, self._search)
            except TimeoutError:
                self._search = None
                self.literal_because = TOO_SLOW
        return [row for row in rows if any(self._text in words.casefold() for words in _known_by(row))]

    def _find(self, rows: list[ProcessRow], search: Callable[[str, float], object]) -> list[ProcessRow]:
        end = time.thread_time() + LIMIT_S
        found = []
        for row in rows:
            left = end - time.thread_time()
            if left <= 0:
                raise TimeoutError
            if any(search(words, left) for words in _known_by(row)):
                found.append(row)
        return found


@lru_cache(maxsize=64)
def row_filter(text: str) -> RowFilter:
    """The filter for `text`, the same one as long as it is in use, so that it remembers that it took too long."""
    return RowFilter(text)


def _known_by(row: ProcessRow) -> Iterator[str]:
    yield row.name
    yield row.command
    yield row.user
    yield str(row.key.pid)
    if row.container:
        yield row.container
    if row.key.tid:
        yield str(row.key.tid)


def _compiled(text: str) -> Callable[[str, float], object] | None:
    """The search for a regular expression with a limit in seconds of CPU time; None for what is no valid one."""
    import regex  # which, unlike the standard library's, can be told to stop; only who filters pays for it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pattern = regex.compile(text, regex.IGNORECASE)
        except (regex.error, OverflowError, RecursionError, ValueError):
            return None
    return lambda words, limit_s: pattern.search(words, timeout=limit_s)
