"""Models that score (question, text) pairs. One file each; add it to SCORERS."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from services.rpc.errors import FailedPrecondition, Internal, ResourceExhausted, Unavailable


class ScoreType(Enum):
    """What the numbers mean: a raw logit, or relevance from 0 to 1."""

    LOGIT = "logit"
    RELEVANCE = "relevance"


@dataclass(frozen=True)
class PairScore:
    """A model's number for one pair, finite or not. `truncated`: the model did not read all of the text."""

    score: float
    truncated: bool = False


class PairScorer(Protocol):
    """A cross-encoder. `start` comes first, once; `score` may run many times at once."""

    provider: str
    model: str
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

        Raises ResourceExhausted (busy), Unavailable (away, too slow), FailedPrecondition (refuses
        the key or the model's name), InvalidArgument (too long, and `truncate` is off), Internal
        (an answer that makes no sense).
        """
        ...

    async def close(self) -> None: ...


# Name in FOLIO_CROSSENCODER_PROVIDER -> class; each is constructed by its `create(settings)`.
SCORERS: Mapping[str, str] = {
    "cohere": "services.crossencoder.models.cohere:CohereScorer",
    "onnx": "services.crossencoder.models.onnx:OnnxScorer",
    "sentence-transformers": (
        "services.crossencoder.models.sentence_transformers:SentenceTransformersScorer"
    ),
    "tei": "services.crossencoder.models.tei:TeiScorer",
    "voyage": "services.crossencoder.models.voyage:VoyageScorer",
}


def in_order(count: int, scored: Iterable[tuple[int, float]], provider: str) -> list[PairScore]:
    """Scores that came with their index, in the order of the texts.

    Internal unless there is exactly one for each: a missing one would shift the others' meaning.
    """
    by_index: dict[int, float] = {}
    for index, score in scored:
        if not 0 <= index < count or index in by_index:
            raise Internal(
                f"{provider} answered for text {index} of {count}, or twice", reason="PROVIDER"
            )
        by_index[index] = float(score)
    if len(by_index) != count:
        raise Internal(
            f"{provider} gave {len(by_index)} scores for {count} texts", reason="PROVIDER"
        )
    return [PairScore(by_index[index]) for index in range(count)]


def failure(
    provider: str, status: int, retry_after_s: float | None
) -> ResourceExhausted | Unavailable | FailedPrecondition | Internal:
    """The error that an HTTP status of a provider means for our caller."""
    if status == 429:
        return ResourceExhausted(
            f"{provider} is over its rate limit; try again later",
            reason="PROVIDER_BUSY",
            retry_after_s=retry_after_s,
        )
    if status in (408, 424) or status >= 500:
        return Unavailable(
            f"{provider} answered {status}; try again later",
            reason="PROVIDER_AWAY",
            retry_after_s=retry_after_s,
        )
    if status in (401, 402, 403, 404):
        return FailedPrecondition(
            f"{provider} answered {status}; check the key, the model's name and the address",
            reason="PROVIDER_REFUSED",
        )
    return Internal(f"{provider} answered {status}", reason="PROVIDER")


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds of a Retry-After header (RFC 9110, the form in seconds); None where there is none."""
    for name, value in (headers or {}).items():
        if name.lower() == "retry-after":
            try:
                return max(0.0, float(value))
            except ValueError:
                return None
    return None
