"""The machine in a line or two, as dstat shows it: groups of numbers that keep their place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from iodash.columns.system import SYSTEM_COLUMNS
from iodash.formatting.units import Units, byte_amount, network_rate
from iodash.model.missing import Missing, or_zero
from iodash.model.remedies import see_the_machine
from iodash.ui.panels.disk_course import CHART_HEIGHT, disk_chart
from iodash.ui.panels.lines import Line, Lines, fitted, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import Frame, SystemRow

_COLUMNS = {column.key: column for column in SYSTEM_COLUMNS}

GROUP_GAP = "   "


@dataclass(frozen=True, slots=True)
class Item:
    """One number: its short label, its field, its cells, its look, and from where on it deserves attention."""

    label: str
    field: str
    width: int = 5
    word: str = ""
    warn: float | None = None
    alarm: float | None = None
    suffix: str = ""

    def line(self, row: SystemRow, units: Units) -> Line:
        """Label and number."""
        column = _COLUMNS[self.field]
        value = column.value(row)
        text = column.text(value, units)
        word = self.word
        if isinstance(value, Missing) or text in ("0", "0.00"):
            word = "quiet"
        elif self.alarm is not None and value >= self.alarm:
            word = "alarm"
        elif self.warn is not None and value >= self.warn:
            word = "warn"
        label = f"{self.label} " if self.label else ""
        suffix = "" if isinstance(value, Missing) else self.suffix
        return [(label, "quiet"), (f"{text + suffix:>{self.width}}", word)]


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers that stay or go together. The highest `keep` stays the longest on a narrow screen; each has its own.

    Where there is no room for all of a group, the fields of `short` alone stand for it, if it has any.
    """

    title: str
    keep: int
    items: tuple[Item, ...]
    short: tuple[str, ...] = ()

    def line(self, row: SystemRow, units: Units) -> Line:
        """The group as text, always equally wide."""
        return self._line(self.items, row, units)

    def lines(self, row: SystemRow, units: Units) -> list[Line]:
        """The group as text, in full and then shorter."""
        few = tuple(item for item in self.items if item.field in self.short)
        return [self.line(row, units), *([self._line(few, row, units)] if few else [])]

    def _line(self, items: Sequence[Item], row: SystemRow, units: Units) -> Line:
        line: Line = [(f"{self.title} ", "title")] if self.title else []
        for position, item in enumerate(items):
            if position:
                line.append((" ", ""))
            line.extend(item.line(row, units))
        return line


class MemoryGroup(Group):
    """Memory used of all."""

    __slots__ = ()

    def line(self, row: SystemRow, units: Units) -> Line:
        """`MEM 61.2G/125G`."""
        used, total = byte_amount(row.memory_used_bytes, units), byte_amount(row.memory_total_bytes, units)
        return [("MEM ", "title"), (f"{used:>5}", ""), (f"/{total:<5}", "quiet")]


class NetworkGroup(Group):
    """The network, which says so where it is in bits."""

    __slots__ = ()

    def line(self, row: SystemRow, units: Units) -> Line:
        """`NET r 1.15M s 8.01K`, or `NET bit/s r 9.45M s 65.6k`."""
        return Group.line(replace(self, title=_of_network(self.title, units)), row, units)


def _of_network(title: str, units: Units) -> str:
    return f"{title} bit/s" if units is Units.BITS else title


GROUPS: tuple[Group, ...] = (
    Group(
        "CPU",
        90,
        (
            Item("us", "cpu_user_percent", 3),
            Item("sy", "cpu_system_percent", 3),
            Item("wa", "cpu_iowait_percent", 3, warn=20, alarm=50),
            Item("id", "cpu_idle_percent", 3),
        ),
        short=("cpu_user_percent", "cpu_idle_percent"),
    ),
    MemoryGroup("MEM", 80, ()),
    Group("", 75, (Item("dirty", "memory_dirty_bytes"),)),
    Group("SWAP", 60, (Item("", "swap_used_bytes"),)),
    Group("PAGING", 65, (Item("si", "swap_in_bytes_per_s", warn=1), Item("so", "swap_out_bytes_per_s", warn=1))),
    Group(
        "DISK",
        100,
        (Item("r", "disk_read_bytes_per_s", word="read"), Item("w", "disk_write_bytes_per_s", word="write")),
    ),
    NetworkGroup(
        "NET",
        50,
        (
            Item("r", "network_receive_bytes_per_s", word="read"),
            Item("s", "network_transmit_bytes_per_s", word="write"),
        ),
    ),
    Group("IO stall", 95, (Item("", "pressure_io_some_percent", 4, warn=20, alarm=50, suffix="%"),)),
    Group("CPU stall", 30, (Item("", "pressure_cpu_some_percent", 4, warn=50, suffix="%"),)),
    Group("MEM stall", 40, (Item("", "pressure_memory_some_percent", 4, warn=5, alarm=20, suffix="%"),)),
    Group("TASKS", 35, (Item("run", "processes_running", 3), Item("blk", "processes_blocked", 3, warn=1))),
    Group("LOAD", 20, (Item("", "load_1"), Item("", "load_5"), Item("", "load_15"))),
    Group("", 10, (Item("int", "interrupts_per_s"), Item("csw", "context_switches_per_s"))),
    Group("", 15, (Item("steal", "cpu_steal_percent", 3, warn=5),)),
)

_MOST_LINES = 2

TALL = 45
"""Lines of a screen that has room for a chart of the disks. With GPUs it stands beneath them instead."""


def _broken(groups: list[Line], width: int) -> list[Line]:
    """The groups one after the other, a new line where the next one doesn't fit."""
    lines: list[Line] = []
    for group in groups:
        if lines and width_of(lines[-1]) + len(GROUP_GAP) + width_of(group) <= width:
            lines[-1] = [*lines[-1], (GROUP_GAP, ""), *group]
        else:
            lines.append(list(group))
    return lines


def strip_lines(row: SystemRow, units: Units, width: int, *, most: int | None = _MOST_LINES) -> list[Line]:
    """The strip in at most `most` lines of `width` cells (None: as many as it takes).

    Whole groups are left out where there is no room; those that say most about I/O are seated first.
    """
    if most is None:
        return [fitted(line, width) for line in _broken([group.line(row, units) for group in GROUPS], width)]
    seated: dict[int, Line] = {}
    lines: list[Line] = []
    for group in sorted(GROUPS, key=lambda group: group.keep, reverse=True):
        for form in group.lines(row, units):
            taken = {**seated, group.keep: form}
            tried = _broken([taken[each.keep] for each in GROUPS if each.keep in taken], width)
            if not lines or (len(tried) <= most and all(width_of(line) <= width for line in tried)):
                seated, lines = taken, tried
                break
    return [fitted(line, width) for line in lines]


def interface_lines(frame: Frame, units: Units, width: int) -> list[Line]:
    """One short block an interface, those with traffic first."""
    rows = sorted(
        frame.interfaces,
        key=lambda row: (-or_zero(row.receive_bytes_per_s + row.transmit_bytes_per_s), row.name),
    )
    blocks: list[Line] = [
        [
            (f"{_of_network(row.name, units)} ", "" if row.physical else "quiet"),
            ("r ", "quiet"),
            (f"{network_rate(row.receive_bytes_per_s, units):>5}", "read"),
            (" s ", "quiet"),
            (f"{network_rate(row.transmit_bytes_per_s, units):>5}", "write"),
        ]
        for row in rows
    ]
    return [fitted(line, width) for line in _broken(blocks, width)]


class StripPanel(Lines):
    """The system strip: one line on a wide screen, two on a narrow one, everything when full-screen."""

    key: ClassVar[str] = "strip"
    title: ClassVar[str] = "SYSTEM"
    can_focus = True

    def lines(self, width: int, height: int | None) -> list[Line]:
        """One or two lines; that it is collecting until the first frame comes."""
        if self._shown is None:
            return [[("SYSTEM", "title"), ("  collecting", "quiet")]]
        frame, view = self._shown
        if frame.host.only_processes:
            return [fitted([("SYSTEM", "title"), (f"  {see_the_machine(frame.host)}", "quiet")], width)]
        if view.full == self.key:
            every = strip_lines(frame.system, view.lettered, width, most=None)
            return [*every, *interface_lines(frame, view.lettered, width)]
        most = _MOST_LINES if height is None else max(1, min(height, _MOST_LINES))
        lines = strip_lines(frame.system, view.lettered, width, most=most)
        if not frame.gpus and self._room_for_chart(len(lines), height):
            lines += disk_chart(frame, view, width)
        return lines

    def _room_for_chart(self, taken: int, height: int | None) -> bool:
        if height is not None:
            return height >= taken + CHART_HEIGHT
        return self.app.size.height >= TALL

    def series(self, frame: Frame) -> list[tuple[str, str, str]]:
        """CPU, stalls, disks, network, memory."""
        return [
            ("", "disk_read_bytes_per_s", "B/s"),
            ("", "disk_write_bytes_per_s", "B/s"),
            ("", "cpu_user_percent", "%"),
            ("", "cpu_system_percent", "%"),
            ("", "cpu_iowait_percent", "%"),
            ("", "pressure_io_some_percent", "%"),
            ("", "network_receive_bytes_per_s", "B/s"),
            ("", "network_transmit_bytes_per_s", "B/s"),
            ("", "memory_used_bytes", "B"),
            ("", "memory_dirty_bytes", "B"),
        ]
