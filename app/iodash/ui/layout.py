"""How the panels share the lines of the screen. A fixed order, so that a resize always gives the same screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_WIDTH, LEAST_HEIGHT = 40, 10
"""Below this only a message is shown."""

GOOD_WIDTH, GOOD_HEIGHT = 60, 16
"""What iodash asks for: everything that matters fits."""

EVERYTHING = 10_000

_ORDER: tuple[tuple[str, int], ...] = (
    ("processes", 4),
    ("devices", 3),
    ("verdict", 1),
    ("strip", 1),
    ("gpus", 2),
    ("processes", 6),
    ("devices", 4),
    ("gpus", 3),
    ("processes", 10),
    ("strip", 2),
    ("devices", 6),
    ("gpus", 5),
    ("processes", 12),
)


def share_lines(height: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """How many lines each panel gets of `height`, which leaves out header and footer.

    Args:
        height: lines to share.
        wanted: for each panel the lines it would fill; 0 where it is hidden.
    """
    given = dict.fromkeys(wanted, 0)
    left = height

    def grow(panel: str, upto: int) -> None:
        nonlocal left
        more = min(min(upto, wanted.get(panel, 0)) - given.get(panel, 0), left)
        if more > 0:
            given[panel] += more
            left -= more

    for panel, upto in _ORDER:
        least = 2 if panel == "gpus" else 3 if panel in ("devices", "processes") else 1
        if given.get(panel) or left >= min(least, wanted.get(panel, 0)):
            grow(panel, upto)
    grow("gpus", height // 2)
    grow("devices", height // 2)
    for panel in ("strip", "verdict", "processes", "devices", "gpus"):
        grow(panel, EVERYTHING)
    return given
