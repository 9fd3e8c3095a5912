"""GeneratorService: one method per call; unpack, ask the part that does it, pack."""

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import grpc

from folio.common.v1 import service_pb2
from folio.generator.v1 import generator_pb2 as pb
from folio.generator.v1 import generator_pb2_grpc
from services.generator import messages
from services.generator.answers import Generator, Sentence
from services.generator.expand import MAX_VARIANTS, Expander
from services.generator.judges import Judge
from services.generator.rewrite import MAX_TURNS, Rewriter
from services.generator.websearch import WebSearch
from services.rpc import deadline, identity, rules
from services.rpc.build import package_version
from services.rpc.errors import FailedPrecondition
from services.rpc.limits import Gate
from services.rpc.providers import Worker, entry

log = logging.getLogger("folio.generator")

SERVICE = "folio.generator.v1.GeneratorService"


@dataclass(frozen=True)
class Parts:
    """What does the work, chosen by the settings."""

    generator: Generator
    fallback: Generator | None
    rewriter: Rewriter
    expander: Expander
    judge: Judge | None
    web: WebSearch | None
    rewrites_with_model: bool
    max_output_tokens: int

    def providers(self) -> list[service_pb2.Provider]:
        """Who does what, as Capabilities tell it; a purpose that nobody does is left out."""
        found: list[tuple[service_pb2.Purpose.ValueType, Worker | None]] = [
            (service_pb2.PURPOSE_REWRITE, self.rewriter),
            (service_pb2.PURPOSE_EXPAND, self.expander),
            (service_pb2.PURPOSE_ANSWER, self.generator),
            (service_pb2.PURPOSE_ANSWER, self.fallback),
            (service_pb2.PURPOSE_JUDGE, self.judge),
            (service_pb2.PURPOSE_SEARCH_WEB, self.web),
        ]
        return [entry(purpose, worker) for purpose, worker in found if worker is not None]


class GeneratorServicer(generator_pb2_grpc.GeneratorServiceServicer):
    """Stateless. `gate` bounds what runs at once and what waits."""

    def __init__(self, parts: Parts, gate: Gate) -> None:
        self._parts = parts
        self._gate = gate

    def register(self, server: grpc.aio.Server) -> list[str]:
        """See services.rpc.serve.Register."""
        generator_pb2_grpc.add_GeneratorServiceServicer_to_server(self, server)
        return [SERVICE]

    async def Rewrite(
        self,
        request: pb.RewriteRequest,
        context: grpc.aio.ServicerContext[pb.RewriteRequest, pb.RewriteResponse],
    ) -> pb.RewriteResponse:
        async with self._gate:
            done = await self._parts.rewriter.rewrite(
                request.question, messages.turns(request), deadline.current()
            )
        response = pb.RewriteResponse(
            unchanged=done.unchanged,
            method=done.method,
            usage=messages.usage(done.usage),
            degraded_reason=done.degraded_reason,
        )
        if done.clarification:
            response.clarification = done.clarification
        else:
            response.standalone_question = done.standalone
        return response

    async def Expand(
        self,
        request: pb.ExpandRequest,
        context: grpc.aio.ServicerContext[pb.ExpandRequest, pb.ExpandResponse],
    ) -> pb.ExpandResponse:
        async with self._gate:
            done = await self._parts.expander.expand(
                request.question,
                request.kinds,
                request.max_variants or MAX_VARIANTS,
                identity.current().organization_id,
                deadline.current(),
            )
        return pb.ExpandResponse(
            variants=[
                pb.Variant(text=variant.text, kind=variant.kind) for variant in done.variants
            ],
            usage=messages.usage(done.usage),
            degraded_reason=done.degraded_reason,
        )

    async def Answer(
        self,
        request: pb.AnswerRequest,
        context: grpc.aio.ServicerContext[pb.AnswerRequest, pb.AnswerResponse],
    ) -> AsyncIterator[pb.AnswerResponse]:
        sources = messages.sources(request)
        limit = request.max_output_tokens or self._parts.max_output_tokens
        async with self._gate:
            events = self._parts.generator.answer(
                request.question, sources, limit, deadline.current()
            )
            # Closed when the caller leaves, so that the provider's stream ends too.
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Sentence):
                        yield pb.AnswerResponse(sentence=messages.sentence(event))
                    else:
                        yield pb.AnswerResponse(result=messages.result(event))

    async def Judge(
        self,
        request: pb.JudgeRequest,
        context: grpc.aio.ServicerContext[pb.JudgeRequest, pb.JudgeResponse],
    ) -> pb.JudgeResponse:
        judge = self._parts.judge
        if judge is None:
            raise FailedPrecondition("no judge is configured; set FOLIO_JUDGE")
        async with self._gate:
            verdict = await judge.judge(
                request.sentence, list(request.evidence), deadline.current()
            )
        return pb.JudgeResponse(
            support=verdict.support, model=judge.model, usage=messages.usage(verdict.usage)
        )

    async def SearchWeb(
        self,
        request: pb.SearchWebRequest,
        context: grpc.aio.ServicerContext[pb.SearchWebRequest, pb.SearchWebResponse],
    ) -> pb.SearchWebResponse:
        web = self._parts.web
        if web is None:
            raise FailedPrecondition("no web search is configured; set FOLIO_WEB_SEARCH")
        async with self._gate:
            found = await web.search(request.query, request.limit, deadline.current())
        return pb.SearchWebResponse(
            results=[
                pb.WebResult(title=one.title, url=one.url, snippet=one.snippet)
                for one in found.results
            ],
            provider=web.provider,
            bytes_sent=found.bytes_sent,
            usage=messages.usage(found.usage),
        )

    async def GetCapabilities(
        self,
        request: pb.GetCapabilitiesRequest,
        context: grpc.aio.ServicerContext[pb.GetCapabilitiesRequest, pb.GetCapabilitiesResponse],
    ) -> pb.GetCapabilitiesResponse:
        parts = self._parts
        return pb.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="generator",
                version=package_version(),
                providers=parts.providers(),
                limits={
                    "max_sources": rules.max_items(pb.AnswerRequest, "sources"),
                    "max_variants": MAX_VARIANTS,
                    "max_turns": MAX_TURNS,
                    "max_output_tokens": parts.max_output_tokens,
                },
            ),
            rewrites_with_model=parts.rewrites_with_model,
            expansion_kinds=parts.expander.kinds,
            judges=parts.judge is not None,
            searches_web=parts.web is not None,
        )
