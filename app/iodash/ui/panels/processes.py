"""The process table: who reads and writes, how long it waits for it, and what it is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from iodash.columns import PROCESS_ACCUMULATED, PROCESS_COLUMNS, PROCESS_RATES, Column, find_column
from iodash.columns.processes import label
from iodash.formatting.cells import crop
from iodash.formatting.units import Units, byte_amount
from iodash.model.missing import Missing, or_zero
from iodash.outputs.select import absent_pids, find_sort_column, select_processes
from iodash.sources import Demand
from iodash.ui.panels.named import named_processes
from iodash.ui.panels.panel import Panel
from iodash.ui.panels.why_empty import COLLECTING, why_no_process
from iodash.ui.reasons import process_reason
from iodash.ui.widgets.rule import RuleLine
from iodash.ui.widgets.table import LiveTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.ui.view import View
    from iodash.ui.widgets.table_lines import Piece

_BY_KEY: dict[str, Column[ProcessRow]] = {column.key: column for column in PROCESS_COLUMNS}

_FULL: tuple[str, ...] = (
    "resident_bytes",
    "threads",
    "logical_read_bytes_per_s",
    "logical_write_bytes_per_s",
    "read_calls_per_s",
    "write_calls_per_s",
    "major_faults_per_s",
    "gpu_memory_bytes",
    "gpu_sm_percent",
    "cancelled_write_bytes_per_s",
    "io_priority",
    "ppid",
    "container",
    "start_time",
    "read_bytes_total",
    "write_bytes_total",
    "read_bytes_per_s",
    "write_bytes_per_s",
)
"""What the full-screen panel shows besides where there is room, the most telling first."""

_READS = frozenset({"read_bytes_per_s", "read_bytes_total", "logical_read_bytes_per_s"})
_WRITES = frozenset({"write_bytes_per_s", "write_bytes_total", "logical_write_bytes_per_s"})

_FROM_STAT = frozenset(
    {
        "ppid",
        "state",
        "threads",
        "cpu_percent",
        "io_delay_percent",
        "resident_bytes",
        "major_faults_per_s",
        "io_priority",
    }
)
"""What is read only for rows in sight, unless somebody sorts by it."""

_MANY = 500
"""From here on rows are picked and ordered beside the event loop."""

_FOOT_FRAMES = 10
"""How long the line of the unattributed stays after it was last needed, so that it doesn't flicker."""

_MARGIN = 5
"""Rows beyond those in sight that are read in full too, so that scrolling finds them filled."""


class ProcessesPanel(Panel):
    """The rule, the table, and the line in which a filter is typed."""

    key: ClassVar[str] = "processes"
    title: ClassVar[str] = "PROCESSES"

    class DemandChanged(Message):
        """Other rows or fields are looked at than before."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(id="processes")
        self.choice = settings
        self.full_command = False
        self._table: LiveTable[ProcessRow] = LiveTable(lambda row: row.key, self._cell, self._note, flexible_share=0.2)
        self._rule = RuleLine(self.title)
        self._units = Units.IEC
        self._shown: tuple[Frame, View] | None = None
        self._prepared: tuple[Frame, Settings, list[ProcessRow]] | None = None
        self._lagging: frozenset[ProcessKey] = frozenset()
        self._foot_left = 0

    def compose(self) -> ComposeResult:
        """Rule and table."""
        yield self._rule
        yield self._table

    def on_mount(self) -> None:
        """The first frame drawn already has the headings."""
        self._table.show((), columns=self._columns(None), sorted_by=self._sorted_by(), empty=COLLECTING)

    @property
    def table(self) -> LiveTable[ProcessRow]:
        """The table, which holds the selection."""
        return self._table

    def wanted_lines(self, frame: Frame, width: int) -> int:
        """As many as there are."""
        return len(frame.processes) + 3

    def series(self, frame: Frame) -> list[tuple[str, str, str]]:
        """What the disks did for all of them."""
        return [("", "disk_read_bytes_per_s", "B/s"), ("", "disk_write_bytes_per_s", "B/s")]

    # Frames

    async def prepare(self, frame: Frame) -> None:
        """Picks and orders the rows of a frame that will be shown next, beside the event loop when they are many."""
        choice = self.choice
        if len(frame.processes) < _MANY:
            rows = select_processes(frame.processes, choice)
        else:
            rows = await asyncio.to_thread(select_processes, frame.processes, choice)
        self._prepared = (frame, choice, rows)

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows the chosen processes in the chosen order."""
        self._shown = (frame, view)
        self._units = view.units
        self._lagging = frozenset(key for job in frame.jobs for key in job.stragglers)
        rows = self._rows(frame)
        self._table.ascii = view.ascii
        absent = absent_pids(frame.processes, self.choice.pid)
        self._table.show(
            rows,
            columns=self._columns(view),
            sorted_by=self._sorted_by(),
            marked=named_processes(frame),
            foot=self._foot(frame),
            empty=() if rows else why_no_process(self.choice, frame, absent),
        )
        self.show_info()
        self.post_message(self.DemandChanged())

    def show_info(self) -> None:
        """Says in the rule what is listed, and what there is no room for."""
        focused = self._table.has_focus
        if self._shown is None or self._prepared is None:
            self._rule.show((), focused=focused)
        else:
            frame, view = self._shown
            self._rule.show(
                self._info(len(self._prepared[2]), len(frame.processes)),
                title="THREADS" if frame.threads else self.title,
                focused=focused,
                ascii=view.ascii,
            )

    def _rows(self, frame: Frame) -> list[ProcessRow]:
        if self._prepared is None or self._prepared[0] is not frame or self._prepared[1] != self.choice:
            self._prepared = (frame, self.choice, select_processes(frame.processes, self.choice))
        return self._prepared[2]

    def _info(self, listed: int, total: int) -> list[str]:
        choice = self.choice
        parts = []
        if choice.filter:
            parts.append(f"filter: {choice.filter}")
        if choice.user:
            parts.append(f"user: {' '.join(choice.user)}")
        if choice.pid:
            parts.append(f"pid: {' '.join(map(str, choice.pid))}")
        if choice.only:
            parts.append("only active")
        if choice.accumulated:
            parts.append("since start")
        if self._table.follow:
            parts.append("following")
        if hidden := self._table.hidden_columns:
            parts.append(f"{hidden} columns hidden")
        return [f"{listed} of {total}" if listed != total else f"{total}", *parts]

    def demand(self) -> Demand:
        """What is looked at here."""
        choice = self.choice
        sort = find_sort_column(choice.sort, accumulated=choice.accumulated).key
        visible = self._table.in_sight(_MARGIN)
        keys = {row.key for row in visible}
        if (selected := self._table.selected) is not None:
            keys.add(selected.key)
        return Demand(
            threads=choice.threads,
            every_field=(choice.only and not choice.accumulated) or sort in _FROM_STAT,
            visible=frozenset(keys),
        )

    @property
    def reason(self) -> str:
        """What the footer says of the selected row."""
        row = self._table.selected
        return "" if row is None else process_reason(row, [_BY_KEY[key] for key in self._table.fitting_keys])

    # What the user switches

    def choose(self, choice: Settings) -> None:
        """Shows the last frame by another choice."""
        self.choice = choice
        self.show_again()

    def show_again(self) -> None:
        """Shows the last frame again."""
        if self._shown is not None:
            self.show_frame(*self._shown)
        else:
            self._table.show((), columns=self._columns(None), sorted_by=self._sorted_by(), empty=COLLECTING)

    def sort_by(self, key: str | None) -> None:
        """Sorts by a column, falling; a second time the other way round."""
        same = find_sort_column(key, accumulated=self.choice.accumulated) is find_sort_column(
            self.choice.sort, accumulated=self.choice.accumulated
        )
        self.choose(replace(self.choice, sort=key, reverse=not self.choice.reverse if same else False))

    def sort_step(self, step: int) -> None:
        """Sorts by the next column on screen. Read and write together is a stop before the reads alone."""
        reads = "read_bytes_total" if self.choice.accumulated else "read_bytes_per_s"
        stops: list[str | None] = []
        for key in self._table.column_keys:
            if key == reads:
                stops.append(None)
            stops.append(key)
        at = stops.index(self.sort) if self.sort in stops else 0
        self.choose(replace(self.choice, sort=stops[(at + step) % len(stops)], reverse=False))

    def reverse(self) -> None:
        """The other way round."""
        self.choose(replace(self.choice, reverse=not self.choice.reverse))

    def sort_choices(self) -> list[tuple[str, str | None, str]]:
        """What can be sorted by: words, the column's key, what it means."""
        both = find_sort_column(None, accumulated=self.choice.accumulated)
        columns = [(column.heading, column.key, column.help) for column in PROCESS_COLUMNS]
        return [(both.heading, None, both.help), *columns]

    @property
    def sort(self) -> str | None:
        """The key of the sorted column, None for reads and writes together."""
        column = find_column(PROCESS_COLUMNS, self.choice.sort) if self.choice.sort else None
        return None if column is None else column.key

    def accumulate(self) -> None:
        """Rates or amounts since the start; sorting stays on the same thing."""
        accumulated = not self.choice.accumulated
        pairs = {"read_bytes_per_s": "read_bytes_total", "write_bytes_per_s": "write_bytes_total"}
        if not accumulated:
            pairs = {total: rate for rate, total in pairs.items()}
        self.choose(replace(self.choice, accumulated=accumulated, sort=self.sort and pairs.get(self.sort, self.sort)))

    def users(self) -> list[str]:
        """Who owns the processes of the last frame."""
        if self._shown is None:
            return []
        return sorted({row.user for row in self._shown[0].processes})

    # Cells

    def _columns(self, view: View | None) -> tuple[Column[ProcessRow], ...]:
        keys: list[str] = list(PROCESS_ACCUMULATED if self.choice.accumulated else PROCESS_RATES)
        if view is not None and view.full == self.key:
            keys[-1:-1] = [key for key in _FULL if key not in keys]
        if self.choice.threads:
            keys.insert(1, "tid")
        sort = self._sorted_by()[0]
        if sort not in keys and sort in _BY_KEY:
            keys.insert(-1, sort)
        return tuple(_BY_KEY[key] for key in keys)

    def _sorted_by(self) -> tuple[str, bool]:
        column = find_sort_column(self.choice.sort, accumulated=self.choice.accumulated)
        key = {"read_write_bytes_per_s": "read_bytes_per_s", "read_write_bytes_total": "read_bytes_total"}.get(
            column.key, column.key
        )
        return key, column.is_text == self.choice.reverse

    def _cell(self, row: ProcessRow, column: Column[ProcessRow]) -> Piece:
        key = column.key
        if key == "command":
            return (row.command or label(row) if self.full_command else label(row)), ""
        value = column.value(row)
        if isinstance(value, Missing) or value is None:
            return column.text(value, self._units), "quiet"
        if key == "gpus" and row.gpus_guessed:
            return column.text(value, self._units) + "?", "quiet"
        text = column.text(value, self._units)
        if value == 0 and key not in ("pid", "tid", "uid"):
            return text, "quiet"
        if key in _READS:
            return text, "read"
        if key in _WRITES:
            return text, "write"
        if key == "state" and value == "D":
            return text, "warn"
        return text, ""

    def _note(self, row: ProcessRow) -> str:
        reason = row.read_bytes_per_s
        words = ["lags"] if row.key in self._lagging else []
        if isinstance(reason, Missing):
            words.append(reason.words)
        return ", ".join(words)

    def _foot(self, frame: Frame) -> Mapping[str, Piece] | None:
        rest = frame.unattributed
        if or_zero(rest.read_bytes_per_s) >= 1 or or_zero(rest.write_bytes_per_s) >= 1:
            self._foot_left = _FOOT_FRAMES
        elif self._foot_left > 0:
            self._foot_left -= 1
        if self._foot_left <= 0 or self.choice.accumulated:
            return None
        words = ", ".join(reason.replace("_", " ") for reason in rest.reasons)
        return {
            "pid": ("-", "foot"),
            "user": ("others", "foot"),
            "read_bytes_per_s": (byte_amount(rest.read_bytes_per_s, self._units), "foot"),
            "write_bytes_per_s": (byte_amount(rest.write_bytes_per_s, self._units), "foot"),
            "command": (crop(f"unattributed: {words}" if words else "unattributed", 200), "foot"),
        }
