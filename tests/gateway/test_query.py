"""The pipeline, from the outside: real gRPC on both sides of the gateway."""

import asyncio
from pathlib import Path

import grpc
import pytest

from folio import failure
from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from folio.words import word
from tests.gateway.asking import QUESTION, RAN, SKIPPED, ask, report
from tests.gateway.script import CHUNKS, TEXT, forever
from tests.gateway.suite import Suite, running_suite


def order(reply: gateway_pb2.AskResponse) -> list[str]:
    """The steps that ranked."""
    return [word(step_pb2.Step, ranking.step) for ranking in reply.rankings]


async def test_every_step_is_in_the_reply(suite: Suite) -> None:
    reply = await suite.call("Ask", ask())
    status = {word(step_pb2.Step, report.step): report.status for report in reply.steps}
    assert status["search"] == status["colbert"] == status["generate"] == status["ground"] == RAN
    assert status["crossencoder"] == SKIPPED
    assert report(reply, "crossencoder").reason == "not configured"
    assert report(reply, "colbert").model == "colbert-model"


async def test_each_service_gets_less_time_than_is_left_and_a_token_of_its_own(
    suite: Suite,
) -> None:
    await suite.call("Ask", ask(request_id="r-1"), timeout=10)
    assert all(0 < left < 10 for left in suite.script.time_left.values())
    # The servers accepted tokens made for them alone; each says who asks.
    assert {caller.organization_id for caller in suite.script.callers} == {1}


async def test_the_reranked_order_is_what_the_passages_are_fetched_by(suite: Suite) -> None:
    await suite.call("Ask", ask())
    assert list(suite.script.request("colbert.Rerank").chunk_ids.ids) == [2, 1]
    assert list(suite.script.request("retriever.GetPassages").chunk_ids) == [1, 2]


async def test_a_row_that_was_found_speaks_for_its_window(suite: Suite) -> None:
    """It is scored beside it, and read before it; the window gains most of what the row scores above it."""
    row = document_pb2.Chunk(
        id=21, reading="Pumps. Seal: PX-204; hours: 1,000", body="PX-204 | 1,000"
    )

    async def found(request: retriever_pb2.SearchRequest) -> retriever_pb2.SearchResponse:
        hits = [
            retriever_pb2.Hit(chunk=CHUNKS[1], score=0.02),
            retriever_pb2.Hit(chunk=CHUNKS[2], score=0.01, rows=[row]),
        ]
        return retriever_pb2.SearchResponse(hits=hits)

    async def read(request: retriever_pb2.GetPassagesRequest) -> retriever_pb2.GetPassagesResponse:
        hits = [{**CHUNKS, 21: row}[number] for number in request.chunk_ids]
        passage = retriever_pb2.Passage(document_id=1, text=TEXT, char_end=len(TEXT), hits=hits)
        return retriever_pb2.GetPassagesResponse(passages=[passage])

    suite.script.on["retriever.Search"] = found
    suite.script.on["retriever.GetPassages"] = read
    suite.script.scores = {1: 0.7, 2: 0.4, 21: 0.95}
    reply = await suite.call("Ask", ask(trace=True))
    assert list(suite.script.request("colbert.Rerank").chunk_ids.ids) == [1, 2, 21]
    assert list(suite.script.request("retriever.GetPassages").chunk_ids) == [21, 2, 1]
    colbert = next(each for each in reply.rankings if each.step == step_pb2.STEP_COLBERT)
    assert [(each.chunk_id, each.signal) for each in colbert.chunks] == [
        (2, pytest.approx(0.4 + 0.75 * 0.55)),
        (1, pytest.approx(0.7)),
    ]


async def test_the_log_has_one_line_a_question_and_none_of_its_text(
    suite: Suite, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "canarium"
    with caplog.at_level("INFO"):
        reply = await suite.call("Ask", ask(f"Where does {canary} grow?", request_id="r-9"))
    lines = [record for record in caplog.records if record.name == "folio.gateway"]
    assert [(line.getMessage(), vars(line)["request_id"]) for line in lines] == [("ask", "r-9")]
    assert vars(lines[0])["organization_id"] == 1
    assert vars(lines[0])["outcome"] == reply.WhichOneof("outcome")
    assert not [record for record in caplog.records if canary in str(vars(record))]
    assert "r-9" in suite.script.request_ids


async def test_a_heartbeat_says_what_is_waited_for(tmp_path: Path) -> None:
    async with running_suite(tmp_path, heartbeat_seconds=0.05) as suite:
        entered, cancelled = asyncio.Event(), asyncio.Event()
        suite.script.on["colbert.Rerank"] = forever(entered, cancelled)
        call = suite.stub.StreamAsk(
            gateway_pb2.StreamAskRequest(request=ask()), timeout=30, metadata=suite.metadata()
        )
        async for event in call:
            if event.HasField("heartbeat") and entered.is_set():
                assert event.heartbeat.waiting_for == step_pb2.STEP_COLBERT
                break
        call.cancel()
        await cancelled.wait()


@pytest.mark.parametrize("service", ["retriever.Search", "colbert.Rerank", "generator.Answer"])
@pytest.mark.parametrize("method", ["Ask", "StreamAsk"])
async def test_a_cancelled_question_stops_the_service_it_waits_for(
    suite: Suite, service: str, method: str
) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on[service] = forever(entered, cancelled)
    request = ask() if method == "Ask" else gateway_pb2.StreamAskRequest(request=ask())
    call = getattr(suite.stub, method)(request, timeout=30, metadata=suite.metadata())
    reading = asyncio.ensure_future(call.read()) if method == "StreamAsk" else None
    await entered.wait()
    call.cancel()
    await cancelled.wait()
    if reading:
        await asyncio.gather(reading, return_exceptions=True)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (ask("x" * 100_000), "question"),
        (ask(""), "question"),
        (ask("  ​ \x00 ?!"), "question"),
        (
            ask(
                history=[gateway_pb2.Message(speaker=gateway_pb2.SPEAKER_USER, text="hello")] * 1000
            ),
            "history",
        ),
        (
            ask(
                filter=document_pb2.Filter(
                    published_from="2025-02-01", published_until="2025-01-01"
                )
            ),
            "filter.published_until",
        ),
        (ask(filter=document_pb2.Filter(published_from="2025-02-31")), "filter.published_from"),
        (
            ask(
                steps=gateway_pb2.StepToggles(
                    dense=gateway_pb2.TOGGLE_OFF, sparse=gateway_pb2.TOGGLE_OFF
                )
            ),
            "steps",
        ),
        (ask(answer_threshold=2.0), "answer_threshold"),
        (ask(request_id="a\n"), "request_id"),
        (ask(request_id="\u00fc"), "request_id"),
    ],
    ids=[
        *("100k", "empty", "blank", "history", "dates", "no-such-day", "no-legs", "threshold"),
        *("control", "not-ascii"),
    ],
)
async def test_bad_requests_are_named_before_any_work(
    suite: Suite, request_: gateway_pb2.AskRequest, field: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await suite.call("Ask", request_)
    failed = failure.read(raised.value)
    assert failed.code == "INVALID_ARGUMENT"
    assert failed.violations[0].field == field
    assert not suite.script.calls


async def test_the_crossencoder_reads_texts_and_its_provider_is_in_the_ledger(
    tmp_path: Path,
) -> None:
    async with running_suite(tmp_path, rerankers=("colbert", "crossencoder")) as suite:
        reply = await suite.call("Ask", ask(trace=True))
        texts = suite.script.request("crossencoder.Rerank").texts.texts
        assert list(texts) == [CHUNKS[1].body, CHUNKS[2].body]
        assert report(reply, "crossencoder").model == "crossencoder-model"
        (sent,) = reply.egress
        assert (sent.provider, sent.purpose) == ("cohere", service_pb2.PURPOSE_RERANK)
        assert reply.egress[0].bytes_sent > 0
        logged = suite.script.request("retriever.LogQuery")
        assert [entry.provider for entry in logged.egress] == ["cohere"]
        assert [made.step for made in reply.rankings] == [
            step_pb2.STEP_SEARCH,
            step_pb2.STEP_COLBERT,
            step_pb2.STEP_CROSSENCODER,
        ]


async def test_either_reranker_can_stand_where_the_other_did(tmp_path: Path) -> None:
    async with running_suite(tmp_path, rerankers=("crossencoder", "colbert")) as suite:
        reply = await suite.call("Ask", ask(trace=True))
        assert reply.HasField("answered")
        assert [made.step for made in reply.rankings] == [
            step_pb2.STEP_SEARCH,
            step_pb2.STEP_CROSSENCODER,
            step_pb2.STEP_COLBERT,
        ]


async def test_exact_search_stands_in_for_search_and_colbert(suite: Suite) -> None:
    on = gateway_pb2.StepToggles(exact=gateway_pb2.TOGGLE_ON)
    reply = await suite.call("Ask", ask(steps=on))
    assert reply.WhichOneof("outcome") == "answered"
    assert "retriever.Search" not in suite.script.names()
    assert report(reply, "colbert").status == SKIPPED
    assert report(reply, "search").model == "colbert-model"


async def test_search_returns_the_order_of_the_last_step(suite: Suite) -> None:
    reply = await suite.call("Search", gateway_pb2.SearchRequest(query=QUESTION, trace=True))
    assert [result.chunk.id for result in reply.results] == [1, 2]
    assert reply.results[0].scored_by == step_pb2.STEP_COLBERT
    assert [[made.chunk_id for made in ranking.chunks] for ranking in reply.rankings] == [
        [2, 1],
        [1, 2],
    ]
    off = gateway_pb2.StepToggles(colbert=gateway_pb2.TOGGLE_OFF)
    reply = await suite.call(
        "Search", gateway_pb2.SearchRequest(query=QUESTION, steps=off, limit=1)
    )
    assert [result.chunk.id for result in reply.results] == [2]
    assert reply.results[0].scored_by == step_pb2.STEP_SEARCH
