"""Hits on their way through the steps, and what the last ranking step said of them."""

from dataclasses import dataclass

from folio.common.v1 import document_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from services.gateway.calibration import Signal
from services.gateway.route import Scored

_SIGNALS: "dict[Signal, gateway_pb2.Signal.ValueType]" = {
    "score_per_token": gateway_pb2.SIGNAL_SCORE_PER_TOKEN,
    "score": gateway_pb2.SIGNAL_SCORE,
    "dense_score": gateway_pb2.SIGNAL_DENSE_SCORE,
}


@dataclass(frozen=True)
class Hit:
    """A chunk and the score of the last step that ranked it."""

    chunk: document_pb2.Chunk
    score: float
    # That it answers, as far as a calibration can tell.
    probability: float = 0.0
    # It holds the code that the question asks for.
    named: bool = False
    # Rows of a table in the chunk that were found themselves, best first.
    rows: tuple[document_pb2.Chunk, ...] = ()


@dataclass(frozen=True)
class Hits:
    """Hits, best first. `scored` is what a calibration may read: one signal per hit, in the same order."""

    items: tuple[Hit, ...]
    scored_by: "step_pb2.Step.ValueType"
    scored: Scored | None = None

    def __len__(self) -> int:
        return len(self.items)

    def ranking(self) -> gateway_pb2.Ranking:
        """As it goes into a trace."""
        signals = self.scored.scores if self.scored else [None] * len(self.items)
        return gateway_pb2.Ranking(
            step=self.scored_by,
            chunks=[
                gateway_pb2.RankedChunk(
                    chunk_id=hit.chunk.id,
                    score=hit.score,
                    document_id=hit.chunk.document_id,
                    page_start=hit.chunk.page_start,
                    page_end=hit.chunk.page_end,
                    signal=signal,
                )
                for hit, signal in zip(self.items, signals, strict=True)
            ],
            signal=_SIGNALS[self.scored.signal] if self.scored else gateway_pb2.SIGNAL_UNSPECIFIED,
            model=self.scored.model if self.scored else "",
        )

    def first(self, count: int) -> "Hits":
        return self.at(list(range(min(count, len(self.items)))))

    def named_first(self) -> "Hits":
        """In the order they have, those that hold the question's code before the others."""
        return self.at(
            sorted(range(len(self.items)), key=lambda position: not self.items[position].named)
        )

    def at(self, positions: list[int]) -> "Hits":
        """These hits only."""
        scored = self.scored and Scored(
            self.scored.model,
            self.scored.signal,
            tuple(self.scored.scores[position] for position in positions),
        )
        return Hits(tuple(self.items[position] for position in positions), self.scored_by, scored)
