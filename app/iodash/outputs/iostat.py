"""Frames in the shape of iostat's reports: the same lines, columns, widths and units.

An undefined mean (a wait without a request) prints as 0.00, as iostat has it. What is not known for another reason,
such as a device that is new, prints as a dash, and as null in JSON.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodash.model.kinds import NETWORK_KINDS
from iodash.model.missing import Missing
from iodash.outputs.iostat_fields import (
    BASIC,
    DISCARDS,
    QUEUE,
    READS,
    REST,
    SHORT_BASIC,
    SHORT_EXTENDED,
    UNDEFINED,
    UTIL,
    WRITES,
    completes,
    group_row,
    is_active,
    is_part_of,
)
from iodash.outputs.select import is_device_called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from iodash.model.frame import DeviceRow, Frame, SystemRow
    from iodash.model.missing import Number
    from iodash.outputs.iostat_fields import Field, Kind

ALL = "ALL"
_NAME_WIDTH = 13


@dataclass(frozen=True, slots=True)
class Layout:
    """What a report shows; the names are those of iostat's options.

    `devices` are names or `ALL`, `partitions` devices whose partitions are wanted, `ALL` among them for everything.
    `groups` are sums over several devices, each with its members.
    """

    cpu: bool = True
    disk: bool = True
    extended: bool = False
    short: bool = False
    megabytes: bool = False
    human: bool = False
    pretty: bool = False
    compact: bool = False
    decimals: int = 2
    only_active: bool = False
    timestamp: bool = False
    labels: bool = False
    devices: tuple[str, ...] = ()
    partitions: tuple[str, ...] | None = None
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    only_groups: bool = False


def cpu_shares(row: SystemRow) -> dict[str, Number]:
    """The shares of CPU time under iostat's names. `user` leaves nice out where that is known."""
    nice = row.cpu_nice_percent
    known_nice = not isinstance(nice, Missing)
    return {
        "user": row.cpu_user_percent - nice if known_nice else row.cpu_user_percent,
        "nice": nice,
        "system": row.cpu_system_percent,
        "iowait": row.cpu_iowait_percent,
        "steal": row.cpu_steal_percent,
        "idle": row.cpu_idle_percent,
    }


def _iso() -> bool:
    return os.environ.get("S_TIME_FORMAT") == "ISO"


def header_line(frame: Frame) -> str:
    """The line above all reports: kernel, host, date, machine and number of CPUs."""
    host = frame.host
    date = time.strftime("%Y-%m-%d" if _iso() else "%x", time.localtime(frame.time))
    return f"Linux {host.kernel} ({host.name}) \t{date} \t_{os.uname().machine}_\t({_cpu_count(frame)} CPU)"


def _cpu_count(frame: Frame) -> int:
    cpus = frame.system.cpu_count
    return frame.host.cpu_count if isinstance(cpus, Missing) else cpus


def _timestamp(frame: Frame) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z" if _iso() else "%x %X", time.localtime(frame.time))


class Reports:
    """Turns frames into reports. The devices that are listed by default are those that were ever used."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._used: set[str] = set()

    def learn(self, since_boot: Frame) -> None:
        """Takes from the means since boot which devices were ever used."""
        self._used.update(row.name for row in since_boot.devices if completes(row))

    def lines(self, frame: Frame) -> list[str]:
        """One report: CPU shares, then the device table, and the empty lines between."""
        layout = self._layout
        lines = [_timestamp(frame)] if layout.timestamp else []
        if layout.cpu:
            lines += [*self._cpu_lines(frame.system), ""]
        if layout.disk:
            rows = self.rows(frame)
            for fields in self._tables():
                lines += [*self._table(fields, rows, frame.interval_s), ""]
        else:
            lines.append("")
        return [*lines, ""]

    def object(self, frame: Frame) -> dict[str, object]:
        """The same as the element of iostat's JSON `statistics`."""
        layout = self._layout
        result: dict[str, object] = {"timestamp": _timestamp(frame)} if layout.timestamp else {}
        if layout.cpu:
            result["avg-cpu"] = {name: _json_number(value) for name, value in cpu_shares(frame.system).items()}
        if layout.disk:
            fields = [field for table in self._tables() for field in table]
            if layout.extended and not layout.short:
                fields.sort(key=_json_order)
            result["disk"] = [
                {"disk_device": self._name(row)}
                | {self._unit(field.key): self._json_value(field, row, frame.interval_s) for field in fields}
                for row in self.rows(frame)
            ]
        return result

    def rows(self, frame: Frame) -> list[DeviceRow]:
        """The devices and groups of a report: single devices as the kernel lists them, those of a group as named."""
        layout = self._layout
        self.learn(frame)
        disks = [row for row in frame.devices if row.kind not in NETWORK_KINDS]
        names_singles = bool(layout.devices) or layout.partitions is not None
        rows = self._worth_a_line(disks if names_singles or not layout.groups else (), self._is_wanted)
        for name, members in layout.groups:
            inside = _members(disks, members)
            listed = self._worth_a_line(inside)
            rows += [] if layout.only_groups else listed
            rows += [group_row(f" {name}", inside)] if listed else []
        return rows

    def _worth_a_line(
        self, rows: Iterable[DeviceRow], is_wanted: Callable[[DeviceRow], bool] = lambda _: True
    ) -> list[DeviceRow]:
        return [row for row in rows if is_wanted(row) and (not self._layout.only_active or is_active(row))]

    def _is_wanted(self, row: DeviceRow) -> bool:
        named = self._layout.devices
        with_partitions = self._layout.partitions
        if with_partitions is not None and ALL in with_partitions:
            return True
        if any(name != ALL and is_device_called(row, name) for name in named):
            return True
        if with_partitions is not None:
            disks = with_partitions or None
            if row.kind == "partition":
                return row.name in self._used and (disks is None or any(is_part_of(row, disk) for disk in disks))
            if disks is not None:
                return any(is_device_called(row, disk) for disk in disks)
        if row.kind == "partition":
            return False
        return ALL in named or (not named and row.name in self._used)

    def _tables(self) -> list[tuple[Field, ...]]:
        layout = self._layout
        if not layout.extended:
            return [SHORT_BASIC if layout.short else BASIC]
        if layout.short:
            return [SHORT_EXTENDED]
        parts = [READS, WRITES, DISCARDS, REST]
        return parts if layout.pretty and not layout.compact else [tuple(field for part in parts for field in part)]

    def _table(self, fields: Sequence[Field], rows: Sequence[DeviceRow], seconds: float) -> list[str]:
        headings = "".join(f"{self._unit(field.heading):>{field.width}}" for field in fields)
        lines = [f"{headings} Device" if self._layout.pretty else f"{'Device':<{_NAME_WIDTH}}{headings}"]
        for row in rows:
            cells = "".join(f"{self._cell(field, row, seconds):>{field.width}}" for field in fields)
            name = self._name(row)
            lines.append(f"{cells} {name}" if self._layout.pretty else f"{name:<{_NAME_WIDTH}}{cells}")
        return lines

    def _cpu_lines(self, row: SystemRow) -> list[str]:
        cells = "".join(f" {self._number(value, 'percent'):>7}" for value in cpu_shares(row).values())
        return ["avg-cpu:  %user   %nice %system %iowait  %steal   %idle", f"       {cells}"]

    def _unit(self, text: str) -> str:
        return text.replace("kB", "MB") if self._layout.megabytes else text

    def _name(self, row: DeviceRow) -> str:
        return row.label if self._layout.labels and row.label else row.name

    def _scaled(self, field: Field, row: DeviceRow, seconds: float) -> Number:
        """The number in the unit of the report: kB or MB for amounts, always kB for sizes."""
        value = field.value(row, seconds)
        if field.kind == "size":
            return value / 1024
        if field.kind in ("bytes", "total"):
            return value / (1024 * 1024 if self._layout.megabytes else 1024)
        return value

    def _cell(self, field: Field, row: DeviceRow, seconds: float) -> str:
        if self._layout.human and field.kind in ("bytes", "size", "total"):
            value = field.value(row, seconds)
            return _human(0.0 if value in UNDEFINED else value)
        return self._number(self._scaled(field, row, seconds), field.kind)

    def _number(self, value: Number, kind: Kind) -> str:
        if value in UNDEFINED:
            value = 0.0
        if isinstance(value, Missing):
            return "-"
        if kind == "total":
            return f"{value:.0f}"
        if kind == "percent" and self._layout.human:
            return f"{value:.1f}%"
        return f"{value:.{self._layout.decimals}f}"

    def _json_value(self, field: Field, row: DeviceRow, seconds: float) -> float | int | None:
        value = self._scaled(field, row, seconds)
        if field.kind == "total" and not isinstance(value, Missing):
            return round(value)
        return _json_number(value)


class JsonDocument:
    """iostat's JSON around a run of reports: valid however many there are, also after an interruption."""

    def __init__(self, frame: Frame) -> None:
        host = {
            "nodename": frame.host.name,
            "sysname": "Linux",
            "release": frame.host.kernel,
            "machine": os.uname().machine,
            "number-of-cpus": _cpu_count(frame),
            "date": time.strftime("%Y-%m-%d" if _iso() else "%x", time.localtime(frame.time)),
        }
        inner = ",\n".join(f"\t\t\t{json.dumps(key)}: {json.dumps(value)}" for key, value in host.items())
        self.opening = f'{{"sysstat": {{\n\t"hosts": [\n\t\t{{\n{inner},\n\t\t\t"statistics": ['
        self.closing = "\n\t\t\t]\n\t\t}\n\t]\n}}\n"
        self._first = True

    def element(self, report: dict[str, object]) -> str:
        """The text of one report, with the comma before it from the second on."""
        comma = "" if self._first else ","
        self._first = False
        parts = []
        for key, value in report.items():
            if isinstance(value, list):
                items = ",\n".join(f"\t\t\t\t\t\t{json.dumps(item)}" for item in value)
                parts.append(f"\t\t\t\t\t{json.dumps(key)}: [\n{items}\n\t\t\t\t\t]")
            else:
                parts.append(f"\t\t\t\t\t{json.dumps(key)}: {json.dumps(value)}")
        return comma + "\n\t\t\t\t{\n" + ",\n".join(parts) + "\n\t\t\t\t}"


def _members(disks: Sequence[DeviceRow], names: Sequence[str]) -> list[DeviceRow]:
    """The devices of a group in the order of their names, each once; `ALL` stands for all but partitions."""
    found: dict[str, DeviceRow] = {}
    for name in names:
        for row in disks:
            if row.kind != "partition" if name == ALL else is_device_called(row, name):
                found.setdefault(row.name, row)
    return list(found.values())


def absent_names(rows: Sequence[DeviceRow], layout: Layout) -> list[str]:
    """Which of the names that were asked for mean no device."""
    names = [*layout.devices, *(layout.partitions or ()), *(name for _, members in layout.groups for name in members)]
    disks = [row for row in rows if row.kind not in NETWORK_KINDS]
    return [
        name for name in dict.fromkeys(names) if name != ALL and not any(is_device_called(row, name) for row in disks)
    ]


def _json_number(value: Number) -> float | None:
    if value in UNDEFINED:
        return 0.0
    return None if isinstance(value, Missing) else round(value, 2)


def _json_order(field: Field) -> int:
    """The place of a field in JSON, which groups the fields by what they are, not by direction."""
    kinds = ("/s", "kB/s", "rqm/s", "rqm", "_await", "areq-sz", "aqu-sz", "util")
    rest = field.key[1:] if field not in (QUEUE, UTIL) else field.key
    return kinds.index(rest)


def _human(amount: Number) -> str:
    """Bytes as kB, MB, … with one decimal and the letter, as iostat's --human writes them."""
    if isinstance(amount, Missing):
        return "-"
    value = amount / 1024
    for letter in "kMGTP":
        if value < 1024:
            return f"{value:.1f}{letter}"
        value /= 1024
    return f"{value:.1f}E"
