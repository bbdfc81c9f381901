"""The line in which a filter is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from iodash.ui.widgets.field import Field

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class FilterLine(Horizontal):
    """`filter:` and a field. Every letter counts at once; Enter keeps the filter, Esc drops it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter,up,down,tab", "keep", "Keep the filter"),
        ("escape", "drop", "Drop the filter"),
    ]

    class Changed(Message):
        """Another filter was typed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

        def can_replace(self, message: Message) -> bool:
            """Only the newest matters."""
            return isinstance(message, FilterLine.Changed)

    class Left(Message):
        """Typing is over."""

        def __init__(self, *, keep: bool) -> None:
            super().__init__()
            self.keep = keep

    def __init__(self, text: str) -> None:
        super().__init__()
        self.field = Field(text, select_on_focus=False, placeholder="name, command, user, container or PID")

    def compose(self) -> ComposeResult:
        """The word and the field."""
        yield Static("filter: ", markup=False)
        yield self.field

    def on_mount(self) -> None:
        """What is typed next goes here."""
        self.field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Passes on what stands there."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter keeps the filter."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Keeps the filter and goes back to the table."""
        self.post_message(self.Left(keep=True))

    def action_drop(self) -> None:
        """Shows everything again."""
        self.post_message(self.Left(keep=False))
