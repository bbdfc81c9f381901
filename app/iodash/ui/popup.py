"""Screens over the dashboard that go on showing what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import ModalScreen

if TYPE_CHECKING:
    from iodash.model.frame import Frame
    from iodash.ui.view import View


class Popup(ModalScreen[None]):
    """A screen that is given each frame that the dashboard beneath it is given."""

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows `frame` as `view` asks."""
        raise NotImplementedError
