"""Takes a file in: retriever (parse, chunk, embed, stage) -> colbert (token vectors) -> retriever (publish).

Nothing is visible before the publish. If the token vectors fail, the document is published all the same, and the
reply says `degraded`: colbert encodes what is missing when it is asked for, so the search is whole, only slower.
"""

import logging
from collections.abc import AsyncIterator

from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.rerank.v1 import late_interaction_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.clients import RELAYED, Clients
from services.rpc import deadline, identity
from services.rpc.errors import Internal, InvalidArgument, PermissionDenied
from services.rpc.report import Report

log = logging.getLogger("folio.gateway")

# Of what is left: the file's parsing and embedding may take most of it.
RETRIEVER_PART = 0.9
COLBERT_PART = 0.8


async def ingest(
    clients: Clients, requests: AsyncIterator[gateway_pb2.IngestRequest]
) -> AsyncIterator[gateway_pb2.IngestResponse]:
    """Progress, then the result. Data flows through one message at a time: a slow parser slows the sender down."""
    report = Report()
    header = await _header(requests)
    staged = None
    with report.step(step_pb2.STEP_INGEST, needed=True):
        async for event in clients.retriever.exchange(
            clients.retriever.stub.IngestDocument,
            _relayed(header, requests),
            deadline.current().share(RETRIEVER_PART),
        ):
            if event.HasField("progress"):
                yield _progress(event.progress.step, event.progress.done, event.progress.total)
            elif event.HasField("result"):
                staged = event.result
    if staged is None:
        raise Internal("the retriever ended without a result")
    report.steps.extend(staged.steps)
    async for done in _token_vectors(clients, report, staged):
        yield done
    document = staged.document
    if not staged.unchanged:
        with report.step(step_pb2.STEP_PUBLISH, needed=True):
            yield _progress(step_pb2.STEP_PUBLISH, 0, 1)
            reply = await clients.retriever.call(
                clients.retriever.stub.PublishDocument,
                retriever_pb2.PublishDocumentRequest(
                    document_id=document.id, version=staged.version
                ),
                deadline.current().rest(),
                RELAYED,
            )
            document = reply.document
        yield _progress(step_pb2.STEP_PUBLISH, 1, 1)
    log.info(
        "ingest",
        extra={
            "request_id": identity.request_id(),
            "organization_id": identity.current().organization_id,
            "document_id": document.id,
            "unchanged": staged.unchanged,
            "ms": round(report.elapsed_ms, 1),
        },
    )
    result = gateway_pb2.IngestResult(
        document=document, unchanged=staged.unchanged, steps=report.steps
    )
    yield gateway_pb2.IngestResponse(result=result)


async def _token_vectors(
    clients: Clients, report: Report, staged: retriever_pb2.IngestResult
) -> AsyncIterator[gateway_pb2.IngestResponse]:
    """Encodes what has no vectors yet; for an unchanged file too, so that ingesting again completes it."""
    colbert = clients.colbert
    if colbert is None:
        report.skip(step_pb2.STEP_TOKEN_VECTORS, "colbert is not configured")
        return
    with report.step(step_pb2.STEP_TOKEN_VECTORS) as step:
        async for event in colbert.stream(
            colbert.late_interaction.IndexDocument,
            late_interaction_pb2.IndexDocumentRequest(
                document_id=staged.document.id, version=staged.version or staged.document.version
            ),
            deadline.current().share(COLBERT_PART),
        ):
            yield _progress(step_pb2.STEP_TOKEN_VECTORS, event.chunks_done, event.chunks_total)
            if event.chunks_failed:
                step.degrade(f"{event.chunks_failed} chunks have no usable token vectors")


async def _header(
    requests: AsyncIterator[gateway_pb2.IngestRequest],
) -> retriever_pb2.IngestHeader:
    async for request in requests:
        if not request.HasField("header"):
            raise InvalidArgument.field("header", "must be the first message")
        given = request.header
        own = identity.current().rooftop_id
        if own is not None and given.rooftop_id not in (0, own):
            raise PermissionDenied("the caller's key is for another rooftop")
        return retriever_pb2.IngestHeader(
            file_name=given.file_name,
            media_type=given.media_type,
            collection=given.collection,
            kind=given.kind,
            title=given.title,
            published_on=given.published_on,
            sha256=given.sha256,
            size_bytes=given.size_bytes,
            password=given.password,
            request_id=given.request_id,
            rooftop_id=own or given.rooftop_id,
            ocr=given.ocr,
        )
    raise InvalidArgument.field("header", "must be the first message; there was none")


async def _relayed(
    header: retriever_pb2.IngestHeader, requests: AsyncIterator[gateway_pb2.IngestRequest]
) -> AsyncIterator[retriever_pb2.IngestDocumentRequest]:
    yield retriever_pb2.IngestDocumentRequest(header=header)
    async for request in requests:
        if not request.HasField("data"):
            raise InvalidArgument.field("header", "must be sent once, first")
        yield retriever_pb2.IngestDocumentRequest(data=request.data)


def _progress(step: "step_pb2.Step.ValueType", done: int, total: int) -> gateway_pb2.IngestResponse:
    progress = gateway_pb2.IngestProgress(step=step, done=done, total=total)
    return gateway_pb2.IngestResponse(progress=progress)
