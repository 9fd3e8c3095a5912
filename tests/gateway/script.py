"""What scripted services do in a test, and what they were asked."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc

from folio.common.v1 import document_pb2, service_pb2
from folio.generator.v1 import generator_pb2
from services.rpc import identity
from services.rpc.errors import FolioError

TEXT = (
    "Parental leave\nFull-time staff are entitled to 16 weeks of paid parental leave. "
    "Part-time staff are entitled to 8 weeks.\n\n"
    "Pumps\nReplace the seal PX-204 every 1,000 hours. Do not run the pump dry."
)
SECOND_PAGE = TEXT.index("Pumps")


def chunk(identifier: int, start: int, end: int, document: int = 1) -> document_pb2.Chunk:
    return document_pb2.Chunk(
        id=identifier,
        document_id=document,
        section_id=identifier,
        page_start=15 if start < SECOND_PAGE else 16,
        page_end=15 if start < SECOND_PAGE else 16,
        page_label="xiv" if start < SECOND_PAGE else "1",
        title="Staff Handbook 2025",
        file_name="staff handbook.pdf",
        kind="policy",
        collection="hr",
        published_on="2025-01-01",
        body=TEXT[start:end],
        char_start=1000 + start,
        char_end=1000 + end,
        sha256="ab" * 32,
        token_count=20,
    )


CHUNKS = {1: chunk(1, 0, SECOND_PAGE), 2: chunk(2, SECOND_PAGE, len(TEXT))}


def sentence(
    text: str, quote: str = "", source: int = 0, at: int = 0
) -> generator_pb2.AnswerSentence:
    """A sentence as a generator sends it."""
    cited = (
        [generator_pb2.Citation(source_index=source, quote=quote, char_start=at)] if quote else []
    )
    return generator_pb2.AnswerSentence(text=text, citations=cited)


GOOD = sentence(
    "Full-time staff get sixteen weeks of paid parental leave.",
    "Full-time staff are entitled to 16 weeks of paid parental leave.",
)


def provider(
    purpose: "service_pb2.Purpose.ValueType", name: str, *, local: bool
) -> service_pb2.Provider:
    return service_pb2.Provider(purpose=purpose, provider=name, model=f"{name}-model", local=local)


# What a test puts in place of a method: it knows the messages of that method.
Reply = Callable[[Any], Awaitable[Any]]
Context = grpc.aio.ServicerContext[Any, Any]
Request = TypeVar("Request")
Response = TypeVar("Response")


@dataclass
class Script:
    """What the services do. `on["retriever.Search"]` replaces that method; `calls` is what was received, in order."""

    on: dict[str, Reply] = field(default_factory=dict)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    time_left: dict[str, float] = field(default_factory=dict)
    callers: list[identity.Principal] = field(default_factory=list)
    request_ids: set[str] = field(default_factory=set)
    sentences: list[generator_pb2.AnswerSentence] = field(default_factory=lambda: [GOOD])
    finish: "generator_pb2.Finish.ValueType" = generator_pb2.FINISH_COMPLETE
    # The generator fails so, once it has sent its sentences.
    breaks_after: FolioError | None = None
    scores: dict[int, float] = field(default_factory=lambda: {1: 0.9, 2: 0.4})

    def names(self) -> list[str]:
        return [name for name, _ in self.calls if not name.endswith("GetCapabilities")]

    def request(self, name: str) -> Any:
        return next(request for called, request in self.calls if called == name)

    async def take(
        self,
        name: str,
        request: Request,
        context: Context,
        default: Callable[[Request], Awaitable[Response]],
    ) -> Response:
        """Notes the call, and does what the test says, or the default."""
        self.calls.append((name, request))
        self.time_left[name] = context.time_remaining()
        self.callers.append(identity.current())
        self.request_ids.add(identity.request_id())
        instead = self.on.get(name)
        if instead is None:
            return await default(request)
        response: Response = await instead(request)
        return response


def forever(entered: asyncio.Event, cancelled: asyncio.Event) -> Reply:
    """A method that never ends; the events say when it began and when it was cancelled."""

    async def hang(request: Any) -> Any:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    return hang


def failing(error: Exception) -> Reply:
    """A method that raises."""

    async def fail(request: Any) -> Any:
        raise error

    return fail
