"""Where few descriptors are left, none is kept, and what to do about it is said."""

from __future__ import annotations

import errno
import os
import resource
from typing import TYPE_CHECKING

import pytest

from iodash.sources import descriptors
from iodash.sources.local.kept_file import KeptFile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The soft limit as the module sees it."""
    soft = [1024]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft[0], soft[0]))
    return soft


def test_a_low_descriptor_is_kept_and_a_high_one_is_not(limit: list[int]) -> None:
    limit[0] = 40
    assert descriptors.may_keep(40 - descriptors.SPARE - 1)
    assert not descriptors.may_keep(40 - descriptors.SPARE)
    limit[0] = resource.RLIM_INFINITY
    assert descriptors.may_keep(10**6)


def test_a_file_is_read_again_and_again_without_being_kept(tmp_path: Path, limit: list[int]) -> None:
    (tmp_path / "stat").write_bytes(b"1")
    file = KeptFile(tmp_path / "stat")
    assert file.read() == b"1"
    assert file.fileno() >= 0
    file.close()
    limit[0] = 3
    for _ in range(2):
        assert file.read() == b"1"
        assert file.fileno() == -1


def test_a_shortage_names_the_limit_and_what_to_do(limit: list[int]) -> None:
    assert descriptors.shortage() == ""
    limit[0] = 12
    assert descriptors.shortage() == "only 12 files may be open at once: run `ulimit -n 1024` before iodash"


@pytest.mark.parametrize(
    ("number", "words"), [(errno.EMFILE, "ulimit -n 1024"), (errno.ENFILE, "sysctl fs.file-max"), (errno.EACCES, "")]
)
def test_none_left(monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    assert words in descriptors.shortage()
    assert bool(words) is bool(descriptors.shortage())
    assert descriptors.are_free(1) is (number == errno.EACCES)


def test_what_was_tried_is_closed_again() -> None:
    before = len(os.listdir("/proc/self/fd"))
    assert descriptors.are_free(20)
    assert len(os.listdir("/proc/self/fd")) == before
