"""THE query: from a question to a reply, top to bottom.

    rewrite -> scope -> expand -> search -> colbert -> crossencoder -> route -> passages -> generate -> ground -> locate

Each step is one call with a typed input and output (steps/); a step that is off says `skipped`, one that fails says
`degraded`, and the best honest reply is made without it. Only the search is needed: without it there is nothing to
answer from.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway import calibration, citations, replies
from services.gateway.account import Account
from services.gateway.grounding.text import neutralise
from services.gateway.hits import Hits
from services.gateway.request import Call, Plan, restriction_of
from services.gateway.route import Decision, Route, Router, spread
from services.gateway.scope import Restriction
from services.gateway.settings import RERANKERS, GatewaySettings
from services.gateway.stages import Stages
from services.gateway.steps.expand import expand
from services.gateway.steps.find_scope import Scoped, Vocabularies, find_scope
from services.gateway.steps.generate import generate
from services.gateway.steps.ground import ground
from services.gateway.steps.locate import locate
from services.gateway.steps.log import log_query, log_search, log_unfinished
from services.gateway.steps.passages import passages
from services.gateway.steps.rerank import rerank
from services.gateway.steps.rewrite import rewrite
from services.gateway.steps.search import search
from services.gateway.steps.web import search_web, why_not
from services.gateway.web_rules import WebRules
from services.rpc import deadline, identity
from services.rpc.deadline import Deadline
from services.rpc.errors import FolioError, InvalidArgument

Event = gateway_pb2.StreamAskResponse
_STEPS = {"colbert": step_pb2.STEP_COLBERT, "crossencoder": step_pb2.STEP_CROSSENCODER}


@dataclass(frozen=True)
class Limits:
    """How many hits the search and each reranker hand on, and how many are kept in the end."""

    search: int
    rerank: int
    kept: int


class Query:
    """Answers questions. One for the life of the process."""

    def __init__(self, settings: GatewaySettings, stages: Stages) -> None:
        self._settings = settings
        self._stages = stages
        self._vocabularies = Vocabularies(stages.retriever, settings.scope_cache_seconds)
        self._router = Router(calibration.load(settings.calibration), settings.answer_threshold)
        self._web_rules = WebRules.load(settings.web_rules)

    async def ask(self, request: gateway_pb2.AskRequest) -> gateway_pb2.AskResponse:
        """The reply: the last of the events."""
        reply = gateway_pb2.AskResponse()
        async for event in self.events(request):
            if event.HasField("final"):
                reply = event.final
        return reply

    async def events(
        self, request: gateway_pb2.AskRequest, *, show_progress: bool = False
    ) -> AsyncIterator[Event]:
        """The answering of a question as it happens; the last event carries the reply. Leaving early stops it all."""
        # A request makes few events (a report a step, at most MAX_SENTENCES sentences): no bound is needed.
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        account = Account(queue.put_nowait)
        work = asyncio.create_task(self._answer(request, account, show_progress))
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while True:
                try:
                    async with asyncio.timeout(self._settings.heartbeat_seconds):
                        event = await queue.get()
                except TimeoutError:
                    beat = gateway_pb2.Heartbeat(waiting_for=account.report.current)
                    event = Event(heartbeat=beat)
                if event is None:
                    break
                yield event
            yield Event(final=work.result())
        finally:
            work.cancel()
            await asyncio.wait({work})

    async def _answer(
        self, request: gateway_pb2.AskRequest, account: Account, show_progress: bool
    ) -> gateway_pb2.AskResponse:
        call = self._call(request.steps, account, request.request_id)
        identity.enter(identity.current(), call.request_id)
        try:
            return await self._steps(request, call, show_progress)
        except (Exception, asyncio.CancelledError) as error:
            await log_unfinished(call, self._stages.retriever, request, error)
            raise

    async def _steps(  # noqa: C901
        self, request: gateway_pb2.AskRequest, call: Call, show_progress: bool
    ) -> gateway_pb2.AskResponse:
        settings, stages = self._settings, self._stages
        account, caller = call.account, restriction_of(request.filter)
        asked = _text("question", request.question)
        reply = gateway_pb2.AskResponse(request_id=call.request_id)
        account.emit(Event(started=gateway_pb2.Started(request_id=call.request_id)))

        rewritten = await rewrite(call, stages.generator, asked, request.history)
        question = reply.standalone_question = rewritten.question
        if rewritten.clarification:
            reply.clarify.question = neutralise(rewritten.clarification)
            return await self._finish(call, request, reply)
        scoped = await find_scope(call, self._vocabularies, question, caller)
        account.emit(Event(rewritten=replies.rewritten(question, scoped)))

        queries = await expand(call, stages.generator, question)
        limits = Limits(
            settings.search_candidates,
            settings.rerank_candidates,
            settings.read_candidates,
        )
        hits, scoped = await self._candidates(call, queries, scoped, caller, limits)
        replies.set_scope(reply, scoped)

        no_web = why_not(call, settings, self._web_rules, stages.generator, scoped.restriction)
        route = self._route(call, request, hits, web=not no_web)
        reply.answer_probability, reply.answer_threshold = route.probability, route.threshold
        hits, probabilities = self._spread(hits, route, limits.kept)
        reply.sources.extend(
            replies.source(hit.chunk, p) for hit, p in zip(hits.items, probabilities, strict=True)
        )
        if route.decision is Decision.CLARIFY:
            reply.clarify.question = replies.WHICH_ONE
            return await self._finish(call, request, reply)
        if route.decision is not Decision.ANSWER:
            reason = await self._why_not(call, hits)
            await self._decline(call, reply, question, reason, no_web)
            return await self._finish(call, request, reply)

        read = await passages(call, stages.retriever, settings, hits)
        if not read:
            await self._decline(call, reply, question, gateway_pb2.ABSTAIN_REASON_NO_HITS, no_web)
            return await self._finish(call, request, reply)
        by_chunk = {hit.chunk.id: p for hit, p in zip(hits.items, probabilities, strict=True)}
        relevance = [
            max((by_chunk.get(hit.id, 0.0) for hit in passage.hits), default=0.0)
            for passage in read
        ]
        del reply.sources[:]
        reply.sources.extend(
            replies.source(passage.hits[0], p, (start.page for start in passage.pages))
            for passage, p in zip(read, relevance, strict=True)
        )
        account.emit(Event(sources=gateway_pb2.SourcesFound(sources=reply.sources)))

        draft = await generate(
            call,
            stages.generator,
            question,
            read,
            relevance,
            settings.max_output_tokens,
            show_progress,
        )
        reply.generator = draft.provider
        if draft.unavailable is not None:
            account.report.skip(step_pb2.STEP_GROUND, "no answer was made")
            reply.unavailable.CopyFrom(draft.unavailable)
            return await self._finish(call, request, reply)
        if draft.finish == generator_pb2.FINISH_ABSTAINED:
            reason = gateway_pb2.ABSTAIN_REASON_GENERATOR_ABSTAINED
            await self._decline(call, reply, question, reason, no_web)
            return await self._finish(call, request, reply)
        if draft.finish == generator_pb2.FINISH_REFUSED:
            reply.refused.message = replies.REFUSED
            return await self._finish(call, request, reply)
        verdict = await ground(call, stages.generator, draft, settings.judge_threshold)
        if not verdict.grounded:
            reply.unverified.reasons.extend(verdict.reasons)
            return await self._finish(call, request, reply)

        answered = [citations.sentence(sentence, read) for sentence in verdict.sentences]
        await locate(call, stages.retriever, answered)
        reply.answered.sentences.extend(answered)
        if not show_progress:
            for sentence in answered:
                account.emit(Event(sentence=sentence))
        return await self._finish(call, request, reply)

    async def search(self, request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        """Ranked chunks: the same way, as far as the rerankers."""
        account = Account()
        call = self._call(request.steps, account, "")
        caller = restriction_of(request.filter)
        question = _text("query", request.query)
        limit = request.limit or replies.DEFAULT_RESULTS
        limits = Limits(
            request.search_candidates or max(self._settings.search_candidates, limit),
            request.rerank_candidates or max(self._settings.rerank_candidates, limit),
            limit,
        )
        scoped = await find_scope(call, self._vocabularies, question, caller)
        queries = await expand(call, self._stages.generator, question)
        hits, scoped = await self._candidates(call, queries, scoped, caller, limits)
        route = self._router.decide(hits.scored, len(hits))
        hits, _ = self._spread(hits, route, limits.kept)
        await log_search(call, self._stages.retriever, question, len(hits))
        return replies.search_response(call, hits, scoped, trace=request.trace)

    def _call(self, steps: gateway_pb2.StepToggles, account: Account, request_id: str) -> Call:
        until = min(deadline.current().at, Deadline.after(self._settings.ask_seconds).at)
        return Call(
            request_id=request_id or identity.request_id() or uuid.uuid4().hex,
            plan=Plan.of(steps, self._settings),
            deadline=Deadline(until),
            account=account,
        )

    async def _candidates(
        self,
        call: Call,
        queries: list[retriever_pb2.Query],
        scoped: Scoped,
        caller: Restriction,
        limits: Limits,
    ) -> tuple[Hits, Scoped]:
        """Search, then the rerankers as configured. The last order is cut by _spread, which may reach further down."""
        stages, question = self._stages, queries[0].text
        hits, scoped = await search(call, stages, queries, scoped, caller, limits.search)
        missing = [name for name in RERANKERS if stages.reranker(name) is None]
        for name in [*(reranker.name for reranker in stages.rerankers), *missing]:
            reranker = stages.reranker(name)
            hits = await rerank(call, _STEPS[name], reranker, question, hits, limits.rerank)
        return hits, scoped

    def _route(
        self, call: Call, request: gateway_pb2.AskRequest, hits: Hits, *, web: bool
    ) -> Route:
        with call.account.report.step(step_pb2.STEP_ROUTE) as step:
            threshold = request.answer_threshold if request.HasField("answer_threshold") else None
            route = self._router.decide(hits.scored, len(hits), threshold=threshold, web=web)
            step.model = hits.scored.model if hits.scored else ""
            step.reason = str(route.decision)
            if route.uncalibrated:
                step.degrade(route.uncalibrated)
        return route

    def _spread(self, hits: Hits, route: Route, limit: int) -> tuple[Hits, list[float]]:
        """The hits to go on with, few of one document where others are relevant too, and their probabilities."""
        known = route.probabilities
        # Without probabilities nobody knows what is relevant, and the order stays as it is.
        per_document = self._settings.max_per_document if known else 0
        kept = spread(
            [hit.chunk.document_id for hit in hits.items],
            limit,
            per_document,
            [p >= route.floor for p in known] if known else [True] * len(hits),
        )
        return hits.at(kept), [known[position] if known else 0.0 for position in kept]

    async def _why_not(self, call: Call, hits: Hits) -> "gateway_pb2.AbstainReason.ValueType":
        if len(hits):
            return gateway_pb2.ABSTAIN_REASON_BELOW_THRESHOLD
        try:
            vocabulary = await self._vocabularies.current(call)
        except FolioError:
            return gateway_pb2.ABSTAIN_REASON_NO_HITS
        if vocabulary.documents:
            return gateway_pb2.ABSTAIN_REASON_NO_HITS
        return gateway_pb2.ABSTAIN_REASON_NO_DOCUMENTS

    async def _decline(
        self,
        call: Call,
        reply: gateway_pb2.AskResponse,
        question: str,
        reason: "gateway_pb2.AbstainReason.ValueType",
        no_web: str,
    ) -> None:
        """The documents do not say: the web, where that is allowed, or an honest no."""
        if no_web:
            call.account.report.skip(step_pb2.STEP_WEB, no_web)
        elif found := await search_web(call, self._stages.generator, question):
            reply.web.CopyFrom(found)
            return
        reply.abstained.reason = reason
        reply.abstained.message = (
            replies.NO_DOCUMENTS
            if reason == gateway_pb2.ABSTAIN_REASON_NO_DOCUMENTS
            else replies.NOT_SAID
        )

    async def _finish(
        self, call: Call, request: gateway_pb2.AskRequest, reply: gateway_pb2.AskResponse
    ) -> gateway_pb2.AskResponse:
        replies.close(call, reply, trace=request.trace)
        await log_query(call, self._stages.retriever, request, reply)
        return reply


def _text(field: str, value: str) -> str:
    """A question without control characters. InvalidArgument if nothing is left to ask."""
    text = " ".join(neutralise(value).split())
    if not any(character.isalnum() for character in text):
        raise InvalidArgument.field(field, "holds no word: ask something")
    return text
