"""The ledger holds what left the suite: all of it, whatever became of the question, and nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from folio.common.v1 import stage_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from services.rpc.errors import Unavailable
from tests.gateway.asking import ask
from tests.gateway.stage_servers import GOOD, Suite, failing, forever, running_suite

HISTORY = [gateway_pb2.Message(speaker=gateway_pb2.SPEAKER_USER, text="What about leave?")]
JUDGED = gateway_pb2.Stages(judge=gateway_pb2.TOGGLE_ON)


def remote(suite: Suite, judge: str = "") -> None:
    """The generator's model is somebody else's."""

    async def told(request: Any) -> Any:
        return generator_pb2.GetCapabilitiesResponse(
            capabilities=stage_pb2.Capabilities(
                service="generator", provider="anthropic", model="m", details={"judge": judge}
            ),
            rewrites_with_model=True,
            judges=True,
        )

    suite.script.on["generator.GetCapabilities"] = told


async def logged(suite: Suite) -> tuple[str, list[tuple[str, str]]]:
    """What the query log was told last: outcome, and where text went."""
    while "retriever.LogQuery" not in suite.script.names():  # noqa: ASYNC110  (scripts have no events)
        await asyncio.sleep(0.01)
    request = suite.script.request("retriever.LogQuery")
    return request.outcome, [(entry.provider, entry.purpose) for entry in request.egress]


async def test_a_question_that_fails_after_text_has_left_is_in_the_ledger(suite: Suite) -> None:
    remote(suite)
    suite.script.on["retriever.Search"] = failing(Unavailable("down"))
    with pytest.raises(grpc.aio.AioRpcError):
        await suite.call("Ask", ask(history=HISTORY))
    assert await logged(suite) == ("failed", [("anthropic", "rewrite")])


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


async def test_a_first_question_is_sent_to_no_model_for_its_rewriting(suite: Suite) -> None:
    remote(suite)
    reply = await suite.call("Ask", ask())
    assert [entry.purpose for entry in reply.egress] == ["answer"]
    reply = await suite.call("Ask", ask(history=HISTORY))
    assert [entry.purpose for entry in reply.egress] == ["rewrite", "answer"]


@pytest.mark.parametrize(("judge", "purposes"), [("alignment", 1), ("m", 61)])
async def test_only_a_judge_that_is_the_providers_model_is_sent_anything(
    suite: Suite, judge: str, purposes: int
) -> None:
    remote(suite, judge)
    suite.script.sentences = [GOOD] * 60
    reply = await suite.call("Ask", ask(stages=JUDGED))
    assert reply.HasField("answered")
    assert len(reply.egress) == purposes
    # The log takes forty entries: one for each purpose, with all its bytes.
    sent = suite.script.request("retriever.LogQuery").egress
    assert [entry.purpose for entry in sent] == ["answer", "judge"][: 1 + (judge == "m")]
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
    assert (await suite.call("Ask", ask(stages=JUDGED))).HasField("answered")
    assert 1 < most <= 4
