"""The rerank contract's messages, packed and unpacked."""

from collections.abc import Mapping, Sequence

from folio.rerank.v1 import rerank_pb2
from services.rerank.ranking import Outcome, rank

Response = rerank_pb2.RerankResponse


def response(
    outcomes: Sequence[Outcome],
    *,
    top_n: int,
    model: str,
    query_tokens: int,
    timings_ms: Mapping[str, float],
    query_token_texts: Sequence[str] = (),
) -> Response:
    """A reply with the best `top_n` (0 for all) of the outcomes, ranked."""
    reply = Response(
        model=model,
        query_tokens=query_tokens,
        timings_ms=timings_ms,
        query_token_texts=query_token_texts,
    )
    for item in rank(outcomes, top_n):
        outcome = item.outcome
        result = reply.results.add(
            index=item.position,
            score=outcome.score,
            score_per_token=outcome.score_per_token,
            rank=item.rank,
            status=outcome.status.value,
            truncated=outcome.truncated,
        )
        if outcome.alignment is not None:
            result.alignment.document_tokens.extend(outcome.alignment.document_tokens)
            result.alignment.similarities.extend(outcome.alignment.similarities)
    return reply
