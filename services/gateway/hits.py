"""Hits on their way through the stages, and what the last stage said of them."""

from dataclasses import dataclass

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from services.gateway.route import Scored


@dataclass(frozen=True)
class Hit:
    """A chunk and the score of the last stage that saw it."""

    chunk: document_pb2.Chunk
    score: float


@dataclass(frozen=True)
class Hits:
    """Hits, best first. `scored` is what a calibration may read: one signal per hit, in the same order."""

    items: tuple[Hit, ...]
    scored_by: str
    scored: Scored | None = None

    def __len__(self) -> int:
        return len(self.items)

    def ranking(self) -> gateway_pb2.Ranking:
        """As it goes into a trace."""
        chunks = [hit.chunk for hit in self.items]
        return gateway_pb2.Ranking(
            chunk_ids=[chunk.id for chunk in chunks],
            scores=[hit.score for hit in self.items],
            document_ids=[chunk.document_id for chunk in chunks],
            page_starts=[chunk.page_start for chunk in chunks],
            page_ends=[chunk.page_end for chunk in chunks],
            signal=self.scored.signal if self.scored else "",
            model=self.scored.model if self.scored else "",
            signals=self.scored.scores if self.scored else (),
        )

    def first(self, count: int) -> "Hits":
        return self.at(list(range(min(count, len(self.items)))))

    def at(self, positions: list[int]) -> "Hits":
        """These hits only."""
        scored = self.scored and Scored(
            self.scored.model,
            self.scored.signal,
            tuple(self.scored.scores[position] for position in positions),
        )
        return Hits(tuple(self.items[position] for position in positions), self.scored_by, scored)
