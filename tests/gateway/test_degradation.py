"""A dead, slow, overloaded or lying service: the best honest reply, in time, that names what was left out."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from folio import failure
from folio.common.v1 import query_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.rerank.v1 import rerank_pb2
from folio.retriever.v1 import retriever_pb2
from folio.words import word
from services.gateway.steps import generate, rerank
from services.rpc.errors import (
    FolioError,
    Internal,
    InvalidArgument,
    ResourceExhausted,
    Unavailable,
)
from tests.gateway.asking import DEGRADED, RAN, SKIPPED, ask, events, report
from tests.gateway.script import CHUNKS, GOOD, failing, forever
from tests.gateway.suite import Suite, running_suite


@pytest.mark.parametrize("error", [Unavailable("down"), ResourceExhausted("full")])
@pytest.mark.parametrize("service", ["colbert.Rerank", "generator.Rewrite", "generator.Expand"])
async def test_a_broken_service_is_named_and_the_answer_is_made_without_it(
    suite: Suite, service: str, error: Exception
) -> None:
    suite.script.on[service] = failing(error)
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    name = {
        "colbert.Rerank": "colbert",
        "generator.Rewrite": "rewrite",
        "generator.Expand": "expand",
    }
    degraded = report(reply, name[service])
    assert degraded.status == DEGRADED
    assert degraded.reason.startswith(error.code.name)  # type: ignore[attr-defined]


async def test_a_dead_colbert_leaves_the_order_of_the_search(suite: Suite) -> None:
    await suite.stop("colbert")
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "colbert").status == DEGRADED
    assert "127.0.0.1" not in report(reply, "colbert").reason
    assert list(suite.script.request("retriever.GetPassages").chunk_ids) == [2, 1]


async def test_a_slow_colbert_is_left_and_the_answer_is_in_time(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "PART", 0.1)
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on["colbert.Rerank"] = forever(entered, cancelled)
    reply = await suite.call("Ask", ask(), timeout=30)
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "colbert").reason.startswith("DEADLINE_EXCEEDED")
    await cancelled.wait()


def outage(reply: gateway_pb2.AskResponse) -> str:
    """Why no answer could be made. Such a reply has its sources, and nothing was there to be checked."""
    assert reply.WhichOneof("outcome") == "unavailable", reply
    assert reply.sources
    assert reply.unavailable.message
    assert report(reply, "ground").status == SKIPPED
    assert report(reply, "ground").reason == "no answer was made"
    return word(gateway_pb2.UnavailableReason, reply.unavailable.reason)


async def test_a_dead_generator_gives_the_sources_and_says_why(suite: Suite) -> None:
    await suite.stop("generator")
    reply = await suite.call("Ask", ask())
    assert outage(reply) == "unreachable"
    assert report(reply, "generate").status == DEGRADED
    assert report(reply, "rewrite").status == DEGRADED
    logged = suite.script.request("retriever.LogQuery")
    assert logged.outcome == query_pb2.OUTCOME_UNAVAILABLE


async def test_a_slow_generator_gives_the_sources_in_time(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "PART", 0.1)
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on["generator.Answer"] = forever(entered, cancelled)
    reply = await suite.call("Ask", ask(), timeout=30)
    assert outage(reply) == "slow"
    assert report(reply, "generate").reason.startswith("DEADLINE_EXCEEDED")
    await cancelled.wait()


async def test_a_generator_that_is_not_configured_is_skipped(tmp_path: Path) -> None:
    async with running_suite(tmp_path, generator_address="none") as suite:
        reply = await suite.call("Ask", ask())
        assert outage(reply) == "not_configured"
        assert report(reply, "generate").status == SKIPPED


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable("down", reason="PROVIDER_AWAY", retry_after_s=7.0), "unreachable"),
        (ResourceExhausted("full", reason="OVERLOADED", retry_after_s=7.0), "overloaded"),
        (ResourceExhausted("the sources are too large", reason="TOO_LARGE"), "failed"),
        (Internal("a bug"), "failed"),
    ],
)
async def test_a_generator_that_fails_says_how_and_when_to_try_again(
    suite: Suite, error: FolioError, reason: str
) -> None:
    suite.script.on["generator.Answer"] = failing(error)
    reply = await suite.call("Ask", ask())
    assert outage(reply) == reason
    assert reply.unavailable.retry_after_s == (error.retry_after_s or 0.0)
    assert reply.unavailable.HasField("retry_after_s") == (error.retry_after_s is not None)


@pytest.mark.parametrize("finish", [generator_pb2.FINISH_CUT_SHORT, None])
async def test_a_provider_that_breaks_off_has_made_no_answer(suite: Suite, finish: Any) -> None:
    async def cut(request: Any) -> Any:
        if finish is None:
            return None
        return generator_pb2.AnswerResult(finish=finish, sentences=suite.script.sentences)

    suite.script.on["generator.Answer"] = cut
    reply = await suite.call("Ask", ask())
    assert outage(reply) == "broke_off"
    assert report(reply, "generate").status == DEGRADED


async def test_a_generator_that_fails_after_a_sentence_has_broken_off(suite: Suite) -> None:
    suite.script.breaks_after = Unavailable("down")
    shown = await events(
        suite, gateway_pb2.StreamAskRequest(request=ask(), show_unverified_progress=True)
    )
    assert [event.sentence.text for event in shown if event.HasField("sentence")] == [GOOD.text]
    assert outage(shown[-1].final) == "broke_off"


async def test_a_dead_retriever_is_an_error_there_is_nothing_to_answer_from(suite: Suite) -> None:
    await suite.stop("retriever")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await suite.call("Ask", ask())
    failed = failure.read(raised.value)
    assert (failed.code, failed.message) == ("UNAVAILABLE", "retriever cannot be reached")


async def test_a_dead_embedder_is_told_by_the_retriever_and_passed_on(suite: Suite) -> None:
    async def sparse_only(request: Any) -> Any:
        return retriever_pb2.SearchResponse(
            hits=[retriever_pb2.Hit(chunk=CHUNKS[1], score=0.1)],
            steps=[
                step_pb2.StepReport(
                    step=step_pb2.STEP_DENSE, status=DEGRADED, reason="no embedder"
                ),
                step_pb2.StepReport(step=step_pb2.STEP_SPARSE, status=RAN),
            ],
        )

    suite.script.on["retriever.Search"] = sparse_only
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "search").status == DEGRADED
    assert report(reply, "search").reason == "dense: no embedder"


async def test_a_fault_of_ours_is_not_blamed_on_the_caller(suite: Suite) -> None:
    suite.script.on["retriever.GetPassages"] = failing(InvalidArgument("chunk_ids: wrong"))
    reply = await suite.call("Ask", ask())
    assert report(reply, "passages").reason.startswith("INTERNAL")


@pytest.mark.parametrize(
    "results",
    [
        [],
        [(0, float("nan"), 1), (1, 0.5, 2)],
        [(0, 1.0, 1), (0, 1.0, 2)],
        [(0, 1.0, 1), (7, 1.0, 2)],
    ],
)
async def test_a_reranker_that_sends_nonsense_is_degraded_never_believed(
    suite: Suite, results: list[tuple[int, float, int]]
) -> None:
    async def nonsense(request: Any) -> Any:
        return rerank_pb2.RerankResponse(
            model="colbert-model",
            results=[
                rerank_pb2.ScoredCandidate(
                    index=index, score=score, rank=rank, status=rerank_pb2.CANDIDATE_STATUS_SCORED
                )
                for index, score, rank in results
            ],
        )

    suite.script.on["colbert.Rerank"] = nonsense
    reply = await suite.call("Ask", ask())
    assert report(reply, "colbert").status == DEGRADED
    assert list(suite.script.request("retriever.GetPassages").chunk_ids) == [2, 1]


async def test_a_service_that_keeps_failing_is_left_alone(tmp_path: Path) -> None:
    async with running_suite(tmp_path, breaker_failures=2, breaker_open_seconds=60.0) as suite:
        suite.script.on["colbert.Rerank"] = failing(Unavailable("down"))
        for _ in range(2):
            await suite.call("Ask", ask())
        calls = suite.script.names().count("colbert.Rerank")
        reply = await suite.call("Ask", ask())
        assert "colbert failed several times" in report(reply, "colbert").reason
        assert suite.script.names().count("colbert.Rerank") == calls


async def test_a_service_whose_changes_meet_in_the_database_is_not_sick(tmp_path: Path) -> None:
    async with running_suite(tmp_path, breaker_failures=2, breaker_open_seconds=60.0) as suite:
        suite.script.on["colbert.Rerank"] = failing(Unavailable("again", reason="CONTENTION"))
        for _ in range(3):
            reply = await suite.call("Ask", ask())
        assert report(reply, "colbert").reason.startswith("UNAVAILABLE")
        assert "several times" not in report(reply, "colbert").reason
