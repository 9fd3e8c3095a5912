"""The ledger holds what left the suite: all of it, whatever became of the question, and nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from folio.common.v1 import query_pb2, service_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.rerank.v1 import rerank_pb2
from folio.words import word
from services.rpc.errors import Unavailable
from tests.gateway.asking import ask, report
from tests.gateway.script import GOOD, failing, forever, provider
from tests.gateway.suite import Suite, running_suite

HISTORY = [gateway_pb2.Message(speaker=gateway_pb2.SPEAKER_USER, text="What about leave?")]
JUDGED = gateway_pb2.StepToggles(judge=gateway_pb2.TOGGLE_ON)


PURPOSES = {
    "rewrite": service_pb2.PURPOSE_REWRITE,
    "expand": service_pb2.PURPOSE_EXPAND,
    "answer": service_pb2.PURPOSE_ANSWER,
    "judge": service_pb2.PURPOSE_JUDGE,
}


def says(suite: Suite, *remote: str, but: str = "") -> None:
    """The generator's work for these purposes is somebody else's, the rest its own; of `but` it says nothing."""

    async def told(request: Any) -> Any:
        return generator_pb2.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="generator",
                providers=[
                    provider(purpose, "brand-new", local=name not in remote)
                    for name, purpose in PURPOSES.items()
                    if name != but
                ],
            ),
            rewrites_with_model=True,
            judges=True,
        )

    suite.script.on["generator.GetCapabilities"] = told


def purposes(reply: gateway_pb2.AskResponse) -> list[str]:
    return [word(service_pb2.Purpose, entry.purpose) for entry in reply.egress]


async def logged(suite: Suite) -> tuple[str, list[tuple[str, str]]]:
    """What the query log was told last: outcome, and where text went."""
    while "retriever.LogQuery" not in suite.script.names():  # noqa: ASYNC110  (scripts have no events)
        await asyncio.sleep(0.01)
    request = suite.script.request("retriever.LogQuery")
    sent = [(entry.provider, word(service_pb2.Purpose, entry.purpose)) for entry in request.egress]
    return word(query_pb2.Outcome, request.outcome), sent


async def test_a_question_that_fails_after_text_has_left_is_in_the_ledger(suite: Suite) -> None:
    says(suite, "rewrite", "answer")
    suite.script.on["retriever.Search"] = failing(Unavailable("down"))
    with pytest.raises(grpc.aio.AioRpcError):
        await suite.call("Ask", ask(history=HISTORY))
    assert await logged(suite) == ("failed", [("brand-new", "rewrite")])


async def test_a_question_that_its_caller_leaves_is_in_the_ledger(tmp_path: Path) -> None:
    async with running_suite(tmp_path, rerankers=("crossencoder",)) as suite:
        entered, cancelled = asyncio.Event(), asyncio.Event()
        suite.script.on["crossencoder.Rerank"] = forever(entered, cancelled)
        call = suite.stub.Ask(ask(), timeout=30, metadata=suite.metadata())
        await entered.wait()
        call.cancel()
        async with asyncio.timeout(20):
            assert await logged(suite) == ("cancelled", [("cohere", "rerank")])


async def test_a_failed_question_that_stayed_here_is_not(suite: Suite) -> None:
    suite.script.on["retriever.Search"] = failing(Unavailable("down"))
    with pytest.raises(grpc.aio.AioRpcError):
        await suite.call("Ask", ask())
    assert "retriever.LogQuery" not in suite.script.names()


async def test_a_search_whose_texts_were_sent_out_is_in_the_ledger(tmp_path: Path) -> None:
    async with running_suite(tmp_path, rerankers=("crossencoder",)) as suite:
        await suite.call("Search", gateway_pb2.SearchRequest(query="parental leave"))
        assert await logged(suite) == ("searched", [("cohere", "rerank")])


async def test_a_model_elsewhere_that_searches_exactly_is_booked(suite: Suite) -> None:
    async def told(request: Any) -> Any:
        return rerank_pb2.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="colbert",
                providers=[provider(service_pb2.PURPOSE_RERANK, "brand-new", local=False)],
            )
        )

    suite.script.on["colbert.GetCapabilities"] = told
    exact = gateway_pb2.StepToggles(exact=gateway_pb2.TOGGLE_ON)
    assert purposes(await suite.call("Ask", ask(steps=exact))) == ["rerank"]


async def test_a_first_question_is_sent_to_no_model_for_its_rewriting(suite: Suite) -> None:
    says(suite, "rewrite", "answer")
    assert purposes(await suite.call("Ask", ask())) == ["answer"]
    assert purposes(await suite.call("Ask", ask(history=HISTORY))) == ["rewrite", "answer"]


async def test_a_new_provider_that_works_here_is_not_booked(suite: Suite) -> None:
    says(suite)
    assert not (await suite.call("Ask", ask(history=HISTORY, steps=JUDGED))).egress


async def test_a_new_provider_elsewhere_is_booked_for_all_that_it_is_sent(suite: Suite) -> None:
    says(suite, *PURPOSES)
    on = gateway_pb2.StepToggles(judge=gateway_pb2.TOGGLE_ON, hyde=gateway_pb2.TOGGLE_ON)
    reply = await suite.call("Ask", ask(history=HISTORY, steps=on))
    assert purposes(reply) == ["rewrite", "expand", "answer", "judge"]
    assert {entry.provider for entry in reply.egress} == {"brand-new"}
    assert all(entry.bytes_sent for entry in reply.egress)


async def test_a_remote_judge_behind_a_generator_of_ours_is_booked(suite: Suite) -> None:
    says(suite, "judge")
    assert purposes(await suite.call("Ask", ask(steps=JUDGED))) == ["judge"]


async def test_a_judge_of_ours_behind_a_remote_generator_is_not(suite: Suite) -> None:
    says(suite, "answer")
    assert purposes(await suite.call("Ask", ask(steps=JUDGED))) == ["answer"]


@pytest.mark.parametrize(
    ("answers", "sent"),
    [("first", ["first"]), ("second", ["first", "second"]), ("", ["first", "second"])],
)
async def test_who_answers_in_place_of_another_is_booked_where_it_may_have_been_asked(
    suite: Suite, answers: str, sent: list[str]
) -> None:
    answering = [
        provider(service_pb2.PURPOSE_ANSWER, name, local=False) for name in ("first", "second")
    ]

    async def told(request: Any) -> Any:
        return generator_pb2.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(service="generator", providers=answering)
        )

    async def answered(request: Any) -> Any:
        if not answers:
            raise Unavailable("both are down")
        return generator_pb2.AnswerResult(
            finish=generator_pb2.FINISH_COMPLETE,
            sentences=suite.script.sentences,
            provider=answers,
            model=f"{answers}-model",
        )

    suite.script.on |= {"generator.GetCapabilities": told, "generator.Answer": answered}
    reply = await suite.call("Ask", ask())
    assert [entry.provider for entry in reply.egress] == sent


async def test_nothing_is_sent_to_a_provider_that_the_ledger_cannot_name(suite: Suite) -> None:
    says(suite, but="answer")
    reply = await suite.call("Ask", ask())
    assert reply.HasField("unavailable")
    assert "generator.Answer" not in suite.script.names()
    assert "does not say who its provider is" in report(reply, "generate").reason
    assert not reply.egress


async def test_nothing_is_sent_while_a_service_cannot_say_who_its_provider_is(
    suite: Suite,
) -> None:
    suite.script.on["generator.GetCapabilities"] = failing(Unavailable("down"))
    reply = await suite.call("Ask", ask())
    assert reply.HasField("unavailable")
    assert "generator.Answer" not in suite.script.names()
    assert not reply.egress


async def test_the_log_has_one_entry_for_each_purpose_with_all_its_bytes(suite: Suite) -> None:
    says(suite, "answer", "judge")
    suite.script.sentences = [GOOD] * 60
    reply = await suite.call("Ask", ask(steps=JUDGED))
    assert purposes(reply) == ["answer", *["judge"] * 60]
    sent = suite.script.request("retriever.LogQuery").egress
    assert [word(service_pb2.Purpose, entry.purpose) for entry in sent] == ["answer", "judge"]
    assert sum(entry.bytes_sent for entry in sent) == sum(e.bytes_sent for e in reply.egress)


async def test_the_sentences_of_a_long_answer_are_judged_a_few_at_a_time(suite: Suite) -> None:
    running, most = 0, 0

    async def judged(request: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return generator_pb2.JudgeResponse(support=0.9)

    suite.script.on["generator.Judge"] = judged
    suite.script.sentences = [GOOD] * 60
    assert (await suite.call("Ask", ask(steps=JUDGED))).HasField("answered")
    assert 1 < most <= 4
