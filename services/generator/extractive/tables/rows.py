"""Which rows of a table a question names."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from services.generator.extractive.tables.terms import (
    common,
    content,
    exact,
    main_part,
    naming,
    terms,
)
from services.text.tables import Cell, Grid

# So much of what a row is called must be said in the question, by weight.
SAID = 0.6
# What a word of the name that the question does not say takes from the row.
UNSAID = 0.6
# Rows this near to the best are meant just as well, as a share of its score.
EQUAL = 0.1


@dataclass(frozen=True)
class Row:
    """A row that the question names, by the cell `by`; `matched` are the terms of the question that it says."""

    number: int
    by: Cell
    matched: frozenset[str]
    score: float


def named(grid: Grid, asked: frozenset[str]) -> list[Row]:
    """The rows that fit best and equally well; none where no row is named."""
    weights = _weights(grid)
    found = [
        row for number in grid.rows if (row := _match(grid, number, asked, weights)) is not None
    ]
    best = max((row.score for row in found), default=0.0)
    return [row for row in found if row.score >= best * (1 - EQUAL)]


def _weights(grid: Grid) -> dict[str, float]:
    """How well each term tells the rows apart (inverse document frequency)."""
    seen: Counter[str] = Counter()
    for number in grid.rows:
        said: set[str] = set()
        for cell in (*grid.row_heads(number), *_texts(grid, number)):
            said |= terms(grid.say(cell))
        seen.update(said)
    return {term: math.log(1 + len(grid.rows) / count) for term, count in seen.items()}


def _texts(grid: Grid, number: int) -> list[Cell]:
    """The cells of a row that say words: a row may be called by any of them."""
    return [cell for cell in grid.values(number) if any(map(str.isalpha, grid.say(cell)))]


def _match(grid: Grid, number: int, asked: frozenset[str], weights: dict[str, float]) -> Row | None:
    matched: set[str] = set()
    for cell in grid.groups.get(number, ()):
        matched |= common(asked, terms(grid.say(cell)))
    best: tuple[float, Cell] | None = None
    for cell in (*grid.names(number), *_texts(grid, number)):
        said = terms(grid.say(cell))
        matched |= common(asked, said)
        score = _score(grid.say(cell), common(said, asked), weights)
        if score is not None and (best is None or score > best[0]):
            best = (score, cell)
    if best is None:
        return None
    extra = _weigh(matched - terms(grid.say(best[1])), weights)
    return Row(number, best[1], frozenset(matched), best[0] + extra)


def _score(text: str, said: frozenset[str], weights: dict[str, float]) -> float | None:
    """How well a cell is named by what the question says of it; None where it is not."""
    if not said & (content(text) | exact(text)):
        return None
    if any(not one.isdigit() for one in (exact(text) & naming(text)) - said):
        # A code is said, or it is another.
        return None
    enough = any(_said_enough(name, said, weights) for name in (naming(text), main_part(text)))
    unsaid = _weigh(naming(text) - said, weights)
    return _weigh(said, weights) - UNSAID * unsaid if enough else None


def _said_enough(name: frozenset[str], said: frozenset[str], weights: dict[str, float]) -> bool:
    whole = _weigh(name, weights)
    return whole > 0 and _weigh(name & said, weights) >= SAID * whole


def _weigh(found: Iterable[str], weights: dict[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in found)
