"""Documents by id and their pages as images: little more than a relay to the retriever."""

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.clients import RELAYED, RetrieverClient
from services.gateway.request import checked_filter
from services.rpc import deadline
from services.rpc.errors import InvalidArgument


async def list_documents(
    retriever: RetrieverClient, request: gateway_pb2.ListDocumentsRequest
) -> gateway_pb2.ListDocumentsResponse:
    reply = await retriever.call(
        retriever.stub.ListDocuments,
        retriever_pb2.ListDocumentsRequest(
            page_size=request.page_size,
            page_token=request.page_token,
            filter=checked_filter(request.filter),
        ),
        deadline.current().rest(),
        RELAYED,
    )
    return gateway_pb2.ListDocumentsResponse(
        documents=reply.documents, next_page_token=reply.next_page_token
    )


async def get_document(
    retriever: RetrieverClient, request: gateway_pb2.GetDocumentRequest
) -> gateway_pb2.GetDocumentResponse:
    reply = await retriever.call(
        retriever.stub.GetDocument,
        retriever_pb2.GetDocumentRequest(document_id=request.document_id),
        deadline.current().rest(),
        RELAYED,
    )
    return gateway_pb2.GetDocumentResponse(document=reply.document)


async def delete_document(
    retriever: RetrieverClient, request: gateway_pb2.DeleteDocumentRequest
) -> gateway_pb2.DeleteDocumentResponse:
    reply = await retriever.call(
        retriever.stub.DeleteDocument,
        retriever_pb2.DeleteDocumentRequest(document_id=request.document_id),
        deadline.current().rest(),
        RELAYED,
    )
    return gateway_pb2.DeleteDocumentResponse(chunks_deleted=reply.chunks_deleted)


async def page_image(
    retriever: RetrieverClient, request: gateway_pb2.GetPageImageRequest
) -> gateway_pb2.GetPageImageResponse:
    """A page as PNG; what of the span stands on it is highlighted, and returned as regions."""
    regions: list[document_pb2.PageRegion] = []
    if request.highlight_end or request.highlight_start:
        if request.highlight_end <= request.highlight_start:
            raise InvalidArgument.field("highlight_end", "must be greater than highlight_start")
        located = await retriever.call(
            retriever.stub.LocateQuotes,
            retriever_pb2.LocateQuotesRequest(
                spans=[
                    retriever_pb2.QuoteSpan(
                        document_id=request.document_id,
                        char_start=request.highlight_start,
                        char_end=request.highlight_end,
                    )
                ]
            ),
            deadline.current().share(0.4),
            RELAYED,
        )
        regions = [
            region
            for quote in located.quotes
            for region in quote.regions
            if region.page == request.page
        ]
    reply = await retriever.call(
        retriever.stub.RenderPage,
        retriever_pb2.RenderPageRequest(
            document_id=request.document_id,
            page=request.page,
            dpi=request.dpi,
            highlights=[rectangle for region in regions for rectangle in region.rectangles],
        ),
        deadline.current().rest(),
        RELAYED,
    )
    return gateway_pb2.GetPageImageResponse(
        png=reply.png, width=reply.width, height=reply.height, regions=regions
    )
