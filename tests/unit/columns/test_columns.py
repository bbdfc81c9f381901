from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodash.columns import (
    DEVICE_COLUMNS,
    DEVICE_SHORT,
    GPU_COLUMNS,
    PROCESS_ACCUMULATED,
    PROCESS_COLUMNS,
    PROCESS_RATES,
    SYSTEM_COLUMNS,
    Column,
    find_column,
    sort_rows,
)
from iodash.columns.column import plain
from iodash.columns.processes import PROCESS_TIES, READ_PLUS_WRITE, command_text, label
from iodash.formatting.units import DASH, Units
from iodash.model.missing import Missing
from iodash.model.sample import ProcessKey
from tests.ui.frames import device, gpu, process, system

TABLES: dict[str, tuple[tuple[Column[Any], ...], Any]] = {
    "system": (SYSTEM_COLUMNS, system()),
    "devices": (DEVICE_COLUMNS, device()),
    "processes": (PROCESS_COLUMNS, process(7, key=ProcessKey(7, 70, 7))),
    "gpus": (GPU_COLUMNS, gpu()),
}

PROMISED = {
    "system": """
        cpu_user_percent cpu_system_percent cpu_idle_percent cpu_iowait_percent cpu_steal_percent cpu_count
        memory_total_bytes memory_used_bytes memory_available_bytes memory_cached_bytes memory_buffers_bytes
        memory_dirty_bytes memory_writeback_bytes swap_total_bytes swap_used_bytes swap_in_bytes_per_s
        swap_out_bytes_per_s page_in_bytes_per_s page_out_bytes_per_s major_faults_per_s refault_bytes_per_s
        disk_read_bytes_per_s disk_write_bytes_per_s disk_devices network_receive_bytes_per_s
        network_transmit_bytes_per_s interrupts_per_s context_switches_per_s processes_running processes_blocked
        processes_created_per_s load_1 load_5 load_15 pressure_cpu_some_percent pressure_io_some_percent
        pressure_io_full_percent pressure_memory_some_percent pressure_memory_full_percent
    """,
    "devices": """
        name kind major minor mounts backed_by reads_per_s writes_per_s discards_per_s flushes_per_s read_bytes_per_s
        write_bytes_per_s discard_bytes_per_s reads_merged_per_s writes_merged_per_s discards_merged_per_s
        reads_merged_percent writes_merged_percent discards_merged_percent await_ms read_await_ms write_await_ms
        discard_await_ms flush_await_ms read_size_bytes write_size_bytes discard_size_bytes queue_length in_flight
        util_percent operations_per_s rtt_ms queue_ms retransmits_per_s state
    """,
    "processes": """
        pid ppid name command user uid state threads start_time read_bytes_per_s write_bytes_per_s
        cancelled_write_bytes_per_s logical_read_bytes_per_s logical_write_bytes_per_s read_calls_per_s
        write_calls_per_s cache_hit_percent io_delay_percent cpu_percent resident_bytes read_bytes_total
        write_bytes_total major_faults_per_s io_priority cgroup container gpus gpu_memory_bytes gpu_sm_percent job role
        tid
    """,
    "gpus": """
        index uuid name status util_percent memory_util_percent memory_used_bytes memory_total_bytes power_watts
        power_limit_watts temperature_celsius sm_clock_mhz memory_clock_mhz sm_active_percent pcie_receive_bytes_per_s
        pcie_transmit_bytes_per_s throttle_reasons mig encoder_percent decoder_percent ecc_errors xid pcie_generation
        pcie_width nvlink_receive_bytes_per_s nvlink_transmit_bytes_per_s vendor
    """,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_promised_field_is_a_column(table: str) -> None:
    columns, _ = TABLES[table]
    assert set(PROMISED[table].split()) <= {column.key for column in columns}


@pytest.mark.parametrize("table", TABLES)
def test_every_column_reads_the_field_that_it_names(table: str) -> None:
    columns, row = TABLES[table]
    for column in columns:
        assert column.value(row) == getattr(row, column.key), column.key


@pytest.mark.parametrize("table", TABLES)
def test_keys_are_unique_and_described(table: str) -> None:
    columns, _ = TABLES[table]
    assert len({column.key for column in columns}) == len(columns)
    for column in columns:
        assert column.heading
        assert column.help.endswith(".")
        assert column.width == 0 or column.width >= len(column.heading) or table == "system", column.key


@pytest.mark.parametrize("table", ["devices", "processes", "gpus"])
def test_a_heading_names_one_column(table: str) -> None:
    columns, _ = TABLES[table]
    for column in columns:
        assert find_column(columns, column.heading) is column
        assert find_column(columns, column.key) is column


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("units", list(Units))
def test_cells_say_what_is_known_and_dash_what_is_not(table: str, units: Units) -> None:
    columns, row = TABLES[table]
    for column in columns:
        assert isinstance(column.cell(row, units), str)
        assert column.missing(row) is None
        unknown = column.text(() if column.key == "mounts" else Missing.NO_PERMISSION, units)
        assert unknown == ("no permission" if column.key == "state" and table == "devices" else DASH)


def test_a_missing_value_carries_its_reason() -> None:
    column = find_column(PROCESS_COLUMNS, "READ/s")
    assert column is not None
    assert column.missing(process(7, read_bytes_per_s=Missing.NO_PERMISSION)) is Missing.NO_PERMISSION


def test_columns_are_found_by_field_or_heading_in_any_case() -> None:
    for name in ("read_bytes_per_s", "READ/s", "read/S", "Read_Bytes_Per_S"):
        column = find_column(PROCESS_COLUMNS, name)
        assert column is not None
        assert column.key == "read_bytes_per_s"
    assert find_column(PROCESS_COLUMNS, "no such column") is None


def test_the_tables_on_screen_are_made_of_columns() -> None:
    for keys, columns in (
        (PROCESS_RATES, PROCESS_COLUMNS),
        (PROCESS_ACCUMULATED, PROCESS_COLUMNS),
        (DEVICE_SHORT, DEVICE_COLUMNS),
    ):
        assert set(keys) <= {column.key for column in columns}
    assert "read_bytes_total" in PROCESS_ACCUMULATED
    assert "read_bytes_per_s" not in PROCESS_ACCUMULATED


def test_what_stays_longest_on_a_narrow_screen() -> None:
    by_keep = sorted(PROCESS_COLUMNS, key=lambda column: -column.keep)
    assert {column.key for column in by_keep if column.key in PROCESS_RATES and column.keep >= 97} == {
        "pid",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "command",
    }
    assert {column.key for column in DEVICE_COLUMNS if column.keep >= 95} == {"name", "util_percent", "await_ms"}


READ = next(column for column in PROCESS_COLUMNS if column.key == "read_bytes_per_s")
USER = next(column for column in PROCESS_COLUMNS if column.key == "user")
CONTAINER = next(column for column in PROCESS_COLUMNS if column.key == "container")
STATE = next(column for column in DEVICE_COLUMNS if column.key == "state")


def test_numbers_fall_and_text_rises_at_first() -> None:
    rows = [process(1, read_bytes_per_s=5, user="Zoe"), process(2, read_bytes_per_s=9, user="ada")]
    assert [row.pid for row in sort_rows(rows, READ)] == [2, 1]
    assert [row.pid for row in sort_rows(rows, READ, reverse=True)] == [1, 2]
    assert [row.pid for row in sort_rows(rows, USER)] == [2, 1]
    assert [row.pid for row in sort_rows(rows, USER, reverse=True)] == [1, 2]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_not_known_comes_last_in_either_direction(reverse: bool) -> None:
    rows = [
        process(1, read_bytes_per_s=Missing.NEW, container=None),
        process(2, read_bytes_per_s=0, container="a"),
        process(3, read_bytes_per_s=Missing.OFF, container=None),
        process(4, read_bytes_per_s=8, container="b"),
    ]
    assert [row.pid for row in sort_rows(rows, READ, reverse=reverse)][2:] == [1, 3]
    assert [row.pid for row in sort_rows(rows, CONTAINER, reverse=reverse)][2:] == [1, 3]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("key", "some", "more", "none"),
    [
        ("gpus", (0, 1), (2,), ()),
        ("gpus", (0, 1), (2,), Missing.NO_DRIVER),
        ("container", "docker-1", "docker-2", ""),
        ("job", "train.py:1", "train.py:2", None),
        ("role", "launcher", "loader worker 0", ""),
        ("io_priority", "be/4", "rt/0", Missing.NO_PERMISSION),
        ("cgroup", "/a", "/b", ""),
    ],
)
def test_what_shows_as_a_dash_comes_last_in_either_direction(
    key: str, some: Any, more: Any, none: Any, reverse: bool
) -> None:
    column = next(column for column in PROCESS_COLUMNS if column.key == key)
    rows = [process(pid, **{key: value}) for pid, value in enumerate((none, more, none, some))]
    assert column.cell(rows[0]) == DASH
    ordered = [row.pid for row in sort_rows(rows, column, reverse=reverse)]
    assert ordered == ([1, 3, 0, 2] if reverse else [3, 1, 0, 2])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("key", ["mounts", "backed_by"])
def test_devices_without_mounts_or_disks_beneath_come_last(key: str, reverse: bool) -> None:
    column = next(column for column in DEVICE_COLUMNS if column.key == key)
    rows = [device(name, **{key: value}) for name, value in (("a", ()), ("b", ("/x",)), ("c", ("/y", "/z")))]
    ordered = [row.name for row in sort_rows(rows, column, reverse=reverse)]
    assert ordered == (["c", "b", "a"] if reverse else ["b", "c", "a"])


@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from(list(Missing))), max_size=30), st.booleans())
def test_equal_rows_keep_their_place(values: list[int | Missing], reverse: bool) -> None:
    rows = [process(pid, read_bytes_per_s=value) for pid, value in enumerate(values)]
    ordered = sort_rows(rows, READ, reverse=reverse)
    assert sorted(row.pid for row in ordered) == list(range(len(values)))
    for one, other in pairwise(ordered):
        if one.read_bytes_per_s == other.read_bytes_per_s:
            assert one.pid < other.pid
    assert sort_rows(ordered, READ, reverse=reverse) == ordered


def test_ties_are_broken_by_io_delay_and_then_cpu() -> None:
    rows = [
        process(1, cpu_percent=50, io_delay_percent=1),
        process(2, cpu_percent=90, io_delay_percent=1),
        process(3, cpu_percent=0, io_delay_percent=7),
        process(4, cpu_percent=99, io_delay_percent=Missing.OFF),
        process(5, read_bytes_per_s=1, write_bytes_per_s=1),
    ]
    for reverse, expected in ((False, [5, 3, 2, 1, 4]), (True, [3, 2, 1, 4, 5])):
        assert [row.pid for row in sort_rows(rows, READ_PLUS_WRITE, PROCESS_TIES, reverse=reverse)] == expected


def test_devices_are_sorted_by_how_bad_their_state_is() -> None:
    rows = [device(state, state=state) for state in ("ok", "stalled", "idle", "saturated")]
    rows.append(device("frozen", state=Missing.OFF))
    assert [row.name for row in sort_rows(rows, STATE)] == ["stalled", "saturated", "ok", "idle", "frozen"]


def test_states_that_deserve_attention_are_in_capitals() -> None:
    assert STATE.cell(device(state="saturated")) == "SATURATED"
    assert STATE.cell(device(state="busy")) == "busy"


def test_lists_and_names_as_text() -> None:
    by_key = {column.key: column for column in PROCESS_COLUMNS}
    assert by_key["gpus"].cell(process(1, gpus=(0, 3))) == "0,3"
    assert by_key["gpus"].cell(process(1, gpus=())) == DASH
    assert by_key["start_time"].cell(process(1, start_time=0.0)) == "01-01 00:00"
    mounts = next(column for column in DEVICE_COLUMNS if column.key == "mounts")
    assert mounts.cell(device(mounts=("/", "/data"))) == "/ /data"
    assert mounts.cell(device(mounts=())) == DASH
    assert plain(None) == DASH


def test_a_label_adds_what_the_job_knows() -> None:
    assert label(process(1, "train.py", role="rank 0, 8 workers")) == "train.py  rank 0, 8 workers"
    assert label(process(1, "kworker/0:1", kernel_thread=True)) == "[kworker/0:1]"


def test_whole_kib_are_announced_by_the_heading_alone() -> None:
    columns: tuple[Column[Any], ...] = (*PROCESS_COLUMNS, *DEVICE_COLUMNS)
    by_heading = {column.heading: column for column in columns}
    shown = {
        name: by_heading[name].in_units(Units.KIB).heading for name in ("READ/s", "RES", "WRITE", "r/s", "rareq-sz")
    }
    assert shown == {"READ/s": "READ K/s", "RES": "RES K", "WRITE": "WRITE K", "r/s": "r/s", "rareq-sz": "rareq-sz"}
    assert by_heading["READ/s"].in_units(Units.IEC) is by_heading["READ/s"]
    assert by_heading["RES"].in_units(Units.KIB).key == "resident_bytes"


def test_a_command_line_stands_behind_the_part_in_a_job() -> None:
    worker = process(1, "pt_data_worker", command="python3 train.py", role="loader worker 0")
    assert command_text(worker) == "loader worker 0  python3 train.py"
    assert command_text(worker, "") == "python3 train.py"
    assert command_text(process(1, "kworker/0:1", command="", kernel_thread=True)) == "[kworker/0:1]"
