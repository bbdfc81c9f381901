from __future__ import annotations

from iodash.formatting.tables import plain_table


def test_columns_are_as_wide_as_their_contents() -> None:
    rows = [["vda", "12345", "/"], ["日本", "1", "/data"]]
    assert plain_table(["DEVICE", "r/s", "MOUNTS"], rows, [False, True, False]) == [
        "DEVICE    r/s  MOUNTS",
        "vda     12345  /",
        "日本        1  /data",
    ]


def test_a_table_without_rows_is_its_headings() -> None:
    assert plain_table(["PID", "COMMAND"], [], [True, False]) == ["PID  COMMAND"]
