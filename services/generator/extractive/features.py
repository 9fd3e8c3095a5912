"""The evidence that a sentence answers a question, as numbers: late interaction and words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from native import maxsim
from services.generator.extractive.layout import Line
from services.generator.extractive.question import Question
from services.generator.extractive.reader import Marked, mark, reader
from services.generator.extractive.windows import Candidate, Weights, Window
from services.generator.words import content_words, numbers, words
from services.minilm.model import TokenVectors
from services.text.words import STOP_WORDS

# Names of the columns, in order; the fitted coefficients are stored by name.
SENTENCE_FEATURES = (
    "similarity",  # mean over the question's content tokens of the best token of the sentence
    "similarity_all",  # the same over all tokens of the question
    "similarity_least",  # of the content token that is met worst
    "similarity_context",  # of the content tokens, with the title, the headings and the header it stands under
    "similarity_rare",  # the same, each token as much as its word is rare in the sources
    "similarity_window",  # of the content tokens, in all that was read with it
    "meaning",  # cosine of the mean vectors of question and sentence
    "coverage",  # weighted share of the question's words in the sentence
    "coverage_context",  # the same with the sentence before, the title and the headings
    "kind",  # holds the number, date or name that is asked for: 1, 0 (nothing asked), -1
    "exact_context",  # share of the question's numbers and codes in sentence, neighbours and title
    "names_context",  # share of the question's names in sentence, neighbours and title
    "news",  # log of one and the number of its words that the question does not have
    "short",  # fewer than four words
    "relevance",  # the probability that the rerankers gave its source
)
ANSWER_FEATURES = (
    *SENTENCE_FEATURES,
    "exact_missing",  # share of the question's numbers and codes that its source lacks
    "names_missing",  # share of the question's names that its source lacks
    "coverage_source",  # weighted share of the question's words in its source and title
    "least_anywhere",  # the worst-met content token, met by anything that was read
    "margin",  # how far its similarity stands above the mean of all sentences read
    "reader",  # the trained reader's log-odds that it answers
    "reader_margin",  # how far the reader's log-odds stand above those of the best other sentence
)

# The reader reads this many sentences, the likeliest by this column: each costs about a millisecond.
CONTEXT = SENTENCE_FEATURES.index("similarity_context")
READ = 16


class Encoder(Protocol):
    """Token vectors of texts; services.minilm.model.MiniLM is one."""

    def encode(self, texts: Sequence[str], max_tokens: int | None = None) -> list[TokenVectors]: ...


@dataclass(frozen=True)
class Reading:
    """All sentences that were read, and what speaks for each."""

    question: Question
    sentences: tuple[Candidate, ...]
    features: NDArray[np.float64]
    """(sentences, SENTENCE_FEATURES)."""
    odds: NDArray[np.float64]
    """(sentences,): the trained reader's log-odds that each answers."""
    least_anywhere: float
    weights: Weights

    def answer_features(self, place: int) -> NDArray[np.float64]:
        """(ANSWER_FEATURES,) of the answer that the sentence at `place` would be."""
        source = self.sentences[place].source
        text = f"{source.title}\n{source.text}"
        stems = frozenset(word.stem for word in words(text))
        whole = [
            1 - _share(self.question.exact, _exact(text)),
            1 - _share(self.question.names, stems),
            self.weights.coverage(stems),
            self.least_anywhere,
            self.features[place, 0] - float(self.features[:, 0].mean()),
            float(self.odds[place]),
            float(self.odds[place] - np.delete(self.odds, place).max(initial=self.odds.min())),
        ]
        return np.concatenate([self.features[place], np.array(whole)])


def read(
    encoder: Encoder, question: Question, found: Sequence[Window], weights: Weights
) -> Reading:
    """Reads windows with the model: token vectors of each sentence in its context, MaxSim with the question."""
    encoded, *texts = encoder.encode([question.text, *(window.text for window in found)])
    sentences = tuple(sentence for window in found for sentence in window.sentences)
    asked = mark(question.text, encoded)
    rows = [each for pair in zip(found, texts, strict=True) for each in _rows(*pair)]
    alone = _similarities(encoded, [one.sentence for one in rows])
    context = _similarities(encoded, [one.context for one in rows])
    around = _similarities(encoded, [text.vectors for text in texts])
    content = _content_tokens(encoded, question.text)
    rarity = _rarity(encoded, question, weights, content)
    whole = [
        float(around[number][content].mean())
        for number, window in enumerate(found)
        for _ in window.sentences
    ]
    meant = _mean(encoded.vectors)
    features = np.empty((len(sentences), len(SENTENCE_FEATURES)))
    for place, sentence in enumerate(sentences):
        tokens = alone[place]
        features[place] = [
            float(tokens[content].mean()),
            float(tokens.mean()),
            float(tokens[content].min()),
            float(context[place][content].mean()),
            float(context[place] @ rarity),
            whole[place],
            float(meant @ _mean(rows[place].sentence)),
            *_word_features(question, sentence, _neighbours(sentences, place), weights),
            sentence.source.relevance,
        ]
    odds = _read_closely(asked, rows, features)
    least = float(context[:, content].max(axis=0).min())
    return Reading(question, sentences, features, odds, least, weights)


@dataclass(frozen=True)
class _Rows:
    """Token vectors of a sentence, alone and with what it stands under."""

    sentence: NDArray[np.float32]
    context: NDArray[np.float32]
    marked: Marked
    """The tokens of `context`."""


def _rows(window: Window, text: TokenVectors) -> list[_Rows]:
    """The token vectors of each sentence of a window."""
    starts = np.array([start for start, _ in text.offsets], dtype=np.int64) - len(window.prefix)
    before = starts < 0
    starts += window.span.start

    def within(sentence: Candidate) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (starts >= sentence.span.start) & (starts < sentence.span.end)
        return inside & ~before

    # The prefix is what the first sentence stands under; another sentence shares its title at least.
    first = {id(one) for one in window.sentences[0].above}
    title = before & (
        starts - window.span.start + len(window.prefix) < len(window.sentences[0].source.title)
    )
    marked = mark(window.text, text)
    found = []
    for sentence in window.sentences:
        own = within(sentence)
        inherits = all(id(one) in first for one in sentence.above)
        context = own | (before if inherits else title)
        for one in sentence.above:
            context = context | within(one)
        marks = np.column_stack([own, marked.marks[:, 1:]])[context]
        vectors = _at(text, context)
        found.append(_Rows(_at(text, own), vectors, Marked(vectors, marked.stems[context], marks)))
    return found


def _read_closely(
    question: Marked, rows: Sequence[_Rows], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(sentences,): the reader's evidence for the READ likeliest; the others have the least of it."""
    order = np.argsort(-features[:, CONTEXT], kind="stable")[:READ]
    found = [reader().scores(question, rows[place].marked).evidence() for place in order]
    odds = np.full(len(rows), min(found, default=0.0))
    odds[order] = found
    return odds


def _at(text: TokenVectors, mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    return np.ascontiguousarray(text.vectors[mask])


def _mean(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean vector, of length 1; zeros of no vectors."""
    if not len(vectors):
        return np.zeros(vectors.shape[1], np.float32)
    mean = vectors.mean(axis=0)
    scaled: NDArray[np.float32] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return scaled


def _similarities(
    question: TokenVectors, sentences: list[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """(sentences, question tokens): the best similarity of each token of the question; 0 for no tokens."""
    if not len(question.vectors):
        return np.zeros((len(sentences), 1), np.float32)
    found = maxsim.alignments(question.vectors, sentences).similarities
    return np.where(np.isfinite(found), found, np.float32(0))


def _content_tokens(question: TokenVectors, text: str) -> NDArray[np.bool_]:
    """Which tokens carry meaning; all of them if none does."""
    pieces = [text[start:end] for start, end in question.offsets]
    content = np.array(
        [piece.lower() not in STOP_WORDS and any(map(str.isalnum, piece)) for piece in pieces]
        or [True]
    )
    return content if content.any() else np.ones_like(content)


def _rarity(
    encoded: TokenVectors, question: Question, weights: Weights, content: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """(question tokens,): the share of each token in the weight of the question's words; the sum is 1."""
    of_token = np.array(
        [
            max(
                (weights.by_stem[w.stem] for w in question.words if w.start <= start < w.end),
                default=0.0,
            )
            for start, _ in encoded.offsets
        ]
        or [0.0]
    )
    chosen = of_token if of_token.any() else content.astype(np.float64)
    shares: NDArray[np.float64] = chosen / chosen.sum()
    return shares


def _neighbours(sentences: Sequence[Candidate], place: int) -> str:
    """The sentence before, and what the sentence stands under: what "it" and "this" may mean."""
    sentence = sentences[place]
    before = sentences[place - 1] if place else None
    if before is None or before.source is not sentence.source or before.line is not Line.PROSE:
        return sentence.context
    return f"{sentence.context}\n{before.text}"


def _word_features(
    question: Question, sentence: Candidate, neighbours: str, weights: Weights
) -> list[float]:
    context = sentence.stems | {word.stem for word in content_words(neighbours)}
    exact = _exact(sentence.text) | _exact(neighbours)
    return [
        weights.coverage(sentence.stems),
        weights.coverage(context),
        question.answers_kind(words(sentence.text)),
        _share(question.exact, exact),
        _share(question.names, context),
        math.log1p(len(sentence.stems - question.stems)),
        float(len(sentence.text.split()) < 4),
    ]


def _exact(text: str) -> frozenset[str]:
    return numbers(text) | {word.text.lower() for word in words(text) if word.is_code}


def _share(wanted: frozenset[str], present: frozenset[str] | set[str]) -> float:
    """The share of what is wanted that is present; 1 if nothing is wanted."""
    return sum(one in present for one in wanted) / len(wanted) if wanted else 1.0


__all__ = ["ANSWER_FEATURES", "SENTENCE_FEATURES", "Encoder", "Reading", "read"]
