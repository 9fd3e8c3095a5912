"""StreamRerank without a server: how much is read ahead, and that every request has its answer."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from folio.rerank.v1 import rerank_pb2
from services.rerank.stream import Request, Response, stream

ASKED = rerank_pb2.RerankRequest(text="q", texts=rerank_pb2.Texts(texts=["a"]))


async def numbered(count: int, read: list[int]) -> AsyncIterator[Request]:
    for n in range(count):
        read.append(n)
        yield Request(correlation_id=str(n), request=ASKED)


async def answered(request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
    return rerank_pb2.RerankResponse(model="m")


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    read: list[int] = []
    answers = stream(numbered(100, read), answered, in_flight=4)
    seen = [await anext(answers)]
    await settle()
    # The first is in our hands and counts until we ask for the next.
    assert len(read) == 4
    seen += [answer async for answer in answers]
    assert sorted(int(answer.correlation_id) for answer in seen) == list(range(100))


async def test_no_more_at_once_than_allowed() -> None:
    running, most = 0, 0

    async def slow(request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return rerank_pb2.RerankResponse()

    assert len([a async for a in stream(numbered(30, []), slow, in_flight=3)]) == 30
    assert most == 3


class Panic(BaseException):
    """As pyo3's PanicException: no Exception."""


@pytest.mark.parametrize("error", [RuntimeError, Panic, asyncio.CancelledError])
async def test_whatever_goes_wrong_inside_is_answered(error: type[BaseException]) -> None:
    calls = 0

    async def second_fails(request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise error("the text of a question")
        return rerank_pb2.RerankResponse()

    answers: dict[str, Response] = {}
    async with asyncio.timeout(10):
        async for answer in stream(numbered(4, []), second_fails, in_flight=2):
            answers[answer.correlation_id] = answer
    assert sorted(answers) == ["0", "1", "2", "3"]
    assert answers["1"].error.code == grpc.StatusCode.INTERNAL.value[0]
    assert "question" not in answers["1"].error.message


async def test_leaving_cancels_what_runs() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def endless(request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async def consume() -> None:
        async for _ in stream(numbered(1, []), endless, in_flight=2):
            pass

    consumer = asyncio.create_task(consume())
    await started.wait()
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    assert ended.is_set()
