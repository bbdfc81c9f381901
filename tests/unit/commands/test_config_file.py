from __future__ import annotations

import os
from pathlib import Path

import pytest

from iodash.commands.options import OPTIONS
from iodash.config import configured_settings, load_settings
from iodash.model.settings import Settings


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "iodash").mkdir()
    return tmp_path / "iodash" / "config.toml"


def test_no_file_is_no_fault(config: Path) -> None:
    assert load_settings() == (Settings(), [])


def test_keys_are_the_long_names_of_the_options(config: Path) -> None:
    config.write_text(
        'delay = 2\nonly = true\nthreads = true\nno-gpu = true\nall-devices = true\nsort = "CPU%"\npid = [1, "2,3"]\n'
        'user = "root"\nfilter = "py"\nquiet = 2\ntheme = "light"\nascii = true\nprocfs = "/host/proc"\n'
    )
    settings, faults = load_settings()
    assert faults == []
    assert settings == Settings(
        delay=2.0,
        only=True,
        threads=True,
        gpu=False,
        all_devices=True,
        sort="CPU%",
        pid=(1, 2, 3),
        user=("root",),
        filter="py",
        quiet=2,
        theme="light",
        ascii=True,
        procfs=Path("/host/proc"),
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("colour = 1", "unknown key 'colour'"),
        ("dely = 1", "unknown key 'dely'; do you mean delay?"),
        ("batch = true", "unknown key 'batch': --batch works on the command line only"),
        ("nonsense = 1", "unknown key 'nonsense'; the keys are delay, iter, only"),
        ("delay = true", "delay: needs a number or text"),
        ("delay = 0.01", "delay: '0.01' is no delay"),
        ("delay = nan", "delay: 'nan' is no delay"),
        ('only = "yes"', "only: needs true or false"),
        ("pid = [true]", "pid: needs a number, text or a list of these"),
        ("pid = -4", "pid: '-4' is no process id"),
        ("quiet = 7", "quiet: needs a whole number from 0 to 3"),
        ('sort = "nonsense"', "sort: there is no column 'nonsense'"),
        ('user = "no-such-user-here"', "user: there is no user"),
        ("[delay]\nx = 1", "delay: needs a number or text"),
    ],
)
def test_what_is_wrong_is_told_and_ignored_alone(config: Path, line: str, words: str) -> None:
    config.write_text(f"kilobytes = true\n{line}\n")
    settings, faults = load_settings()
    assert settings == Settings(kilobytes=True)
    assert len(faults) == 1
    assert words in faults[0]
    assert str(config) in faults[0]
    assert faults[0].endswith("; ignored")
    assert "\n" not in faults[0]


@pytest.mark.parametrize("content", [b"delay = \n", b"\xff\xfe", b"[[[[", b"a = 1\na = 2\n"])
def test_a_broken_file_is_told_and_ignored(config: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_bytes(content)
    assert configured_settings() == Settings()
    said = capsys.readouterr().err
    assert said.startswith(f"iodash: {config}: not TOML")
    assert said.count("\n") == 1


def test_a_pipe_in_its_place_is_told_and_not_waited_for(config: Path) -> None:
    os.mkfifo(config)
    assert load_settings() == (Settings(), [f"{config}: no regular file; ignored"])


def test_a_folder_in_its_place_is_told(config: Path) -> None:
    config.mkdir()
    assert load_settings() == (Settings(), [f"{config}: Is a directory; ignored"])


def test_nobody_needs_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    assert load_settings() == (Settings(), [])


def test_a_relative_configuration_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf" / "iodash").mkdir(parents=True)
    (tmp_path / "conf" / "iodash" / "config.toml").write_text("only = true\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "conf")
    assert load_settings() == (Settings(), [])


EVERY_OPTION = """
delay = 0.2
iter = 1
only = true
processes = true
threads = true
accumulated = true
pid = [1, "2"]
user = ["root", 0]
kilobytes = true
time = true
quiet = 1
device = "vda"
all-devices = true
no-gpu = true
sort = "CPU%"
reverse = true
filter = "."
output = "x.csv"
procfs = "/proc"
sysfs = "/sys"
theme = "light"
ascii = true
"""


def test_every_option_can_be_a_key(config: Path) -> None:
    assert {line.split(" =")[0] for line in EVERY_OPTION.split("\n") if line} == {option.name for option in OPTIONS}
    config.write_text(EVERY_OPTION)
    settings, faults = load_settings()
    assert faults == []
    assert settings.output == Path("x.csv")
    assert settings.user == ("root", "0")
