"""TEI, Cohere and Voyage on the wire: our adapters and their real SDKs against a local server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from folio.common.v1 import service_pb2
from folio.failure import DETAILS_KEY
from folio.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from services.crossencoder.assembly import open_service
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition
from services.rpc.identity import Principal
from services.rpc.testing import running
from tests.crossencoder.provider import Fault, Provider, serving

pytestmark = pytest.mark.integration

TEXTS = ["nothing", "three e letters here", "one e", "eeee", "x", "y e e"]
Request = rerank_pb2.RerankRequest
Options = rerank_pb2.RerankOptions
BUSY = Fault(429, {"error": "busy", "error_type": "Overloaded", "message": "busy", "detail": "b"})
AWAY = Fault(503, {"error": "away", "message": "away", "detail": "away"})


def texts(*bodies: str) -> rerank_pb2.Texts:
    return rerank_pb2.Texts(texts=bodies)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as opened:
        yield opened


def settings(provider: Provider, name: str, **changes: Any) -> CrossEncoderSettings:
    keys = {"tei": {}, "cohere": {"cohere_api_key": "key"}, "voyage": {"voyage_api_key": "key"}}
    return CrossEncoderSettings.model_validate(
        {
            "internal_secret": "x" * 32,
            "provider": name,
            "reranker_url": provider.url,
            "model": "a-model",
            "batch_pairs": 4,
            "attempt_seconds": 0.5,
            **keys[name],
            **changes,
        }
    )


@asynccontextmanager
async def serve(
    chosen: CrossEncoderSettings,
) -> AsyncIterator["rerank_pb2_grpc.RerankServiceAsyncStub"]:
    async with open_service(chosen) as service:
        await service.warm_up()
        async with running("crossencoder", service.register, Principal(1)) as channel:
            yield rerank_pb2_grpc.RerankServiceStub(channel)


async def refused(
    stub: Any, request: rerank_pb2.RerankRequest, timeout: float = 30
) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await stub.Rerank(request, timeout=timeout)
    return failure.value


def retry_delay(error: grpc.aio.AioRpcError) -> float | None:
    status = status_pb2.Status.FromString(dict(error.trailing_metadata() or ())[DETAILS_KEY])
    retry = error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Unpack(retry):
            return float(retry.retry_delay.ToTimedelta().total_seconds())
    return None


every = pytest.mark.parametrize("name", ["tei", "cohere", "voyage"])


@every
async def test_scores_come_in_the_callers_order(provider: Provider, name: str) -> None:
    async with serve(settings(provider, name)) as stub:
        reply = await stub.Rerank(Request(text="q", texts=texts(*TEXTS)), timeout=30)
    assert [r.score for r in reply.results] == pytest.approx([0, 0.7, 0.2, 0.4, 0, 0.2])
    assert [r.rank for r in reply.results] == [5, 1, 3, 2, 6, 4]
    assert reply.model == ("BAAI/bge-reranker-base" if name == "tei" else "a-model")


@every
async def test_long_batches_are_split_and_blank_texts_are_not_sent(
    provider: Provider, name: str
) -> None:
    bodies = [f"text {'e' * n}" for n in range(9)]
    async with serve(settings(provider, name)) as stub:
        reply = await stub.Rerank(Request(text="q", texts=texts(" ", *bodies, "")), timeout=30)
        nothing = await stub.Rerank(Request(text="q", texts=texts()), timeout=30)
    sent = [body.get("texts") or body["documents"] for body in provider.requests]
    assert sorted(map(len, sent)) == [1, 4, 4]
    assert [r.status for r in reply.results] == [2, *[1] * 9, 2]
    assert [r.rank for r in reply.results] == [10, *range(9, 0, -1), 11]
    assert not nothing.results


@every
async def test_duplicates_keep_their_places(provider: Provider, name: str) -> None:
    async with serve(settings(provider, name)) as stub:
        reply = await stub.Rerank(Request(text="q", texts=texts("e", "ee", "e")), timeout=30)
    assert [r.score for r in reply.results] == pytest.approx([0.1, 0.2, 0.1])


@every
async def test_a_score_that_is_not_finite_is_never_silent(provider: Provider, name: str) -> None:
    async with serve(settings(provider, name)) as stub:
        reply = await stub.Rerank(Request(text="q", texts=texts("nan", "e", "x")), timeout=30)
    assert [r.status for r in reply.results] == [
        rerank_pb2.CANDIDATE_STATUS_NOT_FINITE,
        rerank_pb2.CANDIDATE_STATUS_SCORED,
        rerank_pb2.CANDIDATE_STATUS_SCORED,
    ]
    assert reply.results[0].rank == 3


@every
@pytest.mark.parametrize("change", ["fewer", "twice", "out of range"])
async def test_an_answer_that_does_not_fit_is_an_error(
    provider: Provider, name: str, change: str
) -> None:
    def alter(answer: Any) -> Any:
        scored = (
            answer
            if isinstance(answer, list)
            else answer["results" if "results" in answer else "data"]
        )
        if change == "fewer":
            scored.pop()
        else:
            scored[0]["index"] = scored[1]["index"] if change == "twice" else 7
        return answer

    provider.alter = alter
    async with serve(settings(provider, name)) as stub:
        error = await refused(stub, Request(text="q", texts=texts("a", "b", "c")))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert name in (error.details() or "")


@every
async def test_a_busy_or_absent_provider_is_asked_again(provider: Provider, name: str) -> None:
    provider.faults = [BUSY, AWAY]
    async with serve(settings(provider, name)) as stub:
        reply = await stub.Rerank(Request(text="q", texts=texts("e")), timeout=30)
    assert reply.results[0].score == pytest.approx(0.1)
    assert len(provider.requests) == 3


@every
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (BUSY, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (AWAY, grpc.StatusCode.UNAVAILABLE),
        (Fault(delay_s=1.0), grpc.StatusCode.UNAVAILABLE),
    ],
)
async def test_when_tries_are_used_up_the_caller_learns_when_to_come_back(
    provider: Provider, name: str, fault: Fault, code: grpc.StatusCode
) -> None:
    provider.faults = [fault] * 10
    async with serve(settings(provider, name, attempts=2)) as stub:
        error = await refused(stub, Request(text="q", texts=texts("e")))
    assert error.code() is code
    assert retry_delay(error) == 1.0
    # The SDKs make no tries of their own.
    assert len(provider.requests) == 2


@every
async def test_a_long_retry_after_is_passed_on_and_not_slept(provider: Provider, name: str) -> None:
    provider.faults = [Fault(429, {"message": "busy", "detail": "busy"}, {"retry-after": "300"})]
    async with serve(settings(provider, name)) as stub:
        error = await refused(stub, Request(text="q", texts=texts("e")), timeout=20)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert retry_delay(error) == 300
    assert len(provider.requests) == 1


@every
async def test_a_refused_key_is_no_reason_to_try_again(provider: Provider, name: str) -> None:
    provider.faults = [Fault(401, {"message": "no", "detail": "no", "error": "no"})]
    async with serve(settings(provider, name)) as stub:
        error = await refused(stub, Request(text="q", texts=texts("e")))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert len(provider.requests) == 1


@every
async def test_a_body_that_is_not_json_is_an_error(provider: Provider, name: str) -> None:
    provider.faults = [Fault(200, "<html>gateway</html>")] * 5
    async with serve(settings(provider, name)) as stub:
        error = await refused(stub, Request(text="q", texts=texts("e")))
    assert error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE)
    assert "html" not in (error.details() or "")


@every
async def test_what_only_late_interaction_does_is_refused(provider: Provider, name: str) -> None:
    async with serve(settings(provider, name)) as stub:
        by_id = Request(text="q", chunk_ids=rerank_pb2.ChunkIds(ids=[1]))
        aligned = Request(text="q", texts=texts("a"), options=Options(alignments=True))
        for request in (by_id, aligned):
            error = await refused(stub, request)
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
        answer = await stub.GetCapabilities(rerank_pb2.GetCapabilitiesRequest(), timeout=10)
    assert (answer.accepts_texts, answer.accepts_chunk_ids, answer.accepts_vectors) == (
        True,
        False,
        False,
    )
    assert answer.capabilities.score_type == (
        service_pb2.SCORE_TYPE_LOGIT if name == "tei" else service_pb2.SCORE_TYPE_RELEVANCE
    )


@every
async def test_truncation_is_the_providers_to_refuse(provider: Provider, name: str) -> None:
    request = Request(
        text="q", texts=texts("e"), options=Options(truncation=rerank_pb2.TRUNCATION_NONE)
    )
    async with serve(settings(provider, name)) as stub:
        if name == "cohere":
            error = await refused(stub, request)
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
            return
        await stub.Rerank(request, timeout=30)
        sent = provider.requests[0]
        assert sent["truncate" if name == "tei" else "truncation"] is False
        provider.faults = [Fault(422 if name == "tei" else 400, {"error": "long", "detail": "l"})]
        error = await refused(stub, request)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_what_is_sent_is_the_documented_body(provider: Provider) -> None:
    expected = {
        "tei": {
            "query": "q",
            "texts": ["e"],
            "raw_scores": True,
            "return_text": False,
            "truncate": True,
        },
        "cohere": {"model": "a-model", "query": "q", "documents": ["e"]},
        "voyage": {
            "model": "a-model",
            "query": "q",
            "documents": ["e"],
            "top_k": None,
            "truncation": True,
        },
    }
    for name, body in expected.items():
        async with serve(settings(provider, name)) as stub:
            await stub.Rerank(Request(text="q", texts=texts("e")), timeout=30)
        assert provider.requests[-1] == body
        assert provider.authorizations[-1] == ("" if name == "tei" else "Bearer key")


async def test_tei_with_an_embedding_model_is_refused_at_start(provider: Provider) -> None:
    provider.info["model_type"] = {"embedding": {"pooling": "cls"}}
    async with open_service(settings(provider, "tei")) as service:
        with pytest.raises(FailedPrecondition, match="is not a reranker but: embedding"):
            await service.warm_up()


async def test_without_a_model_the_service_refuses_to_start() -> None:
    bare = CrossEncoderSettings.model_validate({"internal_secret": "x" * 32})
    with pytest.raises(FailedPrecondition, match="no cross-encoder is configured"):
        async with open_service(bare):
            pass


async def test_the_stream_goes_on_past_errors(provider: Provider) -> None:
    async def requests() -> AsyncIterator[rerank_pb2.StreamRerankRequest]:
        for n in range(12):
            request = Request(text="q", texts=texts("e" * n + "."))
            if n == 5:
                request = Request(text="q", chunk_ids=rerank_pb2.ChunkIds(ids=[1]))
            yield rerank_pb2.StreamRerankRequest(correlation_id=str(n), request=request)

    async with serve(settings(provider, "tei")) as stub:
        answers = {a.correlation_id: a async for a in stub.StreamRerank(requests(), timeout=30)}
    assert answers["5"].error.code == grpc.StatusCode.FAILED_PRECONDITION.value[0]
    assert {n: answers[n].response.results[0].score for n in ("0", "11")} == pytest.approx(
        {"0": 0.0, "11": 1.1}
    )
