"""BM25 in memory: the reference that says whether a collection was loaded right, and candidates where none are given.

score(q, d) = sum over terms of ln(1 + (N - n + .5) / (n + .5)) * tf / (tf + k1 * (1 - b + b * |d| / average)), the form
of Lucene (Kamphuis et al., 2020), with k1 .9 and b .4 as in Anserini. Words in lower case, without English stop words,
not stemmed.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from evals.datasets import Passage

K1, B = 0.9, 0.4
# English words without content: pronouns, articles, prepositions, auxiliaries.
_STOP = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves what which who whom this that these
those am is are was were be been being have has had having do does did doing a an the and but if
or because as until while of at by for with about against between into through during before after
above below to from up down in out on off over under again further then once here there when where
why how all any both each few more most other some such no nor not only own same so than too very
s t can will just don should now
"""
STOP = frozenset(_STOP.split())


def words(text: str) -> list[str]:
    """Terms in order."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP]


class BM25:
    """An index of passages. Memory is a pair of numbers per distinct word of each passage."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._ids = np.array([passage.id for passage in passages], dtype=object)
        counts = [Counter(words(passage.body)) for passage in passages]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        postings: dict[str, tuple[list[int], list[float]]] = {}
        for row, count in enumerate(counts):
            for word, frequency in count.items():
                rows, weights = postings.setdefault(word, ([], []))
                rows.append(row)
                weights.append(frequency / (frequency + norms[row]))
        total = len(passages)
        self._postings = {
            word: (
                np.array(rows, dtype=np.int64),
                np.log1p((total - len(rows) + 0.5) / (len(rows) + 0.5)) * np.array(weights),
            )
            for word, (rows, weights) in postings.items()
        }

    def search(self, query: str, limit: int) -> list[str]:
        """Ids of the best passages that share a word with the query; equal scores by id."""
        scores = np.zeros(len(self._ids))
        for word, times in Counter(words(query)).items():
            if word in self._postings:
                rows, weights = self._postings[word]
                scores[rows] += times * weights
        found = np.flatnonzero(scores)
        ranked = sorted(found, key=lambda row: (-scores[row], self._ids[row]))
        return [str(self._ids[row]) for row in ranked[:limit]]
