"""What the reader is trained on: SQuAD train-v1.1 encoded as the generator encodes its windows, and made negatives.

Licence of the data: CC BY-SA 4.0. The token vectors are kept in a folder, as float16: they take minutes to make.
"""

import gzip
import json
import pickle
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from services.generator.answers import Source
from services.generator.extractive.reader import Marked, mark
from services.generator.extractive.windows import Window, candidates, windows
from services.generator.words import Word, content_words, names
from services.minilm.model import MiniLM, TokenVectors

PARAGRAPHS = 14
QUESTIONS_PER_PARAGRAPH = 5
HARD = 16
# One article in TENTHS is kept for fitting the two regressions, one more for stopping the training early.
TENTHS = 10
FOR_REGRESSIONS, FOR_STOPPING = 0, 1
_PAIRS = """
    first last, before after, largest smallest, highest lowest, most least, more less, oldest youngest
    increase decrease, increased decreased, north south, northern southern, east west, eastern western, early late
    longest shortest, earliest latest, above below, major minor, won lost, began ended, start end, maximum minimum
    public private, male female, men women, positive negative, allowed forbidden, can cannot, was wasn't, is isn't
    did didn't, does doesn't, best worst
"""
OPPOSITES: dict[str, str] = {}
for _one, _other in map(str.split, _PAIRS.strip().replace("\n", ",").split(",")):
    OPPOSITES |= {_one: _other, _other: _one}


def tenth(title: str) -> int:
    """Which tenth of the articles this one is in, the same everywhere."""
    return zlib.crc32(title.encode()) % TENTHS


def train_articles(data: Path) -> list[Any]:
    with gzip.open(data / "squad/train-v1.1.from-html.json.gz", "rt") as file:
        found: list[Any] = json.load(file)["data"]
    return found


@dataclass(frozen=True)
class Asked:
    """A question and where its answer stands; `text` numbers it among the article's texts."""

    text: int
    window: int
    start: int
    """First token of the answer in the window."""
    end: int
    """Its last token."""
    sentence: tuple[int, int]
    """The tokens of its sentence, end exclusive."""
    altered: tuple[int, ...]
    """The same question with something in it changed, so that the window does not answer it."""
    hard: tuple[tuple[int, int, int], ...]
    """Sentences (window, first token, end) that are most like it and do not hold the answer, likest first."""


@dataclass(frozen=True)
class Article:
    title: str
    texts: list[Marked]
    """Windows first, then questions; vectors are float16."""
    asked: list[Asked]


def prepare(data: Path, folder: Path, count: int, seed: int) -> None:
    """Encodes `count` articles into `folder`, one file each; goes on where it was broken off."""
    folder.mkdir(parents=True, exist_ok=True)
    model = MiniLM.load()
    articles = train_articles(data)
    random.Random(seed).shuffle(articles)
    for number, article in enumerate(articles[:count]):
        file = folder / f"{number:03d}.pickle"
        if not file.exists():
            encoded = _encoded(model, article, random.Random(f"{seed} {number}"))
            unfinished = file.with_suffix(".part")
            unfinished.write_bytes(pickle.dumps(encoded, protocol=5))
            unfinished.rename(file)
        if number % 20 == 0:
            print(f"{number} articles encoded", flush=True)


def articles_in(folder: Path) -> Iterator[Article]:
    for file in sorted(folder.glob("*.pickle")):
        yield pickle.loads(file.read_bytes())


def _encoded(model: MiniLM, article: Any, chance: random.Random) -> Article:
    title = article["title"].replace("_", " ")
    paragraphs = article["paragraphs"]
    first = chance.randrange(max(1, len(paragraphs) - PARAGRAPHS))
    paragraphs = paragraphs[first : first + PARAGRAPHS]
    source = Source(0, title, "\n\n".join(one["context"] for one in paragraphs))
    found = windows(candidates([source]))
    texts = [window.text for window in found]
    encoded = model.encode(texts)
    marked = [
        mark(window.text, vectors, len(window.prefix))
        for window, vectors in zip(found, encoded, strict=True)
    ]
    pool = [
        word
        for one in paragraphs
        for qa in one["qas"]
        for word in [*names(qa["question"]), *content_words(qa["question"])]
    ]
    spans = [_spans(*pair) for pair in zip(found, encoded, strict=True)]
    drafts: list[tuple[int, int, int, tuple[int, int], str]] = []
    questions: list[str] = []
    altered: list[list[int]] = []
    offset = 0
    for one in paragraphs:
        for qa in chance.sample(one["qas"], min(QUESTIONS_PER_PARAGRAPH, len(one["qas"]))):
            place = _place(found, encoded, offset, one["context"], qa) if qa["answers"] else None
            if place is None:
                continue
            number = len(questions)
            questions.append(qa["question"])
            others = alterations(chance, qa["question"], pool, texts[place[0]])
            altered.append(list(range(number + 1, number + 1 + len(others))))
            questions += others
            drafts.append((*place, qa["answers"][0].lower()))
            altered[-1].insert(0, number)
        offset += len(one["context"]) + 2
    asked_vectors = model.encode(questions)
    base = len(marked)
    marked += [mark(text, v) for text, v in zip(questions, asked_vectors, strict=True)]
    asked = []
    for (window, start, end, sentence, answer), (number, *changed) in zip(
        drafts, altered, strict=True
    ):
        hard = _hard(asked_vectors[number], encoded, found, spans, answer)
        numbers = tuple(base + one for one in changed)
        asked.append(Asked(base + number, window, start, end, sentence, numbers, hard))
    light = [Marked(one.vectors.astype(np.float16), one.stems, one.marks) for one in marked]
    return Article(article["title"], light, asked)


def _place(
    found: Sequence[Window], encoded: Sequence[TokenVectors], offset: int, context: str, qa: Any
) -> tuple[int, int, int, tuple[int, int]] | None:
    """Window, first and last token of the answer, tokens of its sentence; None where it cannot be told.

    Of several occurrences the one whose sentence shares most words with the question: train-v1.1 here has no
    answer_start.
    """
    answer = qa["answers"][0]
    stems = {word.stem for word in content_words(qa["question"])}
    best: tuple[int, int, int, int, int] | None = None
    for number, window in enumerate(found):
        for candidate in window.sentences:
            if not offset <= candidate.span.start < offset + len(context):
                continue
            at = candidate.text.find(answer)
            if at >= 0:
                shared = len(stems & candidate.stems)
                if best is None or shared > best[0]:
                    start = candidate.span.start
                    best = (shared, number, start, candidate.span.end, start + at)
    if best is None:
        return None
    _, number, *places = best
    window = found[number]
    shift = len(window.prefix) - window.span.start
    sentence_start, sentence_end, start = (one + shift for one in places)
    starts = np.array([begin for begin, _ in encoded[number].offsets])
    inside = np.flatnonzero((starts >= sentence_start) & (starts < sentence_end))
    tokens = np.flatnonzero((starts >= start) & (starts < start + len(answer)))
    if not len(tokens):
        return None
    return number, int(tokens[0]), int(tokens[-1]), (int(inside[0]), int(inside[-1]) + 1)


def _spans(window: Window, encoded: TokenVectors) -> list[tuple[int, int]]:
    """The tokens of each sentence, end exclusive; of one that was cut off, none."""
    starts = np.array([begin for begin, _ in encoded.offsets], dtype=np.int64)
    starts += window.span.start - len(window.prefix)
    return [
        (
            int(np.searchsorted(starts, sentence.span.start)),
            int(np.searchsorted(starts, sentence.span.end)),
        )
        for sentence in window.sentences
    ]


def _hard(
    question: TokenVectors,
    encoded: Sequence[TokenVectors],
    found: Sequence[Window],
    spans: Sequence[Sequence[tuple[int, int]]],
    answer: str,
) -> tuple[tuple[int, int, int], ...]:
    """By late interaction, as the generator reads."""
    rated = []
    for number, (window, own) in enumerate(zip(found, spans, strict=True)):
        alike = question.vectors @ encoded[number].vectors.T
        for sentence, (begin, end) in zip(window.sentences, own, strict=True):
            if end - begin > 3 and answer not in sentence.text.lower():
                rated.append((-float(alike[:, begin:end].max(axis=1).mean()), number, begin, end))
    return tuple((number, begin, end) for _, number, begin, end in sorted(rated)[:HARD])


def alterations(chance: random.Random, question: str, pool: Sequence[Word], text: str) -> list[str]:
    """Up to two questions that the text does not answer: another name, number or word, or the opposite."""
    made = []
    words_ = content_words(question)
    have = [*names(question), *(word for word in words_ if word.is_number)] or words_
    lower = text.lower()
    if have:
        old = chance.choice(have)
        fitting = [
            one.text
            for one in chance.sample(pool, min(len(pool), 60))
            if one.is_number == old.is_number
            and one.is_name == old.is_name
            and one.text.lower() not in lower
            and one.text not in question
        ]
        if fitting:
            made.append(question[: old.start] + fitting[0] + question[old.end :])
    for word, opposite in OPPOSITES.items():
        if f" {word} " in question:
            made.append(question.replace(f" {word} ", f" {opposite} ", 1))
            break
    return made


__all__ = ["FOR_REGRESSIONS", "FOR_STOPPING", "Article", "Asked", "articles_in", "prepare", "tenth"]
