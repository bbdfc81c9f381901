"""What an installation brings: the command, the styles, and nothing but `iodash` in site-packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.system import needs
from tests.system.terminal import Terminal

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
STYLES = sorted(str(path.relative_to(ROOT / "styles")) for path in (ROOT / "styles").rglob("*.tcss"))


def _run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is needed to build, so that building leaves nothing behind."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("app", "styles"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and an sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=checkout)
    return folder


class Environment:
    """A virtual environment with the libraries of this one, and none of its projects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
        self.python = folder / "bin" / "python"
        self.iodash = folder / "bin" / "iodash"
        (self.site_packages,) = folder.glob("lib/python*/site-packages")

    def install(self, *what: str | Path) -> set[str]:
        """Installs without dependencies and says what was added to site-packages."""
        # The libraries are found through this line, but not the checkout: no .pth of theirs is read.
        (self.site_packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
        before = set(self.site_packages.iterdir())
        pip = (sys.executable, "-m", "pip", "--python", str(self.python))
        flags = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed")
        _run(*pip, "install", *flags, *what, cwd=self.folder.parent)
        return {path.name for path in set(self.site_packages.iterdir()) - before} - {"__pycache__"}


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Environment, set[str]]:
    """The wheel, installed away from the checkout."""
    environment = Environment(tmp_path_factory.mktemp("wheel") / "venv")
    (wheel,) = built.glob("*.whl")
    return environment, environment.install(wheel)


def test_the_wheel_holds_the_package_with_its_styles(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"iodash"}
    assert sorted(name.removeprefix("iodash/styles/") for name in names if name.endswith(".tcss")) == STYLES
    assert "iodash/py.typed" in names


def test_the_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    (wheel,) = built.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source)
    assert zipfile.ZipFile(tmp_path / wheel.name).namelist() == zipfile.ZipFile(wheel).namelist()


def test_site_packages_gets_nothing_but_iodash(installed: tuple[Environment, set[str]]) -> None:
    _, added = installed
    assert {name.partition("-")[0] for name in added} == {"iodash"}
    assert len(added) == 2


def test_the_installed_command_works_away_from_the_checkout(
    installed: tuple[Environment, set[str]], tmp_path: Path
) -> None:
    environment, _ = installed
    code = "import iodash; print(iodash.__file__)"
    assert _run(environment.python, "-c", code, cwd=tmp_path).startswith(str(environment.site_packages))
    assert _run(environment.iodash, "--version", cwd=tmp_path).startswith("iodash ")
    assert "PID" in _run(environment.iodash, "-b", "-n", "1", "-d", "0.2", cwd=tmp_path)
    frame = json.loads(_run(environment.iodash, "-b", "--once", "-d", "0.2", "--format", "json", cwd=tmp_path))
    assert frame["schema"] == "iodash.frame/1"
    assert list(tmp_path.iterdir()) == []


@needs.program("tmux")
def test_the_installed_screen_is_drawn_away_from_the_checkout(
    installed: tuple[Environment, set[str]], tmp_path: Path
) -> None:
    environment, _ = installed
    with Terminal(120, 40) as terminal:
        terminal.type(f"cd {tmp_path}\n")
        terminal.run(str(environment.iodash), "-n", "2", "-d", "0.5")
        terminal.wait_for("COMMAND")
        assert terminal.status() == 0
        assert "Traceback" not in terminal.screen()


@pytest.mark.parametrize("flags", [(), ("--editable",)], ids=["plain", "editable"])
def test_pip_installs_from_a_checkout(checkout: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(*flags, checkout)
    assert _run(environment.iodash, "--version", cwd=tmp_path).startswith("iodash ")
    code = "from iodash.ui.styles import *; f = styles_folder(); print(*(p.relative_to(f) for p in f.rglob('*.tcss')))"
    assert sorted(_run(environment.python, "-c", code, cwd=tmp_path).split()) == STYLES
