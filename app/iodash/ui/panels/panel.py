"""What every panel of the dashboard has: a title rule, a number to switch it, and a frame to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.widget import Widget

if TYPE_CHECKING:
    from iodash.model.frame import Frame
    from iodash.ui.view import View


class Panel(Widget):
    """A part of the dashboard that shows one aspect of a frame.

    `show_frame` is called once a frame inside one batch update, and again when the view changes. A panel never reads
    the machine and never waits.
    """

    key: ClassVar[str]
    """Names the panel: `strip`, `gpus`, `devices`, `processes`, `verdict`."""

    title: ClassVar[str]
    """Stands in the panel's rule line."""

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows `frame` as `view` asks."""
        raise NotImplementedError

    def wanted_lines(self, frame: Frame, width: int) -> int:
        """How many lines it would fill at `width`, its rule included, if it could have them all. 0 hides it.

        The screen shares out the lines (`ui.layout`) and may give it fewer.
        """
        return 1

    def kept_lines(self, frame: Frame, width: int) -> int:
        """How many of the wanted lines the history plots beneath a full-screen panel never take."""
        return 0

    def take_lines(self, lines: int, width: int) -> None:
        """Is told how many lines of `width` cells it has been given, to share them out inside itself."""

    def series(self, frame: Frame) -> list[tuple[str, str, str]]:
        """What the full-screen history plots of this panel are: (subject, series name, unit), most telling first."""
        return []
