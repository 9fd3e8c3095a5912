"""The pipeline, from the outside: real gRPC on both sides of the gateway."""

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc
import pytest

from folio import failure
from folio.common.v1 import document_pb2, stage_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.rerank.v1 import rerank_pb2
from folio.retriever.v1 import retriever_pb2
from services.rpc.errors import InvalidArgument, ResourceExhausted, Unavailable
from tests.gateway.stage_servers import (
    CHUNKS,
    GOOD,
    TEXT,
    Suite,
    failing,
    forever,
    running_suite,
    sentence,
)

QUESTION = "How many weeks of parental leave do full-time staff get?"
RAN, SKIPPED, DEGRADED = (
    stage_pb2.STAGE_STATUS_RAN,
    stage_pb2.STAGE_STATUS_SKIPPED,
    stage_pb2.STAGE_STATUS_DEGRADED,
)


def ask(question: str = QUESTION, **fields: Any) -> gateway_pb2.AskRequest:
    return gateway_pb2.AskRequest(question=question, **fields)


def report(reply: Any, stage: str) -> stage_pb2.StageReport:
    """The last report of a stage."""
    return [report for report in reply.stages if report.stage == stage][-1]


async def events(suite: Suite, request: gateway_pb2.StreamAskRequest) -> list[Any]:
    call = suite.stub.StreamAsk(request, timeout=20, metadata=suite.metadata())
    return [event async for event in call]


async def test_an_answer_cites_document_page_and_place(suite: Suite) -> None:
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered", reply
    (said,) = reply.answered.sentences
    (cited,) = said.citations
    assert cited.quote == "Full-time staff are entitled to 16 weeks of paid parental leave."
    assert (cited.page, cited.page_label) == (15, "xiv")
    assert cited.link == "staff%20handbook.pdf#page=16"
    assert TEXT[cited.char_start - 1000 : cited.char_end - 1000] == cited.quote
    assert (cited.document_id, cited.chunk_id, cited.sha256) == (1, 1, "ab" * 32)
    assert cited.located
    assert cited.regions[0].rectangles[0].right == 0.9
    assert reply.generator == "extractive"
    assert suite.script.names() == [
        "generator.Rewrite",
        "retriever.ListScopes",
        "generator.Expand",
        "retriever.Search",
        "colbert.Rerank",
        "retriever.GetPassages",
        "generator.Answer",
        "retriever.LocateQuotes",
        "retriever.LogQuery",
    ]


async def test_every_stage_is_in_the_reply(suite: Suite) -> None:
    reply = await suite.call("Ask", ask())
    status = {report.stage: report.status for report in reply.stages}
    assert status["search"] == status["colbert"] == status["generate"] == status["ground"] == RAN
    assert status["crossencoder"] == SKIPPED
    assert report(reply, "crossencoder").reason == "not configured"
    assert report(reply, "colbert").model == "colbert-model"


async def test_each_stage_gets_less_time_than_is_left_and_a_token_of_its_own(suite: Suite) -> None:
    await suite.call("Ask", ask(request_id="r-1"), timeout=10)
    assert all(0 < left < 10 for left in suite.script.time_left.values())
    # The servers accepted tokens made for them alone; each says who asks.
    assert {caller.organization_id for caller in suite.script.callers} == {1}


async def test_the_reranked_order_is_what_the_passages_are_fetched_by(suite: Suite) -> None:
    await suite.call("Ask", ask())
    assert list(suite.script.request("colbert.Rerank").chunk_ids.ids) == [2, 1]
    assert list(suite.script.request("retriever.GetPassages").chunk_ids) == [1, 2]


async def test_streamed_and_unary_answers_are_equal(suite: Suite) -> None:
    unary = await suite.call("Ask", ask(request_id="same"))
    streamed = await events(suite, gateway_pb2.StreamAskRequest(request=ask(request_id="same")))
    kinds = [event.WhichOneof("event") for event in streamed]
    assert kinds[0] == "started"
    assert kinds[-1] == "final"
    assert kinds.index("rewritten") < kinds.index("sources") < kinds.index("sentence")
    final = streamed[-1].final
    assert [event.sentence for event in streamed if event.HasField("sentence")] == list(
        final.answered.sentences
    )
    assert [event.stage.stage for event in streamed if event.HasField("stage")] == [
        report.stage for report in final.stages
    ]
    for reply in (unary, final):
        reply.elapsed_ms = 0
        for made in reply.stages:
            made.elapsed_ms = 0
    assert unary == final


async def test_sentences_are_held_until_the_whole_answer_has_passed(suite: Suite) -> None:
    suite.script.sentences = [GOOD, sentence("They also get 99 days of leave.")]
    held = await events(suite, gateway_pb2.StreamAskRequest(request=ask()))
    assert not [event for event in held if event.HasField("sentence")]
    assert held[-1].final.WhichOneof("outcome") == "unverified"
    shown = await events(
        suite, gateway_pb2.StreamAskRequest(request=ask(), show_unverified_progress=True)
    )
    assert [event.sentence.text for event in shown if event.HasField("sentence")] == [GOOD.text]
    assert shown[-1].final.WhichOneof("outcome") == "unverified"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([], "the answer is empty"),
        ([sentence("Staff get 16 weeks.", " ​ ")], "a quote is not in the source"),
        ([sentence("Staff get 16 weeks.", "16 weeks", source=1)], "a source that there is not"),
        ([sentence("Staff get 16 weeks.", "16 weeks", source=10**9)], "a source that there is not"),
        ([sentence("Staff get 16 weeks.", "sixteen weeks")], "a quote is not in the source"),
        ([sentence("Staff get 20 weeks.", "16 weeks of paid parental leave")], "number"),
        ([sentence("Use the seal PX-999.", "Replace the seal PX-204")], "code"),
        ([sentence("Run the pump dry.", "Do not run the pump dry.")], "denies"),
        ([sentence("Staff get 16 weeks.")], "without a source"),
    ],
)
async def test_an_answer_that_fails_its_check_is_withheld(
    suite: Suite, bad: list[generator_pb2.AnswerSentence], reason: str
) -> None:
    suite.script.sentences = bad
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "unverified", reply
    assert any(reason in given for given in reply.unverified.reasons), reply.unverified
    assert reply.sources
    assert not reply.answered.sentences


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        (generator_pb2.FINISH_ABSTAINED, "abstained"),
        (generator_pb2.FINISH_REFUSED, "refused"),
        (generator_pb2.FINISH_MAX_TOKENS, "unverified"),
        (generator_pb2.FINISH_CUT_SHORT, "unverified"),
        (generator_pb2.FINISH_UNSPECIFIED, "unverified"),
    ],
)
async def test_only_a_whole_answer_is_one(suite: Suite, finish: Any, outcome: str) -> None:
    suite.script.finish = finish
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == outcome


async def test_a_result_that_is_not_what_was_streamed_is_withheld(suite: Suite) -> None:
    async def other(request: Any) -> Any:
        return generator_pb2.AnswerResult(
            finish=generator_pb2.FINISH_COMPLETE, sentences=[sentence("Something else.")]
        )

    suite.script.on["generator.Answer"] = other
    reply = await suite.call("Ask", ask())
    assert reply.unverified.reasons == ["the generator's result is not what it streamed"]


async def test_a_stream_without_a_result_is_withheld(suite: Suite) -> None:
    async def nothing(request: Any) -> Any:
        return None

    suite.script.on["generator.Answer"] = nothing
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "unverified"
    assert report(reply, "generate").status == DEGRADED


@pytest.mark.parametrize("error", [Unavailable("down"), ResourceExhausted("full")])
@pytest.mark.parametrize("stage", ["colbert.Rerank", "generator.Rewrite", "generator.Expand"])
async def test_a_broken_stage_is_named_and_the_answer_is_made_without_it(
    suite: Suite, stage: str, error: Exception
) -> None:
    suite.script.on[stage] = failing(error)
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    name = {
        "colbert.Rerank": "colbert",
        "generator.Rewrite": "rewrite",
        "generator.Expand": "expand",
    }
    degraded = report(reply, name[stage])
    assert degraded.status == DEGRADED
    assert degraded.reason.startswith(error.code.name)  # type: ignore[attr-defined]


async def test_a_dead_colbert_leaves_the_order_of_the_search(suite: Suite) -> None:
    await suite.stop("colbert")
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "colbert").status == DEGRADED
    assert "127.0.0.1" not in report(reply, "colbert").reason
    assert list(suite.script.request("retriever.GetPassages").chunk_ids) == [2, 1]


async def test_a_slow_colbert_is_left_and_the_answer_is_in_time(suite: Suite) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on["colbert.Rerank"] = forever(entered, cancelled)
    reply = await suite.call("Ask", ask(), timeout=3)
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "colbert").reason.startswith("DEADLINE_EXCEEDED")
    await cancelled.wait()


async def test_a_dead_generator_gives_the_sources_and_says_why(suite: Suite) -> None:
    await suite.stop("generator")
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "unverified"
    assert reply.sources
    assert report(reply, "generate").status == DEGRADED
    assert report(reply, "rewrite").status == DEGRADED


async def test_a_slow_generator_gives_the_sources_in_time(suite: Suite) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on["generator.Answer"] = forever(entered, cancelled)
    reply = await suite.call("Ask", ask(), timeout=3)
    assert reply.WhichOneof("outcome") == "unverified"
    assert reply.sources
    assert report(reply, "generate").reason.startswith("DEADLINE_EXCEEDED")
    await cancelled.wait()


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


async def test_a_generator_that_is_not_configured_is_skipped(tmp_path: Path) -> None:
    async with running_suite(tmp_path, generator_address="none") as suite:
        reply = await suite.call("Ask", ask())
        assert reply.WhichOneof("outcome") == "unverified"
        assert report(reply, "generate").status == SKIPPED


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
                stage_pb2.StageReport(stage="dense", status=DEGRADED, reason="no embedder"),
                stage_pb2.StageReport(stage="sparse", status=RAN),
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
    assert report(reply, "parents").reason.startswith("INTERNAL")


async def test_without_passages_the_chunks_are_read(suite: Suite) -> None:
    suite.script.on["retriever.GetPassages"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert report(reply, "parents").status == DEGRADED
    assert reply.answered.sentences[0].citations[0].page == 15


async def test_quotes_that_cannot_be_located_still_hold(suite: Suite) -> None:
    suite.script.on["retriever.LocateQuotes"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask())
    assert reply.WhichOneof("outcome") == "answered"
    assert not reply.answered.sentences[0].citations[0].located


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


async def test_a_follow_up_is_searched_as_a_standalone_question(suite: Suite) -> None:
    async def standalone(request: Any) -> Any:
        assert len(request.history) == 6
        return generator_pb2.RewriteResponse(standalone_question=QUESTION, method="a-model")

    suite.script.on["generator.Rewrite"] = standalone
    history = [
        gateway_pb2.Message(speaker=gateway_pb2.SPEAKER_USER, text=f"turn {number}")
        for number in range(10)
    ]
    reply = await suite.call("Ask", ask("And full-time?", history=history))
    assert reply.standalone_question == QUESTION
    assert suite.script.request("retriever.Search").queries[0].text == QUESTION
    assert report(reply, "rewrite").model == "a-model"


async def test_clarify_is_an_outcome_and_stops_there(suite: Suite) -> None:
    async def unclear(request: Any) -> Any:
        return generator_pb2.RewriteResponse(clarification="Which handbook?", method="rules")

    suite.script.on["generator.Rewrite"] = unclear
    reply = await suite.call("Ask", ask("What about it?"))
    assert reply.clarify.question == "Which handbook?"
    assert "retriever.Search" not in suite.script.names()


async def test_a_scope_in_the_question_is_applied_shown_and_can_be_ignored(suite: Suite) -> None:
    question = "How much leave is there in the 2025 handbook?"
    reply = await suite.call("Ask", ask(question))
    assert list(suite.script.request("retriever.Search").filter.document_ids) == [1]
    assert list(reply.scope.descriptions) == ["document: Staff Handbook 2025"]
    suite.script.calls.clear()
    reply = await suite.call("Ask", ask(question, ignore_scope=True))
    assert not suite.script.request("retriever.Search").filter.document_ids
    assert not reply.HasField("scope")


async def test_a_scope_in_which_nothing_is_found_is_dropped_and_said(suite: Suite) -> None:
    async def only_unscoped(request: Any) -> Any:
        hits = [] if request.filter.document_ids else [retriever_pb2.Hit(chunk=CHUNKS[1], score=1)]
        return retriever_pb2.SearchResponse(hits=hits)

    suite.script.on["retriever.Search"] = only_unscoped
    reply = await suite.call("Ask", ask("How much leave is there in the 2025 handbook?"))
    assert reply.WhichOneof("outcome") == "answered"
    assert not reply.HasField("scope")
    assert "nothing was found within the scope" in report(reply, "scope").reason


async def test_the_callers_filter_goes_before_a_scope(suite: Suite) -> None:
    mine = document_pb2.Filter(document_ids=[2])
    reply = await suite.call("Ask", ask("How much leave is in the 2025 handbook?", filter=mine))
    assert list(suite.script.request("retriever.Search").filter.document_ids) == [2]
    assert "the caller's filter goes before" in report(reply, "scope").reason


def calibrate(folder: Path, **changes: Any) -> None:
    calibration = {
        "model": "colbert-model",
        "signal": "score_per_token",
        "slope": 20.0,
        "intercept": -12.0,
        "threshold": 0.5,
        "dataset": "hand-made",
        "date": "2026-11-30",
        **changes,
    }
    (folder / "calibration").mkdir(exist_ok=True)
    (folder / "calibration" / "colbert.json").write_text(json.dumps(calibration))


async def test_below_the_threshold_nobody_asks_the_generator(tmp_path: Path) -> None:
    calibrate(tmp_path)
    async with running_suite(tmp_path) as suite:
        suite.script.scores = {1: 0.3, 2: 0.2}
        reply = await suite.call("Ask", ask())
        assert reply.abstained.reason == "below_threshold"
        assert reply.abstained.message == "The documents do not say."
        assert 0 < reply.answer_probability < 0.5 == reply.answer_threshold
        assert "generator.Answer" not in suite.script.names()
        assert "retriever.GetPassages" not in suite.script.names()


async def test_the_caller_may_set_the_threshold(tmp_path: Path) -> None:
    calibrate(tmp_path)
    async with running_suite(tmp_path) as suite:
        suite.script.scores = {1: 0.5, 2: 0.2}
        assert (await suite.call("Ask", ask())).HasField("abstained")
        assert (await suite.call("Ask", ask(answer_threshold=0.01))).HasField("answered")
        assert (await suite.call("Ask", ask(answer_threshold=0))).HasField("abstained")


async def test_another_models_threshold_is_never_used(tmp_path: Path) -> None:
    calibrate(tmp_path, model="another-model")
    async with running_suite(tmp_path, answer_threshold=0.99) as suite:
        reply = await suite.call("Ask", ask())
        assert reply.WhichOneof("outcome") == "answered"
        assert report(reply, "route").status == DEGRADED
        assert "no calibration for model 'colbert-model'" in report(reply, "route").reason


@pytest.mark.parametrize(("documents", "reason"), [(True, "no_hits"), (False, "no_documents")])
async def test_no_hits_is_an_honest_no(suite: Suite, documents: bool, reason: str) -> None:
    async def nothing(request: Any) -> Any:
        return retriever_pb2.SearchResponse()

    async def empty(request: Any) -> Any:
        return retriever_pb2.ListScopesResponse()

    suite.script.on["retriever.Search"] = nothing
    if not documents:
        suite.script.on["retriever.ListScopes"] = empty
    reply = await suite.call("Ask", ask())
    assert reply.abstained.reason == reason
    assert "generator.Answer" not in suite.script.names()


async def test_a_heartbeat_says_what_is_waited_for(tmp_path: Path) -> None:
    async with running_suite(tmp_path, heartbeat_seconds=0.05) as suite:
        entered, cancelled = asyncio.Event(), asyncio.Event()
        suite.script.on["colbert.Rerank"] = forever(entered, cancelled)
        call = suite.stub.StreamAsk(
            gateway_pb2.StreamAskRequest(request=ask()), timeout=30, metadata=suite.metadata()
        )
        async for event in call:
            if event.HasField("heartbeat") and entered.is_set():
                assert event.heartbeat.waiting_for == "colbert"
                break
        call.cancel()
        await cancelled.wait()


@pytest.mark.parametrize("stage", ["retriever.Search", "colbert.Rerank", "generator.Answer"])
@pytest.mark.parametrize("method", ["Ask", "StreamAsk"])
async def test_a_cancelled_question_stops_the_stage_it_waits_for(
    suite: Suite, stage: str, method: str
) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()
    suite.script.on[stage] = forever(entered, cancelled)
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
                stages=gateway_pb2.Stages(
                    dense=gateway_pb2.TOGGLE_OFF, sparse=gateway_pb2.TOGGLE_OFF
                )
            ),
            "stages",
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


async def test_control_characters_reach_no_client(suite: Suite) -> None:
    suite.script.sentences = [sentence(GOOD.text + "\x1b[31m\x07‮", GOOD.citations[0].quote)]
    reply = await suite.call("Ask", ask())
    assert reply.answered.sentences[0].text == GOOD.text


async def test_the_judge_can_withhold(suite: Suite) -> None:
    async def doubts(request: Any) -> Any:
        assert list(request.evidence) == [GOOD.citations[0].quote]
        return generator_pb2.JudgeResponse(support=0.1)

    on = gateway_pb2.Stages(judge=gateway_pb2.TOGGLE_ON)
    assert (await suite.call("Ask", ask(stages=on))).HasField("answered")
    suite.script.on["generator.Judge"] = doubts
    reply = await suite.call("Ask", ask(stages=on))
    assert list(reply.unverified.reasons) == ["sentence 1: the judge found its quotes too weak"]
    suite.script.on["generator.Judge"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask(stages=on))
    assert reply.HasField("answered")
    assert report(reply, "ground").status == DEGRADED


async def test_the_crossencoder_reads_texts_and_its_provider_is_in_the_ledger(
    tmp_path: Path,
) -> None:
    async with running_suite(tmp_path, rerankers=("colbert", "crossencoder")) as suite:
        reply = await suite.call("Ask", ask(trace=True))
        texts = suite.script.request("crossencoder.Rerank").texts.texts
        assert list(texts) == [CHUNKS[1].body, CHUNKS[2].body]
        assert report(reply, "crossencoder").model == "crossencoder-model"
        assert [(entry.provider, entry.purpose) for entry in reply.egress] == [("cohere", "rerank")]
        assert reply.egress[0].bytes_sent > 0
        logged = suite.script.request("retriever.LogQuery")
        assert [entry.provider for entry in logged.egress] == ["cohere"]
        assert [made.stage for made in reply.rankings] == ["search", "colbert", "crossencoder"]


async def test_either_reranker_can_stand_where_the_other_did(tmp_path: Path) -> None:
    async with running_suite(tmp_path, rerankers=("crossencoder", "colbert")) as suite:
        reply = await suite.call("Ask", ask(trace=True))
        assert reply.HasField("answered")
        assert [made.stage for made in reply.rankings] == ["search", "crossencoder", "colbert"]


async def test_exact_search_stands_in_for_search_and_colbert(suite: Suite) -> None:
    on = gateway_pb2.Stages(exact=gateway_pb2.TOGGLE_ON)
    reply = await suite.call("Ask", ask(stages=on))
    assert reply.WhichOneof("outcome") == "answered"
    assert "retriever.Search" not in suite.script.names()
    assert report(reply, "colbert").status == SKIPPED
    assert report(reply, "search").model == "colbert-model"


async def test_search_returns_the_last_stages_order(suite: Suite) -> None:
    reply = await suite.call("Search", gateway_pb2.SearchRequest(query=QUESTION, trace=True))
    assert [result.chunk.id for result in reply.results] == [1, 2]
    assert reply.results[0].scored_by == "colbert"
    assert [list(ranking.chunk_ids) for ranking in reply.rankings] == [[2, 1], [1, 2]]
    off = gateway_pb2.Stages(colbert=gateway_pb2.TOGGLE_OFF)
    reply = await suite.call(
        "Search", gateway_pb2.SearchRequest(query=QUESTION, stages=off, limit=1)
    )
    assert [result.chunk.id for result in reply.results] == [2]
    assert reply.results[0].scored_by == "search"


async def test_web_needs_the_settings_and_a_rule(tmp_path: Path) -> None:
    async def nothing(request: Any) -> Any:
        return retriever_pb2.SearchResponse()

    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{organization_id: 1, collections: [public]}]")
    async with running_suite(tmp_path, web=True, web_rules=rules) as suite:
        suite.script.on["retriever.Search"] = nothing
        reply = await suite.call("Ask", ask())
        assert reply.HasField("abstained")
        assert "no rule" in report(reply, "web").reason
        public = document_pb2.Filter(collections=["public"])
        reply = await suite.call("Ask", ask(filter=public))
        assert reply.web.provider == "searxng"
        assert [result.url for result in reply.web.results] == ["https://example.org/"]
        assert [(entry.provider, entry.bytes_sent) for entry in reply.egress] == [("searxng", 42)]
        assert "generator.Answer" not in suite.script.names()
        off = gateway_pb2.Stages(web=gateway_pb2.TOGGLE_OFF)
        reply = await suite.call("Ask", ask(filter=public, stages=off))
        assert reply.HasField("abstained")


async def test_a_stage_that_keeps_failing_is_left_alone(tmp_path: Path) -> None:
    async with running_suite(tmp_path, breaker_failures=2, breaker_open_seconds=60.0) as suite:
        suite.script.on["colbert.Rerank"] = failing(Unavailable("down"))
        for _ in range(2):
            await suite.call("Ask", ask())
        calls = suite.script.names().count("colbert.Rerank")
        reply = await suite.call("Ask", ask())
        assert "colbert failed several times" in report(reply, "colbert").reason
        assert suite.script.names().count("colbert.Rerank") == calls
