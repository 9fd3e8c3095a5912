"""The characters of one line: spaces between its segments, raised and lowered runs written as marks."""

from collections.abc import Sequence
from itertools import groupby

from services.retriever.parsing import marks
from services.retriever.parsing.pdf.segments import Piece, Segment

_SMALLER = 0.88  # Of the size of what they stand beside: raised and lowered characters.
_UP, _DOWN = 0.12, 0.06  # Of that size: how far they stand from its baseline, at least.
_LIFTED = 0.18  # The same for characters that are as large as the rest.
_BESIDE = 0.4  # Of that size: the widest gap to what they belong to.
_APART = 0.14  # Of the size: the least gap between words.
_LONGEST = 24  # Characters. A longer run is a small line beside a large one.
_LIFTED_CHARS = 4
_AHEAD = 40

_MARKS = {1: marks.raised, -1: marks.lowered, 2: marks.level}

Written = tuple[list[str], list[int]]
"""Characters and the glyph of each, -1 for one that is not on the page."""


def write(row: Sequence[Segment], chars: Sequence[str]) -> Written:
    """A line's characters. Glyphs that pdfium reads as several characters stay as they are."""
    pieces = [piece for segment in row for piece in segment.pieces]
    spaced = _spaced(row, chars)
    if len(pieces) == 1:
        return _plain(pieces, spaced, chars)
    kinds = _kinds(pieces)
    _mark_level(pieces, kinds, chars)
    if not any(kinds):
        return _plain(pieces, spaced, chars)
    text: list[str] = []
    sources: list[int] = []
    at = 0
    for kind, group in groupby(kinds):
        run = pieces[at : at + len(list(group))]
        spaces = spaced[at : at + len(run)]
        run_chars, run_sources = _plain(run, spaces, chars)
        at += len(run)
        if kind:
            rest, _ = _plain(pieces[at : at + 4], spaced[at : at + 4], chars)
            while run_chars and run_chars[0] == " ":
                # The space in front of a run is no part of it.
                text.append(run_chars.pop(0))
                sources.append(run_sources.pop(0))
            turn = _MARKS[kind]
            ends = run_chars[-1:] == [" "]
            written = turn(
                "".join(text), "".join(run_chars), "" if ends else "".join(rest[:_AHEAD])
            )
            run_chars, run_sources = _aligned(written + " " * ends, run_chars, run_sources)
        text += run_chars
        sources += run_sources
    return text, sources


def _plain(pieces: Sequence[Piece], spaced: Sequence[bool], chars: Sequence[str]) -> Written:
    text: list[str] = []
    sources: list[int] = []
    for piece, space in zip(pieces, spaced, strict=True):
        if space:
            text.append(" ")
            sources.append(-1)
        text += [chars[glyph] if glyph >= 0 else " " for glyph in piece.glyphs]
        sources += piece.glyphs
    return text, sources


def _spaced(row: Sequence[Segment], chars: Sequence[str]) -> list[bool]:
    """For each piece of the row, whether a space has to be put before it."""
    found: list[bool] = []
    for at, segment in enumerate(row):
        space = False
        if at:
            before = row[at - 1]
            gap = max(segment.x0 - before.x1, before.x0 - segment.x1)
            # Letters that were drawn out of order touch; words do not.
            space = gap > _APART * min(segment.size, before.size)
        found.append(space)
        found += [False] * (len(segment.pieces) - 1)
    return found


def _kinds(pieces: Sequence[Piece]) -> list[int]:
    """1 for a raised piece, -1 for a lowered one, else 0."""
    kinds = [0] * len(pieces)
    for at, piece in enumerate(pieces):
        base = _base(pieces, kinds, at)
        if base is None:
            continue
        size = base.style.size
        up = base.baseline - piece.baseline
        length = len(piece.glyphs)
        if piece.style.size <= _SMALLER * size:
            if length <= _LONGEST and up > _UP * size:
                kinds[at] = 1
            elif length <= _LONGEST and up < -_DOWN * size:
                kinds[at] = -1
        elif piece.style.size <= 1.1 * size and length <= _LIFTED_CHARS < len(base.glyphs):
            kinds[at] = 1 if up > _LIFTED * size else -1 if up < -_LIFTED * size else 0
    return kinds


def _mark_level(pieces: Sequence[Piece], kinds: list[int], chars: Sequence[str]) -> None:
    """2 for figures in smaller type that would make longer the figure they follow, or come before, on its baseline."""
    for at in range(1, len(pieces)):
        before, piece = pieces[at - 1], pieces[at]
        if kinds[at - 1] or kinds[at] or not before.glyphs or not piece.glyphs:
            continue
        touch = max(piece.x0 - before.x1, before.x0 - piece.x1) <= _APART * before.style.size
        ends = (before.glyphs[-1], piece.glyphs[0])
        if touch and all(glyph >= 0 and chars[glyph].isdigit() for glyph in ends):
            if piece.style.size <= _SMALLER * before.style.size:
                kinds[at] = 2
            elif before.style.size <= _SMALLER * piece.style.size:
                kinds[at - 1] = 2


def _base(pieces: Sequence[Piece], kinds: Sequence[int], at: int) -> Piece | None:
    """The piece that another one may be raised over: in front of it, or behind it at the beginning."""
    piece = pieces[at]
    before = at - 1
    while before >= 0 and kinds[before]:
        before -= 1
    if before >= 0 and _beside(pieces[at - 1], piece, pieces[before].style.size):
        found = pieces[before]
        if found.style.size > piece.style.size or at + 1 == len(pieces):
            return found
    after = at + 1
    if after < len(pieces) and _beside(piece, pieces[after], pieces[after].style.size):
        return pieces[after]
    return (
        pieces[before] if before >= 0 and _beside(pieces[at - 1], piece, piece.style.size) else None
    )


def _beside(one: Piece, other: Piece, size: float) -> bool:
    return max(other.x0 - one.x1, one.x0 - other.x1) < _BESIDE * size


def _aligned(written: str, run: Sequence[str], sources: Sequence[int]) -> Written:
    """The glyphs of what was written: characters of the run keep theirs."""
    found: list[int] = []
    at = 0
    for char in written:
        while at < len(run) and run[at] == " " != char:
            at += 1
        if at < len(run) and run[at] == char:
            found.append(sources[at])
            at += 1
        else:
            found.append(-1)
    return list(written), found
