"""The regular places of furniture at the edges of pages: heads that change with the chapter stand in them too."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from statistics import median

SAME_HEIGHT = 5.0  # Points: lines further apart are in two places.


@dataclass(frozen=True)
class Row:
    """Lines side by side, near an edge of their page. `height`: points from that edge; `gap`: to the row further in."""

    lines: tuple[int, ...]
    height: float
    gap: float
    size: float


@dataclass(frozen=True)
class _Band:
    height: float
    size: float
    gap: float


@dataclass(frozen=True)
class Bands:
    """Of one edge."""

    bands: tuple[_Band, ...]

    @classmethod
    def of(cls, pages: Sequence[Sequence[Row]], marked: Sequence[Set[int]]) -> "Bands":
        """Where at least three pages, and a third of all, have a row whose lines return, or a part of it does.

        `pages`: the rows of each, from the edge inwards; `marked`: the lines that return.
        """
        rows = sorted(
            (
                row
                for index, page in enumerate(pages)
                for row in page[:2]
                if not marked[index].isdisjoint(row.lines)
            ),
            key=lambda row: row.height,
        )
        bands = []
        while rows:
            group = [row for row in rows if row.height - rows[0].height <= SAME_HEIGHT]
            rows = rows[len(group) :]
            if len(group) >= max(3, len(pages) / 3):
                bands.append(
                    _Band(
                        median(row.height for row in group),
                        median(row.size for row in group),
                        median(row.gap for row in group),
                    )
                )
        return cls(tuple(bands))

    def has(self, row: Row) -> bool:
        """Whether a row stands there, set like the others and as far from the text."""
        return any(
            abs(row.height - band.height) <= SAME_HEIGHT / 2
            and abs(row.size - band.size) <= 0.5
            and row.gap >= 0.7 * band.gap
            and row.gap >= row.size
            for band in self.bands
        )
