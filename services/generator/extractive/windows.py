"""What of the sources is read by the model: runs of sentences, the likeliest first, within a budget."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from services.generator.answers import Source, Span
from services.generator.extractive.layout import Line, layout
from services.generator.extractive.question import Question
from services.generator.sentences import split
from services.generator.words import Word, content_words
from services.text.tables import Grid

# The model reads 256 tokens at once; about 1,000 characters of English.
WINDOW_CHARS = 900
MAX_SENTENCES = 5000
# What a hit of the search adds to a window's share of the question's words.
HIT_BONUS = 0.2
# What the probability of its source adds.
RELEVANCE_BONUS = 1.0
MAX_PREFIX_CHARS = 300


@dataclass(frozen=True)
class Candidate:
    """One sentence of one source."""

    source: Source
    span: Span
    ordinal: int
    """Place among the source's sentences."""
    line: Line = Line.PROSE
    above: "tuple[Candidate, ...]" = ()
    """The headings it stands under and, of a row, the header that says what the columns are."""

    @cached_property
    def text(self) -> str:
        return self.source.text[self.span.start : self.span.end]

    @cached_property
    def context(self) -> str:
        """What it stands under, in words: the title of the source, headings, the header of the table."""
        return "\n".join([self.source.title, *(one.text for one in self.above)])

    @cached_property
    def words(self) -> list[Word]:
        return content_words(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(word.stem for word in self.words)


@dataclass(frozen=True)
class Window:
    """Consecutive sentences of one source, encoded together so that each is read in its context."""

    sentences: tuple[Candidate, ...]

    @property
    def span(self) -> Span:
        return Span(self.sentences[0].span.start, self.sentences[-1].span.end)

    @cached_property
    def prefix(self) -> str:
        """What the first sentence stands under: it is read before the window's own text."""
        return self.sentences[0].context[:MAX_PREFIX_CHARS] + "\n"

    @cached_property
    def text(self) -> str:
        """As it is encoded: the prefix and the slice of the source."""
        return self.prefix + self.sentences[0].source.text[self.span.start : self.span.end]


@dataclass(frozen=True)
class Weights:
    """How much each word of the question tells these sentences apart (inverse document frequency)."""

    by_stem: dict[str, float]

    @classmethod
    def of(cls, question: Question, sentences: Sequence[Candidate]) -> "Weights":
        seen: Counter[str] = Counter()
        for sentence in sentences:
            seen.update(sentence.stems & question.stems)
        count = len(sentences)
        return cls(
            {
                stem: math.log(1 + (count + 1) / (seen[stem] + 0.5))
                for stem in sorted(question.stems)
            }
        )

    def coverage(self, stems: frozenset[str]) -> float:
        """The weighted share of the question's words that are among `stems`, 0 to 1; 1 if it has no words."""
        total = sum(self.by_stem.values())
        return (
            sum(weight for stem, weight in self.by_stem.items() if stem in stems) / total
            if total
            else 1.0
        )


def candidates(sources: Sequence[Source]) -> list[Candidate]:
    """All sentences of all sources, in their order; at most MAX_SENTENCES."""
    found: list[Candidate] = []
    for source in sources:
        rows = _rows(source)
        spans = _units(source, rows)[: MAX_SENTENCES - len(found)]
        known = {place: rows[span] for place, span in enumerate(spans) if span in rows}
        own: list[Candidate] = []
        lines = layout(
            [source.text[span.start : span.end] for span in spans],
            source.title,
            {place: row.line for place, row in known.items()},
        )
        by_span: dict[Span, Candidate] = {}
        for ordinal, (span, (line, above)) in enumerate(zip(spans, lines, strict=True)):
            over = [own[one] for one in above]
            if ordinal in known:
                over += [by_span[head] for head in known[ordinal].heads if head in by_span]
            own.append(Candidate(source, span, ordinal, line, tuple(over)))
            by_span[span] = own[-1]
        found += own
    return found


@dataclass(frozen=True)
class _Row:
    """A row of a table as a line of its text; `heads` are the lines that say what it and its columns are."""

    line: Line
    heads: tuple[Span, ...] = ()


def _rows(source: Source) -> dict[Span, _Row]:
    """The rows of the tables of a source by their places, in their order."""
    found: dict[Span, _Row] = {}
    for table in source.tables:
        grid = Grid(table, source.text)
        spans = {number: Span(*place) for number, place in grid.places().items()}
        heads = tuple(spans[number] for number in spans if number < table.head_rows)
        for number, span in spans.items():
            if grid.is_contents:
                found[span] = _Row(Line.FURNITURE)
                continue
            if number not in grid.groups:
                found[span] = _Row(Line.HEADER)
                continue
            titles = tuple(spans[cell.row] for cell in grid.groups[number] if cell.row in spans)
            found[span] = _Row(Line.ROW, (*heads, *titles))
    return found


def _units(source: Source, rows: dict[Span, _Row]) -> list[Span]:
    """The sentences around tables, and the rows of these, in reading order."""
    if not rows:
        return split(source.text)
    ordered = sorted(rows, key=lambda span: span.start)
    found: list[Span] = []
    at = 0
    for row in [*ordered, Span(len(source.text), len(source.text))]:
        between = split(source.text[at : row.start])
        found += [Span(span.start + at, span.end + at) for span in between]
        found += [row] if row in rows else []
        at = max(at, row.end)
    return found


def windows(sentences: Sequence[Candidate]) -> list[Window]:
    """The sentences in runs of at most WINDOW_CHARS, never across sources."""
    found: list[Window] = []
    run: list[Candidate] = []
    for sentence in sentences:
        if run and (
            run[0].source is not sentence.source
            or sentence.span.end - run[0].span.start > WINDOW_CHARS
        ):
            found.append(Window(tuple(run)))
            run = []
        run.append(sentence)
    if run:
        found.append(Window(tuple(run)))
    return found


def likeliest(found: Sequence[Window], weights: Weights, limit: int) -> list[Window]:
    """The `limit` windows that share most with the question or were hits of the search, in reading order."""

    def promise(window: Window) -> float:
        source, span = window.sentences[0].source, window.span
        stems = frozenset(word.stem for word in content_words(window.prefix))
        stems = stems.union(*(sentence.stems for sentence in window.sentences))
        hit = any(span.start < hit.end and hit.start < span.end for hit in source.hits)
        return weights.coverage(stems) + HIT_BONUS * hit + RELEVANCE_BONUS * source.relevance

    order = sorted(range(len(found)), key=lambda place: (-promise(found[place]), place))
    return [found[place] for place in sorted(order[:limit])]
