"""A list to choose from: type to narrow it, Enter takes, Esc leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from iodash.formatting.cells import cell_width, left
from iodash.ui.styles import screen_stylesheet
from iodash.ui.widgets.field import Field
from iodash.ui.widgets.page import keep_to_ascii

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

_WIDEST_LABEL = 40


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry: what is given back, how it reads, and what it means."""

    value: str
    label: str
    help: str = ""


def matching(choices: Sequence[Choice], typed: str) -> list[Choice]:
    """The choices that hold what was typed, without regard to case; those that begin with it come first."""
    wanted = typed.strip().casefold()
    if not wanted:
        return list(choices)
    found = [
        choice
        for choice in choices
        if wanted in choice.label.casefold() or wanted in choice.value.casefold() or wanted in choice.help.casefold()
    ]
    return sorted(found, key=lambda choice: not choice.label.casefold().startswith(wanted))


class ChooseScreen(ModalScreen["str | None"]):
    """Asks for one of some choices. Gives back its value, or None when the user leaves."""

    CSS_PATH = screen_stylesheet("choose")
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "Leave"),
        ("up", "move(-1)", "Up"),
        ("down", "move(1)", "Down"),
        ("pageup", "page(-1)", "A page up"),
        ("pagedown", "page(1)", "A page down"),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], current: str | None = None) -> None:
        """Args:
        title: what is chosen.
        choices: what there is, as safe text.
        current: the value that is highlighted first.
        """
        super().__init__()
        self.field = Field(placeholder="type to narrow", id="choose-input")
        self._title = title
        self._choices = tuple(choices)
        self._shown: list[Choice] = []
        self._current = current
        longest = max((cell_width(choice.label) for choice in choices), default=0)
        self._label_width = min(longest, _WIDEST_LABEL)

    def compose(self) -> ComposeResult:
        """A title, a field to type in, the list."""
        with Vertical(id="choose"):
            yield Static(Content(f"{self._title}     Esc closes"), id="choose-title")
            yield self.field
            yield OptionList(id="choose-list")

    def on_mount(self) -> None:
        """Shows every choice, with the current one highlighted."""
        self.query_one(OptionList).can_focus = False
        keep_to_ascii(self.query_one(OptionList))
        self.field.focus()
        self._show("")
        values = [choice.value for choice in self._shown]
        if self._current in values:
            self.query_one(OptionList).highlighted = values.index(self._current)

    def on_input_changed(self, event: Field.Changed) -> None:
        """Narrows the list."""
        self._show(event.value)

    def on_input_submitted(self, event: Field.Submitted) -> None:
        """Takes the highlighted choice."""
        event.stop()
        position = self.query_one(OptionList).highlighted
        if position is not None and position < len(self._shown):
            self.dismiss(self._shown[position].value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Takes the choice that was clicked."""
        event.stop()
        self.dismiss(self._shown[event.option_index].value)

    def action_leave(self) -> None:
        """Leaves things as they are."""
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        """Highlights the next or the previous choice."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_page(self, step: int) -> None:
        """Goes a page on or back."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            last = options.option_count - 1
            options.highlighted = min(max(0, options.highlighted + step * options.size.height), last)

    def _show(self, typed: str) -> None:
        options = self.query_one(OptionList)
        self._shown = matching(self._choices, typed)
        options.clear_options()
        options.add_options(
            [
                Option(Content.assemble(left(choice.label, self._label_width), "  ", (choice.help, "$quiet")))
                for choice in self._shown
            ]
        )
        if self._shown:
            options.highlighted = 0
