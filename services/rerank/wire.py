"""The rerank contract's messages, packed and unpacked."""

from collections.abc import Sequence

from folio.common.v1 import step_pb2
from folio.rerank.v1 import rerank_pb2
from services.rerank.ranking import CandidateScore, rank

Response = rerank_pb2.RerankResponse


def response(
    scores: Sequence[CandidateScore],
    *,
    top_n: int,
    model: str,
    query_tokens: int,
    steps: Sequence[step_pb2.StepReport],
    query_token_texts: Sequence[str] = (),
) -> Response:
    """A reply with the best `top_n` (0 for all) of the scores, ranked."""
    reply = Response(
        model=model,
        query_tokens=query_tokens,
        steps=steps,
        query_token_texts=query_token_texts,
    )
    for item in rank(scores, top_n):
        scored = item.scored
        result = reply.results.add(
            index=item.position,
            score=scored.score,
            score_per_token=scored.score_per_token,
            rank=item.rank,
            status=scored.status.value,
            truncated=scored.truncated,
        )
        if scored.alignment is not None:
            result.alignment.document_tokens.extend(scored.alignment.document_tokens)
            result.alignment.similarities.extend(scored.alignment.similarities)
    return reply
