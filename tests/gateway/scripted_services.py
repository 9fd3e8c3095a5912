"""Services that speak the wire contract over real gRPC and do as a test says: answer, fail, hang, or send nonsense."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from pydantic import SecretStr

from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2_grpc
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from folio.rerank.v1 import (
    late_interaction_pb2,
    late_interaction_pb2_grpc,
    rerank_pb2,
    rerank_pb2_grpc,
)
from folio.retriever.v1 import retriever_pb2, retriever_pb2_grpc
from services.gateway.assembly import open_service
from services.gateway.keys import create
from services.gateway.settings import GatewaySettings
from services.rpc import identity
from services.rpc.channels import channel_options
from services.rpc.errors import FolioError
from services.rpc.interceptors import service_authenticator
from services.rpc.serve import RunningServer, start
from services.rpc.testing import SECRET, SETTINGS

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


Reply = Callable[[Any], Awaitable[Any]]


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

    async def take(self, name: str, request: Any, context: Any, default: Reply) -> Any:
        self.calls.append((name, request))
        self.time_left[name] = context.time_remaining()
        self.callers.append(identity.current())
        self.request_ids.add(identity.request_id())
        return await self.on.get(name, default)(request)


class RetrieverServer(retriever_pb2_grpc.RetrieverServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Search(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            hits = [
                retriever_pb2.Hit(chunk=CHUNKS[number], score=1 / (60 + number), dense_score=0.5)
                for number in (2, 1)
            ]
            return retriever_pb2.SearchResponse(hits=hits[: request.limit])

        return await self.script.take("retriever.Search", request, context, found)

    async def GetPassages(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            hits = [CHUNKS[number] for number in request.chunk_ids]
            passage = retriever_pb2.Passage(
                document_id=1,
                title="Staff Handbook 2025",
                file_name="staff handbook.pdf",
                text=TEXT,
                char_start=1000,
                char_end=1000 + len(TEXT),
                pages=[
                    retriever_pb2.PageStart(char_offset=0, page=15, page_label="xiv"),
                    retriever_pb2.PageStart(char_offset=SECOND_PAGE, page=16, page_label="1"),
                ],
                hits=hits,
                sha256="ab" * 32,
            )
            return retriever_pb2.GetPassagesResponse(passages=[passage])

        return await self.script.take("retriever.GetPassages", request, context, found)

    async def LocateQuotes(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            region = document_pb2.PageRegion(
                page=15,
                rectangles=[document_pb2.Rectangle(left=0.1, top=0.1, right=0.9, bottom=0.2)],
            )
            quotes = [retriever_pb2.LocatedQuote(located=True, regions=[region])] * len(
                request.spans
            )
            return retriever_pb2.LocateQuotesResponse(quotes=quotes)

        return await self.script.take("retriever.LocateQuotes", request, context, found)

    async def GetVocabulary(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            return retriever_pb2.GetVocabularyResponse(
                collections=["hr"],
                kinds=["policy", "manual"],
                documents=[
                    retriever_pb2.VocabularyDocument(
                        id=1, title="Staff Handbook 2025", published_on="2025-01-01"
                    ),
                    retriever_pb2.VocabularyDocument(
                        id=2, title="Staff Handbook 2024", published_on="2024-01-01"
                    ),
                ],
            )

        return await self.script.take("retriever.GetVocabulary", request, context, found)

    async def LogQuery(self, request: Any, context: Any) -> Any:
        async def logged(request: Any) -> Any:
            return retriever_pb2.LogQueryResponse()

        return await self.script.take("retriever.LogQuery", request, context, logged)

    async def RenderPage(self, request: Any, context: Any) -> Any:
        async def drawn(request: Any) -> Any:
            return retriever_pb2.RenderPageResponse(png=b"png", width=10, height=20)

        return await self.script.take("retriever.RenderPage", request, context, drawn)

    async def GetDocument(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            return retriever_pb2.GetDocumentResponse(document=document_pb2.Document(id=1))

        return await self.script.take("retriever.GetDocument", request, context, found)

    async def DeleteDocument(self, request: Any, context: Any) -> Any:
        async def deleted(request: Any) -> Any:
            return retriever_pb2.DeleteDocumentResponse(chunks_deleted=2)

        return await self.script.take("retriever.DeleteDocument", request, context, deleted)

    async def ListDocuments(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            return retriever_pb2.ListDocumentsResponse(documents=[document_pb2.Document(id=1)])

        return await self.script.take("retriever.ListDocuments", request, context, found)

    async def IngestDocument(self, request_iterator: Any, context: Any) -> AsyncIterator[Any]:
        size, header = 0, None
        async for request in request_iterator:
            header = request.header if request.HasField("header") else header
            size += len(request.data)

        async def staged(request: Any) -> Any:
            return retriever_pb2.IngestResult(
                document=document_pb2.Document(id=7, file_name=request.file_name, size_bytes=size),
                version=3,
            )

        yield retriever_pb2.IngestDocumentResponse(
            progress=retriever_pb2.IngestProgress(step=step_pb2.STEP_RECEIVE, done=size, total=size)
        )
        result = await self.script.take("retriever.IngestDocument", header, context, staged)
        yield retriever_pb2.IngestDocumentResponse(result=result)

    async def PublishDocument(self, request: Any, context: Any) -> Any:
        async def published(request: Any) -> Any:
            document = document_pb2.Document(
                id=request.document_id,
                version=request.version,
                status=document_pb2.DOCUMENT_STATUS_READY,
            )
            return retriever_pb2.PublishDocumentResponse(document=document)

        return await self.script.take("retriever.PublishDocument", request, context, published)

    async def GetCapabilities(self, request: Any, context: Any) -> Any:
        async def told(request: Any) -> Any:
            return retriever_pb2.GetCapabilitiesResponse(
                capabilities=service_pb2.Capabilities(
                    service="retriever",
                    providers=[provider(service_pb2.PURPOSE_EMBED, "minilm", local=True)],
                )
            )

        return await self.script.take("retriever.GetCapabilities", request, context, told)


class RerankServer(
    rerank_pb2_grpc.RerankServiceServicer, late_interaction_pb2_grpc.LateInteractionServiceServicer
):
    # The gateway calls neither.
    Encode = late_interaction_pb2_grpc.LateInteractionServiceServicer.Encode
    StreamRerank = rerank_pb2_grpc.RerankServiceServicer.StreamRerank

    def __init__(self, script: Script, name: str) -> None:
        self.script, self.name = script, name

    async def Rerank(self, request: Any, context: Any) -> Any:
        async def ranked(request: Any) -> Any:
            scores = (
                [self.script.scores[number] for number in request.chunk_ids.ids]
                if request.HasField("chunk_ids")
                else [float("16 weeks" in text) for text in request.texts.texts]
            )
            order = sorted(range(len(scores)), key=lambda index: -scores[index])
            return rerank_pb2.RerankResponse(
                model=f"{self.name}-model",
                results=[
                    rerank_pb2.ScoredCandidate(
                        index=index,
                        score=score * 8,
                        score_per_token=score,
                        rank=order.index(index) + 1,
                        status=rerank_pb2.CANDIDATE_STATUS_SCORED,
                    )
                    for index, score in enumerate(scores)
                ],
            )

        return await self.script.take(f"{self.name}.Rerank", request, context, ranked)

    async def SearchExact(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            return late_interaction_pb2.SearchExactResponse(
                hits=[
                    late_interaction_pb2.ExactHit(chunk_id=1, score=7.2, score_per_token=0.9),
                    late_interaction_pb2.ExactHit(chunk_id=2, score=3.2, score_per_token=0.4),
                ],
                model=f"{self.name}-model",
            )

        return await self.script.take(f"{self.name}.SearchExact", request, context, found)

    async def IndexDocument(self, request: Any, context: Any) -> AsyncIterator[Any]:
        async def indexed(request: Any) -> Any:
            return late_interaction_pb2.IndexDocumentResponse(chunks_done=2, chunks_total=2)

        yield await self.script.take(f"{self.name}.IndexDocument", request, context, indexed)

    async def GetCapabilities(self, request: Any, context: Any) -> Any:
        async def told(request: Any) -> Any:
            late = self.name == "colbert"
            return rerank_pb2.GetCapabilitiesResponse(
                capabilities=service_pb2.Capabilities(
                    service=self.name,
                    providers=[
                        provider(
                            service_pb2.PURPOSE_RERANK, "minilm" if late else "cohere", local=late
                        )
                    ],
                    score_type=service_pb2.SCORE_TYPE_MAXSIM_SUM
                    if late
                    else service_pb2.SCORE_TYPE_RELEVANCE,
                ),
                accepts_chunk_ids=late,
                accepts_texts=True,
            )

        return await self.script.take(f"{self.name}.GetCapabilities", request, context, told)


class GeneratorServer(generator_pb2_grpc.GeneratorServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Rewrite(self, request: Any, context: Any) -> Any:
        async def rewritten(request: Any) -> Any:
            return generator_pb2.RewriteResponse(
                standalone_question=request.question, unchanged=True, method="rules"
            )

        return await self.script.take("generator.Rewrite", request, context, rewritten)

    async def Expand(self, request: Any, context: Any) -> Any:
        async def expanded(request: Any) -> Any:
            return generator_pb2.ExpandResponse()

        return await self.script.take("generator.Expand", request, context, expanded)

    async def Answer(self, request: Any, context: Any) -> AsyncIterator[Any]:
        async def answered(request: Any) -> Any:
            return generator_pb2.AnswerResult(
                finish=self.script.finish,
                sentences=self.script.sentences,
                provider="extractive",
                model="extractive",
            )

        result = await self.script.take("generator.Answer", request, context, answered)
        for made in self.script.sentences:
            yield generator_pb2.AnswerResponse(sentence=made)
        if self.script.breaks_after is not None:
            raise self.script.breaks_after
        if result is not None:
            yield generator_pb2.AnswerResponse(result=result)

    async def Judge(self, request: Any, context: Any) -> Any:
        async def judged(request: Any) -> Any:
            return generator_pb2.JudgeResponse(support=0.9, model="judge")

        return await self.script.take("generator.Judge", request, context, judged)

    async def SearchWeb(self, request: Any, context: Any) -> Any:
        async def found(request: Any) -> Any:
            return generator_pb2.SearchWebResponse(
                results=[
                    generator_pb2.WebResult(title="A page", url="https://example.org/"),
                    generator_pb2.WebResult(title="Not a page", url="javascript:alert(1)"),
                ],
                provider="searxng",
                bytes_sent=42,
            )

        return await self.script.take("generator.SearchWeb", request, context, found)

    async def GetCapabilities(self, request: Any, context: Any) -> Any:
        async def told(request: Any) -> Any:
            return generator_pb2.GetCapabilitiesResponse(
                capabilities=service_pb2.Capabilities(
                    service="generator",
                    providers=[
                        provider(service_pb2.PURPOSE_REWRITE, "rules", local=True),
                        provider(service_pb2.PURPOSE_EXPAND, "synonyms", local=True),
                        provider(service_pb2.PURPOSE_ANSWER, "extractive", local=True),
                        provider(service_pb2.PURPOSE_JUDGE, "alignment", local=True),
                        provider(service_pb2.PURPOSE_SEARCH_WEB, "searxng", local=False),
                    ],
                ),
                judges=True,
                searches_web=True,
            )

        return await self.script.take("generator.GetCapabilities", request, context, told)


@dataclass
class Suite:
    """A gateway in front of scripted services. `key` reads and writes for organization 1."""

    script: Script
    channel: grpc.aio.Channel
    key: str
    servers: dict[str, RunningServer]
    settings: GatewaySettings
    keys_file: Path

    @property
    def stub(self) -> Any:
        return gateway_pb2_grpc.GatewayServiceStub(self.channel)

    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.key}"),)

    async def call(self, method: str, request: Any, timeout: float = 20.0) -> Any:
        return await getattr(self.stub, method)(request, timeout=timeout, metadata=self.metadata())

    async def stop(self, service: str) -> None:
        """Takes a service down."""
        await self.servers.pop(service).stop(0)


def _registers(script: Script) -> dict[str, Callable[[grpc.aio.Server], list[str]]]:
    def retriever(server: grpc.aio.Server) -> list[str]:
        retriever_pb2_grpc.add_RetrieverServiceServicer_to_server(RetrieverServer(script), server)
        return ["folio.retriever.v1.RetrieverService"]

    def reranker(name: str) -> Callable[[grpc.aio.Server], list[str]]:
        def register(server: grpc.aio.Server) -> list[str]:
            servicer = RerankServer(script, name)
            rerank_pb2_grpc.add_RerankServiceServicer_to_server(servicer, server)
            late_interaction_pb2_grpc.add_LateInteractionServiceServicer_to_server(servicer, server)
            return ["folio.rerank.v1.RerankService"]

        return register

    def generator(server: grpc.aio.Server) -> list[str]:
        generator_pb2_grpc.add_GeneratorServiceServicer_to_server(GeneratorServer(script), server)
        return ["folio.generator.v1.GeneratorService"]

    return {
        "retriever": retriever,
        "colbert": reranker("colbert"),
        "crossencoder": reranker("crossencoder"),
        "generator": generator,
    }


@asynccontextmanager
async def running_suite(
    folder: Path, *, rerankers: Sequence[str] = ("colbert",), **changes: Any
) -> AsyncIterator[Suite]:
    """All services and a gateway on free ports. `changes` are settings of the gateway."""
    script = Script()
    async with AsyncExitStack() as stack:
        servers: dict[str, RunningServer] = {}
        for name, register in _registers(script).items():
            servers[name] = await start(SETTINGS, register, service_authenticator(name, SECRET))
        keys_file = folder / "keys.yaml"
        key = create(keys_file, organization_id=1, organization="acme", label="test")
        calibrations = folder / "calibration"
        calibrations.mkdir(exist_ok=True)
        settings = GatewaySettings(
            **{
                "internal_secret": SecretStr(SECRET),
                "listen": "127.0.0.1:0",
                "keys_file": keys_file,
                "calibration": calibrations,
                "retriever_address": f"127.0.0.1:{servers['retriever'].port}",
                "reranker_list": ",".join(
                    f"{name}=127.0.0.1:{servers[name].port}" for name in rerankers
                ),
                "generator_address": f"127.0.0.1:{servers['generator'].port}",
                **changes,
            }
        )
        service = await stack.enter_async_context(open_service(settings))
        gateway = await start(settings, service.register, service.authenticate)
        channel = grpc.aio.insecure_channel(
            f"127.0.0.1:{gateway.port}", options=channel_options(settings.max_message_bytes)
        )
        stack.push_async_callback(gateway.stop, 0)
        stack.push_async_callback(channel.close)
        suite = Suite(script, channel, key, servers, settings, keys_file)
        try:
            yield suite
        finally:
            await stack.aclose()
            for server in suite.servers.values():
                await server.stop(0)


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
