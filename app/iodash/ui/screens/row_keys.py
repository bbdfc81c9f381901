"""What the keys do to the rows of the tables: selection, order, and which processes are listed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from iodash.columns.processes import shown_name
from iodash.ui.looks import LookScreen
from iodash.ui.panels.devices import DevicesPanel
from iodash.ui.panels.following import followed_words
from iodash.ui.panels.job_rows import JobGroup
from iodash.ui.panels.processes import ProcessesPanel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from iodash.model.details import ProcessDetails
    from iodash.model.frame import Frame
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.ui.panels.panel import Panel
    from iodash.ui.view import View
    from iodash.ui.widgets.field import Field
    from iodash.ui.widgets.filter_line import FilterLine

ONLY_LOOKS = "iodash only looks and changes no process: use kill, renice or ionice."
NO_TABLE = "The processes are not on the screen."


class RowKeys(LookScreen, inherit_bindings=False):
    """The part of the dashboard that acts on rows. The other part owns the layout and the footer."""

    def __init__(
        self, settings: Settings, read_details: Callable[[ProcessKey], Awaitable[ProcessDetails | None]]
    ) -> None:
        super().__init__()
        self._read_details = read_details
        self._devices = DevicesPanel(settings)
        self._processes = ProcessesPanel(settings)
        self._filter: FilterLine | None = None

    # What the other part provides

    @property
    def focused_panel(self) -> Panel:
        """The panel that keys go to."""
        raise NotImplementedError

    @property
    def in_ascii(self) -> bool:
        """Whether the screen keeps to ASCII."""
        raise NotImplementedError

    @property
    def shown(self) -> tuple[Frame, View] | None:
        """The frame on the screen, and how it is shown."""
        raise NotImplementedError

    def hint(self, text: str) -> None:
        """Says something for a moment."""
        raise NotImplementedError

    def say(self) -> None:
        """Says in the footer what there is to say of the selected row."""
        raise NotImplementedError

    def action_full(self) -> None:
        """Gives the focused panel the whole screen, or takes it back."""
        raise NotImplementedError

    def show_again(self) -> None:
        """Shows the shown frame anew, as after a change of the layout."""
        raise NotImplementedError

    @property
    def table_with_keys(self) -> DevicesPanel | ProcessesPanel | None:
        """The table whose rows the keys act on: the focused panel, if it is one and on the screen."""
        focused = self.focused_panel
        for panel in (self._devices, self._processes):
            if panel is focused and panel.display:
                return panel
        return None

    @property
    def _table_to_sort(self) -> DevicesPanel | ProcessesPanel | None:
        """The table that is put in order: the focused one, else the processes where they are on the screen."""
        panel = self.table_with_keys or (self._processes if self._processes.display else None)
        if panel is None:
            self.hint(NO_TABLE)
        return panel

    # Keys: rows

    def action_move(self, rows: int) -> None:
        """Moves the selection."""
        if (panel := self.table_with_keys) is not None:
            panel.table.move(rows)

    def action_move_page(self, pages: int) -> None:
        """Moves the selection by a page."""
        if (panel := self.table_with_keys) is not None:
            panel.table.move_page(pages)

    def action_move_to_first(self) -> None:
        """Selects the first row."""
        if (panel := self.table_with_keys) is not None:
            panel.table.move_to(0)

    def action_move_to_last(self) -> None:
        """Selects the last row."""
        if (panel := self.table_with_keys) is not None:
            panel.table.move_to_last()

    def action_follow(self) -> None:
        """Keeps the selected process in sight, or no longer."""
        if self._processes.followed is not None:
            self._processes.follow(None)
            self.hint("no longer following")
            return
        if not self._processes.display:
            self.hint(NO_TABLE)
            return
        table = self._processes.table
        if table.selected is None:
            table.move(0)
        if (row := table.selected) is not None:
            self._processes.follow(row)
            self.hint(followed_words(row))

    def on_processes_panel_followed_ended(self, event: ProcessesPanel.FollowedEnded) -> None:
        """Says why nothing is followed any more."""
        event.stop()
        self.hint(event.words)

    def action_details(self) -> None:
        """Opens the details of the selected process, or opens or closes the selected job.

        On a panel without rows it does what the key for the full panel does.
        """
        from iodash.ui.screens.details import DetailsScreen

        panel = self.table_with_keys
        if panel is None:
            self.action_full()
            return
        if panel is self._devices:
            self.hint(self._devices.details_hint)
            return
        table = self._processes.table
        if table.selected is None:
            table.move(0)
        row = table.selected
        if isinstance(row, JobGroup):
            self._processes.open_or_close(row)
            self.say()
        elif row is not None:
            heading = f"{shown_name(row)}  pid {row.pid}" + (f"  tid {row.tid}" if row.tid else "")
            screen = DetailsScreen(self._read_details, row.key, heading, ascii=self.in_ascii, shown=self.shown, row=row)
            self.app.push_screen(screen)

    # Keys: order

    def action_sort_column(self, step: int) -> None:
        """Sorts by the next column."""
        if (panel := self._table_to_sort) is not None:
            panel.sort_step(step)

    def action_reverse(self) -> None:
        """Reverses the order."""
        if (panel := self._table_to_sort) is not None:
            panel.reverse()

    def action_choose_sort(self) -> None:
        """Asks which column to sort by. The one that is sorted already stays as it is."""
        from iodash.ui.screens.choose import Choice, ChooseScreen

        panel = self._table_to_sort
        if panel is None:
            return

        def chosen(value: str | None) -> None:
            if value is not None and (value or None) != panel.sort:
                panel.sort_by(value or None)

        choices = [Choice(key or "", heading, help) for heading, key, help in panel.sort_choices()]
        self.app.push_screen(ChooseScreen("Sort by", choices, panel.sort or ""), chosen)

    # Keys: what is listed

    def _choose(self, choice: Settings) -> None:
        self._processes.choose(choice)
        self.say()

    def action_only(self) -> None:
        """Lists only processes that do I/O."""
        self._choose(replace(self._processes.choice, only=not self._processes.choice.only))

    def action_threads(self) -> None:
        """Lists threads or processes, from the next frame on."""
        self._choose(replace(self._processes.choice, threads=not self._processes.choice.threads))

    def action_accumulated(self) -> None:
        """Shows rates or amounts."""
        self._processes.accumulate()

    def action_full_command(self) -> None:
        """Shows names or command lines."""
        self._processes.full_command = not self._processes.full_command
        self._processes.show_again()

    def action_choose_user(self) -> None:
        """Asks whose processes to list."""
        from iodash.ui.screens.choose import Choice, ChooseScreen

        current = self._processes.choice.user

        def chosen(value: str | None) -> None:
            if value is not None:
                self._choose(replace(self._processes.choice, user=(value,) if value else ()))

        choices = [Choice("", "everybody"), *(Choice(user, user) for user in self._processes.users())]
        self.app.push_screen(ChooseScreen("Processes of", choices, current[0] if current else ""), chosen)

    # The filter

    @property
    def field(self) -> Field | None:
        """The line that is being typed in."""
        return None if self._filter is None else self._filter.field

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        from iodash.ui.widgets.filter_line import FilterLine

        if self._filter is None and self._processes.display:
            self._filter = FilterLine(self._processes.choice.filter)
            self.mount(self._filter, before="#footer")
            self.show_again()

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Every letter counts."""
        event.stop()
        self._choose(replace(self._processes.choice, filter=event.text))

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Typing is over."""
        event.stop()
        self._stop_typing(keep=event.keep)

    def _stop_typing(self, *, keep: bool) -> None:
        if self._filter is not None:
            self._filter.remove()
            self._filter = None
        if not keep:
            self._choose(replace(self._processes.choice, filter=""))
        self._processes.table.focus()
        self.show_again()

    # Help

    def action_help(self) -> None:
        """Opens the help."""
        from iodash.ui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(ascii=self.in_ascii))

    def action_only_looks(self) -> None:
        """Says that iodash changes nothing."""
        self.hint(ONLY_LOOKS)
