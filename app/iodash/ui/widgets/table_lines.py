"""The lines of a table as pieces of text with the word for their look: heading, rows, foot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from iodash.formatting.cells import left, right

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iodash.ui.widgets.fit import Slot

Piece: TypeAlias = tuple[str, str]
"""Some safe text, and the word for its look: `""` for the usual one, else one of `looks.WORDS`."""

Line: TypeAlias = tuple[Piece, ...]

_NOTE_LEAVES = 8
"""Cells of the flexible column that a note leaves to its text."""


class SortMark(NamedTuple):
    """Which columns rows are sorted by, given by their keys, and whether their values fall from row to row.

    Several columns stand for their sum.
    """

    keys: tuple[str, ...] = ()
    falls: bool = True


UNSORTED = SortMark()


def heading_line(slots: Sequence[Slot[Any]], sorted_by: SortMark, *, ascii: bool) -> Line:
    """The headings. The sorted columns carry a mark."""
    mark = ("v" if sorted_by.falls else "^") if ascii else ("▼" if sorted_by.falls else "▲")
    pieces: list[Piece] = []
    at = 0
    for slot in slots:
        is_sorted = slot.column.key in sorted_by.keys
        text = slot.column.heading + (mark if is_sorted else "")
        pieces.append((" " * (slot.x - at), "heading"))
        pieces.append((_aligned(slot, text, slot.width, ""), "sorted" if is_sorted else "heading"))
        at = slot.x + slot.width
    return _joined(pieces)


def row_line(
    slots: Sequence[Slot[Any]],
    cells: Sequence[Piece],
    note: str,
    *,
    mark: str,
    whole: str,
    width: int,
    ellipsis: str,
) -> Line:
    """One row.

    Args:
        slots: where the columns stand.
        cells: text and look of each column.
        note: stands at the right end of the flexible column.
        mark: one cell at the left edge, or empty.
        whole: the look of the whole row where it is selected, else empty.
        width: cells of a selected row.
        ellipsis: ends what was cropped.
    """
    pieces: list[Piece] = [(mark or " ", "strong" if mark else "")]
    at = 1
    for slot, (text, word) in zip(slots, cells, strict=True):
        pieces.append((" " * (slot.x - at), ""))
        if slot.flexible and note:
            note = right(note, min(len(note), max(0, slot.width - _NOTE_LEAVES)), ellipsis)
            pieces.append((left(text, slot.width - len(note) - 1, ellipsis) + " ", word))
            pieces.append((note, "quiet"))
        else:
            pieces.append((_aligned(slot, text, slot.width, ellipsis), word))
        at = slot.x + slot.width
    if whole:
        return ((left("".join(text for text, _ in pieces), width, ellipsis), whole),)
    return _joined(pieces)


def foot_line(slots: Sequence[Slot[Any]], cells: Mapping[str, Piece], ellipsis: str) -> Line:
    """A line below the rows, its cells given by column key."""
    pieces: list[Piece] = []
    at = 0
    for slot in slots:
        text, word = cells.get(slot.column.key, ("", "foot"))
        pieces += [(" " * (slot.x - at), "foot"), (_aligned(slot, text, slot.width, ellipsis), word)]
        at = slot.x + slot.width
    return _joined(pieces)


def _aligned(slot: Slot[Any], text: str, width: int, ellipsis: str) -> str:
    """Words stand at the left of their column, numbers at the right."""
    return left(text, width, ellipsis) if slot.column.is_text else right(text, width, ellipsis)


def _joined(pieces: Sequence[Piece]) -> Line:
    """Neighbours with one look become one piece. Blanks take the look of what stands before them."""
    joined: list[Piece] = []
    for text, word in pieces:
        if not text:
            continue
        if joined and (joined[-1][1] == word or (text.isspace() and word == "")):
            joined[-1] = (joined[-1][0] + text, joined[-1][1])
        else:
            joined.append((text, word))
    return tuple(joined)
