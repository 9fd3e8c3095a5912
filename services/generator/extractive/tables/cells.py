"""From a question to the cells of a table that answer it, with what they are the values of; never a doubtful pair."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from services.generator.answers import Citation, Sentence, Source
from services.generator.extractive.features import Encoder
from services.generator.extractive.question import Kind, Question
from services.generator.extractive.tables import columns, properties, rows
from services.generator.extractive.tables.terms import GENERIC, common, content, exact, terms
from services.generator.extractive.windows import Candidate
from services.generator.injections import is_injection
from services.generator.words import words
from services.text.notes import without_marks
from services.text.tables import Cell, Grid, Place

# So many characters before a table, and behind it, may say what it is about.
BEFORE = 600
BEHIND = 300
# A cell that says more than this is a text, which is read as one.
MAX_VALUE_CHARS = 120
# Answers that explain nearly as much of the question are meant just as well.
EQUAL = 0.05

# What no single cell answers, unless a head says so: comparisons, sums, changes.
_COMPUTED = frozenset(
    """
    highest lowest most least maximum minimum largest smallest biggest greatest fewest average mean median sum combined
    altogether difference change changed increase increased decrease decreased grow grew growth growing rise rose fell
    decline declined compare compared comparison versus ratio percentage percent than exceed between together both rank
    ranked top bottom best worst cheapest dearest longest shortest first last total fraction share proportion why
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Answer:
    """Cells of one row. `explained` is the share of the question's words that its heads and its place say, 0 to 1."""

    source: Source
    grid: Grid
    row: rows.Row
    cells: tuple[Cell, ...]
    explained: float

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(re.sub(r"[\s$€£¥]", "", self.grid.say(cell)).casefold() for cell in self.cells)


@dataclass
class Reading:
    """What the tables say: an answer, or rows of which nobody can tell which one is meant."""

    answer: Answer | None = None
    doubtful: set[tuple[int, int]] = field(default_factory=set)
    """Rows that fit equally well and say different things: (index of the source, where the row begins)."""
    foreign: set[tuple[int, int]] = field(default_factory=set)
    """Rows of figures that the question does not name, and those that it names of another year, part or company.

    Rows too that say nothing in the column that is asked for, and all of a table whose named row is one of these.
    """

    def doubts(self, candidate: Candidate) -> bool:
        """Whether a sentence is one of those rows."""
        place = (candidate.source.index, candidate.span.start)
        return place in self.doubtful or place in self.foreign


def read(question: Question, sources: Sequence[Source], encoder: Encoder) -> Reading:
    """The cells that answer, from the best source that has them."""
    reading = Reading()
    found: list[Answer] = []
    for source in sources:
        for table in source.tables:
            grid = Grid(table, source.text)
            if grid.is_contents:
                continue
            lacking = _lacking(question, grid)
            answers = [
                answer
                for answer in _answers(question, source, grid, encoder, reading)
                if answer.row.number not in lacking
            ]
            if not answers:
                lacking |= _of_others(question, grid, lacking, encoder)
            unnamed = _unnamed(grid, content(question.text))
            reading.foreign.update(
                (source.index, _start(grid, row)) for row in {*unnamed, *lacking}
            )
            if len({answer.said for answer in answers}) > 1:
                reading.doubtful.update(
                    (source.index, _start(grid, answer.row.number)) for answer in answers
                )
            elif answers:
                found.append(answers[0])
    if not found:
        return reading
    best = max(answer.explained for answer in found)
    near = [answer for answer in found if answer.explained >= best - EQUAL]
    if len({answer.said for answer in near}) == 1 and not reading.doubtful:
        reading.answer = max(near, key=lambda answer: answer.source.relevance)
    return reading


def _start(grid: Grid, row: int) -> int:
    """Where a row begins: with its first cell that says something, and is none of the rows above."""
    found = grid.row(row)
    own = [cell for cell in found if cell.row == row and cell.char_start < cell.char_end]
    return min(cell.char_start for cell in own or found)


def _unnamed(grid: Grid, asked: frozenset[str]) -> Iterator[int]:
    """The rows that say figures and nothing that the question says."""
    for row in grid.rows:
        values = [grid.say(cell) for cell in grid.values(row)]
        if any(any(map(str.isalpha, value)) for value in values):
            continue
        said = frozenset[str]().union(*(content(grid.say(head)) for head in grid.row_heads(row)))
        if not common(asked, said | exact(" ".join(values))):
            yield row


def _lacking(question: Question, grid: Grid) -> set[int]:
    """The rows that say nothing in the column that is asked for."""
    gapped = (row for row in grid.rows if columns.empty(grid, row))
    return {row for row in gapped if _lacks(question, grid, row)}


def _lacks(question: Question, grid: Grid, row: int, encoder: Encoder | None = None) -> bool:
    asked = terms(question.text)
    own = common(asked, frozenset().union(*(terms(grid.say(cell)) for cell in grid.row(row))))
    return columns.lacks(grid, row, _masked(question.text, own), asked, encoder)


def _of_others(question: Question, grid: Grid, lacking: Set[int], encoder: Encoder) -> set[int]:
    """All rows, where those that are named say nothing in the column that is asked for: they speak of others."""
    named = rows.named(grid, terms(question.text))
    missing = all(
        row.number in lacking or _lacks(question, grid, row.number, encoder) for row in named
    )
    return set(grid.rows) if named and missing else set()


def _answers(
    question: Question, source: Source, grid: Grid, encoder: Encoder, reading: Reading
) -> Iterator[Answer]:
    """Of each row that the question names equally well, its answer; none if one of them has none.

    A row that the question names, of a table that does not say all its names and numbers, is noted as foreign.
    """
    asked = terms(question.text)
    wanted = content(question.text)
    around = _around(source, grid)
    place = common(wanted, terms(around))
    names = {word.stem for word in words(question.text) if word.stem in question.names}
    for row in rows.named(grid, asked):
        cells = tuple(
            cell
            for cell in grid.row(row.number)
            if cell is not row.by and _may_answer(question, grid.say(cell))
        )
        modifiers = _modifiers(question.text, row) - common(wanted, terms(_named(source, grid)))
        # "The Marsh field", of a column of fields.
        called = common(wanted, terms(columns.heads(grid, row.by)))
        left = frozenset(
            one
            for one in wanted - row.matched - called - (place - modifiers) - GENERIC
            if one in modifiers or not properties.all_held([one], around)
        )
        heads = frozenset[str]().union(*(terms(grid.say(head)) for head in grid.heads))
        if (left - common(left, heads)) & (exact(question.text) | names):
            reading.foreign.add((source.index, _start(grid, row.number)))
            continue
        if not cells:
            continue
        chosen = columns.choose(
            grid, cells, _masked(question.text, row.matched), asked - row.matched, left, encoder
        )
        if chosen is None or (left - chosen.matched and not chosen.meant):
            continue
        if (modifiers & left) - chosen.matched:
            continue
        if _computed(question.text) - row.matched - chosen.matched:
            continue
        if any(is_injection(grid.say(cell)) for cell in chosen.cells):
            continue
        share = len(wanted & (row.matched | chosen.matched)) / max(1, len(wanted))
        yield Answer(source, grid, row, chosen.cells, share)


def _may_answer(question: Question, said: str) -> bool:
    if not any(map(str.isalnum, said)) or len(said) > MAX_VALUE_CHARS:
        return False
    digits = any(map(str.isdigit, said))
    if question.kind is Kind.NUMBER:
        return digits
    return question.kind is not Kind.NAME or any(map(str.isalpha, said))


def _computed(question: str) -> frozenset[str]:
    """The words of a question that ask for what no cell says by itself, as terms."""
    return frozenset(
        one
        for word in words(question)
        if word.text.lower() in _COMPUTED
        for one in terms(word.text)
    )


def _modifiers(question: str, row: rows.Row) -> frozenset[str]:
    """What stands right before the row's name in the question: "electric", of "a new electric bookmobile". A text near
    the table that has the word too does not make the row one of those."""
    found: set[str] = set()
    asked = words(question)
    for at, word in enumerate(asked):
        if not terms(word.text) & row.matched:
            continue
        start = word.start
        for before in reversed(asked[:at]):
            said = content(before.text)
            if not said or question[before.end : start].strip():
                break
            found |= said
            start = before.start
    return frozenset(found) - row.matched


def _named(source: Source, grid: Grid) -> str:
    """What a table is called: the title of its document, the heading above it, its caption and its heads."""
    start = grid.table.char_start
    above = source.text[max(0, start - BEFORE) : start].rstrip().rpartition("\n\n")[2]
    texts = [source.title, above, *map(grid.say, grid.heads)]
    texts += [source.text[slice(*place)] for place in (grid.table.caption,) if place]
    return "\n".join(texts)


def _around(source: Source, grid: Grid) -> str:
    """What is said around a table: the title of its document, what stands before and behind it, caption and unit."""
    start, end = grid.table.char_start, grid.table.char_end
    texts = [
        source.title,
        source.text[max(0, start - BEFORE) : start],
        source.text[end : end + BEHIND],
    ]
    texts += [
        source.text[slice(*place)] for place in (grid.table.caption, grid.table.unit) if place
    ]
    return "\n".join(texts)


def _masked(question: str, matched: frozenset[str]) -> str:
    """The question without what names the row: "What does it cost?"."""
    found = [word for word in words(question) if terms(word.text) & matched]
    if not found:
        return question
    rest = question
    for word in reversed(found):
        rest = f"{rest[: word.start]}\x00{rest[word.end :]}"
    return " ".join(re.sub(r"(?:\b(?:the|a|an|of)\s+)*\x00(?:\W*\x00)*", "it", rest).split())


def sentence(answer: Answer) -> Sentence:
    """The cells with their heads, in the page's own words: "PX-1033: Price in euros 12.50"."""
    grid, text = answer.grid, answer.source.text
    quotes: list[Place] = []

    def say(cells: Sequence[Cell]) -> str:
        said: list[str] = []
        for cell in cells:
            place = _trimmed(text, cell.char_start, cell.char_end)
            words_of = without_marks(" ".join(text[place[0] : place[1]].split()))
            if words_of and words_of not in said:
                said.append(words_of)
            if any(map(str.isalnum, words_of)) and place not in quotes:
                quotes.append(place)
        return ", ".join(said)

    heads = list(grid.row_heads(answer.row.number))
    if answer.row.by not in heads:
        heads.append(answer.row.by)
    heads = [head for head in heads if head not in answer.cells]
    name = say(heads)
    values = []
    for cell in answer.cells:
        column = say(grid.column_heads(cell))
        values.append(" ".join(filter(None, [column, say([cell])])))
    spoken = f"{name}: {'; '.join(values)}" if name else "; ".join(values)
    units = {unit for cell in answer.cells if (unit := grid.unit_of(cell))}
    for unit in units:
        said = " ".join(text[unit[0] : unit[1]].split()).strip("()")
        if any(map(str.isalnum, said)):
            spoken += f" ({said})"
            quotes.append(unit)
    return Sentence(
        spoken,
        tuple(Citation(answer.source.index, text[start:end], start, end) for start, end in quotes),
    )


def _trimmed(text: str, start: int, end: int) -> Place:
    """A cell without the colon that it ends with."""
    while end > start and (text[end - 1].isspace() or text[end - 1] in ":："):
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end
