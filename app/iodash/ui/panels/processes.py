"""The process table: who reads and writes, how long it waits for it, and what it is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from iodash.columns import PROCESS_COLUMNS, find_column
from iodash.model.missing import Missing, or_zero
from iodash.outputs.row_filter import row_filter
from iodash.outputs.select import absent_pids, find_sort_column
from iodash.sources import Demand
from iodash.ui.panels.following import ended_words, followed_words, found_again
from iodash.ui.panels.job_rows import JobGroup, OpenJobs, list_processes, sum_words
from iodash.ui.panels.named import named_processes
from iodash.ui.panels.process_cells import command_cell, job_cell, unattributed_cells, value_cell
from iodash.ui.panels.process_columns import BY_KEY, FROM_STAT, process_columns, sort_choices, sorted_by
from iodash.ui.panels.table_panel import TablePanel
from iodash.ui.panels.why_empty import why_no_process
from iodash.ui.reasons import process_reason

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from iodash.columns import Column
    from iodash.model.frame import Frame, ProcessRow
    from iodash.model.sample import ProcessKey
    from iodash.model.settings import Settings
    from iodash.ui.panels.job_rows import Listing, TableRow
    from iodash.ui.view import View
    from iodash.ui.widgets.table_lines import Piece, SortMark

_MANY = 500
"""From here on rows are picked and ordered beside the event loop."""

_FOOT_FRAMES = 10
"""How long the line of the unattributed stays after it was last needed, so that it doesn't flicker."""

_MARGIN = 5
"""Rows beyond those in sight that are read in full too, so that scrolling finds them filled."""


class ProcessesPanel(TablePanel["TableRow"]):
    """The processes, those of a training job beneath a row that stands for the whole job."""

    key: ClassVar[str] = "processes"
    title: ClassVar[str] = "PROCESSES"

    class DemandChanged(Message):
        """Other rows or fields are looked at than before."""

    class FollowedEnded(Message):
        """The row that was followed has ended and is followed no longer; `words` say so."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    def __init__(self, settings: Settings) -> None:
        super().__init__(lambda row: row.key, kilobytes=settings.kilobytes, flexible_share=0.2)
        self.choice = settings
        self.full_command = False
        self._measured: Frame | None = None
        self._listing: Listing | None = None
        self._is_listing = False
        self._is_chosen_anew = False
        self._followed: TableRow | None = None
        self._jobs = OpenJobs()
        self._lagging: frozenset[int] = frozenset()
        self._foot_left = 0

    def wanted_lines(self, frame: Frame, width: int) -> int:
        """As many as there are."""
        return len(frame.processes) + 3

    def series(self, frame: Frame) -> list[tuple[str, str, str]]:
        """What the disks did for all of them."""
        return [("", "disk_read_bytes_per_s", "B/s"), ("", "disk_write_bytes_per_s", "B/s")]

    # Frames

    async def prepare(self, frame: Frame) -> None:
        """Picks and orders the rows of a frame that will be shown next, beside the event loop when they are many."""
        if frame.switched:
            return
        choice = self.choice
        if len(frame.processes) < _MANY:
            self._listing = list_processes(frame, choice)
        else:
            self._listing = await asyncio.to_thread(list_processes, frame, choice)

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows the chosen processes in the chosen order; many that are not prepared yet as soon as they are.

        A frame in which threads have just taken the place of processes, or processes that of threads, has no rates of
        them: until the next one the rows of the last frame that has them stay.
        """
        self._shown = (frame, view)
        self._units = view.units
        if not frame.switched:
            self._measured = frame
        if self._measured is None:
            self._show_headings()
            return
        frame = self._measured
        listing = self._listing
        if listing is None or not listing.is_of(frame, self.choice):
            if len(frame.processes) >= _MANY:
                self._list_soon()
                self.show_info()
                return
            listing = self._listing = list_processes(frame, self.choice)
        self._show(listing, view)

    def _list_soon(self) -> None:
        """One listing is under way at a time; what was chosen last wins."""
        if not self._is_listing:
            self._is_listing = True
            self.run_worker(self._list_shown)  # type: ignore[arg-type]

    async def _list_shown(self) -> None:
        try:
            while self._measured is not None and not self._is_listed(self._measured):
                await self.prepare(self._measured)
        finally:
            self._is_listing = False
        self.show_again()

    def _is_listed(self, frame: Frame) -> bool:
        return self._listing is not None and self._listing.is_of(frame, self.choice)

    def _show(self, listing: Listing, view: View) -> None:
        frame = listing.frame
        self._lagging = frozenset(key.pid for job in frame.jobs for key in job.stragglers)
        self._jobs.look(listing, self._table.room)
        rows = self._jobs.laid_out(listing)
        selected = self._table.selected or self._followed
        self._table.ascii = view.ascii
        self._table.show(
            rows,
            sorted_by=self._sorted_by(),
            marked=self._marked(listing),
            foot=self._foot(frame),
            empty=() if rows else why_no_process(self.choice, frame, absent_pids(frame.processes, self.choice.pid)),
            anew=self._is_chosen_anew,
        )
        self._is_chosen_anew = False
        if self._table.selected is None and selected is not None:
            self._select_again(selected, frame)
        if self._followed is not None:
            self._followed = self._table.selected or selected
        self.show_info()
        self.post_message(self.DemandChanged())

    def _select_again(self, row: TableRow, frame: Frame) -> None:
        """Selects what a row that stands no longer there has become; a followed one that has ended is let go.

        A member of a job that was closed hands the selection on to the job. A followed row that isn't listed now is
        selected when it is again.
        """
        key = found_again(row, frame)
        if key is None and self._followed is not None:
            self.follow(None)
            self.post_message(self.FollowedEnded(ended_words(row)))
        for identity in (row.key, key):
            if self._table.selected is None:
                self._table.select(identity)
        if self._table.selected is None and key is not None and not isinstance(row, JobGroup):
            self._select_job_of(row, key)

    def _select_job_of(self, row: ProcessRow, key: ProcessKey) -> None:
        group = self._group_of(row)
        if group is not None and key in group.job.members and not self._jobs.is_open(group):
            self._table.select(group.key)

    @property
    def followed(self) -> TableRow | None:
        """The row that is kept in sight: the selected one, or the one that was until it was no longer listed."""
        return self._followed and (self._table.selected or self._followed)

    def follow(self, row: TableRow | None) -> None:
        """Keeps the selected `row` in sight, or with None no longer any."""
        self._followed = row
        self._table.follow = row is not None
        self.show_info()

    def _group_of(self, row: ProcessRow) -> JobGroup | None:
        """The job beneath whose row a process stands."""
        return None if self._listing is None or row.job is None else self._listing.groups.get(row.job)

    def _marked(self, listing: Listing) -> frozenset[Hashable]:
        named = named_processes(listing.frame)
        if not named:
            return frozenset()
        closed = (group for group in listing.groups.values() if not self._jobs.is_open(group))
        return frozenset([*named, *(group.key for group in closed if not named.isdisjoint(group.job.members))])

    def show_info(self) -> None:
        """Says in the rule what is listed, and what there is no room for."""
        focused = self._table.has_focus
        frame = self._measured
        if self._shown is None or self._listing is None or frame is None:
            self._rule.show((), focused=focused)
        else:
            newest, view = self._shown
            self._rule.show(
                self._info(frame, self._listing.count, is_waiting=newest.switched),
                self._hidden_info(),
                title="THREADS" if frame.threads else self.title,
                focused=focused,
                ascii=view.ascii,
            )

    def _info(self, frame: Frame, listed: int, *, is_waiting: bool) -> list[str]:
        choice, total = self.choice, len(frame.processes)
        parts = [f"{listed} of {total}" if listed != total else f"{total}"]
        if is_waiting or choice.threads != frame.threads:
            parts.append("collecting threads" if choice.threads else "collecting processes")
        if frame.host.hidepid:
            parts.append(f"other users' are hidden (hidepid={frame.host.hidepid})")
        if choice.filter:
            parts.append(
                f"{'literal filter' if row_filter(choice.filter).literal_because else 'filter'}: {choice.filter}"
            )
        if choice.user:
            parts.append(f"user: {' '.join(choice.user)}")
        if choice.pid:
            parts.append(f"pid: {' '.join(map(str, choice.pid))}")
        if choice.only:
            parts.append("only active")
        if choice.accumulated:
            parts.append("since start")
        if (followed := self.followed) is not None:
            parts.append(followed_words(followed, is_listed=self._table.selected is not None))
        return parts

    def demand(self) -> Demand:
        """What is looked at here: of a job in sight every process."""
        choice = self.choice
        sort = find_sort_column(choice.sort, accumulated=choice.accumulated).key
        rows = list(self._table.in_sight(_MARGIN))
        if (selected := self._table.selected) is not None:
            rows.append(selected)
        keys: set[ProcessKey] = set()
        for row in rows:
            keys.update(row.job.members if isinstance(row, JobGroup) else (row.key,))
        return Demand(
            threads=choice.threads,
            every_field=(choice.only and not choice.accumulated) or sort in FROM_STAT,
            visible=frozenset(keys),
        )

    @property
    def reason(self) -> str:
        """What the footer says of the selected row."""
        row = self._table.selected
        if row is None or self._shown is None:
            return ""
        process = row.total if isinstance(row, JobGroup) else row
        missing = process_reason(
            process,
            [BY_KEY[key] for key in self._table.fitting_keys],
            self._shown[0].host,
            of="" if isinstance(row, JobGroup) else f" of {row.pid}",
            sorted_by=self._sorted_by().keys,
        )
        words = sum_words(row, is_open=self._jobs.is_open(row)) if isinstance(row, JobGroup) else ""
        return ". ".join(filter(None, (words, missing)))

    # What the user switches

    def choose(self, choice: Settings) -> None:
        """Shows the last frame by another choice, from its top. Threads that were asked for come later."""
        self._is_chosen_anew |= choice != replace(self.choice, threads=choice.threads)
        self.choice = choice
        self.show_again()

    def is_job_mark(self, key: str, x: int) -> bool:
        """Whether the cell `x` of the column `key` of the selected row is the mark of an open or closed job."""
        return key == "command" and x == 0 and isinstance(self._table.selected, JobGroup)

    def open_or_close(self, group: JobGroup) -> None:
        """Shows or hides the members of a job."""
        self._jobs.toggle(group)
        self.show_again()

    @property
    def sort(self) -> str | None:
        """The key of the sorted column, None for reads and writes together."""
        column = find_column(PROCESS_COLUMNS, self.choice.sort) if self.choice.sort else None
        return None if column is None else column.key

    @property
    def is_reversed(self) -> bool:
        """Whether the order is the other way round."""
        return self.choice.reverse

    def order_by(self, key: str | None, *, reverse: bool) -> None:
        """Puts the rows in another order."""
        self.choose(replace(self.choice, sort=key, reverse=reverse))

    def sort_choices(self) -> list[tuple[str, str | None, str]]:
        """What can be sorted by: words, the column's key, what it means."""
        return sort_choices(self.choice)

    def sort_by_click(self, key: str) -> None:
        """Sorts by the column whose heading was clicked; a second time the other way round.

        A third click on the reads or the writes goes back to both together.
        """
        if key == self.sort and self.is_reversed and key in sorted_by(replace(self.choice, sort=None)).keys:
            self.order_by(None, reverse=False)
        else:
            self.sort_by(key)

    def accumulate(self) -> None:
        """Rates or amounts since the start; sorting stays on the same thing."""
        accumulated = not self.choice.accumulated
        pairs = {"read_bytes_per_s": "read_bytes_total", "write_bytes_per_s": "write_bytes_total"}
        if not accumulated:
            pairs = {total: rate for rate, total in pairs.items()}
        self.choose(replace(self.choice, accumulated=accumulated, sort=self.sort and pairs.get(self.sort, self.sort)))

    def users(self) -> list[str]:
        """Who owns the processes of the last frame."""
        return [] if self._measured is None else sorted({row.user for row in self._measured.processes})

    def _sort_stops(self) -> list[str | None]:
        """Read and write together is a stop before the reads alone."""
        reads = "read_bytes_total" if self.choice.accumulated else "read_bytes_per_s"
        stops: list[str | None] = []
        for key in self._table.column_keys:
            stops += [None, key] if key == reads else [key]
        return stops

    def _sorted_by(self) -> SortMark:
        return sorted_by(self.choice)

    # Cells

    def _columns(self, width: int) -> tuple[Column[ProcessRow], ...]:
        frame = self._measured
        return process_columns(
            self.choice,
            width=width,
            full=self.is_full,
            threads=self.choice.threads if frame is None else frame.threads,
            gpus=frame is not None and bool(frame.gpus),
            units=self._units,
        )

    def _cell(self, row: TableRow, column: Column[ProcessRow]) -> Piece:
        if column.key != "command":
            return value_cell(row.total if isinstance(row, JobGroup) else row, column, self._units)
        full, ascii = self.full_command, self._table.ascii
        if isinstance(row, JobGroup):
            return job_cell(row, is_open=self._jobs.is_open(row), full=full, ascii=ascii)
        return command_cell(row, self._group_of(row), full=full, ascii=ascii)

    def _note(self, row: TableRow) -> str:
        if isinstance(row, JobGroup):
            lagging = 0 if self._jobs.is_open(row) else len(row.job.stragglers)
            words = [f"{lagging} lag{'s' if lagging == 1 else ''}"] if lagging else []
            reads = row.total.read_bytes_per_s
        else:
            words = ["lags"] if row.pid in self._lagging else []
            reads = row.read_bytes_per_s
        if isinstance(reads, Missing):
            words.append(reads.words)
        return ", ".join(words)

    def _foot(self, frame: Frame) -> Mapping[str, Piece] | None:
        rest = frame.unattributed
        if or_zero(rest.read_bytes_per_s) >= 1 or or_zero(rest.write_bytes_per_s) >= 1:
            self._foot_left = _FOOT_FRAMES
        elif self._foot_left > 0:
            self._foot_left -= 1
        if self._foot_left <= 0 or self.choice.accumulated:
            return None
        return unattributed_cells(rest, self._units)
