"""Services that speak the wire contract over real gRPC and do as a test says: answer, fail, hang, or send nonsense."""

from collections.abc import AsyncIterator

from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.generator.v1 import generator_pb2, generator_pb2_grpc
from folio.rerank.v1 import (
    late_interaction_pb2,
    late_interaction_pb2_grpc,
    rerank_pb2,
    rerank_pb2_grpc,
)
from folio.retriever.v1 import retriever_pb2, retriever_pb2_grpc
from tests.gateway.script import CHUNKS, SECOND_PAGE, TEXT, Context, Script, provider


class RetrieverServer(retriever_pb2_grpc.RetrieverServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def Search(
        self, request: retriever_pb2.SearchRequest, context: Context
    ) -> retriever_pb2.SearchResponse:
        async def found(request: retriever_pb2.SearchRequest) -> retriever_pb2.SearchResponse:
            hits = [
                retriever_pb2.Hit(chunk=CHUNKS[number], score=1 / (60 + number), dense_score=0.5)
                for number in (2, 1)
            ]
            return retriever_pb2.SearchResponse(hits=hits[: request.limit])

        return await self.script.take("retriever.Search", request, context, found)

    async def GetPassages(
        self, request: retriever_pb2.GetPassagesRequest, context: Context
    ) -> retriever_pb2.GetPassagesResponse:
        async def found(
            request: retriever_pb2.GetPassagesRequest,
        ) -> retriever_pb2.GetPassagesResponse:
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

    async def LocateQuotes(
        self, request: retriever_pb2.LocateQuotesRequest, context: Context
    ) -> retriever_pb2.LocateQuotesResponse:
        async def found(
            request: retriever_pb2.LocateQuotesRequest,
        ) -> retriever_pb2.LocateQuotesResponse:
            region = document_pb2.PageRegion(
                page=15,
                rectangles=[document_pb2.Rectangle(left=0.1, top=0.1, right=0.9, bottom=0.2)],
            )
            quotes = [retriever_pb2.LocatedQuote(located=True, regions=[region])] * len(
                request.spans
            )
            return retriever_pb2.LocateQuotesResponse(quotes=quotes)

        return await self.script.take("retriever.LocateQuotes", request, context, found)

    async def GetVocabulary(
        self, request: retriever_pb2.GetVocabularyRequest, context: Context
    ) -> retriever_pb2.GetVocabularyResponse:
        async def found(
            request: retriever_pb2.GetVocabularyRequest,
        ) -> retriever_pb2.GetVocabularyResponse:
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

    async def LogQuery(
        self, request: retriever_pb2.LogQueryRequest, context: Context
    ) -> retriever_pb2.LogQueryResponse:
        async def logged(request: retriever_pb2.LogQueryRequest) -> retriever_pb2.LogQueryResponse:
            return retriever_pb2.LogQueryResponse()

        return await self.script.take("retriever.LogQuery", request, context, logged)

    async def RenderPage(
        self, request: retriever_pb2.RenderPageRequest, context: Context
    ) -> retriever_pb2.RenderPageResponse:
        async def drawn(
            request: retriever_pb2.RenderPageRequest,
        ) -> retriever_pb2.RenderPageResponse:
            return retriever_pb2.RenderPageResponse(png=b"png", width=10, height=20)

        return await self.script.take("retriever.RenderPage", request, context, drawn)

    async def GetDocument(
        self, request: retriever_pb2.GetDocumentRequest, context: Context
    ) -> retriever_pb2.GetDocumentResponse:
        async def found(
            request: retriever_pb2.GetDocumentRequest,
        ) -> retriever_pb2.GetDocumentResponse:
            return retriever_pb2.GetDocumentResponse(document=document_pb2.Document(id=1))

        return await self.script.take("retriever.GetDocument", request, context, found)

    async def DeleteDocument(
        self, request: retriever_pb2.DeleteDocumentRequest, context: Context
    ) -> retriever_pb2.DeleteDocumentResponse:
        async def deleted(
            request: retriever_pb2.DeleteDocumentRequest,
        ) -> retriever_pb2.DeleteDocumentResponse:
            return retriever_pb2.DeleteDocumentResponse(chunks_deleted=2)

        return await self.script.take("retriever.DeleteDocument", request, context, deleted)

    async def ListDocuments(
        self, request: retriever_pb2.ListDocumentsRequest, context: Context
    ) -> retriever_pb2.ListDocumentsResponse:
        async def found(
            request: retriever_pb2.ListDocumentsRequest,
        ) -> retriever_pb2.ListDocumentsResponse:
            return retriever_pb2.ListDocumentsResponse(documents=[document_pb2.Document(id=1)])

        return await self.script.take("retriever.ListDocuments", request, context, found)

    async def IngestDocument(
        self, request_iterator: AsyncIterator[retriever_pb2.IngestDocumentRequest], context: Context
    ) -> AsyncIterator[retriever_pb2.IngestDocumentResponse]:
        size, header = 0, retriever_pb2.IngestHeader()
        async for request in request_iterator:
            header = request.header if request.HasField("header") else header
            size += len(request.data)

        async def staged(request: retriever_pb2.IngestHeader) -> retriever_pb2.IngestResult:
            return retriever_pb2.IngestResult(
                document=document_pb2.Document(id=7, file_name=request.file_name, size_bytes=size),
                version=3,
            )

        yield retriever_pb2.IngestDocumentResponse(
            progress=retriever_pb2.IngestProgress(step=step_pb2.STEP_RECEIVE, done=size, total=size)
        )
        result = await self.script.take("retriever.IngestDocument", header, context, staged)
        yield retriever_pb2.IngestDocumentResponse(result=result)

    async def PublishDocument(
        self, request: retriever_pb2.PublishDocumentRequest, context: Context
    ) -> retriever_pb2.PublishDocumentResponse:
        async def published(
            request: retriever_pb2.PublishDocumentRequest,
        ) -> retriever_pb2.PublishDocumentResponse:
            document = document_pb2.Document(
                id=request.document_id,
                version=request.version,
                status=document_pb2.DOCUMENT_STATUS_READY,
            )
            return retriever_pb2.PublishDocumentResponse(document=document)

        return await self.script.take("retriever.PublishDocument", request, context, published)

    async def GetCapabilities(
        self, request: retriever_pb2.GetCapabilitiesRequest, context: Context
    ) -> retriever_pb2.GetCapabilitiesResponse:
        async def told(
            request: retriever_pb2.GetCapabilitiesRequest,
        ) -> retriever_pb2.GetCapabilitiesResponse:
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

    async def Rerank(
        self, request: rerank_pb2.RerankRequest, context: Context
    ) -> rerank_pb2.RerankResponse:
        async def ranked(request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
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

    async def SearchExact(
        self, request: late_interaction_pb2.SearchExactRequest, context: Context
    ) -> late_interaction_pb2.SearchExactResponse:
        async def found(
            request: late_interaction_pb2.SearchExactRequest,
        ) -> late_interaction_pb2.SearchExactResponse:
            return late_interaction_pb2.SearchExactResponse(
                hits=[
                    late_interaction_pb2.ExactHit(chunk_id=1, score=7.2, score_per_token=0.9),
                    late_interaction_pb2.ExactHit(chunk_id=2, score=3.2, score_per_token=0.4),
                ],
                model=f"{self.name}-model",
            )

        return await self.script.take(f"{self.name}.SearchExact", request, context, found)

    async def IndexDocument(
        self, request: late_interaction_pb2.IndexDocumentRequest, context: Context
    ) -> AsyncIterator[late_interaction_pb2.IndexDocumentResponse]:
        async def indexed(
            request: late_interaction_pb2.IndexDocumentRequest,
        ) -> late_interaction_pb2.IndexDocumentResponse:
            return late_interaction_pb2.IndexDocumentResponse(chunks_done=2, chunks_total=2)

        yield await self.script.take(f"{self.name}.IndexDocument", request, context, indexed)

    async def GetCapabilities(
        self, request: rerank_pb2.GetCapabilitiesRequest, context: Context
    ) -> rerank_pb2.GetCapabilitiesResponse:
        async def told(
            request: rerank_pb2.GetCapabilitiesRequest,
        ) -> rerank_pb2.GetCapabilitiesResponse:
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

    async def Rewrite(
        self, request: generator_pb2.RewriteRequest, context: Context
    ) -> generator_pb2.RewriteResponse:
        async def rewritten(request: generator_pb2.RewriteRequest) -> generator_pb2.RewriteResponse:
            return generator_pb2.RewriteResponse(
                standalone_question=request.question, unchanged=True, method="rules"
            )

        return await self.script.take("generator.Rewrite", request, context, rewritten)

    async def Expand(
        self, request: generator_pb2.ExpandRequest, context: Context
    ) -> generator_pb2.ExpandResponse:
        async def expanded(request: generator_pb2.ExpandRequest) -> generator_pb2.ExpandResponse:
            return generator_pb2.ExpandResponse()

        return await self.script.take("generator.Expand", request, context, expanded)

    async def Answer(
        self, request: generator_pb2.AnswerRequest, context: Context
    ) -> AsyncIterator[generator_pb2.AnswerResponse]:
        async def answered(
            request: generator_pb2.AnswerRequest,
        ) -> generator_pb2.AnswerResult | None:
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

    async def Judge(
        self, request: generator_pb2.JudgeRequest, context: Context
    ) -> generator_pb2.JudgeResponse:
        async def judged(request: generator_pb2.JudgeRequest) -> generator_pb2.JudgeResponse:
            return generator_pb2.JudgeResponse(support=0.9, model="judge")

        return await self.script.take("generator.Judge", request, context, judged)

    async def SearchWeb(
        self, request: generator_pb2.SearchWebRequest, context: Context
    ) -> generator_pb2.SearchWebResponse:
        async def found(request: generator_pb2.SearchWebRequest) -> generator_pb2.SearchWebResponse:
            return generator_pb2.SearchWebResponse(
                results=[
                    generator_pb2.WebResult(title="A page", url="https://example.org/"),
                    generator_pb2.WebResult(title="Not a page", url="javascript:alert(1)"),
                ],
                provider="searxng",
                bytes_sent=42,
            )

        return await self.script.take("generator.SearchWeb", request, context, found)

    async def GetCapabilities(
        self, request: generator_pb2.GetCapabilitiesRequest, context: Context
    ) -> generator_pb2.GetCapabilitiesResponse:
        async def told(
            request: generator_pb2.GetCapabilitiesRequest,
        ) -> generator_pb2.GetCapabilitiesResponse:
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
