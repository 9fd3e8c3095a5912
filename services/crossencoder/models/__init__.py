"""Models that score (question, text) pairs. One file each; add it to SCORERS."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from services.outbound.failures import unreadable
from services.rpc.providers import Worker


class ScoreType(Enum):
    """What the numbers mean: a raw logit, or relevance from 0 to 1."""

    LOGIT = "logit"
    RELEVANCE = "relevance"


@dataclass(frozen=True)
class PairScore:
    """A model's number for one pair, finite or not. `truncated`: the model did not read all of the text."""

    score: float
    truncated: bool = False


class PairScorer(Worker, Protocol):
    """A cross-encoder. `start` comes first, once; `score` may run many times at once."""

    revision: str
    score_type: ScoreType
    # Pairs that one call takes.
    batch_pairs: int
    # Calls that are worth having at once.
    concurrency: int

    async def start(self) -> None:
        """Loads or reaches the model. Raises where it is no cross-encoder."""
        ...

    async def score(
        self, query: str, texts: Sequence[str], *, truncate: bool, seconds: float
    ) -> list[PairScore]:
        """One score per text, in order, within `seconds`.

        Raises ResourceExhausted (busy, or a call too large), Unavailable (away), FailedPrecondition (refuses the
        key or the request), InvalidArgument (too long, and `truncate` is off), Internal (an answer that makes no
        sense), and TimeoutError when `seconds` have passed.
        """
        ...

    async def close(self) -> None: ...


# Name in FOLIO_CROSSENCODER_PROVIDER -> class; each is made by its `create(settings)`.
SCORERS: Mapping[str, str] = {
    "cohere": "services.crossencoder.models.cohere:CohereScorer",
    "onnx": "services.crossencoder.models.onnx:OnnxScorer",
    "sentence-transformers": (
        "services.crossencoder.models.sentence_transformers:SentenceTransformersScorer"
    ),
    "tei": "services.crossencoder.models.tei:TeiScorer",
    "voyage": "services.crossencoder.models.voyage:VoyageScorer",
}


def in_order(count: int, scored: Iterable[tuple[int, float]], name: str) -> list[PairScore]:
    """Scores that came with their index, in the order of the texts. `name`: whose they are, for the messages.

    Internal unless there is exactly one for each: a missing one would shift the others' meaning.
    """
    by_index: dict[int, float] = {}
    for index, score in scored:
        if not 0 <= index < count:
            raise unreadable(name, f"a score for text {index}, where there are {count}")
        if index in by_index:
            raise unreadable(name, f"two scores for text {index}")
        by_index[index] = float(score)
    if len(by_index) != count:
        raise unreadable(name, f"{len(by_index)} scores for {count} texts")
    return [PairScore(by_index[index]) for index in range(count)]
