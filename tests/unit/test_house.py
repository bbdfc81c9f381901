"""The files around the code keep their promises: the lock, the image, the scripts."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import iodash

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

PINNED = re.compile(r"([a-z0-9-]+)==([^ \\]+)( ;[^\\]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


def test_the_lock_names_exact_versions_with_hashes() -> None:
    text = re.sub(r"^ *#.*\n", "", LOCK, flags=re.MULTILINE)
    assert PINNED.sub("", text).strip() == ""


def test_the_lock_holds_with_any_registry() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^-|file:|/home/|/root/|/tmp/", LOCK, flags=re.MULTILINE)


def test_the_lock_has_everything_that_the_project_asks_for() -> None:
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    assert {_name(requirement) for requirement in asked} <= {name for name, *_ in PINNED.findall(LOCK)}


def test_the_image_copies_only_what_there_is_and_what_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    sources: list[str] = []
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        words = shlex.split(line.rstrip("\\"), comments=True)
        if words and words[0] == "COPY" and not words[1].startswith("--from"):
            sources += words[1:-1]
    assert {"app", "styles", "requirements.lock", "pyproject.toml"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source


def test_the_image_does_not_run_as_root() -> None:
    final = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER iodash$", final, flags=re.MULTILINE)
    assert re.search(r"^ENTRYPOINT \[\"iodash\"\]$", final, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["run", "test", "check", "bench", "setup", "packages", "lock", "docs"])
def test_scripts_can_be_run(name: str) -> None:
    assert os.access(ROOT / "scripts" / name, os.X_OK)


def test_the_changelog_tells_of_this_version() -> None:
    assert f"## {iodash.__version__}" in (ROOT / "CHANGELOG.md").read_text()
