"""What could not be done, in one sentence for the person who asked."""

from __future__ import annotations


class Failure(Exception):  # noqa: N818 - the word of the exit status: done, failed, wrong usage
    """Ends the program with status 1 and its message on one line: what could not be done, and what to do about it."""


class UsageError(Exception):
    """Ends the program with status 2 and its message on one line: what is wrong with the command line."""


class Stopped(BaseException):
    """Ends the program because a signal asked for it; the exit status is 128 plus its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
