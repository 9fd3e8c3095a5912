"""Leaves one line in the log and one row in the query log: outcome, timings, egress; never any text in the line."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable

from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.request import Call
from services.gateway.stages import Retriever
from services.rpc import identity
from services.rpc.errors import FolioError

log = logging.getLogger("folio.gateway")

PART = 0.5
LEAST_S, MOST_S = 0.5, 1.0
MAX_ENTRIES = 40


async def log_query(
    call: Call,
    retriever: Retriever,
    request: gateway_pb2.AskRequest,
    reply: gateway_pb2.AskResponse,
) -> None:
    """Logs a finished question. The retriever keeps its text only where the organization's retention allows it.

    A ledger that cannot be written loses no answer, but it is an error in the log: egress must not go unrecorded.
    """
    outcome = reply.WhichOneof("outcome") or ""
    log.info("ask", extra={**_line(call), "outcome": outcome})
    await _write(call, retriever, outcome, request.question)


async def log_unfinished(
    call: Call, retriever: Retriever, request: gateway_pb2.AskRequest, error: BaseException
) -> None:
    """Logs a question that ended without a reply; in the query log only where text has left the suite for it."""
    outcome = "failed"
    if isinstance(error, asyncio.CancelledError):
        outcome = "cancelled"
    log.info("ask", extra={**_line(call), "outcome": outcome})
    if call.account.egress:
        await _write(call, retriever, outcome, request.question)


async def log_search(call: Call, retriever: Retriever, query: str, results: int) -> None:
    """Logs a finished search; in the query log only where text has left the suite for it."""
    log.info("search", extra={**_line(call), "results": results})
    if call.account.egress:
        await _write(call, retriever, "searched", query)


async def _write(call: Call, retriever: Retriever, outcome: str, question: str) -> None:
    account = call.account
    try:
        await retriever.call(
            retriever.stub.LogQuery,
            retriever_pb2.LogQueryRequest(
                request_id=call.request_id,
                outcome=outcome,
                question=question,
                stages=account.reports[:MAX_ENTRIES],
                egress=_entries(account.egress),
            ),
            # A second at most; half a second even where the question took all its time.
            min(max(call.deadline.remaining() * PART, LEAST_S), MOST_S),
        )
    except FolioError as error:
        log.error(
            "query log not written",
            extra={"request_id": call.request_id, "code": error.code.name},
        )


def _entries(egress: Iterable[gateway_pb2.Egress]) -> list[retriever_pb2.EgressEntry]:
    """One for each provider and purpose: a judge is asked once a sentence, and the log takes only forty."""
    sent: Counter[tuple[str, str]] = Counter()
    for entry in egress:
        sent[entry.provider, entry.purpose] += entry.bytes_sent
    return [
        retriever_pb2.EgressEntry(provider=provider, purpose=purpose, bytes_sent=size)
        for (provider, purpose), size in sent.items()
    ]


def _line(call: Call) -> dict[str, object]:
    account = call.account
    return {
        "request_id": call.request_id,
        "organization_id": identity.current().organization_id,
        "ms": round(account.elapsed_ms, 1),
        "stages_ms": {report.stage: round(report.elapsed_ms, 1) for report in account.reports},
        "egress": [(entry.provider, entry.purpose, entry.bytes_sent) for entry in account.egress],
    }
