"""Which columns the process table shows at which width."""

from __future__ import annotations

import pytest

from iodash.columns import PROCESS_RATES
from iodash.model.settings import Settings
from iodash.ui.panels.process_columns import process_columns, sorted_by
from iodash.ui.widgets.fit import fit_columns
from iodash.ui.widgets.table_lines import SortMark


def keys(
    width: int, *, sort: str | None = None, full: bool = False, threads: bool = False, gpus: bool = True
) -> list[str]:
    columns = process_columns(Settings(sort=sort), width=width, full=full, threads=threads, gpus=gpus)
    return [column.key for column in columns]


def test_what_a_wide_terminal_has_room_for_is_shown_in_a_fixed_order() -> None:
    before: list[str] = []
    for width in range(60, 400):
        more = [key for key in keys(width) if key not in PROCESS_RATES]
        assert more[: len(before)] == before
        before = more
    assert before[:2] == ["resident_bytes", "threads"]
    assert "container" in before


@pytest.mark.parametrize("width", [122, 130, 150, 200, 300])
def test_further_columns_leave_the_command_its_room(width: int) -> None:
    columns = process_columns(Settings(), width=width, full=False, threads=False, gpus=True)
    slots = fit_columns(columns, width, flexible_least=60)
    assert len(slots) == len(columns)
    assert slots[-1].column.key == "command"
    assert slots[-1].width >= 60


def test_a_terminal_of_200_columns_shows_memory_threads_and_container() -> None:
    assert {"resident_bytes", "threads", "gpu_memory_bytes", "container"} <= set(keys(200))


def test_without_gpus_their_columns_leave_room_for_others() -> None:
    assert not {"gpu_memory_bytes", "gpu_sm_percent"} & set(keys(400, gpus=False))


def test_narrow_and_unknown_widths_add_nothing() -> None:
    assert keys(0) == keys(100) == list(PROCESS_RATES)


def test_the_full_panel_has_every_column_once() -> None:
    shown = keys(80, full=True)
    assert len(shown) == len(set(shown))
    assert len(shown) > 20


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("sort", ["cgroup", "threads", "container"])
def test_the_sorted_column_is_among_them_and_moves_no_other(sort: str, width: int) -> None:
    shown = keys(width, sort=sort)
    assert sort in shown
    assert [key for key in shown if key != sort] == [key for key in keys(width) if key != sort]


def test_threads_have_their_id_beside_that_of_the_process() -> None:
    assert keys(120, threads=True)[:2] == ["pid", "tid"]


def test_both_reads_and_writes_are_marked_where_rows_are_sorted_by_their_sum() -> None:
    assert sorted_by(Settings()) == SortMark(("read_bytes_per_s", "write_bytes_per_s"), falls=True)
    assert sorted_by(Settings(accumulated=True, reverse=True)) == SortMark(
        ("read_bytes_total", "write_bytes_total"), falls=False
    )
    assert sorted_by(Settings(sort="READ/s")) == SortMark(("read_bytes_per_s",), falls=True)
    assert sorted_by(Settings(sort="COMMAND")) == SortMark(("command",), falls=False)
