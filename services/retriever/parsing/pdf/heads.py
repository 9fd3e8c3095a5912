"""Columns of a table and the heads over them, while it is found."""

import re
from dataclasses import dataclass

from services.retriever.parsing.pdf.words import Piece, Word

UNIT = re.compile(
    r"\(?\s*(?:all |amounts? |dollars? |figures |expressed |stated |u\.?s\.? |[$\u20ac\u00a3] ?|millions|thousands|"
    r"in |except |% of )[^.]{0,80}\)?:?|\(?(?:un)?audited\)?",
    re.IGNORECASE,
)


class Unsure(Exception):
    """Something stands where no reader could say what it belongs to."""


@dataclass
class Column:
    """A column of figures or of words. `left` and `right` are its figures'; the outer ones take in their signs."""

    left: float
    right: float
    outer_left: float
    outer_right: float
    pieces: int = 0

    @property
    def centre(self) -> float:
        return (self.outer_left + self.outer_right) / 2

    def take(self, piece: Piece) -> None:
        self.left, self.right = min(self.left, piece.left), max(self.right, piece.right)
        self.outer_left = min(self.outer_left, piece.outer_left)
        self.outer_right = max(self.outer_right, piece.outer_right)
        self.pieces += 1

    def overlap(self, left: float, right: float) -> float:
        return min(self.outer_right, right) - max(self.outer_left, left)


@dataclass
class Head:
    """A head over columns first..last; `row` is the line it begins on, `end` the last."""

    first: int
    last: int
    row: int
    end: int
    words: list[Word]
    level: int = 0


def is_unit(head: Head) -> bool:
    return UNIT.fullmatch(" ".join(word.text for word in head.words)) is not None
