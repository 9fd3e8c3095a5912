"""GeneratorService over real gRPC, with the extractive generator."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import grpc
import pytest

from folio.common.v1 import query_pb2, service_pb2
from folio.generator.v1 import generator_pb2 as pb
from services.generator.answers import Finish, Result, Sentence, Source
from services.generator.extractive.generator import ExtractiveGenerator
from services.rpc.deadline import Deadline
from services.rpc.limits import Gate
from tests.generator.conftest import Serve

HANDBOOK = (
    "Merrow Staff Handbook 2025\n\nParental leave. Full-time staff are entitled to 16 weeks of paid parental leave. "
    "Part-time staff are entitled to 10 weeks. Requests go to the people team at least 8 weeks ahead.\n\n"
    "Travel. Hotel costs are paid up to 140 euros a night."
)
LEAVE = "How many weeks of parental leave do full-time staff get?"


def request(question: str, *texts: str) -> pb.AnswerRequest:
    sources = [
        pb.Source(index=10 + place, title="handbook.pdf", text=text)
        for place, text in enumerate(texts)
    ]
    return pb.AnswerRequest(question=question, sources=sources)


async def test_streams_sentences_and_then_a_result_that_equals_them(
    serve: Serve, extractive: ExtractiveGenerator
) -> None:
    async with serve(extractive) as stub:
        events = [event async for event in stub.Answer(request(LEAVE, HANDBOOK), timeout=20)]
    *streamed, last = events
    assert [event.WhichOneof("event") for event in events] == ["sentence"] * len(streamed) + [
        "result"
    ]
    assert list(last.result.sentences) == [event.sentence for event in streamed]
    assert last.result.finish == pb.FINISH_COMPLETE
    assert "16 weeks" in last.result.sentences[0].text
    for sentence in last.result.sentences:
        for citation in sentence.citations:
            assert citation.source_index == 10
            assert HANDBOOK[citation.char_start : citation.char_end] == citation.quote != ""
    assert last.result.usage.provider == "extractive"
    assert not last.result.usage.HasField("cost_usd")


async def test_says_what_it_is(serve: Serve, extractive: ExtractiveGenerator) -> None:
    async with serve(extractive) as stub:
        said = await stub.GetCapabilities(pb.GetCapabilitiesRequest(), timeout=5)
    assert [(one.purpose, one.provider, one.local) for one in said.capabilities.providers] == [
        (service_pb2.PURPOSE_REWRITE, "rules", True),
        (service_pb2.PURPOSE_EXPAND, "synonyms", True),
        (service_pb2.PURPOSE_ANSWER, "extractive", True),
    ]
    assert list(said.expansion_kinds) == [query_pb2.QUERY_KIND_SYNONYMS]
    assert [said.rewrites_with_model, said.judges, said.searches_web] == [False] * 3


BAD = {
    "no question": pb.AnswerRequest(sources=[pb.Source(index=0, text="x")]),
    "no source": pb.AnswerRequest(question="q"),
    "two sources of one index": pb.AnswerRequest(
        question="q", sources=[pb.Source(index=3, text="x"), pb.Source(index=3, text="y")]
    ),
}


@pytest.mark.parametrize("name", BAD)
async def test_refuses_a_bad_request(
    name: str, serve: Serve, extractive: ExtractiveGenerator
) -> None:
    async with serve(extractive) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            [event async for event in stub.Answer(BAD[name], timeout=5)]
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_unconfigured_part_is_a_failed_precondition(
    serve: Serve, extractive: ExtractiveGenerator
) -> None:
    async with serve(extractive) as stub:
        for call in (
            stub.Judge(pb.JudgeRequest(sentence="s", evidence=["e"]), timeout=5),
            stub.SearchWeb(pb.SearchWebRequest(query="q", limit=3), timeout=5),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await call
            assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION


class Waiting:
    """A generator that says one sentence and waits for ever; it knows whether it was closed."""

    provider, model, local = "waiting", "none", True

    def __init__(self) -> None:
        self.started, self.closed = asyncio.Event(), asyncio.Event()

    async def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncGenerator[Sentence | Result, None]:
        try:
            yield Sentence("One.")
            self.started.set()
            await asyncio.Event().wait()
            yield Result(Finish.COMPLETE)
        finally:
            self.closed.set()


async def test_a_caller_who_leaves_ends_the_work(serve: Serve) -> None:
    generator = Waiting()
    async with serve(generator) as stub:
        call = stub.Answer(request("q", "text"), timeout=60)
        first = await call.read()
        assert isinstance(first, pb.AnswerResponse)
        assert first.sentence.text == "One."
        await generator.started.wait()
        call.cancel()
        await asyncio.wait_for(generator.closed.wait(), 10)


async def test_one_call_too_many_is_refused(serve: Serve) -> None:
    generator = Waiting()
    async with serve(generator, gate=Gate(1, 0)) as stub:
        first = stub.Answer(request("q", "text"), timeout=60)
        await first.read()
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.Answer(request("q", "text"), timeout=5).read()
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        first.cancel()
