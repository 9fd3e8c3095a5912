"""A small gateway for these tests: the contract over a real channel, ranking by words that chunk and question share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2, gateway_pb2_grpc

RAN, SKIPPED, DEGRADED = (
    step_pb2.STEP_STATUS_RAN,
    step_pb2.STEP_STATUS_SKIPPED,
    step_pb2.STEP_STATUS_DEGRADED,
)
ON, OFF = gateway_pb2.TOGGLE_ON, gateway_pb2.TOGGLE_OFF

# Words in a question that no answer can be made for, and why.
UNAVAILABLE = {
    "overload": gateway_pb2.UNAVAILABLE_REASON_OVERLOADED,
    "alone": gateway_pb2.UNAVAILABLE_REASON_NOT_CONFIGURED,
}


@dataclass
class SmallGateway(gateway_pb2_grpc.GatewayServiceServicer):
    """Every line of a text file is a chunk on a page of its own. `documents` are (organization key, file)."""

    documents: list[tuple[str, document_pb2.Document, list[str]]] = field(default_factory=list)
    # Words in a question that make its step fail, or the call.
    broken: frozenset[str] = frozenset()
    asked: list[gateway_pb2.AskRequest] = field(default_factory=list)
    searched: list[gateway_pb2.SearchRequest] = field(default_factory=list)
    crowded: int = 0

    # Not asked for by an evaluation.
    DeleteDocument = gateway_pb2_grpc.GatewayServiceServicer.DeleteDocument
    GetDocument = gateway_pb2_grpc.GatewayServiceServicer.GetDocument
    GetPageImage = gateway_pb2_grpc.GatewayServiceServicer.GetPageImage
    StreamAsk = gateway_pb2_grpc.GatewayServiceServicer.StreamAsk

    def _own(self, context: Any) -> list[tuple[document_pb2.Document, list[str]]]:
        key = dict(context.invocation_metadata())["authorization"].removeprefix("Bearer ")
        return [(document, lines) for owner, document, lines in self.documents if owner == key]

    async def GetStatus(self, request: Any, context: Any) -> gateway_pb2.GetStatusResponse:
        model = service_pb2.Capabilities(
            providers=[
                service_pb2.Provider(
                    purpose=service_pb2.PURPOSE_EMBED,
                    provider="words",
                    model="shared-words",
                    revision="r1",
                )
            ]
        )
        return gateway_pb2.GetStatusResponse(
            services=[
                gateway_pb2.ServiceState(service="retriever", reachable=True, capabilities=model)
            ],
            organization_id=1,
        )

    async def ListDocuments(self, request: Any, context: Any) -> gateway_pb2.ListDocumentsResponse:
        own = [document for document, _ in self._own(context)]
        return gateway_pb2.ListDocumentsResponse(documents=own)

    async def Ingest(
        self, requests: AsyncIterator[gateway_pb2.IngestRequest], context: Any
    ) -> AsyncIterator[gateway_pb2.IngestResponse]:
        key = dict(context.invocation_metadata())["authorization"].removeprefix("Bearer ")
        header, data = gateway_pb2.DocumentHeader(), b""
        async for request in requests:
            if request.HasField("header"):
                header = request.header
            data += request.data
        if b"unreadable" in data:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no text can be read")
        document = document_pb2.Document(
            id=len(self.documents) + 1, file_name=header.file_name, sha256=header.sha256
        )
        self.documents.append((key, document, data.decode().splitlines()))
        yield gateway_pb2.IngestResponse(
            progress=gateway_pb2.IngestProgress(step=step_pb2.STEP_STORE)
        )
        yield gateway_pb2.IngestResponse(result=gateway_pb2.IngestResult(document=document))

    async def Search(
        self, request: gateway_pb2.SearchRequest, context: Any
    ) -> gateway_pb2.SearchResponse:
        self.searched.append(request)
        chunks, reports, rankings = await self._rank(request.query, request, context)
        return gateway_pb2.SearchResponse(
            results=[gateway_pb2.SearchResult(chunk=chunk) for chunk in chunks],
            steps=reports,
            rankings=rankings,
            elapsed_ms=1.0,
        )

    async def Ask(self, request: gateway_pb2.AskRequest, context: Any) -> gateway_pb2.AskResponse:
        self.asked.append(request)
        if self.crowded:
            self.crowded -= 1
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full")
        chunks, reports, rankings = await self._rank(request.question, request, context)
        reply = gateway_pb2.AskResponse(
            steps=reports, rankings=rankings, elapsed_ms=2.0, generator="extractive"
        )
        reply.usage.add(provider="words", model="shared-words", input_tokens=10, output_tokens=2)
        best = rankings[-1].chunks[0].score if rankings and rankings[-1].chunks else 0.0
        reply.answer_probability = min(best / 4, 1.0)
        reply.sources.extend(
            gateway_pb2.SourcePassage(chunk=chunk, pages=[chunk.page_start]) for chunk in chunks[:3]
        )
        threshold = request.answer_threshold if request.HasField("answer_threshold") else 0.5
        reply.answer_threshold = threshold
        for word in self.broken & UNAVAILABLE.keys() & set(request.question.split()):
            reply.unavailable.reason = UNAVAILABLE[word]
            return reply
        if not chunks or reply.answer_probability < threshold:
            reply.abstained.reason = gateway_pb2.ABSTAIN_REASON_BELOW_THRESHOLD
            return reply
        top = chunks[0]
        sentence = reply.answered.sentences.add(text=top.body)
        sentence.citations.add(
            quote=top.body, chunk_id=top.id, document_id=top.document_id, page=top.page_start
        )
        return reply

    async def _rank(self, question: str, request: Any, context: Any) -> tuple[Any, Any, Any]:
        asked = question.lower().rstrip("?").split()
        if "explode" in self.broken & set(asked):
            await context.abort(grpc.StatusCode.INTERNAL, "a broken invariant")
        wanted = set(request.filter.document_ids)
        chunks = [
            document_pb2.Chunk(
                id=100 * document.id + page,
                document_id=document.id,
                page_start=page,
                page_end=page,
                body=line,
                sha256=document.sha256,
                file_name=document.file_name,
                title=document.file_name,
                ordinal=page,
            )
            for document, lines in self._own(context)
            for page, line in enumerate(lines)
            if not wanted or document.id in wanted
        ]
        score = {c.id: float(sum(word in c.body.lower() for word in asked)) for c in chunks}
        # Dense alone is a bad search here: it ranks by length.
        found = sorted(chunks, key=lambda c: (-score[c.id], c.id))
        if request.steps.sparse == OFF and request.steps.dense == ON:
            found = sorted(chunks, key=lambda c: (-len(c.body), c.id))
        reports = [step_pb2.StepReport(step=step_pb2.STEP_SEARCH, status=RAN, elapsed_ms=1.0)]
        twice = found[:1] if "stutter" in self.broken & set(asked) else []
        rankings = [_ranking(step_pb2.STEP_SEARCH, [*found, *twice], score)]
        if request.steps.colbert != OFF:
            broken = "stumble" in self.broken & set(asked)
            reports.append(
                step_pb2.StepReport(
                    step=step_pb2.STEP_COLBERT,
                    status=DEGRADED if broken else RAN,
                    reason="UNAVAILABLE: colbert cannot be reached" if broken else "",
                    model="shared-words",
                )
            )
            if not broken:
                rankings.append(_ranking(step_pb2.STEP_COLBERT, found, score))
        if request.steps.crossencoder != OFF:
            reports.append(
                step_pb2.StepReport(
                    step=step_pb2.STEP_CROSSENCODER, status=SKIPPED, reason="not configured"
                )
            )
        return found, reports, rankings


def _ranking(
    step: "step_pb2.Step.ValueType", chunks: list[document_pb2.Chunk], score: dict[int, float]
) -> gateway_pb2.Ranking:
    return gateway_pb2.Ranking(
        step=step,
        chunks=[
            gateway_pb2.RankedChunk(
                chunk_id=c.id,
                score=score[c.id],
                document_id=c.document_id,
                page_start=c.page_start,
                page_end=c.page_end,
                signal=score[c.id],
            )
            for c in chunks
        ],
        model="shared-words",
        signal=gateway_pb2.SIGNAL_SCORE_PER_TOKEN,
    )


@asynccontextmanager
async def serving(gateway: SmallGateway) -> AsyncIterator[str]:
    """Serves it and yields the address."""
    server = grpc.aio.server()
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(gateway, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)
