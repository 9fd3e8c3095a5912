"""The benchmark job of a reranker: any Rerank endpoint, candidates in, a TREC run out, pairs/s and percentiles.

Queries go over one StreamRerank, a bounded number in flight. The candidates' texts travel with each request, so the
endpoint needs no documents of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import grpc

from evals.datasets import Collection
from evals.scoring.metrics import evaluate_run, order, relevant
from evals.scoring.stats import percentile
from folio.client import OPTIONS
from folio.failure import CallFailed, read
from folio.rerank.v1 import rerank_pb2, rerank_pb2_grpc

Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bench:
    """What was measured. `failed` maps a query to its error; its pairs do not count."""

    model: str
    run: Mapping[str, Mapping[str, float]]
    failed: Mapping[str, str]
    pairs: int
    seconds: float
    latency_ms: Sequence[float]

    def summary(self) -> dict[str, float | int | str]:
        """Pairs and queries a second, and the percentiles of a query's time in the stream."""
        return {
            "model": self.model,
            "queries": len(self.run),
            "failed": len(self.failed),
            "pairs": self.pairs,
            "seconds": round(self.seconds, 3),
            "pairs_per_s": round(self.pairs / self.seconds, 1) if self.seconds else 0.0,
            "queries_per_s": round(len(self.run) / self.seconds, 2) if self.seconds else 0.0,
            **{
                f"p{share}_ms": round(percentile(list(self.latency_ms), share / 100), 2)
                for share in (50, 95, 99)
            },
        }


async def bench(
    address: str,
    metadata: Metadata,
    collection: Collection,
    candidates: Mapping[str, Sequence[str]],
    *,
    in_flight: int = 8,
    timeout: float = 3600.0,
) -> Bench:
    """Reranks every query that has candidates. CallFailed where the stream breaks; a query's own error is kept."""
    texts = {passage.id: passage.body for passage in collection.passages}
    queries = {query.id: query.text for query in collection.queries if candidates.get(query.id)}
    slots, sent = asyncio.Semaphore(in_flight), dict[str, float]()

    async def requests() -> AsyncIterator[rerank_pb2.StreamRerankRequest]:
        for name, question in queries.items():
            await slots.acquire()
            sent[name] = time.perf_counter()
            yield rerank_pb2.StreamRerankRequest(
                correlation_id=name,
                request=rerank_pb2.RerankRequest(
                    text=question,
                    texts=rerank_pb2.Texts(texts=[texts[name] for name in candidates[name]]),
                ),
            )

    run: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    latency: list[float] = []
    model, pairs, started = "", 0, time.perf_counter()
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        stub = rerank_pb2_grpc.RerankServiceStub(channel)
        try:
            async for reply in stub.StreamRerank(requests(), timeout=timeout, metadata=metadata):
                name = reply.correlation_id
                slots.release()
                latency.append((time.perf_counter() - sent[name]) * 1e3)
                if reply.WhichOneof("outcome") == "error":
                    failed[name] = reply.error.message
                    continue
                model = reply.response.model
                try:
                    run[name] = _scores(reply.response, candidates[name])
                except ValueError as error:
                    failed[name] = str(error)
                    continue
                pairs += len(candidates[name])
        except grpc.RpcError as error:
            raise read(error) from None
    missing = queries.keys() - run.keys() - failed.keys()
    if missing:
        raise CallFailed("DATA_LOSS", f"the stream ended without {len(missing)} answers")
    return Bench(model, run, failed, pairs, time.perf_counter() - started, latency)


def quality(
    found: Bench,
    candidates: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
) -> dict[str, float]:
    """NDCG@10 of the candidates, and of their new order; nothing where no query is judged.

    A query that failed is in neither: it is counted, and would be a 0 that nobody measured.
    """
    judged = {q: qrels.get(q, {}) for q in candidates.keys() - found.failed.keys()}
    if not any(relevant(grades) for grades in judged.values()):
        return {}
    after = {query: order(scores) for query, scores in found.run.items()}
    return {
        f"ndcg@10 {name}": round(evaluate_run(run, judged).mean()["ndcg@10"], 4)
        for name, run in (("before", candidates), ("after", after))
    }


def _scores(reply: rerank_pb2.RerankResponse, names: Sequence[str]) -> dict[str, float]:
    """Document -> a score that orders as the reranker's ranks do, whatever its scores tie on.

    ValueError for a score that is not finite: its rank is an accident.
    """
    order({names[found.index]: found.score for found in reply.results})
    return {names[found.index]: float(-found.rank) for found in reply.results}
