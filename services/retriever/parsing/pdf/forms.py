"""Fields of a form whose label stands above them, as rows of a table: the label, and what was filled in.

In the text the two would be lines below each other like any others: "Which hall" could be taken for what the bank
reference is. A field with a label beside it is read along its line, and is left alone. So is one whose label may as
well be that of the field above it, or the head of a column of fields.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from services.retriever.documents import Box
from services.retriever.parsing.pdf.glyphs import Glyphs
from services.retriever.parsing.pdf.grids import Grid, cell_of
from services.retriever.parsing.pdf.words import Word, words_of

# In points.
_ABOVE = 16.0  # From a label's foot to its field.
_INTO = 4.0  # How far a label may reach into the rectangle of its field.
_ALIGNED = 12.0  # Between the left edges of both.
_BESIDE = 200.0
_APART = 44.0  # From a field's foot to the label of the next row of one table.
_LABEL_WORDS = 12
_GAP = 1.2  # Of the letters' size, between two words of a label.


@dataclass(frozen=True)
class Field:
    """A field that is filled in: its rectangle in points as shown, and which of the page's glyphs are its words."""

    box: Box
    start: int
    end: int


@dataclass(frozen=True)
class _Pair:
    label: tuple[Word, ...]
    value: tuple[Word, ...]
    box: Box
    column: int

    @property
    def top(self) -> float:
        return min(word.top for word in self.label)


def find(glyphs: Glyphs, unseen: Sequence[int], fields: Sequence[Field]) -> list[Grid]:
    """The fields with a label above them, those below each other in one grid without heads over its columns."""
    if not fields:
        return []
    words = words_of(glyphs, unseen)
    values = [
        tuple(word for word in words if field.start <= word.glyphs[0] < field.end)
        for field in fields
    ]
    filled = {word.glyphs[0] for value in values for word in value}
    free = [word for word in words if word.glyphs[0] not in filled]
    pairs = []
    for field, value in zip(fields, values, strict=True):
        label = _label(field.box, free, [one.box for one in fields if one is not field])
        if label and value:
            pairs.append(_Pair(label, value, field.box, round(field.box.left / 6)))
    return [_grid(group) for group in _columns(pairs, free)]


def _label(box: Box, free: Iterable[Word], others: Sequence[Box]) -> tuple[Word, ...]:
    """The words of the line above a field, if they can be nothing but its label."""
    near = [word for word in free if box.left - _BESIDE < word.right and word.left < box.right]
    if any(word.right <= box.left + _INTO and box.top < word.middle < box.bottom for word in near):
        return ()
    label = _line_above(box, free)
    if not label:
        return ()
    top, foot = min(word.top for word in label), max(word.bottom for word in label)
    beside = [one for one in others if one.left < box.right and one.right > box.left]
    gap = max(box.top - foot, 1.0)
    # A label in the middle between two fields may belong to the one above it, as its caption.
    if any(top - one.bottom + _INTO >= 0 and top - one.bottom < 2 * gap for one in beside):
        return ()
    # Another field right below, without a label of its own: a column of a table that is filled in.
    if any(
        -_INTO <= one.top - box.bottom < _ABOVE
        and abs(one.left - box.left) < _ALIGNED
        and not any(
            box.bottom - _INTO <= word.middle <= one.top + _INTO and word.left < one.right
            for word in near
            if word.right > one.left
        )
        for one in beside
    ):
        return ()
    return label


def _line_above(box: Box, free: Iterable[Word]) -> tuple[Word, ...]:
    """The words above a field that begin where it does, to their end."""
    above = [w for w in free if box.top - _ABOVE <= w.bottom <= box.top + _INTO]
    foot = max((w.bottom for w in above if abs(w.left - box.left) <= _ALIGNED), default=0.0)
    line = sorted((w for w in above if abs(foot - w.bottom) < 0.6 * w.size), key=lambda w: w.left)
    label: list[Word] = []
    before: Word | None = None
    for word in line:
        goes_on = before is not None and word.left - before.right < _GAP * word.size
        if label and not goes_on:
            break
        if label or abs(word.left - box.left) <= _ALIGNED:
            if not label and goes_on:
                return ()
            label.append(word)
        before = word
    return tuple(label) if len(label) <= _LABEL_WORDS else ()


def _columns(pairs: Sequence[_Pair], free: Sequence[Word]) -> Iterator[list[_Pair]]:
    """Pairs below each other with nothing between them."""
    taken = {word.glyphs[0] for pair in pairs for word in pair.label}
    rest = [word for word in free if word.glyphs[0] not in taken]
    ordered = sorted(pairs, key=lambda pair: (pair.column, pair.box.top))
    for _, column in groupby(ordered, key=lambda pair: pair.column):
        group: list[_Pair] = []
        for pair in column:
            if group and not _follows(group[-1], pair, rest):
                yield group
                group = []
            group.append(pair)
        yield group


def _follows(pair: _Pair, following: _Pair, rest: Iterable[Word]) -> bool:
    if not -_INTO <= following.top - pair.box.bottom <= _APART:
        return False
    left, right = following.box.left - _ALIGNED, max(pair.box.right, following.box.right)
    return not any(
        pair.box.top < word.middle < following.box.bottom
        and left < word.right
        and word.left < right
        for word in rest
    )


def _grid(pairs: Sequence[_Pair]) -> Grid:
    words = [word for pair in pairs for word in (*pair.label, *pair.value)]
    return Grid(
        left=min(word.left for word in words),
        top=min(word.top for word in words),
        right=max(word.right for word in words),
        bottom=max(word.bottom for word in words),
        rows=len(pairs),
        columns=2,
        head_rows=0,
        head_columns=1,
        cells=tuple(
            cell_of(row, column, part)
            for row, pair in enumerate(pairs)
            for column, part in enumerate((pair.label, pair.value))
        ),
    )
