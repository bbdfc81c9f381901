"""The terminal: nobody is woken up while no key comes, an end waits for none, and what is drawn keeps its place."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import tty
from typing import TYPE_CHECKING, Any

import pytest
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.events import Key, Paste

from iodash.ui import terminal
from iodash.ui.terminal import HUNG_UP, ScreenFile, TerminalDriver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.message import Message


class Keyboard:
    """A terminal whose keys a driver's own thread reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.types, theirs = os.openpty()
        self.ticks = 0
        self.found: list[Message] = []
        self.exits: list[tuple[Any, ...]] = []
        app: App[None] = App()
        app.exit = lambda *arguments, **_: self.exits.append(arguments)  # type: ignore[method-assign]
        self.driver = TerminalDriver(app)
        self.driver.fileno = theirs
        self.driver.process_message = lambda message: self.found.append(message)  # type: ignore[method-assign]
        self.driver.write = lambda data: None  # type: ignore[method-assign]
        keyboard = self

        class Parser(XTermParser):
            def tick(self) -> Any:
                keyboard.ticks += 1
                return super().tick()

        monkeypatch.setattr(terminal, "XTermParser", Parser)
        tty.setraw(theirs)
        self.driver._key_thread = self.thread = threading.Thread(target=self.driver.run_input_thread, daemon=True)
        self.thread.start()

    def type(self, typed: bytes) -> None:
        os.write(self.types, typed)

    def pressed(self) -> list[str]:
        return [message.key for message in self.found if isinstance(message, Key)]


async def wait_for(condition: Callable[[], bool], limit_s: float = 5.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


@pytest.fixture
async def keyboard(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keyboard]:
    made = Keyboard(monkeypatch)
    yield made
    made.driver.disable_input()


async def test_keys_arrive_and_an_escape_alone_is_the_esc_key(keyboard: Keyboard) -> None:
    keyboard.type(b"q\x1b[A\x1b")
    await wait_for(lambda: len(keyboard.pressed()) == 3)
    assert keyboard.pressed() == ["q", "up", "escape"]


async def test_nobody_is_woken_up_while_no_key_comes(keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_UNSURE_S", 0.2)
    keyboard.type(b"j")
    await wait_for(lambda: keyboard.pressed() == ["j"])
    await asyncio.sleep(0.5)
    ticks = keyboard.ticks
    await asyncio.sleep(0.5)
    assert keyboard.ticks == ticks
    keyboard.type(b"k")
    await wait_for(lambda: keyboard.pressed() == ["j", "k"])


async def test_what_is_no_text_is_shown_harmlessly(keyboard: Keyboard) -> None:
    keyboard.type(b"a\xffb")
    await wait_for(lambda: "b" in keyboard.pressed())
    keyboard.type(b"\x1b[200~/data\xfe\x1b[201~")
    await wait_for(lambda: any(isinstance(message, Paste) for message in keyboard.found))
    assert keyboard.thread.is_alive()


async def test_an_end_does_not_wait_for_a_key(keyboard: Keyboard) -> None:
    keyboard.driver.disable_input()
    assert not keyboard.thread.is_alive()
    assert not keyboard.exits


async def test_without_its_terminal_the_app_ends(keyboard: Keyboard) -> None:
    os.close(keyboard.types)
    await wait_for(lambda: bool(keyboard.exits))
    assert keyboard.exits == [(None, HUNG_UP)]
    await wait_for(lambda: not keyboard.thread.is_alive())


@pytest.mark.parametrize(
    ("encoding", "ascii", "written"),
    [
        ("utf-8", False, "漢字é▇|".encode()),
        ("utf-8", True, b"?????" + b"?|"),
        ("latin-1", False, b"????\xe9?|"),
        ("ascii", False, b"??????|"),
    ],
)
def test_what_a_terminal_cannot_show_takes_as_many_cells(encoding: str, ascii: bool, written: bytes) -> None:
    reads, writes = os.pipe()
    with os.fdopen(writes, "w", encoding=encoding) as output, os.fdopen(reads, "rb") as drawn:
        screen = ScreenFile(output, pytest.fail, ascii=ascii)
        screen.write("漢字é▇|")
        screen.flush()
        output.close()
        assert drawn.read() == written
