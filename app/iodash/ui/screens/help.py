"""The help: made from the tables of keys and columns, so that it can't be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from iodash.columns import DEVICE_COLUMNS, GPU_COLUMNS, PROCESS_COLUMNS, SYSTEM_COLUMNS
from iodash.columns.devices import LOUD_STATES
from iodash.diagnosis.causes import CAUSES, NO_BLAME
from iodash.formatting.cells import left, wrap
from iodash.model.missing import Missing
from iodash.ui.keys import GROUPS, KEYS
from iodash.ui.reasons import explain
from iodash.ui.styles import screen_stylesheet
from iodash.ui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from iodash.columns import Column
    from iodash.model.frame import DeviceState
    from iodash.ui.panels.lines import Line

STATES: dict[DeviceState, str] = {
    "idle": "nothing to do",
    "ok": "at work, with nothing to remark",
    "busy": "in use nearly all the time; on a device that serves many requests at once that is no limit",
    "queued": "nearly all of its slots for requests are taken: what comes next waits outside of it",
    "saturated": "at the best throughput seen, and requests wait far longer than usual: more only wait longer",
    "slow": "requests wait far longer than usual though its throughput is low",
    "throttled": "held down by a limit from outside, not by its own speed",
    "stalled": "requests in flight, and for a second or more none was completed",
}
"""What the state words of devices mean, from the calmest to the worst."""

_KEY_WIDTH = 14
_WORD_WIDTH = 18
_CAUSE_WIDTH = 20

_INTRODUCTION = (
    "iodash only looks: no key changes a process, a device or a setting of the system.",
    "Byte amounts carry their unit letter (14.4M), in powers of 1024 until b; sentences spell the unit (14.4 MiB/s). "
    "A dash is a number that is not known: select the row and the footer says why.",
)


def _entry(name: str, name_width: int, text: str, width: int) -> list[Line]:
    """A name at the left, its meaning beside it, wrapped."""
    beside = max(16, width - name_width - 4)
    lines: list[Line] = []
    for number, part in enumerate(wrap(text, beside)):
        first = left(name if number == 0 else "", max(name_width, len(name) if number == 0 else 0))
        lines.append([("  ", ""), (first, "strong"), ("  ", ""), (part, "")])
    return lines


def _section(title: str) -> list[Line]:
    return [[], [(title, "title")]]


def _column_lines(title: str, columns: Sequence[Column[Any]], width: int) -> list[Line]:
    lines = _section(title)
    for column in columns:
        unit = f" [{column.unit}]" if column.unit else ""
        lines += _entry(f"{column.heading}{unit}", _WORD_WIDTH, column.help.replace("`", ""), width)
    return lines


def help_lines(width: int, *, ascii: bool = False) -> list[Line]:
    """The whole help for a page of `width` cells."""
    lines: list[Line] = [[(part, "")] for text in _INTRODUCTION for part in wrap(text, width)]
    for group in GROUPS:
        lines += _section(f"KEYS: {group.upper()}")
        for key in (key for key in KEYS if key.group == group):
            shown = _in_ascii(key.shown) if ascii else key.shown
            lines += _entry(shown, _KEY_WIDTH, key.help, width)
    lines += _section("WHAT THE VERDICT NAMES")
    for cause, meaning in CAUSES.items():
        words = cause.replace("_", " ")
        lines += _entry(words.upper() if cause not in NO_BLAME else words, _CAUSE_WIDTH, meaning, width)
    lines += _section("STATES OF DEVICES")
    for state, meaning in STATES.items():
        lines += _entry(state.upper() if state in LOUD_STATES else state, _WORD_WIDTH, meaning, width)
    lines += _section("WHY A NUMBER IS MISSING")
    for reason in Missing:
        lines += _entry(reason.words, _WORD_WIDTH, explain("", reason), width)
    lines += _column_lines("COLUMNS OF PROCESSES", PROCESS_COLUMNS, width)
    lines += _column_lines("COLUMNS OF DEVICES", DEVICE_COLUMNS, width)
    lines += _column_lines("FIELDS OF GPUS", GPU_COLUMNS, width)
    lines += _column_lines("THE SYSTEM STRIP", SYSTEM_COLUMNS, width)
    return lines


def _in_ascii(keys: str) -> str:
    for arrow, name in (("←", "Left"), ("→", "Right"), ("↑", "Up"), ("↓", "Down")):
        keys = keys.replace(arrow, name)
    return keys


class HelpScreen(ModalScreen[None]):
    """The help over the dashboard, which goes on beneath."""

    CSS_PATH = screen_stylesheet("help")
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,enter,question_mark,h,f1", "leave", "Leave"),
        ("q,f10", "app.leave", "Quit"),
    ]

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__()
        self._ascii = ascii

    def compose(self) -> ComposeResult:
        """A title over the page."""
        with Vertical(id="help"):
            yield Static(Content("iodash: keys, columns, words     Esc closes"), id="help-title")
            yield Page(lambda width: help_lines(width, ascii=self._ascii), id="help-page")

    def on_mount(self) -> None:
        """The arrows scroll."""
        self.query_one(Page).focus()

    def action_leave(self) -> None:
        """Closes the help."""
        self.dismiss(None)
