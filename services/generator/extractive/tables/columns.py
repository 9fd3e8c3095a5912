"""Which column of a row a question asks for: by the words of its heads, else by their meaning."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.generator.extractive.features import Encoder
from services.generator.extractive.tables import properties
from services.generator.extractive.tables.terms import (
    GENERIC,
    common,
    content,
    naming,
    terms,
    years,
)
from services.text.tables import Cell, Grid

# Cosine from which the question means a head of a column, and how far the next must stay below.
MEANT = 0.42
APART = 0.08
# What a word of the heads that the question does not say takes from them.
UNSAID = 0.3
# So many times the words that only other columns' heads say must be said by the heads of the one chosen.
MUCH = 2
# More cells than this are no answer.
MAX_CELLS = 4
MAX_ROW = 6


@dataclass(frozen=True)
class Chosen:
    """The cells that are asked for, and the terms of the question that their heads say; `meant`: by meaning alone."""

    cells: tuple[Cell, ...]
    matched: frozenset[str]
    meant: bool = False


def heads(grid: Grid, cell: Cell) -> str:
    """What a cell's columns are called, on one line."""
    return " ".join(grid.say(head) for head in grid.column_heads(cell))


def _said(grid: Grid, cell: Cell) -> frozenset[str]:
    """The terms of a cell's heads, and the unit that it has itself."""
    found = terms(heads(grid, cell))
    return found | {"percent"} if "%" in grid.say(cell) else found


def choose(
    grid: Grid,
    cells: Sequence[Cell],
    question: str,
    asked: frozenset[str],
    left: frozenset[str],
    encoder: Encoder,
) -> Chosen | None:
    """Of the cells of a row those that are asked for; None if none is.

    `asked` are the terms of the question that do not name the row, `left` those of them that nothing else explains.
    """
    wanted = years(asked)
    dated = [cell for cell in cells if wanted & terms(heads(grid, cell))]
    shares = _shares(grid, dated or cells) if "percent" in asked else []
    if len(shares) == 1:
        # What it is the share of, the head of the column beside it says.
        beside = frozenset[str]().union(*(terms(heads(grid, cell)) for cell in cells))
        matched = common(asked, beside) | {"percent"}
        return None if left - matched else Chosen(tuple(shares), matched)
    cells = shares or _of_kind(grid, dated or cells, asked)
    matched = frozenset[str]().union(*(common(asked, _said(grid, cell)) for cell in cells))
    scores = _scores(grid, cells, asked)
    best = max(scores, default=0.0)
    if best > 0 and not left - matched:
        found = tuple(
            cell for cell, score in zip(cells, scores, strict=True) if score > best - 1e-6
        )
        said = common(asked, _said(grid, found[0]))
        # What only the heads of other columns say must be little beside what these say: else those are meant, or none.
        elsewhere = left - said
        measured = properties.measured(question)
        sure = [cell for cell in cells if measured & properties.held(heads(grid, cell))]
        if len(sure) == 1 and sure[0] not in found:
            # "How tight are the bolts" names the bolts, and asks for their torque.
            return Chosen((sure[0],), matched, meant=True)
        if len(found) <= MAX_CELLS and MUCH * len(elsewhere) <= len(said):
            return Chosen(found, said | elsewhere)
        return None
    rest = left - matched
    if not rest:
        # No word tells the columns apart. One may be what the question asks the measure of; else all, if they are few.
        wanted = properties.asked(question)
        sure = [cell for cell in cells if wanted & properties.held(heads(grid, cell))]
        if len(sure) == 1:
            return Chosen((sure[0],), matched, meant=True)
        return Chosen(tuple(cells), matched) if 0 < len(cells) <= MAX_ROW else None
    return _meant(grid, cells, question, rest, encoder, matched)


def empty(grid: Grid, row: int) -> list[Cell]:
    """The places under heads where a row says nothing, each as a cell of no text."""
    said = [cell for cell in grid.row(row) if any(map(str.isalnum, grid.say(cell)))]
    end = max((cell.char_end for cell in said), default=grid.table.char_end)
    found = [
        Cell(row, column, end, end)
        for column in range(grid.name_columns, grid.table.columns)
        if not any(cell.covers(row, column) for cell in said)
    ]
    return [cell for cell in found if grid.column_heads(cell)]


def lacks(
    grid: Grid, row: int, question: str, asked: frozenset[str], encoder: Encoder | None = None
) -> bool:
    """Whether a row says nothing in the column that a question asks for: what else it says is another column's.

    `question` is without what names the row, `asked` are all its terms. An `encoder` finds a column by its meaning too.
    """
    gaps = empty(grid, row)
    if not gaps:
        return False
    said = [cell for cell in grid.row(row) if any(map(str.isalnum, grid.say(cell)))]
    # What the question says itself is not asked for, nor what that is called: "the Marsh field".
    given = [cell for cell in said if common(asked, terms(grid.say(cell)))]
    others = [cell for cell in (*said, *gaps) if cell not in given and heads(grid, cell)]
    asked -= common(asked, _terms(grid.say(cell) for cell in given))
    called = _terms(heads(grid, cell) for cell in given)
    asked -= common(asked, called - _terms(heads(grid, cell) for cell in others))
    cells = [cell for cell in others if cell.column >= grid.name_columns]
    wanted = years(asked)
    cells = [cell for cell in cells if wanted & terms(heads(grid, cell))] or cells
    scores = _scores(grid, cells, asked)
    measures = properties.asked(question)
    if max(scores) <= 0 and measures:
        scores = [float(bool(measures & properties.held(heads(grid, cell)))) for cell in cells]
    if max(scores) <= 0 and encoder is not None and content(question) - GENERIC:
        texts = [heads(grid, cell) for cell in cells]
        scores = [float(one) for one in similarities(encoder, [question], texts)]
    best = max(scores)
    return best > 0 and all(
        cell in gaps for cell, score in zip(cells, scores, strict=True) if score > best - 1e-6
    )


def _terms(texts: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(terms, texts))


def _shares(grid: Grid, cells: Sequence[Cell]) -> list[Cell]:
    """The figures in percent."""
    return [cell for cell in cells if "percent" in _said(grid, cell)]


def _of_kind(grid: Grid, cells: Sequence[Cell], asked: frozenset[str]) -> Sequence[Cell]:
    """Without the figures in percent, where these are not asked for and there are others."""
    if "percent" in asked:
        return cells
    shares = _shares(grid, cells)
    return [cell for cell in cells if cell not in shares] or cells


def _scores(grid: Grid, cells: Sequence[Cell], asked: frozenset[str]) -> list[float]:
    said = [_said(grid, cell) for cell in cells]
    seen = Counter(term for each in said for term in common(asked, each))
    other = Counter(term for each in said for term in each)
    weights = {term: math.log(1.1 * len(cells) / count) for term, count in seen.items()}
    unsaid_weights = {term: math.log(1.1 * len(cells) / count) for term, count in other.items()}
    found = []
    for cell, each in zip(cells, said, strict=True):
        shared = common(asked, each)
        unsaid = naming(heads(grid, cell)) - common(each, asked)
        found.append(
            sum(weights[term] for term in shared)
            - UNSAID * sum(unsaid_weights.get(term, 0.0) for term in unsaid)
            if shared
            else 0.0
        )
    return found


def _meant(
    grid: Grid,
    cells: Sequence[Cell],
    question: str,
    left: frozenset[str],
    encoder: Encoder,
    matched: frozenset[str],
) -> Chosen | None:
    """The one column whose heads mean what the question says in other words."""
    wanted = properties.asked(question)
    fitting = []
    for cell in cells:
        held = properties.held(f"{heads(grid, cell)} {grid.say(cell)}")
        if not (wanted and held) or wanted & held:
            fitting.append((cell, bool(wanted & properties.held(heads(grid, cell)))))
    sure = [cell for cell, same in fitting if same]
    if len(sure) == 1 and (not matched or properties.all_held(left, heads(grid, sure[0]))):
        return Chosen((sure[0],), matched, meant=True)
    named = [cell for cell in sure or [cell for cell, _ in fitting] if heads(grid, cell)]
    if not named:
        return None
    # Beside a word that the heads say, the others must be meant by themselves: "budgeted price" is not "price".
    said = [] if matched else [question]
    alike = similarities(
        encoder, [*said, " ".join(sorted(left))], [heads(grid, cell) for cell in named]
    )
    order = np.argsort(-alike, kind="stable")
    if alike[order[0]] < MEANT:
        return None
    if len(order) > 1 and alike[order[0]] - alike[order[1]] < APART:
        return None
    return Chosen((named[order[0]],), matched, meant=True)


def similarities(
    encoder: Encoder, asked: Sequence[str], texts: Sequence[str]
) -> NDArray[np.float32]:
    """(texts,): the cosine of each with the nearest of what is asked."""
    vectors = [_mean(one.vectors) for one in encoder.encode([*asked, *texts])]
    questions, others = np.stack(vectors[: len(asked)]), np.stack(vectors[len(asked) :])
    best: NDArray[np.float32] = (others @ questions.T).max(axis=1)
    return best


def _mean(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    if not len(vectors):
        return np.zeros(vectors.shape[1], np.float32)
    mean = vectors.mean(axis=0)
    scaled: NDArray[np.float32] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return scaled
