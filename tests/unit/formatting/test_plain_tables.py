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


def test_only_the_last_column_is_cut_to_the_width_of_a_terminal() -> None:
    rows = [["7", "python train.py --lr 0.1"], ["123456", "sh"]]
    assert plain_table(["PID", "COMMAND"], rows, [True, False], 22) == [
        "   PID  COMMAND",
        "     7  python train.…",
        "123456  sh",
    ]
    assert plain_table(["PID", "COMMAND"], rows, [True, False], 5)[1:] == ["     7  python tr…", "123456  sh"]
