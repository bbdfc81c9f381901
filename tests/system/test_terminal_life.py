"""The dashboard in a real terminal: it starts, it ends in every way there is, and the terminal is as before."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.system import needs
from tests.system.terminal import IODASH, PROMPT, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.system, needs.program("tmux")]

HEADINGS = ("DEVICE", "PID", "COMMAND")
FRAMED = "every 1 s"


def is_up(screen: str) -> bool:
    """Whether the dashboard shows its panels."""
    return all(heading in screen for heading in HEADINGS)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal(120, 40) as made:
        yield made


def ends_with(terminal: Terminal, status: int) -> None:
    assert terminal.status() == status
    assert "Traceback" not in terminal.screen()
    assert terminal.is_as_before()
    terminal.type("echo still-$((1+1))-here\n")
    terminal.wait_for("still-2-here")


@pytest.mark.parametrize(("width", "height"), [(200, 60), (120, 40), (80, 24), (60, 16)])
def test_starts_and_quits_at_usual_sizes(width: int, height: int) -> None:
    with Terminal(width, height) as terminal:
        terminal.run(IODASH)
        screen = terminal.wait_for(is_up)
        assert all(len(line) <= width for line in screen.splitlines())
        terminal.keys("q")
        ends_with(terminal, 0)


@pytest.mark.parametrize("key", ["q", "F10", "C-c"])
def test_every_key_that_quits_leaves_the_terminal_as_it_was(terminal: Terminal, key: str) -> None:
    terminal.run(IODASH)
    terminal.wait_for(is_up)
    terminal.keys(key)
    ends_with(terminal, 0)


@pytest.mark.parametrize(
    ("number", "status"),
    [
        *[(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, 131)],
        *[(signal.SIGUSR1, 138), (signal.SIGUSR2, 140), (signal.SIGALRM, 142), (signal.SIGXCPU, 152)],
        *[(signal.SIGABRT, 134), (signal.SIGVTALRM, 154), (signal.SIGPROF, 155), (signal.SIGPOLL, 157)],
        (signal.SIGPWR, 158),
    ],
)
def test_every_signal_that_ends_it_leaves_the_terminal_as_it_was(
    terminal: Terminal, number: signal.Signals, status: int
) -> None:
    terminal.run(IODASH)
    terminal.wait_for(is_up)
    terminal.program().send_signal(number)
    ends_with(terminal, status)


def test_the_key_that_quits_elsewhere_quits_here(terminal: Terminal) -> None:
    terminal.run(IODASH)
    terminal.wait_for(is_up)
    terminal.keys("C-\\")
    ends_with(terminal, 131)


def test_a_signal_while_it_starts_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.run(IODASH)
    terminal.wait_for(lambda _: terminal.flag("alternate_on") == "1")
    terminal.program().send_signal(signal.SIGQUIT)
    ends_with(terminal, 131)


def test_standard_error_may_go_to_a_file(terminal: Terminal, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    terminal.run("sh", "-c", f"exec {IODASH} 2>{errors}")
    terminal.wait_for(is_up)
    terminal.keys("q")
    ends_with(terminal, 0)
    assert errors.read_text() == ""


@pytest.mark.parametrize("ignored", ["", "trap '' HUP; "])
def test_ends_with_its_terminal(ignored: str) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run("sh", "-c", f"{ignored}exec {IODASH}")
        terminal.wait_for(is_up)
        program = terminal.program()
        program.send_signal(signal.SIGCONT)
    program.wait(30)


def test_a_signal_to_go_on_changes_nothing_for_who_was_not_stopped(terminal: Terminal) -> None:
    terminal.run(IODASH)
    terminal.wait_for(is_up)
    for _ in range(3):
        terminal.program().send_signal(signal.SIGCONT)
    terminal.keys("q")
    ends_with(terminal, 0)


def test_suspends_and_comes_back(terminal: Terminal) -> None:
    terminal.type(IODASH + "\n")
    terminal.wait_for(is_up)
    terminal.keys("C-z")
    terminal.wait_for("Stopped")
    assert terminal.is_as_before()
    terminal.type("fg\n")
    terminal.wait_for(is_up)
    terminal.keys("q")
    terminal.wait_for(lambda screen: PROMPT in screen and not is_up(screen))
    assert terminal.is_as_before()


def test_two_quick_suspends_are_one(terminal: Terminal) -> None:
    terminal.type(IODASH + "\n")
    terminal.wait_for(is_up)
    terminal.keys("C-z", "C-z")
    terminal.wait_for("Stopped")
    terminal.type("fg\n")
    terminal.wait_for(is_up)
    terminal.keys("q")
    terminal.wait_for(lambda screen: PROMPT in screen and not is_up(screen))


def test_suspends_together_with_who_waits_for_it(terminal: Terminal) -> None:
    terminal.type(f"sh -c '{IODASH}; true'\n")
    terminal.wait_for(is_up)
    terminal.keys("C-z")
    terminal.wait_for("Stopped")
    assert terminal.is_as_before()
    terminal.type("fg\n")
    terminal.wait_for(is_up)
    terminal.keys("q")
    terminal.wait_for(lambda screen: PROMPT in screen and not is_up(screen))
    assert terminal.is_as_before()


@pytest.mark.parametrize(
    "started",
    [f"{sys.executable} -c 'import pty; pty.spawn(\"{{}}\")'", "sh -c 'trap \"\" TSTP; {}; true'"],
)
def test_goes_on_where_nobody_could_continue_it(terminal: Terminal, started: str) -> None:
    terminal.type(started.format(IODASH) + "\n")
    terminal.wait_for(is_up)
    terminal.keys("C-z", "?")
    terminal.wait_for("Esc closes")
    assert terminal.flag("alternate_on") == "1"


def test_a_filter_that_never_ends_does_not_hold_it_up(terminal: Terminal) -> None:
    with subprocess.Popen(["b" + "a" * 4000, "60"], executable="sleep") as explosive:
        try:
            terminal.run(IODASH)
            terminal.wait_for(is_up)
            terminal.type("/(a+)+\\1b")  # in one go, as a terminal pastes it
            terminal.wait_for("literal filter: (a+)+\\1b")
            terminal.program().send_signal(signal.SIGTERM)
            ends_with(terminal, 143)
        finally:
            explosive.kill()


@pytest.mark.parametrize(
    ("typed", "shown", "gone"),
    [
        ("/zzz+a", "filter: zzz+a", "Space pause"),
        ("/qqq\r", "filter: qqq", "Enter keeps"),
        ("/zz\x7f", "filter: z ", "Space pause"),
        ("uzzz", "zzz", "everybody"),
    ],
)
def test_what_is_typed_in_one_go_with_a_key_goes_where_it_leads(
    terminal: Terminal, typed: str, shown: str, gone: str
) -> None:
    terminal.run(IODASH)
    terminal.wait_for(is_up)
    terminal.type(typed)
    screen = terminal.wait_for(lambda screen: shown in screen and gone not in screen)
    assert "since start" not in screen
    terminal.keys("C-c")
    ends_with(terminal, 0)


def test_survives_a_storm_of_sizes(terminal: Terminal) -> None:
    terminal.run(IODASH)
    terminal.wait_for(is_up)
    for step in range(30):
        terminal.resize(20 + step * 37 % 200, 5 + step * 13 % 60)
    terminal.resize(1, 1)
    terminal.resize(120, 40)
    terminal.wait_for(is_up)
    terminal.keys("q")
    ends_with(terminal, 0)


def test_starts_in_a_terminal_of_one_cell(terminal: Terminal) -> None:
    terminal.type(f"sleep 0.3; {IODASH}; ended=$?\n")
    terminal.resize(1, 1)
    terminal.wait_for(lambda _: terminal.flag("alternate_on") == "1")
    terminal.resize(120, 40)
    terminal.wait_for(is_up)
    terminal.keys("q")
    terminal.wait_for(lambda _: terminal.is_as_before())
    # tmux itself leaves a line of the other screen here when its window has grown from one cell meanwhile.
    terminal.type("clear; (exit $ended)")
    terminal.run()
    assert terminal.status() == 0


def test_says_what_it_needs_where_there_is_no_room() -> None:
    with Terminal(30, 5) as terminal:
        terminal.run(IODASH)
        terminal.wait_for(lambda screen: "30" in screen and "5" in screen and terminal.flag("alternate_on") == "1")
        terminal.keys("q")
        terminal.resize(120, 40)
        ends_with(terminal, 0)


def test_runs_without_a_home(terminal: Terminal) -> None:
    terminal.run("env", "-u", "HOME", "-u", "XDG_CONFIG_HOME", "-u", "XDG_STATE_HOME", IODASH)
    terminal.wait_for(is_up)
    terminal.keys("q")
    ends_with(terminal, 0)


@needs.root()
@needs.program("setpriv")
@needs.nobody()
def test_runs_as_a_user_without_rights_and_says_what_is_hidden(terminal: Terminal) -> None:
    terminal.run(*needs.AS_NOBODY, IODASH)
    terminal.wait_for(lambda screen: is_up(screen) and "permission" in screen)
    terminal.keys("q")
    ends_with(terminal, 0)


HIDING = {
    "sys": "mount -t tmpfs none /sys",
    "hidepid": "mount -t proc -o hidepid=invisible proc /proc",
    "subset": "mount -t proc -o subset=pid proc /proc",
}


@needs.root()
@needs.program("unshare", "setpriv")
@needs.namespaces()
@pytest.mark.parametrize("hidden", HIDING)
@pytest.mark.parametrize("who", ["root", "nobody"])
def test_runs_where_parts_of_the_machine_are_hidden(terminal: Terminal, hidden: str, who: str) -> None:
    user = " ".join(needs.AS_NOBODY) if who == "nobody" else ""
    terminal.run("unshare", "--mount", "sh", "-c", f"{HIDING[hidden]} && exec {user} {IODASH}")
    terminal.wait_for(is_up)
    terminal.keys("q")
    ends_with(terminal, 0)
