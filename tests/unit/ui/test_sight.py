"""What is in sight and what is selected, whatever the rows do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iodash.ui.widgets.sight import Sight


def sight(rows: list[int], room: int = 5) -> Sight[int]:
    made: Sight[int] = Sight(lambda row: row)
    made.take(rows, room)
    return made


def test_the_selection_is_an_identity() -> None:
    it = sight(list(range(10)))
    it.move_to(3)
    it.take([9, 3, 1], 5)
    assert it.selected == 3
    assert it.is_selected(3)
    it.take([9, 1], 5)
    assert it.selected is None


def test_the_first_move_selects_the_first_row_in_sight() -> None:
    it = sight(list(range(20)))
    it.scroll(7)
    it.move(1)
    assert it.selected == 7
    it.move(1)
    assert it.selected == 8


def test_a_page_is_what_is_in_sight_less_one() -> None:
    it = sight(list(range(20)))
    it.move_page(1)
    assert it.selected == 4
    it.move_page(-3)
    assert it.selected == 0


def test_following_keeps_the_selected_row_in_sight() -> None:
    it = sight(list(range(20)))
    it.move_to(0)
    it.take(list(reversed(range(20))), 5)
    assert 0 not in it.in_sight
    it.follow = True
    it.take(list(reversed(range(20))), 5)
    assert 0 in it.in_sight


def test_nothing_moves_where_nothing_is() -> None:
    it = sight([])
    it.move(3)
    it.move_page(1)
    it.scroll(4)
    it.select(7)
    assert it.selected is None
    assert list(it.with_margin(3)) == []


@given(
    rows=st.lists(st.integers(0, 30), unique=True, max_size=30),
    steps=st.lists(
        st.tuples(st.sampled_from(["move", "move_page", "move_to", "scroll", "resize"]), st.integers(-9, 40))
    ),
)
def test_the_window_never_leaves_the_rows(rows: list[int], steps: list[tuple[str, int]]) -> None:
    it = sight(rows)
    for name, number in steps:
        getattr(it, name)(abs(number) if name == "resize" else number)
        assert 0 <= it.top <= max(0, len(rows) - max(1, it.room))
        if name.startswith("move") and rows:
            assert it.room == 0 or it.selected in it.in_sight
