"""The benchmark job against a real server that speaks the contract."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from bench.rerank import bench, quality
from evals.datasets import Collection, Passage, Query
from folio.failure import CallFailed
from folio.rerank.v1 import rerank_pb2, rerank_pb2_grpc

COLLECTION = Collection(
    "pumps",
    (Passage("short", "", "a"), Passage("long", "", "a longer text"), Passage("mid", "", "a text")),
    (Query("q1", "one"), Query("q2", "two"), Query("q3", "three"), Query("q4", "nan")),
)


class ByLength(rerank_pb2_grpc.RerankServiceServicer):
    """Longer is better; the question "two" is refused. Answers come back in pairs, the later first."""

    # The benchmark sends streams only.
    Rerank = rerank_pb2_grpc.RerankServiceServicer.Rerank
    GetCapabilities = rerank_pb2_grpc.RerankServiceServicer.GetCapabilities

    async def StreamRerank(
        self, requests: AsyncIterator[rerank_pb2.StreamRerankRequest], context: Any
    ) -> AsyncIterator[rerank_pb2.StreamRerankResponse]:
        self.metadata = dict(context.invocation_metadata())
        async for asked in requests:
            if asked.request.text == "two":
                error = rerank_pb2.RerankError(code=3, message="not this one")
                yield rerank_pb2.StreamRerankResponse(
                    correlation_id=asked.correlation_id, error=error
                )
                continue
            lengths: list[float] = [len(text) for text in asked.request.texts.texts]
            if asked.request.text == "nan":
                lengths[0] = float("nan")
            ranked = sorted(range(len(lengths)), key=lambda n: -lengths[n])
            yield rerank_pb2.StreamRerankResponse(
                correlation_id=asked.correlation_id,
                response=rerank_pb2.RerankResponse(
                    model="by-length",
                    results=[
                        rerank_pb2.ScoredCandidate(
                            index=n, score=lengths[n], rank=ranked.index(n) + 1
                        )
                        for n in range(len(lengths))
                    ],
                ),
            )


@pytest.fixture
async def served() -> AsyncIterator[tuple[str, ByLength]]:
    server, servicer = grpc.aio.server(), ByLength()
    rerank_pb2_grpc.add_RerankServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}", servicer
    await server.stop(None)


async def test_every_query_is_ranked_and_an_error_is_its_own(served: tuple[str, ByLength]) -> None:
    address, servicer = served
    candidates = {"q1": ["short", "long", "mid"], "q2": ["short"], "q3": ["mid", "short"]}
    found = await bench(
        address, (("authorization", "Bearer t"),), COLLECTION, candidates, in_flight=2
    )
    assert {q: sorted(s, key=lambda d: -s[d]) for q, s in found.run.items()} == {
        "q1": ["long", "mid", "short"],
        "q3": ["mid", "short"],
    }
    assert found.failed == {"q2": "not this one"}
    assert found.pairs == 5
    assert len(found.latency_ms) == 3
    assert found.summary()["model"] == "by-length"
    assert servicer.metadata["authorization"] == "Bearer t"
    # q1 goes from rank 2 to rank 1. q2 failed, so it is no 0; q3 has nothing relevant.
    qrels = {"q1": {"long": 1}, "q2": {"short": 1}, "q3": {}}
    assert quality(found, candidates, qrels) == {"ndcg@10 before": 0.6309, "ndcg@10 after": 1.0}
    assert quality(found, candidates, {}) == {}


async def test_a_score_that_is_not_finite_fails_its_query(served: tuple[str, ByLength]) -> None:
    found = await bench(served[0], (), COLLECTION, {"q3": ["mid"], "q4": ["short", "long"]})
    assert found.run.keys() == {"q3"}
    assert "short is not a finite number" in found.failed["q4"]
    assert found.pairs == 1


async def test_a_server_that_is_not_there_is_an_error(unused_tcp_port: int) -> None:
    with pytest.raises(CallFailed, match="UNAVAILABLE"):
        await bench(f"127.0.0.1:{unused_tcp_port}", (), COLLECTION, {"q1": ["short"]})
