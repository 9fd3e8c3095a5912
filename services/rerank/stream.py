"""StreamRerank: many requests on one connection, so many at once, each answered by its id."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

from folio.rerank.v1 import rerank_pb2
from services.rpc.errors import Code, FolioError, InvalidArgument
from services.rpc.interceptors import check

log = logging.getLogger("folio.rerank")

Request = rerank_pb2.StreamRerankRequest
Response = rerank_pb2.StreamRerankResponse
Rerank = Callable[[rerank_pb2.RerankRequest], Awaitable[rerank_pb2.RerankResponse]]


async def stream(
    requests: AsyncIterator[Request], rerank: Rerank, in_flight: int
) -> AsyncIterator[Response]:
    """Answers as they are ready. At most `in_flight` requests are read ahead of their answers, so a
    client that sends faster than it reads is held back by flow control. A request that fails is
    answered with its error. When the caller leaves, what is running is cancelled.
    """
    free = asyncio.Semaphore(in_flight)
    # Holds what `in_flight` lets in, and the end.
    answers: asyncio.Queue[Response | BaseException | None] = asyncio.Queue()
    tasks: set[asyncio.Task[None]] = set()

    async def answer(request: Request) -> None:
        answers.put_nowait(await _answer(request, rerank))

    async def read() -> None:
        try:
            await free.acquire()
            async for request in requests:
                task = asyncio.create_task(answer(request))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                await free.acquire()
            while tasks:
                await asyncio.wait(set(tasks))
            answers.put_nowait(None)
        except Exception as error:  # noqa: BLE001  (raised again by the consumer)
            answers.put_nowait(error)

    reader = asyncio.create_task(read())
    try:
        while (item := await answers.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            free.release()
    finally:
        reader.cancel()
        for task in set(tasks):
            task.cancel()
        await asyncio.gather(reader, *tasks, return_exceptions=True)


async def _answer(request: Request, rerank: Rerank) -> Response:
    try:
        if not request.HasField("request"):
            raise InvalidArgument.field("request", "is missing; send what Rerank takes")
        check(request.request)
        return Response(
            correlation_id=request.correlation_id, response=await rerank(request.request)
        )
    except FolioError as error:
        failure = rerank_pb2.RerankError(code=int(error.code), message=error.message)
    except BaseException as error:
        # The stream was left. Whatever else comes, an inner cancellation or a panic in Rust, has an answer.
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        error_id = uuid.uuid4().hex[:12]
        log.error("unhandled exception", exc_info=error, extra={"error_id": error_id})
        failure = rerank_pb2.RerankError(
            code=int(Code.INTERNAL), message=f"internal error {error_id}"
        )
    return Response(correlation_id=request.correlation_id, error=failure)
