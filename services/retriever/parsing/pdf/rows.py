"""Rows: segments on one baseline, and what they are written in."""

from collections.abc import Iterable

from services.retriever.parsing.pdf.segments import Segment

Row = list[Segment]

ON_ROW = 0.45  # Of the size: how far apart baselines of one row may be.
_RAISED = 0.6  # The same for smaller text.
_INFINITE = float("inf")


def rows(segments: Iterable[Segment]) -> list[Row]:
    """Segments on one baseline, from left to right, or from right to left where most are written so."""
    found: list[
        tuple[float, float, Row]
    ] = []  # Baseline, size; larger text first, for raised marks follow it.
    for segment in sorted(segments, key=lambda segment: (-segment.size, segment.number)):
        size = segment.size
        best: Row | None = None
        nearest = _INFINITE
        for baseline, row_size, row in found if segment.area < 0 else ():
            off = abs(segment.baseline - baseline)
            reach = ON_ROW * row_size
            if size < 0.8 * row_size:  # It may be raised.
                reach = min(_RAISED * row_size, 0.9 * size)
            if (
                off <= reach
                and off < nearest
                and (off < 0.1 * size or not _covers(row, segment))
                and row[0].area < 0
            ):
                best, nearest = row, off
        if best is None:
            found.append((segment.baseline, size, [segment]))
        else:
            best.append(segment)
    found.sort(key=lambda item: item[0])
    return [in_order(row) for _, _, row in found]


def in_order(row: Row) -> Row:
    if len(row) > 1:
        row.sort(key=lambda segment: segment.x0)
        if is_rtl(row):
            row.reverse()
    return row


def _covers(row: Row, segment: Segment) -> bool:
    """Whether another segment of the row stands where this one does."""
    return any(
        min(other.x1, segment.x1) - max(other.x0, segment.x0) > 0.3 * segment.size for other in row
    )


def letters(segments: Iterable[Segment]) -> float:
    """The share of letters in what is written."""
    solid = "".join("".join(segment.text for segment in segments).split())
    return sum(map(str.isalpha, solid)) / max(1, len(solid))


def is_rtl(segments: Iterable[Segment]) -> bool:
    return sum(len(each.text) if each.rtl else -len(each.text) for each in segments) > 0
