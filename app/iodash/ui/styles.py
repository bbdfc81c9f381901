"""Finds the stylesheets: looks live in `styles/*.tcss`, content lives in Python."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "styles", _PACKAGE.parents[1] / "styles")


ASCII = "-ascii"
"""The app's class while its screen keeps to ASCII."""


def styles_folder() -> Path:
    """The folder of the stylesheets: the packaged copy, else the one in the checkout.

    Raises:
        FileNotFoundError: neither is there, so the installation is broken.
    """
    for place in _PLACES:
        if place.is_dir():
            return place
    raise FileNotFoundError(f"no stylesheets in {' or '.join(str(place) for place in _PLACES)}; install iodash again")


def stylesheets() -> list[Path]:
    """The stylesheets of the dashboard, in the order of their names."""
    return sorted(styles_folder().glob("*.tcss"))


def screen_stylesheet(name: str) -> str:
    """The stylesheet of a screen that is seldom opened, for its `CSS_PATH`: read only then."""
    return str(styles_folder() / "screens" / f"{name}.tcss")
