"""Every key of the dashboard, once: bindings, footer and help are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.binding import Binding

if TYPE_CHECKING:
    from textual.binding import BindingType

Group = Literal["Program", "Look", "Order", "Rows", "Panels", "Move", "Only looking"]


@dataclass(frozen=True, slots=True)
class Key:
    """One action and the keys that start it.

    `names` are Textual's names of the keys, `shown` is how they are written for people. `footer` is the short label in
    the footer, empty for keys that only the help lists; `rank` is the place there, and the last go first when it is
    narrow.
    """

    action: str
    names: tuple[str, ...]
    shown: str
    help: str
    group: Group
    footer: str = ""
    footer_key: str = ""
    rank: int = 0


KEYS: tuple[Key, ...] = (
    Key("app.leave", ("q", "f10"), "q F10 Ctrl-C", "Quit.", "Program", "quit", "q", 1),
    Key("help", ("question_mark", "h", "f1"), "? h F1", "This help.", "Program", "help", "?", 2),
    Key(
        "back", ("escape",), "Esc", "Close the popup, clear the filter or leave the full panel. Never quits.", "Program"
    ),
    Key(
        "app.pause",
        ("space", "Z", "z"),
        "Space Z z",
        "Pause or resume; sampling goes on.",
        "Program",
        "pause",
        "Space",
        4,
    ),
    Key("app.slower", ("plus",), "+", "Longer interval: 0.5, 1, 2, 5, 10 s.", "Program"),
    Key("app.faster", ("minus",), "-", "Shorter interval.", "Program"),
    Key("app.snapshot", ("w", "S"), "w S", "Save what is shown to a file.", "Program", "snapshot", "w", 7),
    Key("app.suspend_process", ("ctrl+z",), "Ctrl-Z", "Suspend; fg comes back.", "Program"),
    Key("app.redraw", ("ctrl+l",), "Ctrl-L", "Draw the screen anew.", "Program"),
    Key("app.units", ("b",), "b", "Units: powers of 1024, of 1000, bits for the network.", "Look"),
    Key("app.next_theme", ("T",), "T", "Next theme.", "Look"),
    Key("full_command", ("c",), "c", "Command name or full command line.", "Look"),
    Key("accumulated", ("a",), "a", "Processes: rates or bytes since iodash started; the rest keeps rates.", "Look"),
    Key("threads", ("p",), "p", "Processes or threads.", "Look"),
    Key("sort_column(-1)", ("left", "less_than_sign"), "← <", "Sort by the column to the left.", "Order"),
    Key(
        "sort_column(1)",
        ("right", "greater_than_sign"),
        "→ >",
        "Sort by the column to the right.",
        "Order",
        "sort",
        "←→",
        5,
    ),
    Key("choose_sort", ("f6", "O"), "F6 O", "Choose the column to sort by. A click on a heading sorts too.", "Order"),
    Key("reverse", ("r", "I", "R"), "r I R", "Reverse the order.", "Order"),
    Key(
        "filter",
        ("slash", "f", "f4"),
        "/ f F4",
        "Filter by name, command line, user, container or PID.",
        "Rows",
        "filter",
        "/",
        3,
    ),
    Key("only", ("o",), "o", "Only processes that do I/O.", "Rows"),
    Key("choose_user", ("u",), "u", "Only the processes of one user.", "Rows"),
    Key("follow", ("F",), "F", "Keep the selected process in sight.", "Rows"),
    Key(
        "details",
        ("enter",),
        "Enter",
        "Details of the row; a job's members, shown or hidden; on the verdict what speaks for it; else as e.",
        "Rows",
        "details",
        "Enter",
        8,
    ),
    Key("next_panel", ("tab",), "Tab", "Next panel.", "Panels"),
    Key("previous_panel", ("shift+tab",), "Shift-Tab", "Previous panel.", "Panels"),
    Key("full", ("e",), "e", "The focused panel full-screen, with history plots.", "Panels", "full", "e", 6),
    Key("show_or_hide('strip')", ("1",), "1", "Show or hide the system strip.", "Panels"),
    Key("show_or_hide('gpus')", ("2",), "2", "Show or hide the GPUs.", "Panels"),
    Key("show_or_hide('devices')", ("3",), "3", "Show or hide the devices.", "Panels"),
    Key("show_or_hide('processes')", ("4",), "4", "Show or hide the processes.", "Panels"),
    Key("show_or_hide('verdict')", ("5",), "5", "Show or hide the verdict.", "Panels"),
    Key("move(-1)", ("up", "k"), "↑ k", "Up.", "Move"),
    Key("move(1)", ("down", "j"), "↓ j", "Down.", "Move"),
    Key("move_page(-1)", ("pageup",), "PgUp", "A page up.", "Move"),
    Key("move_page(1)", ("pagedown",), "PgDn", "A page down.", "Move"),
    Key("move_to_first", ("home", "g"), "Home g", "To the first row.", "Move"),
    Key("move_to_last", ("end", "G"), "End G", "To the last row.", "Move"),
    Key(
        "only_looks",
        ("i", "s", "d", "t", "f9"),
        "i s d t F9",
        "Change a process elsewhere: iodash only looks.",
        "Only looking",
    ),
)

GROUPS: tuple[Group, ...] = ("Program", "Look", "Order", "Rows", "Panels", "Move", "Only looking")


def bindings() -> list[BindingType]:
    """The table as Textual's bindings."""
    return [Binding(",".join(key.names), key.action, key.help, show=False) for key in KEYS]


def footer_keys() -> list[Key]:
    """What the footer shows, in its order."""
    return sorted((key for key in KEYS if key.footer), key=lambda key: key.rank)
