"""New processes are found by the numbers that the kernel gives out, never threads, never one that is gone."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

from iodash.sources.local.births import MOST_PROBED, Births

if TYPE_CHECKING:
    from pathlib import Path


def _settled(births: Births) -> None:
    """Others may start many processes between two calls; one that can tell is needed to begin with."""
    for _ in range(100):
        if births.since_last() is not None:
            return
    raise AssertionError("numbers are given out too fast to follow")


def test_a_child_is_found_and_a_thread_is_not() -> None:
    births = Births("/proc")
    _settled(births)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    child = subprocess.Popen(["sleep", "60"])
    try:
        born = births.since_last()
        assert born is not None
        assert str(child.pid) in born
        assert str(thread.native_id) not in born
    finally:
        child.kill()
        child.wait()
        done.set()
        thread.join()
        births.close()


def test_one_that_is_gone_already_is_left_out() -> None:
    births = Births("/proc")
    _settled(births)
    child = subprocess.run(["true"], check=True)
    assert child.returncode == 0
    born = births.since_last()
    births.close()
    assert born is not None
    assert all(name.isdigit() for name in born)


def _tree(directory: Path, last: int) -> None:
    (directory / "loadavg").write_text(f"0.00 0.00 0.00 1/100 {last}\n")


def test_only_numbers_given_out_since_the_last_call_are_asked_for(tmp_path: Path) -> None:
    for number, group in ((41, 41), (42, 42), (43, 42)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "status").write_text(f"Name:\tx\nUmask:\t0022\nState:\tS\nTgid:\t{group}\nNgid:\t0\n")
    _tree(tmp_path, 41)
    births = Births(str(tmp_path))
    assert births.since_last() is None, "the first call has nothing to compare with"
    assert births.since_last() == []
    _tree(tmp_path, 44)
    assert births.since_last() == ["42"], "41 was there before, 43 is a thread of 42, 44 is gone"


def test_a_listing_is_needed_after_a_wrap_a_rush_or_without_the_file(tmp_path: Path) -> None:
    _tree(tmp_path, 1000)
    births = Births(str(tmp_path))
    births.since_last()
    _tree(tmp_path, 5)
    assert births.since_last() is None
    _tree(tmp_path, 5 + MOST_PROBED + 1)
    assert births.since_last() is None
    (tmp_path / "loadavg").write_text("")
    assert births.since_last() is None
