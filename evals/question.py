"""One case through the gateway, and what came of it: the only place where replies become records."""

from collections.abc import Iterable, Mapping, Sequence

from evals.golden import Case
from evals.records import Cited, Record, Spent, StepRanking, StepTime
from evals.scoring.answers import Answer, citation_precision, score_answer
from evals.scoring.judgements import Place, rank_documents, rank_items, touches
from evals.scoring.metrics import evaluate, relevant
from evals.target import Organization, call
from folio.common.v1 import service_pb2, step_pb2
from folio.failure import CallFailed
from folio.gateway.v1 import gateway_pb2
from folio.messages import named_steps
from folio.words import word

# A route without a calibration of the model that ranked says that it is degraded. Early rungs rank by such models.
EXEMPT = frozenset({step_pb2.STEP_ROUTE})
# Answers whatever the probability: for a sweep, which applies the thresholds itself.
ALWAYS = 0.0


async def ask(
    case: Case,
    rung: str,
    switches: Mapping[str, bool],
    organization: Organization,
    *,
    answer_threshold: float | None = None,
) -> Record:
    """Asks as a user would. A call that fails, a step that degrades, or an outage makes the record a failed one."""
    try:
        reply = await call(
            lambda: organization.client.ask(
                case.question,
                history=case.history,
                filter=organization.filter(case.scope),
                steps=named_steps(switches),
                answer_threshold=answer_threshold,
                trace=True,
            )
        )
    except CallFailed as failed:
        return _failed(case, rung, f"{failed.code}: {failed.message}")
    outcome = str(reply.WhichOneof("outcome") or "")
    sentences = reply.answered.sentences if outcome == "answered" else ()
    answer = Answer(
        outcome,
        tuple(sentence.text for sentence in sentences),
        tuple(tuple(_place(organization, c) for c in s.citations) for s in sentences),
    )
    rankings = _rankings(reply.rankings, case, organization)
    return Record(
        rung=rung,
        case=case.id,
        organization=case.organization,
        expect=case.expect,
        tags=case.tags,
        failed=_degraded(reply.steps) or _outage(reply),
        outcome=outcome,
        reason=_reason(reply),
        sentences=answer.sentences,
        citations=tuple(_cited(s.citations, case, organization) for s in sentences),
        judgements=case.judgements,
        rankings=rankings,
        metrics=_metrics(rankings, case.judgements),
        score=score_answer(case, answer),
        citation_precision=citation_precision(case, answer),
        source_recall=_source_recall(reply.sources, case, organization),
        probability=reply.answer_probability,
        threshold=reply.answer_threshold,
        generator=reply.generator,
        steps=_steps(reply.steps),
        usage=_usage(reply.usage),
        elapsed_ms=reply.elapsed_ms,
    )


async def search(
    case: Case,
    rung: str,
    switches: Mapping[str, bool],
    organization: Organization,
    *,
    limit: int = 10,
    candidates: int = 0,
) -> Record:
    """Ranks only: nothing is answered. `candidates` of the search, 0 for as many as the services are configured for."""
    try:
        reply = await call(
            lambda: organization.client.search(
                case.question,
                limit=limit,
                filter=organization.filter(case.scope),
                steps=named_steps(switches),
                trace=True,
                search_candidates=candidates,
            )
        )
    except CallFailed as failed:
        return _failed(case, rung, f"{failed.code}: {failed.message}")
    rankings = _rankings(reply.rankings, case, organization)
    return Record(
        rung=rung,
        case=case.id,
        organization=case.organization,
        expect=case.expect,
        tags=case.tags,
        failed=_degraded(reply.steps),
        judgements=case.judgements,
        rankings=rankings,
        metrics=_metrics(rankings, case.judgements),
        steps=_steps(reply.steps),
        elapsed_ms=reply.elapsed_ms,
    )


def _failed(case: Case, rung: str, why: str) -> Record:
    return Record(
        rung=rung,
        case=case.id,
        organization=case.organization,
        expect=case.expect,
        tags=case.tags,
        failed=why,
        judgements=case.judgements,
    )


def _metrics(rankings: Sequence[StepRanking], judgements: Mapping[str, int]) -> dict[str, float]:
    if not relevant(judgements):
        return {}
    return evaluate(rankings[-1].items if rankings else (), judgements)


def _rankings(
    rankings: Iterable[gateway_pb2.Ranking],
    case: Case,
    organization: Organization,
) -> tuple[StepRanking, ...]:
    found = []
    for ranking in rankings:
        step = word(step_pb2.Step, ranking.step)
        chunks = [ranked.chunk_id for ranked in ranking.chunks]
        if len(set(chunks)) != len(chunks):
            raise ValueError(f"{step} ranked a chunk twice; each may be ranked once")
        places = {
            ranked.chunk_id: organization.place(
                ranked.document_id, ranked.page_start, ranked.page_end
            )
            for ranked in ranking.chunks
        }
        items = (
            rank_documents(chunks, places)
            if case.grades
            else rank_items(chunks, places, case.relevant)
        )
        found.append(
            StepRanking(
                step,
                tuple(chunks),
                tuple(ranked.score for ranked in ranking.chunks),
                tuple(items),
                ranking.model,
                word(gateway_pb2.Signal, ranking.signal) if ranking.signal else "",
                tuple(ranked.signal for ranked in ranking.chunks if ranked.HasField("signal")),
            )
        )
    return tuple(found)


def _degraded(steps: Iterable[step_pb2.StepReport]) -> str:
    broken = [
        step
        for step in steps
        if step.status == step_pb2.STEP_STATUS_DEGRADED and step.step not in EXEMPT
    ]
    return "; ".join(f"{word(step_pb2.Step, step.step)}: {step.reason}" for step in broken)


def _outage(reply: gateway_pb2.AskResponse) -> str:
    """Why no answer could be made. A suite without a generator is no outage: its searches count."""
    reason = reply.unavailable.reason
    if not reply.HasField("unavailable") or reason == gateway_pb2.UNAVAILABLE_REASON_NOT_CONFIGURED:
        return ""
    return f"unavailable: {word(gateway_pb2.UnavailableReason, reason)}"


def _steps(steps: Iterable[step_pb2.StepReport]) -> tuple[StepTime, ...]:
    return tuple(
        StepTime(
            word(step_pb2.Step, s.step),
            word(step_pb2.StepStatus, s.status),
            s.reason,
            s.elapsed_ms,
            s.model,
        )
        for s in steps
    )


def _usage(usage: Iterable[service_pb2.Usage]) -> tuple[Spent, ...]:
    return tuple(
        Spent(
            u.provider,
            u.model,
            u.input_tokens,
            u.output_tokens,
            u.cost_usd if u.HasField("cost_usd") else None,
        )
        for u in usage
    )


def _reason(reply: gateway_pb2.AskResponse) -> str:
    if reply.HasField("unverified"):
        return "; ".join(reply.unverified.reasons)
    if reply.HasField("unavailable"):
        return word(gateway_pb2.UnavailableReason, reply.unavailable.reason)
    if reply.HasField("abstained"):
        return word(gateway_pb2.AbstainReason, reply.abstained.reason)
    return ""


def _place(organization: Organization, citation: gateway_pb2.Citation) -> Place:
    return organization.place(citation.document_id, citation.page, citation.page)


def _cited(
    citations: Iterable[gateway_pb2.Citation], case: Case, organization: Organization
) -> tuple[Cited, ...]:
    found = []
    for citation in citations:
        place = _place(organization, citation)
        right = case.answers_from(place.document, place.first, place.last)
        found.append(
            Cited(place.document, citation.page, citation.page_label, citation.quote, right)
        )
    return tuple(found)


def _source_recall(
    sources: Iterable[gateway_pb2.SourcePassage], case: Case, organization: Organization
) -> float | None:
    """Share of the relevant items of which a page was read (or, where nothing was read, found)."""
    if not case.judgements:
        return None
    places = []
    for source in sources:
        chunk = source.chunk
        pages = list(source.pages) or [chunk.page_start, chunk.page_end]
        places.append(organization.place(chunk.document_id, min(pages), max(pages)))
    read = [any(touches(place, item) for place in places) for item in case.relevant]
    read += [any(place.document == document for place in places) for document in case.grades]
    return sum(read) / len(read)
