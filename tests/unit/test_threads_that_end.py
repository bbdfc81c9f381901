"""A thread that ends by an unforeseen error: told in one line when the command is done, never printed across it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from iodash import cli
from iodash.__main__ import main
from iodash.model.failure import Failure, Stopped
from iodash.model.sample import ProcessKey
from iodash.sources.local.names import Names
from iodash.sources.local.users import UserNames

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def _break() -> None:
    raise ZeroDivisionError("one of its threads")


@pytest.mark.parametrize(
    ("end", "status", "said_first"),
    [(None, 1, ""), (Stopped(15), 143, ""), (Failure("no room"), 1, "iodash: no room\n")],
    ids=["done", "a signal", "a failure"],
)
def test_it_is_told_once_in_one_line_with_a_file(
    end: BaseException | None,
    status: int,
    said_first: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    during: list[str] = []

    def run(arguments: Sequence[str]) -> int:
        thread = threading.Thread(target=_break)
        thread.start()
        thread.join()
        during.append(capfd.readouterr().err)
        if end is not None:
            raise end
        return 0

    before = threading.excepthook
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(cli, "run", run)
    assert main(["-b"]) == status
    assert threading.excepthook is before
    assert during == [""]
    said = capfd.readouterr().err
    (file,) = (tmp_path / "iodash").iterdir()
    told = f"iodash: internal error: ZeroDivisionError: one of its threads; please report it with {file}\n"
    assert sorted(said.splitlines(keepends=True)) == sorted([told, *said_first.splitlines(keepends=True)])
    assert "in _break" in file.read_text()


def test_what_ends_the_reading_of_names_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iodash.sources.local.names.read_file", lambda path, size=0: _break())
    users = UserNames()
    names = Names(tmp_path, users)
    names.ask([ProcessKey(1, 1), ProcessKey(2, 2)])
    with pytest.raises(ZeroDivisionError):
        names.collect(10)
    names.close()
    users.close()
