"""A small trained reader: where in a sentence the answer to a question stands, or that it does not stand there.

A head over the token vectors of all-MiniLM-L6-v2, which stays as it is. The weights (reader.npz) are our own, trained
by evals/training/fit_reader.py on SQuAD train-v1.1. Of a question of m tokens and a sentence (with what it stands
under) of n:

    question (m, 384), marks (m, MARKS)  -> project, norm -> Q (m, D)
    sentence (n, 384), marks (n, MARKS)  -> project, norm -> C (n, D)
    LAYERS times:  C += attend(C, Q)    what of the question each token of the sentence meets
                   Q += attend(Q, C)    what of the sentence meets each token of the question
                   Q += feed forward(Q)
                   C += attend(C, C)    (last layer only)
                   C += feed forward(convolution of NEIGHBOURS(C))
    C -> three logits for each token: the answer starts here, ends here, is in the sentence of this one
    Q pooled by attention, C by maximum -> three logits that there is none, on the same scales

The parts are those of QANet (Yu et al. 2018, arXiv:1804.09541); "no answer" as one more class of the softmax is from
Clark and Gardner 2018 (arXiv:1710.10723). The token vectors come from the whole window, so that a sentence is read in
its context; each sentence is scored by itself, so that its score depends on no other.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from services.generator.words import words
from services.minilm.model import TokenVectors
from services.rpc.errors import DataLoss
from services.text.words import STOP_WORDS

LAYERS = 2
HEADS = 4
MARKS = 5
NEIGHBOURS = 7
OUTPUTS = 3
# Unit vectors have entries near 0.05; the layers expect them near 1.
SCALE = 384**0.5
# Multiplications of one product that OpenBLAS does without other threads.
ONE_THREAD = 2**19

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Marked:
    """The tokens of one text (n of them), each with what its word is."""

    vectors: Floats
    """(n, 384), of length 1."""
    stems: NDArray[np.int64]
    """(n,): a hash of the stem of the token's word; -1 of stop words and of what is no word."""
    marks: NDArray[np.bool_]
    """(n, 3): belongs to the text itself and not to its prefix; is a number or code; begins with a capital."""


def mark(text: str, encoded: TokenVectors, prefix: int = 0) -> Marked:
    """The tokens of `text`, whose first `prefix` characters are what it stands under."""
    found = words(text)
    starts = np.array([start for start, _ in encoded.offsets], dtype=np.int64)
    places = np.searchsorted([word.start for word in found], starts, side="right") - 1
    stems = np.full(len(starts), -1, np.int64)
    marks = np.zeros((len(starts), 3), np.bool_)
    marks[:, 0] = starts >= prefix
    for token, place in enumerate(places):
        if place < 0 or found[place].end <= starts[token]:
            continue
        word = found[place]
        if word.text.lower() not in STOP_WORDS:
            stems[token] = zlib.crc32(word.stem.encode("utf-8", "replace"))
        marks[token, 1:] = any(map(str.isdigit, word.text)), word.is_name
    return Marked(encoded.vectors, stems, marks)


def pair_marks(question: Marked, sentence: Marked) -> tuple[Floats, Floats]:
    """(m, MARKS) and (n, MARKS): the marks of each token and how it is met on the other side.

    That is: its word stands there; the cosine of the token there that is most like it.
    """
    alike = _times(question.vectors, np.ascontiguousarray(sentence.vectors.T))
    content = question.stems >= 0
    if not content.any():
        content = np.ones_like(content)
    return (
        _joined(question, np.isin(question.stems, sentence.stems), alike.max(axis=1, initial=0)),
        _joined(
            sentence, np.isin(sentence.stems, question.stems), alike[content].max(axis=0, initial=0)
        ),
    )


def _joined(text: Marked, same: NDArray[np.bool_], alike: Floats) -> Floats:
    columns = [text.marks, (same & (text.stems >= 0))[:, None], alike[:, None]]
    joined: Floats = np.concatenate(columns, axis=1, dtype=np.float32)
    return joined


@dataclass(frozen=True)
class Scores:
    """What the reader says of a sentence."""

    tokens: Floats
    """(n, OUTPUTS): the logit that the answer starts, ends, stands there."""
    none: Floats
    """(OUTPUTS,): the logits that it does not."""

    def evidence(self) -> float:
        """The log-odds, mean of the three, that the sentence answers; at most LARGEST either way."""
        if not len(self.tokens):
            return -LARGEST
        odds = float((_log_sum(self.tokens) - self.none).mean())
        return min(max(odds, -LARGEST), LARGEST)


# Beyond it a fitted weight would multiply noise.
LARGEST = 12.0


class Reader:
    """The head in memory; may be used by several threads."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._weights = weights

    @classmethod
    def read(cls, file: IO[bytes] | Path) -> "Reader":
        """Raises DataLoss where the weights are damaged or are not those of this architecture."""
        try:
            with np.load(file, allow_pickle=False) as stored:
                weights = {name: stored[name].astype(np.float32) for name in stored.files}
        except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as error:
            raise DataLoss(
                "the weights of the reader cannot be read; "
                "install the package again, or run evals/training/fit_reader.py"
            ) from error
        wanted = shapes(weights["norm.gain"].shape[0]) if "norm.gain" in weights else {}
        if not wanted or {name: one.shape for name, one in weights.items()} != wanted:
            raise DataLoss(
                "the weights of the reader belong to another architecture; run evals/training/fit_reader.py"
            )
        return cls(weights)

    def scores(self, question: Marked, sentence: Marked) -> Scores:
        if not len(question.vectors) or not len(sentence.vectors):
            return Scores(
                np.zeros((len(sentence.vectors), OUTPUTS), np.float32),
                np.zeros(OUTPUTS, np.float32),
            )
        weights = self._weights
        asked, met = pair_marks(question, sentence)
        q = self._norm("norm", self._project(question.vectors) + asked @ weights["question.marks"])
        c = self._norm("norm", self._project(sentence.vectors) + met @ weights["window.marks"])
        for layer in map(str, range(LAYERS)):
            from_question = self._attend(f"{layer}.met", c, q)
            q = q + self._attend(f"{layer}.asked", q, c)
            q = q + self._feed(f"{layer}.question", q)
            c = c + from_question
            if layer == str(LAYERS - 1):
                c = c + self._attend("self", c, c)
            c = c + self._feed(f"{layer}.window", self._neighbours(f"{layer}.near", c))
        c = self._norm("out", c)
        q = self._norm("out", q)
        share = _softmax((q @ weights["pool"]).T)
        pooled = np.concatenate([share @ q, c.max(axis=0, keepdims=True)], axis=1)
        hidden = np.maximum(pooled @ weights["none.in"] + weights["none.bias"], 0)
        none: Floats = (hidden @ weights["none.out"])[0]
        tokens: Floats = c @ weights["tokens"]
        return Scores(tokens, none)

    def _project(self, vectors: Floats) -> Floats:
        return _times(vectors * np.float32(SCALE), self._weights["project"])

    def _norm(self, name: str, x: Floats) -> Floats:
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(1e-5))
        normed: Floats = scaled * self._weights[f"{name}.gain"] + self._weights[f"{name}.bias"]
        return normed

    def _attend(self, name: str, x: Floats, y: Floats) -> Floats:
        """(rows of x, D): what each row takes from the rows of y."""
        x, y = self._norm(f"{name}.x", x), self._norm(f"{name}.y", y)
        parts = [
            _times(rows, self._weights[f"{name}.{part}"])
            .reshape(len(rows), HEADS, -1)
            .transpose(1, 0, 2)
            for rows, part in ((x, "query"), (y, "key"), (y, "value"))
        ]
        query, key, value = parts
        shares = _softmax(query @ key.transpose(0, 2, 1) / np.float32(query.shape[2] ** 0.5))
        taken = (shares @ value).transpose(1, 0, 2).reshape(len(x), -1)
        return _times(taken, self._weights[f"{name}.given"])

    def _neighbours(self, name: str, c: Floats) -> Floats:
        """Each token's NEIGHBOURS, each dimension by itself; zeros beyond the ends."""
        half = NEIGHBOURS // 2
        padded = np.pad(c, ((half, half), (0, 0)))
        kernel = self._weights[name]
        mixed: Floats = padded[: len(c)] * kernel[0]
        for step in range(1, NEIGHBOURS):
            mixed += padded[step : step + len(c)] * kernel[step]
        return mixed

    def _feed(self, name: str, x: Floats) -> Floats:
        x = self._norm(name, x)
        hidden = _times(x, self._weights[f"{name}.in"]) + self._weights[f"{name}.hidden"]
        return _times(np.maximum(hidden, 0), self._weights[f"{name}.out"])


def shapes(d: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every array of the weights, for D = d."""
    found: dict[str, tuple[int, ...]] = {
        "project": (384, d),
        "question.marks": (MARKS, d),
        "window.marks": (MARKS, d),
        "pool": (d, 1),
        "none.in": (2 * d, d),
        "none.bias": (d,),
        "none.out": (d, OUTPUTS),
        "tokens": (d, OUTPUTS),
    }
    norms = ["norm", "out"]
    attentions = ["self"]
    for layer in range(LAYERS):
        attentions += [f"{layer}.met", f"{layer}.asked"]
        found[f"{layer}.near"] = (NEIGHBOURS, d)
        for name in (f"{layer}.question", f"{layer}.window"):
            norms.append(name)
            found |= {
                f"{name}.in": (d, 2 * d),
                f"{name}.hidden": (2 * d,),
                f"{name}.out": (2 * d, d),
            }
    for name in attentions:
        norms += [f"{name}.x", f"{name}.y"]
        found |= {f"{name}.{part}": (d, d) for part in ("query", "key", "value", "given")}
    return found | {f"{name}.{part}": (d,) for name in norms for part in ("gain", "bias")}


def _times(x: Floats, y: Floats) -> Floats:
    """x @ y in blocks of rows: for a larger product BLAS wakes its threads, which costs more than they save."""
    rows = max(1, ONE_THREAD // y.size)
    if len(x) <= rows:
        product: Floats = x @ y
        return product
    blocks: Floats = np.concatenate([x[at : at + rows] @ y for at in range(0, len(x), rows)])
    return blocks


def _softmax(x: Floats) -> Floats:
    """Over the last axis."""
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return shares


def _log_sum(x: Floats) -> Floats:
    """Over the first axis."""
    most = x.max(axis=0)
    summed: Floats = most + np.log(np.exp(x - most).sum(axis=0))
    return summed


@cache
def reader() -> Reader:
    """The trained one. Raises DataLoss where its file is missing or damaged."""
    file = resources.files(__package__).joinpath("reader.npz")
    if not file.is_file():
        raise DataLoss(
            "reader.npz is not in the package; install it again, or run evals/training/fit_reader.py"
        )
    with file.open("rb") as opened:
        return Reader.read(opened)


__all__ = ["Marked", "Reader", "Scores", "mark", "reader", "shapes"]
