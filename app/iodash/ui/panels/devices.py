"""The device table: disks and mounts, how busy they are and how long requests wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from iodash.columns import DEVICE_COLUMNS, DEVICE_SHORT, Column, find_column, sort_rows
from iodash.columns.devices import LOUD_STATES
from iodash.model.missing import Missing, or_zero
from iodash.model.remedies import SYS_HIDDEN
from iodash.outputs.select import absent_devices, select_devices
from iodash.ui.panels.device_fields import LEAST_LINES, DeviceFields
from iodash.ui.panels.named import named_devices
from iodash.ui.panels.table_panel import TablePanel
from iodash.ui.panels.why_empty import why_no_device
from iodash.ui.reasons import device_reason
from iodash.ui.widgets.table_lines import UNSORTED, SortMark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from iodash.model.frame import DeviceRow, Frame
    from iodash.model.settings import Settings
    from iodash.ui.view import View
    from iodash.ui.widgets.table_lines import Piece

_BY_KEY: dict[str, Column[DeviceRow]] = {column.key: column for column in DEVICE_COLUMNS}

_TELLING = (
    "read_size_bytes",
    "write_size_bytes",
    "reads_merged_per_s",
    "writes_merged_per_s",
    "flushes_per_s",
    "flush_await_ms",
    "kind",
    "backed_by",
    "reads_merged_percent",
    "writes_merged_percent",
    "operations_per_s",
    "rtt_ms",
    "queue_ms",
    "retransmits_per_s",
)
"""What the full-screen panel shows next where there is room; then comes the rest."""

_REST = tuple(key for key in _BY_KEY if key != "mounts")

_READS = frozenset({"read_bytes_per_s", "reads_per_s"})
_WRITES = frozenset({"write_bytes_per_s", "writes_per_s"})

_NAMING = frozenset({"mounts", "major", "minor"})
_NOTHING = frozenset({"0", "0.0", "0.00"})

_STEP_PERCENT = 20.0
"""How much busier a device must be than another to pass it."""

_MEMORY = 0.7
"""The share of the past in the mean that the order goes by."""


_LEAST_ROWS = 3
"""Rows of the full-screen table that the fields beneath leave to it."""


class CalmOrder:
    """Busy devices first, idle ones last; a device moves only when it matters.

    The order goes by a running mean of the utilisation, and a device passes the one before it only when it is busier
    by a good step.
    """

    def __init__(self) -> None:
        self._mean: dict[str, float] = {}
        self._order: list[str] = []

    def order(self, rows: Sequence[DeviceRow]) -> list[DeviceRow]:
        """`rows` in the next order."""
        by_name = {row.name: row for row in rows}
        self._mean = {
            row.name: _MEMORY * self._mean.get(row.name, _load(row)) + (1 - _MEMORY) * _load(row) for row in rows
        }
        names = [name for name in self._order if name in by_name]
        known = set(names)
        new = sorted((row.name for row in rows if row.name not in known), key=lambda name: -self._mean[name])
        order: list[str] = []
        for name in [*names, *new]:
            at = len(order)
            while at and self._passes(name, order[at - 1], at_start=name not in known):
                at -= 1
            order.insert(at, name)
        self._order = order
        return [by_name[name] for name in order]

    def _passes(self, name: str, other: str, *, at_start: bool) -> bool:
        mine, theirs = self._mean[name], self._mean[other]
        if at_start:
            return mine > theirs
        return mine > theirs + _STEP_PERCENT or (mine > 1.0 and theirs < 0.1)


def _load(row: DeviceRow) -> float:
    """How busy a device is in percent. Mounts have no utilisation; what they move stands for it."""
    loud = 50.0 if row.state in LOUD_STATES else 0.0
    if not isinstance(row.util_percent, Missing):
        return min(100.0, row.util_percent) + loud
    moved = or_zero(row.read_bytes_per_s) + or_zero(row.write_bytes_per_s)
    return min(100.0, moved / 1e6) + min(5.0, or_zero(row.operations_per_s)) + loud


class DevicesPanel(TablePanel["DeviceRow"]):
    """The devices, calmly ordered by how busy they are."""

    key: ClassVar[str] = "devices"
    title: ClassVar[str] = "DEVICES"

    def __init__(self, settings: Settings) -> None:
        super().__init__(lambda row: row.name, kilobytes=settings.kilobytes)
        self._settings = settings
        self._calm = CalmOrder()
        self._ordered: tuple[Frame | None, list[DeviceRow]] = (None, [])
        self._sort: str | None = None
        self._reverse = False
        self._fields = DeviceFields(self._without_room, self._cell)
        self._fields_high = 0

    def compose(self) -> ComposeResult:
        """Rule, table, and the fields of one device that the table has no room for."""
        yield from super().compose()
        yield self._fields

    def wanted_lines(self, frame: Frame, width: int) -> int:
        """A rule, a heading, a line a device or two that say why there is none; full-screen one device's fields too."""
        rows = len(select_devices(frame.devices, self._settings))
        return 2 + (rows or 2) + self.kept_lines(frame, width)

    def kept_lines(self, frame: Frame, width: int) -> int:
        """Those of the fields."""
        return self._fields.lines_at(width)

    def take_lines(self, lines: int, width: int) -> None:
        """A few rows come first, then the fields, then more rows."""
        rows = len(self._ordered[1])
        room = lines - 2 - min(rows, _LEAST_ROWS)
        self._fields_high = min(self._fields.lines_at(width), room) if room >= LEAST_LINES else 0
        self._fields.display = self._fields_high > 0
        self._fields.styles.max_height = self._fields_high or None
        self._table.styles.max_height = 1 + rows if self._fields_high else None
        self.show_info()

    @property
    def _looked_at(self) -> DeviceRow | None:
        """The selected device, else the busiest, else none."""
        return self._table.selected or next(iter(self._ordered[1]), None)

    def series(self, frame: Frame) -> list[tuple[str, str, str]]:
        """Utilisation, throughput and waits of the device that is selected, else of the busiest."""
        row = self._looked_at
        if row is None:
            return []
        names = (("util_percent", "%"), ("read_bytes_per_s", "B/s"), ("write_bytes_per_s", "B/s"), ("await_ms", "ms"))
        return [(row.name, name, unit) for name, unit in names]

    def show_frame(self, frame: Frame, view: View) -> None:
        """Shows the devices that were asked for."""
        self._shown = (frame, view)
        self._units = view.units
        is_ordered_anew = self._ordered[0] is None
        rows = self._rows(frame)
        self._table.ascii = view.ascii
        absent = absent_devices(frame.devices, self._settings.device)
        self._table.show(
            rows,
            sorted_by=self._sorted_by(),
            marked=named_devices(frame),
            empty=() if rows else why_no_device(self._settings, frame, absent),
            anew=is_ordered_anew,
        )
        self.show_info()

    def show_info(self) -> None:
        """Shows beneath the table what it has no room for.

        The rule says what there is no room for at all, and whether the disks were told by name.
        """
        ascii = self._shown is not None and self._shown[1].ascii
        self._fields.show(self._looked_at if self.is_full else None, ascii=ascii)
        info = self._info(self._ordered[1])
        if self._shown is not None and self._shown[0].host.sysfs_hidden:
            info.append(f"disks told by name: {SYS_HIDDEN}")
        self._rule.show(info, self._hidden_info(), focused=self._table.has_focus, ascii=ascii)

    @property
    def reason(self) -> str:
        """What the footer says of the selected row."""
        row = self._table.selected
        return "" if row is None else device_reason(row)

    # Order

    @property
    def sort(self) -> str | None:
        """The key of the sorted column, None for the calm order."""
        return self._sort

    @property
    def is_reversed(self) -> bool:
        """Whether the order is the other way round. The calm order never is."""
        return self._reverse

    def order_by(self, key: str | None, *, reverse: bool) -> None:
        """Sorts by a column; the calm order the other way round is that by utilisation."""
        self._sort = "util_percent" if key is None and reverse else key
        self._reverse = reverse
        self._ordered = (None, [])
        self.show_again()

    def sort_by(self, key: str | None) -> None:
        """Sorts by a column; a second time the other way round. None: the busiest first, calmly."""
        if key is None:
            self.order_by(None, reverse=False)
        else:
            super().sort_by(key)

    def _sort_stops(self) -> list[str | None]:
        return [None, *self._table.column_keys]

    def sort_choices(self) -> list[tuple[str, str | None, str]]:
        """What can be sorted by: words, the column's key, what it means."""
        columns = [(column.heading, column.key, column.help) for column in DEVICE_COLUMNS]
        return [("busiest", None, "Busy devices first; the order changes only when it matters."), *columns]

    def _rows(self, frame: Frame) -> list[DeviceRow]:
        if self._ordered[0] is not frame:
            rows = select_devices(frame.devices, self._settings)
            column = find_column(DEVICE_COLUMNS, self._sort) if self._sort else None
            calm = self._calm.order(rows)
            ordered = calm if column is None else sort_rows(rows, column, reverse=self._reverse)
            self._ordered = (frame, ordered)
        return self._ordered[1]

    def _sorted_by(self) -> SortMark:
        if self._sort is None:
            return UNSORTED
        return SortMark((self._sort,), falls=_BY_KEY[self._sort].rises == self._reverse)

    # Columns without room

    def _without_room(self, width: int) -> list[Column[DeviceRow]]:
        return self._table.columns_without_room(width)

    @property
    def _unseen_columns(self) -> int:
        if not self.is_full:
            return super()._unseen_columns
        return self._fields.left_out(self.app.size.width, self._fields_high)

    @property
    def details_hint(self) -> str:
        """What is said where somebody asks for the details of a device."""
        if not self.is_full:
            return "Details are of processes; e shows every field of the devices."
        if self._unseen_columns:
            return "Details are of processes; a larger terminal shows every field of the devices."
        return "Details are of processes; every field of the device is shown already."

    # Cells

    def _columns(self, width: int) -> tuple[Column[DeviceRow], ...]:
        keys = DEVICE_SHORT
        if self.is_full:
            keys = tuple(dict.fromkeys((*DEVICE_SHORT[:-1], *_TELLING, *_REST, "mounts")))
        return tuple(_BY_KEY[key].in_units(self._units) for key in keys)

    def _info(self, rows: Sequence[DeviceRow]) -> list[str]:
        parts = []
        below = len(rows) - len(self._table.rows_in_sight)
        if below > 0:
            idle = sum(row.state == "idle" for row in rows[-below:])
            parts.append(f"{below} more" + (", idle" if idle == below else ""))
        return parts

    def _cell(self, row: DeviceRow, column: Column[DeviceRow]) -> Piece:
        value = column.value(row)
        text = column.text(value, self._units)
        key = column.key
        if key == "name":
            return (row.label and f"{row.name} {row.label}") or text, ""
        if key == "state":
            if isinstance(value, Missing) or value == "idle":
                return text, "quiet"
            return text, "alarm" if value in ("stalled", "saturated") else "warn" if value in LOUD_STATES else ""
        if isinstance(value, Missing) or (text in _NOTHING and key not in _NAMING):
            return text, "quiet"
        if key in _READS:
            return text, "read"
        if key in _WRITES:
            return text, "write"
        return text, "quiet" if key in ("mounts", "backed_by") else ""
