"""The colours: a few words that mean the same in every theme.

`$read` and `$write` are one pair everywhere, blue and orange, which people who don't see red and green tell apart.
`$ok`, `$warn` and `$alarm` go with a word, capitals, bold or reverse, never alone. `$quiet` is for what is not looked
at first, `$strong` for what is, `$rule` for the lines between panels, `$chosen` and `$chosen-text` for the selected
row.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App


def _theme(
    name: str,
    *,
    background: str,
    foreground: str,
    surface: str,
    accent: str,
    words: Mapping[str, str],
    dark: bool = True,
) -> Theme:
    return Theme(
        name=name,
        primary=accent,
        secondary=accent,
        accent=accent,
        success=words["ok"],
        warning=words["warn"],
        error=words["alarm"],
        foreground=foreground,
        background=background,
        surface=surface,
        panel=surface,
        dark=dark,
        variables={**words, **_textual_words(words, foreground, surface)},
    )


def _textual_words(words: Mapping[str, str], foreground: str, surface: str) -> dict[str, str]:
    """What Textual's own widgets (scroll bars, inputs, lists) take their colours from."""
    return {
        "block-cursor-background": words["chosen"],
        "block-cursor-foreground": words["chosen-text"],
        "block-cursor-blurred-background": words["chosen"],
        "block-cursor-blurred-foreground": words["chosen-text"],
        "border": words["rule"],
        "border-blurred": words["rule"],
        "scrollbar": words["rule"],
        "scrollbar-hover": words["quiet"],
        "scrollbar-active": words["quiet"],
        "scrollbar-background": surface,
        "scrollbar-background-hover": surface,
        "scrollbar-background-active": surface,
        "scrollbar-corner-color": surface,
        "input-cursor-background": foreground,
        "input-cursor-foreground": surface,
        "input-selection-background": words["chosen"],
        "input-selection-foreground": words["chosen-text"],
    }


_DARK = _theme(
    "dark",
    background="#11151a",
    foreground="#c9d1d9",
    surface="#181d24",
    accent="#7aa8d8",
    words={
        "read": "#6cb6ff",
        "write": "#f0a35e",
        "ok": "#8ccfae",
        "warn": "#e8c468",
        "alarm": "#ff8a80",
        "quiet": "#8b96a3",
        "strong": "#f2f6fa",
        "rule": "#39424d",
        "chosen": "#2f4a68",
        "chosen-text": "#ffffff",
    },
)

_LIGHT = _theme(
    "light",
    background="#fbfbf9",
    foreground="#2b3036",
    surface="#f0f1ee",
    accent="#33608f",
    dark=False,
    words={
        "read": "#0a58b0",
        "write": "#9a4a00",
        "ok": "#1b6b46",
        "warn": "#7a5600",
        "alarm": "#b3192a",
        "quiet": "#646b73",
        "strong": "#0b0e11",
        "rule": "#c4c8cc",
        "chosen": "#cfe0f3",
        "chosen-text": "#0b0e11",
    },
)

_HIGH_CONTRAST = _theme(
    "high-contrast",
    background="#000000",
    foreground="#ffffff",
    surface="#000000",
    accent="#9ad1ff",
    words={
        "read": "#84ccff",
        "write": "#ffb658",
        "ok": "#8dffb8",
        "warn": "#ffe94d",
        "alarm": "#ff9c94",
        "quiet": "#c4c4c4",
        "strong": "#ffffff",
        "rule": "#9a9a9a",
        "chosen": "#ffffff",
        "chosen-text": "#000000",
    },
)

_COLOUR_BLIND = _theme(
    "colour-blind",
    background="#11151a",
    foreground="#d2d8de",
    surface="#181d24",
    accent="#7fb2e5",
    words={
        "read": "#5fb8f0",
        "write": "#f2a93b",
        "ok": "#a9cdf0",
        "warn": "#f5e663",
        "alarm": "#ff9445",
        "quiet": "#929ca7",
        "strong": "#ffffff",
        "rule": "#3d4651",
        "chosen": "#27496d",
        "chosen-text": "#ffffff",
    },
)

_TERMINAL = Theme(
    name="terminal",
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_blue",
    success="ansi_green",
    warning="ansi_yellow",
    error="ansi_red",
    foreground="ansi_default",
    background="ansi_default",
    ansi=True,
    variables={
        **BUILTIN_THEMES["ansi-dark"].variables,
        "read": "ansi_blue",
        "write": "ansi_yellow",
        "ok": "ansi_default",
        "warn": "ansi_yellow",
        "alarm": "ansi_red",
        "quiet": "ansi_default",
        "strong": "ansi_default",
        "rule": "ansi_bright_black",
        "chosen": "ansi_blue",
        "chosen-text": "ansi_bright_white",
    },
)

_ALL: dict[str, Theme] = {theme.name: theme for theme in (_DARK, _LIGHT, _HIGH_CONTRAST, _COLOUR_BLIND, _TERMINAL)}

THEMES: tuple[str, ...] = tuple(_ALL)
"""The names of the themes, in the order of the `T` key. The first is the default."""

VARIABLES: Mapping[str, str] = dict(_DARK.variables)
"""Every colour word with its default: for `App.get_theme_variable_defaults`."""


def theme(name: str) -> Theme:
    """The theme of that name.

    Raises:
        ValueError: there is none; the message names those that there are.
    """
    if name not in _ALL:
        raise ValueError(f"no theme '{name}'; the themes are {', '.join(THEMES)}")
    return _ALL[name]


def no_colour() -> bool:
    """Whether the user asked for no colours (https://no-color.org): `NO_COLOR` is set and not empty."""
    return bool(os.environ.get("NO_COLOR"))


def first_theme(name: str | None) -> str:
    """The theme to start with: the asked-for one; without colours the terminal's own; else the default.

    Raises:
        ValueError: there is no theme of that name.
    """
    if no_colour():
        return _TERMINAL.name
    return theme(name).name if name else THEMES[0]


def next_theme(name: str) -> str:
    """The theme after `name`, and the first one after the last or an unknown one."""
    return THEMES[(THEMES.index(name) + 1) % len(THEMES)] if name in THEMES else THEMES[0]


def register(app: App[object]) -> None:
    """Makes the themes known to `app`."""
    for each in _ALL.values():
        app.register_theme(each)
