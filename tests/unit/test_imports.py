"""What is not needed is not imported: start-up time is paid by everybody."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("textual", "rich", "plotext", "pynvml")


def imported_by(*arguments: str) -> set[str]:
    """The heavy packages that `iodash ARGUMENTS` has imported when it ends."""
    program = (
        "import sys\n"
        "from iodash.__main__ import main\n"
        f"sys.argv = ['iodash', *{arguments!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        f"print('imported:', *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    marker, *names = done.stderr.splitlines()[-1].split()
    assert marker == "imported:", done.stderr
    return set(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("-b", "-n", "1", "-d", "0.1"),
        ("-b", "-n", "1", "-d", "0.1", "--format", "json"),
        ("-b", "-n", "1", "-d", "0.1", "--format", "csv"),
        ("iostat", "-x", "0.1", "1"),
        ("where", "/"),
    ],
    ids=" ".join,
)
def test_without_a_screen_nothing_of_the_screen_is_imported(arguments: tuple[str, ...]) -> None:
    assert imported_by(*arguments) == set()


@pytest.mark.parametrize(
    "name", ["plotext", "pynvml", "iodash.model.frame", "iodash.model.sample", "iodash.sources.local"]
)
def test_before_the_first_frame_nothing_is_imported_that_only_later_ones_need(name: str) -> None:
    program = f"import sys, iodash.ui.app; print({name!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
