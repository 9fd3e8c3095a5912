"""The evidence that a sentence answers a question, as numbers: late interaction and words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from native import maxsim
from services.generator.extractive.question import Question
from services.generator.extractive.windows import Candidate, Weights, Window
from services.generator.words import STOP_WORDS, content_words, numbers, words
from services.minilm.model import TokenVectors

# Names of the columns, in order; the fitted coefficients are stored by name.
SENTENCE_FEATURES = (
    "similarity",  # mean over the question's content tokens of the best token of the sentence
    "similarity_all",  # the same over all tokens of the question
    "similarity_least",  # of the content token that is met worst
    "coverage",  # weighted share of the question's words in the sentence
    "coverage_context",  # the same with the sentence before and the title
    "kind",  # holds the number, date or name that is asked for: 1, 0 (nothing asked), -1
    "exact_context",  # share of the question's numbers and codes in sentence, neighbours and title
    "names_context",  # share of the question's names in sentence, neighbours and title
    "short",  # fewer than four words
)
ANSWER_FEATURES = (
    *SENTENCE_FEATURES,
    "exact_missing",  # share of the question's numbers and codes that its source lacks
    "names_missing",  # share of the question's names that its source lacks
    "coverage_source",  # weighted share of the question's words in its source and title
    "least_anywhere",  # the worst-met content token, met by anything that was read
    "margin",  # how far its similarity stands above the mean of all sentences read
)


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
        ]
        return np.concatenate([self.features[place], np.array(whole)])


def read(
    encoder: Encoder, question: Question, found: Sequence[Window], weights: Weights
) -> Reading:
    """Reads windows with the model: token vectors of each sentence in its context, MaxSim with the question."""
    encoded, *texts = encoder.encode([question.text, *(window.text for window in found)])
    sentences = tuple(sentence for window in found for sentence in window.sentences)
    vectors = [
        rows for window, text in zip(found, texts, strict=True) for rows in _rows(window, text)
    ]
    similarities = _similarities(encoded, vectors)
    content = _content_tokens(encoded, question.text)
    features = np.empty((len(sentences), len(SENTENCE_FEATURES)))
    for place, sentence in enumerate(sentences):
        tokens = similarities[place]
        features[place] = [
            float(tokens[content].mean()),
            float(tokens.mean()),
            float(tokens[content].min()),
            *_word_features(question, sentence, _neighbours(sentences, place), weights),
        ]
    least = float(similarities[:, content].max(axis=0).min())
    return Reading(question, sentences, features, least, weights)


def _rows(window: Window, text: TokenVectors) -> list[NDArray[np.float32]]:
    """The token vectors of each sentence of a window; a table's row is read with its header."""
    starts = np.array([start for start, _ in text.offsets], dtype=np.int64) + window.span.start

    def within(sentence: Candidate) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (starts >= sentence.span.start) & (starts < sentence.span.end)
        return inside

    return [
        np.ascontiguousarray(
            text.vectors[
                within(sentence) | within(sentence.header) if sentence.header else within(sentence)
            ]
        )
        for sentence in window.sentences
    ]


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


def _neighbours(sentences: Sequence[Candidate], place: int) -> str:
    """The sentence before, the table's header and the source's title: what "it" and "this" may mean."""
    sentence = sentences[place]
    before = sentences[place - 1] if place else None
    known = before is not None and before.source is sentence.source
    header = sentence.header.text if sentence.header else ""
    return (
        f"{sentence.source.title}\n{header}\n{before.text if before is not None and known else ''}"
    )


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
        float(len(sentence.text.split()) < 4),
    ]


def _exact(text: str) -> frozenset[str]:
    return numbers(text) | {word.text.lower() for word in words(text) if word.is_code}


def _share(wanted: frozenset[str], present: frozenset[str] | set[str]) -> float:
    """The share of what is wanted that is present; 1 if nothing is wanted."""
    return sum(one in present for one in wanted) / len(wanted) if wanted else 1.0


__all__ = ["ANSWER_FEATURES", "SENTENCE_FEATURES", "Encoder", "Reading", "read"]
