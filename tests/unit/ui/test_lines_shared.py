"""Which columns fit, how the panels share the lines, which keys the footer shows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from iodash.columns import DEVICE_COLUMNS, PROCESS_COLUMNS
from iodash.formatting.cells import _NARROW
from iodash.ui.keys import footer_keys
from iodash.ui.layout import EVERYTHING, share_lines
from iodash.ui.panels.footer import keys_that_fit
from iodash.ui.panels.lines import plain_text, width_of
from iodash.ui.widgets.fit import fit_columns


def test_every_sign_that_is_taken_for_one_cell_wide_is() -> None:
    signs = [chr(code) for code in range(0x20, 0x2900) if _NARROW.fullmatch(chr(code))]
    assert len(signs) > 500
    assert [sign for sign in signs if wcwidth(sign) != 1] == []


PANELS = ("verdict", "strip", "gpus", "devices", "processes")


@given(width=st.integers(1, 400), columns=st.sampled_from([PROCESS_COLUMNS, DEVICE_COLUMNS]))
def test_columns_never_overlap_and_never_pass_the_edge(width: int, columns: tuple[object, ...]) -> None:
    slots = fit_columns(columns, width)  # type: ignore[arg-type, var-annotated]
    assert slots
    for one, next_one in pairwise(slots):
        assert one.x + one.width < next_one.x
    if len(slots) > 1:
        assert slots[-1].x + slots[-1].width <= width


def test_the_flexible_column_takes_what_is_left() -> None:
    slots = fit_columns(PROCESS_COLUMNS, 1000)
    assert len(slots) == len(PROCESS_COLUMNS)
    assert slots[-1].x + slots[-1].width == 1000


def test_the_sorted_column_stays_however_narrow_it_gets() -> None:
    assert [slot.column.key for slot in fit_columns(PROCESS_COLUMNS, 12, always="cgroup")] == ["cgroup"]


@given(
    height=st.integers(0, 200),
    wanted=st.fixed_dictionaries(
        {
            "verdict": st.integers(0, 1),
            "strip": st.integers(0, 4),
            "gpus": st.integers(0, 17),
            "devices": st.sampled_from([0, 3, 6, 40]),
            "processes": st.sampled_from([0, EVERYTHING]),
        }
    ),
)
def test_lines_are_never_given_twice_nor_to_the_hidden(height: int, wanted: dict[str, int]) -> None:
    given_lines = share_lines(height, wanted)
    assert sum(given_lines.values()) <= height
    assert all(0 <= given_lines[panel] <= wanted[panel] for panel in PANELS)
    if wanted["processes"]:
        assert sum(given_lines.values()) == height or height < 3


def test_processes_keep_their_rows_among_many_gpus_and_devices() -> None:
    wanted = {"verdict": 1, "strip": 2, "gpus": 17, "devices": 30, "processes": EVERYTHING}
    assert share_lines(22, wanted)["processes"] == 10
    assert share_lines(14, wanted)["processes"] >= 5
    shared = share_lines(38, wanted)
    assert shared["gpus"] == 17
    assert shared["devices"] >= 6


@given(width=st.integers(0, 200))
def test_the_footer_drops_whole_entries(width: int) -> None:
    line = keys_that_fit(footer_keys(), width)
    assert width_of(line) <= width
    whole = "  ".join(f"{key.footer_key} {key.footer}" for key in footer_keys())
    assert whole.startswith(plain_text(line))
    assert not plain_text(line).endswith(" ")
