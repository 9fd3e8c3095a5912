"""What a question is taken to mean: follow-ups, questions back, scopes."""

from typing import Any

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from tests.gateway.asking import QUESTION, ask, report
from tests.gateway.script import CHUNKS
from tests.gateway.suite import Suite


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


async def test_a_scope_in_the_question_is_applied_shown_and_can_be_switched_off(
    suite: Suite,
) -> None:
    question = "How much leave is there in the 2025 handbook?"
    reply = await suite.call("Ask", ask(question))
    assert list(suite.script.request("retriever.Search").filter.document_ids) == [1]
    assert list(reply.scope.descriptions) == ["document: Staff Handbook 2025"]
    suite.script.calls.clear()
    off = gateway_pb2.StepToggles(scope=gateway_pb2.TOGGLE_OFF)
    reply = await suite.call("Ask", ask(question, steps=off))
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
