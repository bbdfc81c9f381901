"""What the full-screen device table has no room for stands beneath it, each value in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from iodash.columns import DEVICE_COLUMNS, Column
from iodash.formatting.cells import cell_width
from iodash.formatting.units import Units
from iodash.model.missing import Missing
from iodash.ui.panels.device_fields import DeviceFields
from iodash.ui.panels.lines import plain_text, width_of
from tests.ui.frames import device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.frame import DeviceRow
    from iodash.ui.panels.lines import Piece

HIDDEN = DEVICE_COLUMNS[5:]
SIZES = [40, 60, 80, 120, 200]


def cell(row: DeviceRow, column: Column[DeviceRow]) -> Piece:
    return column.cell(row, Units.IEC), ""


def block(row: DeviceRow | None, *, columns: Sequence[Column[DeviceRow]] = HIDDEN, ascii: bool = False) -> DeviceFields:
    fields = DeviceFields(lambda width: columns, cell)
    fields.show(row, ascii=ascii)
    return fields


def texts(fields: DeviceFields, width: int, height: int | None = None) -> list[str]:
    return [plain_text(line) for line in fields.lines(width, height)]


@pytest.mark.parametrize("width", SIZES)
def test_every_field_has_its_name_and_its_value(width: int) -> None:
    row = device("sda", kind="dm", backed_by=("sdb",), read_size_bytes=32768, reads_merged_percent=Missing.NO_IO)
    shown = texts(block(row), width)
    words = " ".join(shown[1:]).split()
    assert shown[0].startswith(" sda ─")
    for column in HIDDEN:
        names = column.heading.split()
        at = next(at for at in range(len(words)) if words[at : at + len(names)] == names)
        assert words[at + len(names)] == column.cell(row, Units.IEC)
    assert words[words.index("%rrqm") + 1] == "-"
    assert all(width_of(line) <= width for line in block(row).lines(width, None))


@pytest.mark.parametrize("width", SIZES)
def test_no_value_moves_another_one(width: int) -> None:
    quiet = device("sda", backed_by=(), mounts=())
    loud = device(
        "nas:/" + "x" * 300,
        kind="partition",
        backed_by=tuple(f"nvme{number}n1" for number in range(40)),
        mounts=("/" + "m" * 500,),
        reads_per_s=9.9e9,
        read_await_ms=1e9,
        write_bytes_per_s=1e18,
        in_flight=10**12,
        util_percent=Missing.OFF,
    )
    before, after = texts(block(quiet), width), texts(block(loud), width)
    assert len(before) == len(after)
    assert all(cell_width(line) <= width for line in after)
    for column in HIDDEN:
        name = f" {column.heading} "
        places = [[(y, line.index(name)) for y, line in enumerate(shown) if name in line] for shown in (before, after)]
        assert places[0] == places[1] != []


def test_nothing_stands_there_without_a_device_or_where_the_table_shows_all() -> None:
    assert texts(block(None), 120) == texts(block(device(), columns=()), 120) == []
    assert block(device(), columns=()).left_out(120, 0) == 0
    assert block(None).left_out(120, 20) == len(HIDDEN)


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("height", range(2, 14))
def test_in_few_lines_the_first_fields_stay_and_the_others_are_counted(width: int, height: int) -> None:
    fields = block(device())
    shown = texts(fields, width, height)
    assert 2 <= len(shown) <= height
    named = sum(f" {column.heading} " in "\n".join(shown[1:]) for column in HIDDEN)
    assert named == len(HIDDEN) - fields.left_out(width, height)
    assert (named == len(HIDDEN)) is (fields.lines_at(width) <= height)
    assert " r/s " in shown[1] or " r/s " in shown[3]


def test_ascii_keeps_to_ascii() -> None:
    row = device("x" * 200, backed_by=("y" * 300,), read_await_ms=1e12)
    assert all(line.isascii() for line in texts(block(row, ascii=True), 80))
