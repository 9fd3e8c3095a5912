"""THE query: from a question to a reply, top to bottom.

    rewrite -> scope -> expand -> search -> colbert -> crossencoder -> route -> passages -> generate -> ground -> locate

Each step is one call with a typed input and output (steps/); a step that is off says `skipped`, one that fails says
`degraded`, and the best honest reply is made without it. Only the search is needed: without it there is nothing to
answer from.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator

from folio.common.v1 import document_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1.generator_pb2 import FINISH_ABSTAINED, FINISH_REFUSED
from folio.retriever.v1 import retriever_pb2
from services.gateway import calibration, citations, replies
from services.gateway.clients import Clients
from services.gateway.hits import Hits
from services.gateway.replies import Event, Findings, Outcome
from services.gateway.request import Call, Plan, words_of
from services.gateway.route import Decision, Router
from services.gateway.scope import Scoped
from services.gateway.settings import RERANKERS, GatewaySettings
from services.gateway.steps.expand import expand
from services.gateway.steps.generate import generate
from services.gateway.steps.ground import ground
from services.gateway.steps.locate import locate
from services.gateway.steps.log import log_query, log_search, log_unfinished
from services.gateway.steps.passages import passages
from services.gateway.steps.rerank import rerank
from services.gateway.steps.rewrite import rewrite
from services.gateway.steps.route import kept, route
from services.gateway.steps.scope import drop_scope, find_scope
from services.gateway.steps.search import search
from services.gateway.steps.web import search_web
from services.gateway.vocabularies import Vocabularies
from services.gateway.web_rules import WebRules
from services.rpc import deadline, identity
from services.rpc.deadline import Deadline
from services.rpc.report import Report


class Query:
    """Answers questions. One for the life of the process."""

    def __init__(self, settings: GatewaySettings, clients: Clients) -> None:
        self._settings = settings
        self._clients = clients
        self._vocabularies = Vocabularies(settings.scope_cache_seconds)
        self._router = Router(calibration.load(settings.calibration), settings.answer_threshold)
        self._web_rules = WebRules.load(settings.web_rules)

    async def _outcome(
        self, call: Call, request: gateway_pb2.AskRequest, found: Findings
    ) -> Outcome:
        """THE pipeline. What a reply says beside its outcome is noted in `found` on the way."""
        asked = words_of("question", request.question)
        call.tell(Event(started=gateway_pb2.Started(request_id=call.request_id)))
        rewritten = await rewrite(call, asked, request.history)
        question = found.question = rewritten.question
        if rewritten.clarification:
            return gateway_pb2.Clarify(question=rewritten.clarification)
        scoped = await find_scope(call, self._vocabularies, question)
        call.tell(Event(rewritten=replies.rewritten(question, scoped.scope)))
        queries = await expand(call, question)
        hits, scoped = await self._candidates(call, queries, scoped)
        found.scope = scoped.scope

        routed = found.routed = route(call, self._router, hits)
        if routed.decision is Decision.CLARIFY:
            return gateway_pb2.Clarify(question=replies.WHICH_ONE)
        if routed.decision is Decision.ABSTAIN:
            reason = await self._vocabularies.why_nothing(call, len(hits))
            return await self._decline(call, question, scoped.filter, reason)
        found.read = read = await passages(call, routed.hits)
        if not read:
            reason = gateway_pb2.ABSTAIN_REASON_NO_HITS
            return await self._decline(call, question, scoped.filter, reason)
        call.tell(Event(sources=gateway_pb2.SourcesFound(sources=replies.sources(found))))

        draft = await generate(call, question, read)
        found.generator = draft.provider
        if draft.unavailable is not None:
            call.report.skip(step_pb2.STEP_GROUND, "no answer was made")
            return draft.unavailable
        if draft.finish == FINISH_ABSTAINED:
            reason = gateway_pb2.ABSTAIN_REASON_GENERATOR_ABSTAINED
            return await self._decline(call, question, scoped.filter, reason)
        if draft.finish == FINISH_REFUSED:
            return gateway_pb2.Refused(message=replies.REFUSED)
        verdict = await ground(call, draft)
        if not verdict.grounded:
            return gateway_pb2.Unverified(reasons=verdict.reasons)
        answered = citations.answered(verdict, read, rows=call.plan.table_rows)
        await locate(call, answered.sentences)
        return answered

    async def _candidates(
        self, call: Call, queries: list[retriever_pb2.Query], scoped: Scoped
    ) -> tuple[Hits, Scoped]:
        """Search, then the rerankers as configured; and the scope, unless nothing was found within it."""
        hits = await search(call, queries, scoped.filter)
        if scoped.scope is not None and not len(hits):
            scoped = drop_scope(call)
            hits = await search(call, queries, scoped.filter)
        missing = [name for name in RERANKERS if name not in call.clients.rerankers]
        for name in (*call.clients.rerankers, *missing):
            hits = await rerank(call, name, queries[0].text, hits)
        return hits, scoped

    async def _decline(
        self,
        call: Call,
        question: str,
        within: document_pb2.Filter,
        reason: "gateway_pb2.AbstainReason.ValueType",
    ) -> Outcome:
        """The documents do not say: the web, where that is allowed, or an honest no."""
        found = await search_web(call, self._web_rules, question, within)
        return found or replies.abstained(reason)

    async def _answer(self, call: Call, request: gateway_pb2.AskRequest) -> gateway_pb2.AskResponse:
        """The outcome, packed and logged."""
        identity.enter(identity.current(), call.request_id)
        found = Findings()
        try:
            outcome = await self._outcome(call, request, found)
            if isinstance(outcome, gateway_pb2.Answered) and not call.plan.show_progress:
                for sentence in outcome.sentences:
                    call.tell(Event(sentence=sentence))
            reply = replies.pack(call, found, outcome, trace=request.trace)
            await log_query(call, request.question, reply)
        except (Exception, asyncio.CancelledError) as error:
            await log_unfinished(call, request.question, error)
            raise
        return reply

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
        plan = Plan.for_ask(request, self._settings, show_progress=show_progress)
        call = self._call(plan, request.request_id, queue)
        work = asyncio.create_task(self._answer(call, request))
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while True:
                try:
                    async with asyncio.timeout(self._settings.heartbeat_seconds):
                        event = await queue.get()
                except TimeoutError:
                    event = Event(heartbeat=gateway_pb2.Heartbeat(waiting_for=call.report.current))
                if event is None:
                    break
                yield event
            yield Event(final=work.result())
        finally:
            work.cancel()
            await asyncio.wait({work})

    async def search(self, request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        """Ranked chunks: the same way, as far as the rerankers."""
        call = self._call(Plan.for_search(request, self._settings))
        question = words_of("query", request.query)
        scoped = await find_scope(call, self._vocabularies, question)
        queries = await expand(call, question)
        hits, scoped = await self._candidates(call, queries, scoped)
        hits = kept(call, self._router.decide(hits.scored, len(hits)), hits)
        await log_search(call, question, len(hits))
        return replies.search_response(call, hits, scoped.scope, trace=request.trace)

    def _call(
        self, plan: Plan, request_id: str = "", queue: asyncio.Queue[Event | None] | None = None
    ) -> Call:
        def tell(event: Event) -> None:
            if queue is not None:
                queue.put_nowait(event)

        until = min(deadline.current().at, Deadline.after(self._settings.ask_seconds).at)
        return Call(
            request_id=request_id or identity.request_id() or uuid.uuid4().hex,
            plan=plan,
            deadline=Deadline(until),
            settings=self._settings,
            clients=self._clients,
            report=Report(lambda step: tell(Event(step=step))),
            tell=tell,
        )
