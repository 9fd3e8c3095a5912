"""RerankService and LateInteractionService: unpack, ask the part that does it, pack."""

import asyncio
import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np

from folio.common.v1 import service_pb2
from folio.rerank.v1 import (
    late_interaction_pb2,
    late_interaction_pb2_grpc,
    rerank_pb2,
    rerank_pb2_grpc,
)
from native import maxsim
from services.colbert.encoding import Encoding, Query
from services.colbert.exact_search import ExactSearch
from services.colbert.indexing import Indexer
from services.colbert.queries import MAX_QUERY_TOKENS, Queries, given
from services.colbert.reranker import Options, Reranker, Scored
from services.colbert.settings import ColbertSettings
from services.postgres.filters import filter_from
from services.rerank import wire
from services.rerank.stream import stream
from services.rpc import identity, rules
from services.rpc.build import package_version
from services.rpc.errors import InvalidArgument
from services.rpc.identity import Principal
from services.rpc.limits import Gate
from services.rpc.matrices import pack, unpack, unpack_documents
from services.rpc.providers import entry

Context = grpc.aio.ServicerContext[Any, Any]

# Candidates of a reply that is packed in the event loop, at about 7 us each.
_PACKED_IN_PLACE = 500


@dataclass(frozen=True)
class Parts:
    """What does the work."""

    encoding: Encoding
    queries: Queries
    reranker: Reranker
    indexer: Indexer
    exact_search: ExactSearch


class ColbertServicer(
    rerank_pb2_grpc.RerankServiceServicer,
    late_interaction_pb2_grpc.LateInteractionServiceServicer,
):
    """RerankService and LateInteractionService."""

    def __init__(self, parts: Parts, settings: ColbertSettings) -> None:
        self._parts = parts
        self._settings = settings
        self._gate = Gate(settings.max_concurrency, settings.max_queue)

    async def Rerank(
        self, request: rerank_pb2.RerankRequest, context: Context
    ) -> rerank_pb2.RerankResponse:
        return await self._rerank(request)

    async def StreamRerank(
        self, requests: AsyncIterator[rerank_pb2.StreamRerankRequest], context: Context
    ) -> AsyncIterator[rerank_pb2.StreamRerankResponse]:
        async for answer in stream(requests, self._rerank, self._settings.stream_in_flight):
            yield answer

    async def GetCapabilities(
        self, request: rerank_pb2.GetCapabilitiesRequest, context: Context
    ) -> rerank_pb2.GetCapabilitiesResponse:
        encoding = self._parts.encoding
        return rerank_pb2.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="colbert",
                version=package_version(),
                providers=[
                    entry(service_pb2.PURPOSE_RERANK, encoding.encoder, encoding.encoder.revision)
                ],
                dim=encoding.dim,
                score_type=service_pb2.SCORE_TYPE_MAXSIM_SUM,
                limits={
                    "max_candidates": rules.max_items(rerank_pb2.Texts, "texts"),
                    "max_query_tokens": encoding.encoder.query_length,
                    "max_document_tokens": encoding.encoder.document_length,
                    "max_exact_chunks": self._settings.max_exact_chunks,
                    "max_message_bytes": self._settings.max_message_bytes,
                },
                details={"kernel": maxsim.kernel(), "vectors": encoding.key},
            ),
            accepts_texts=True,
            accepts_chunk_ids=True,
            accepts_vectors=True,
            gives_alignments=True,
        )

    async def IndexDocument(
        self, request: late_interaction_pb2.IndexDocumentRequest, context: Context
    ) -> AsyncIterator[late_interaction_pb2.IndexDocumentResponse]:
        steps = self._parts.indexer.index(identity.current(), request.document_id, request.version)
        async for progress in steps:
            yield late_interaction_pb2.IndexDocumentResponse(
                chunks_done=progress.done,
                chunks_total=progress.total,
                chunks_failed=progress.failed,
            )

    async def SearchExact(
        self, request: late_interaction_pb2.SearchExactRequest, context: Context
    ) -> late_interaction_pb2.SearchExactResponse:
        principal = identity.current()
        async with self._gate:
            query = await self._parts.queries.of(principal, request.text)
            hits, scored = await self._parts.exact_search.search(
                principal, query, filter_from(request.filter), request.limit
            )
        return late_interaction_pb2.SearchExactResponse(
            hits=[
                late_interaction_pb2.ExactHit(
                    chunk_id=hit.chunk_id, score=hit.score, score_per_token=hit.score_per_token
                )
                for hit in hits
            ],
            model=self._parts.encoding.key,
            chunks_scored=scored,
        )

    async def Encode(
        self, request: late_interaction_pb2.EncodeRequest, context: Context
    ) -> late_interaction_pb2.EncodeResponse:
        encoding = self._parts.encoding
        texts = list(request.texts)
        async with self._gate:
            if request.encode_as == late_interaction_pb2.ENCODE_AS_QUERY:
                queries = await asyncio.gather(*map(encoding.query, texts))
                rows = [(query.vectors, query.truncated) for query in queries]
            else:
                rows = [
                    (item.vectors, item.truncated)
                    if item is not None
                    else (np.empty((0, encoding.dim), np.float32), False)
                    for item in await encoding.matrices(texts)
                ]
        size = sum(vectors.nbytes for vectors, _ in rows)
        if size > self._settings.max_message_bytes:
            raise InvalidArgument.field(
                "texts",
                f"have vectors of {size} bytes; a message holds"
                f" {self._settings.max_message_bytes}, so send fewer at once",
            )
        return late_interaction_pb2.EncodeResponse(
            tokens=await asyncio.to_thread(
                lambda: pack(np.concatenate([vectors for vectors, _ in rows]))
            ),
            lengths=[len(vectors) for vectors, _ in rows],
            truncated=[truncated for _, truncated in rows],
            model=encoding.key,
        )

    async def _rerank(self, request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
        principal = identity.current()
        options = Options(
            alignments=request.options.alignments,
            refuse_truncation=request.options.truncation == rerank_pb2.TRUNCATION_NONE,
        )
        async with self._gate:
            query = await self._query(principal, request, options)
            scored = await self._score(principal, query, request, options)
        pack_response = functools.partial(
            wire.response,
            scored.scores,
            top_n=request.options.top_n,
            model=self._parts.encoding.encoder.model,
            query_tokens=len(query.vectors),
            steps=scored.steps,
            query_token_texts=query.tokens if options.alignments else (),
        )
        # A change of threads costs more than a usual reply; ten thousand candidates hold up the loop.
        if options.alignments or len(scored.scores) > _PACKED_IN_PLACE:
            return await asyncio.to_thread(pack_response)
        return pack_response()

    async def _query(
        self, principal: Principal, request: rerank_pb2.RerankRequest, options: Options
    ) -> Query:
        if request.HasField("vectors"):
            # At most 1,024 rows: cheaper than a change of threads.
            if request.vectors.rows > MAX_QUERY_TOKENS:
                raise InvalidArgument.field(
                    "vectors.rows", f"is {request.vectors.rows}; expected 1 to {MAX_QUERY_TOKENS}"
                )
            return given(unpack(request.vectors, "vectors"))
        return await self._parts.queries.of(
            principal, request.text, refuse_truncation=options.refuse_truncation
        )

    async def _score(
        self,
        principal: Principal,
        query: Query,
        request: rerank_pb2.RerankRequest,
        options: Options,
    ) -> Scored:
        form = request.WhichOneof("candidates")
        if form == "chunk_ids":
            return await self._parts.reranker.rerank_chunks(
                principal, query, list(request.chunk_ids.ids), options
            )
        if form == "texts":
            return await self._parts.reranker.rerank_texts(
                principal, query, list(request.texts.texts), options
            )
        given = request.document_vectors
        documents = await asyncio.to_thread(
            unpack_documents, given.tokens, list(given.lengths), "document_vectors"
        )
        return await self._parts.reranker.rerank_vectors(query, documents, options)
