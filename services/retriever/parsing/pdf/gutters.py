"""Strips without text: where a page, or a part of it, may be cut."""

from collections.abc import Iterable, Sequence

from services.retriever.parsing.pdf.segments import Segment

Interval = tuple[float, float]

_INFINITE = float("inf")


def bands(segments: list[Segment]) -> list[list[Segment]]:
    """From top to bottom, what has no horizontal strip without text in it."""
    ordered = sorted(segments, key=lambda segment: segment.y0)
    found: list[list[Segment]] = []
    end = -_INFINITE
    for segment in ordered:
        if segment.y0 >= end:
            found.append([])
        found[-1].append(segment)
        end = max(end, segment.y1)
    return found


def free(band: Sequence[Segment], width: float) -> list[Interval]:
    """The strips of a band without text, the ones outside of it first and last."""
    ordered = sorted(band, key=lambda segment: segment.x0)
    found = [(-_INFINITE, ordered[0].x0)]
    end = ordered[0].x1
    for segment in ordered[1:]:
        if segment.x0 - end >= width:
            found.append((end, segment.x0))
        end = max(end, segment.x1)
    found.append((end, _INFINITE))
    return found


def common(one: Sequence[Interval], other: Sequence[Interval], width: float) -> list[Interval]:
    found = []
    for a0, a1 in one:
        for b0, b1 in other:
            low, high = max(a0, b0), min(a1, b1)
            if high - low >= width:
                found.append((low, high))
    return found


def split(segments: Iterable[Segment], at: Sequence[float]) -> list[list[Segment]]:
    parts: list[list[Segment]] = [[] for _ in range(len(at) + 1)]
    for segment in segments:
        middle = (segment.x0 + segment.x1) / 2
        parts[sum(middle > x for x in at)].append(segment)
    return [part for part in parts if part]
