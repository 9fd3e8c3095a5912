"""Leaves one line in the log and one row in the query log: outcome, timings, egress; never any text in the line."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable

from folio.common.v1 import query_pb2, service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from folio.words import word
from services.gateway.request import Call
from services.rpc import identity, rules
from services.rpc.errors import FolioError

log = logging.getLogger("folio.gateway")

PART = 0.5
LEAST_S, MOST_S = 0.5, 1.0
MAX_STEPS = rules.max_items(retriever_pb2.LogQueryRequest, "steps")


async def log_query(call: Call, question: str, reply: gateway_pb2.AskResponse) -> None:
    """Logs a finished question. The retriever keeps its text only where the organization's retention allows it.

    If the ledger cannot be written, the answer is still returned, and the failure is logged as an error, because
    egress must not go unrecorded.
    """
    name = reply.WhichOneof("outcome") or ""
    log.info("ask", extra={**_line(call), "outcome": name})
    outcome = query_pb2.Outcome.Value(f"OUTCOME_{name.upper()}")
    await _write(call, outcome, question)


async def log_unfinished(call: Call, question: str, error: BaseException) -> None:
    """Logs a question that ended without a reply; in the query log only where text has left the suite for it."""
    outcome = query_pb2.OUTCOME_FAILED
    if isinstance(error, asyncio.CancelledError):
        outcome = query_pb2.OUTCOME_CANCELLED
    log.info("ask", extra={**_line(call), "outcome": word(query_pb2.Outcome, outcome)})
    if call.ledger.entries:
        await _write(call, outcome, question)


async def log_search(call: Call, query: str, results: int) -> None:
    """Logs a finished search; in the query log only where text has left the suite for it."""
    log.info("search", extra={**_line(call), "results": results})
    if call.ledger.entries:
        await _write(call, query_pb2.OUTCOME_SEARCHED, query)


async def _write(call: Call, outcome: "query_pb2.Outcome.ValueType", question: str) -> None:
    retriever = call.clients.retriever
    try:
        await retriever.call(
            retriever.stub.LogQuery,
            retriever_pb2.LogQueryRequest(
                request_id=call.request_id,
                outcome=outcome,
                question=question,
                steps=call.report.steps[:MAX_STEPS],
                egress=_entries(call.ledger.entries),
            ),
            # A second at most; half a second even where the question took all its time.
            min(max(call.deadline.remaining() * PART, LEAST_S), MOST_S),
        )
    except FolioError as error:
        log.error(
            "query log not written",
            extra={"request_id": call.request_id, "code": error.code.name},
        )


def _entries(egress: Iterable[service_pb2.Egress]) -> list[service_pb2.Egress]:
    """One for each provider and purpose: a judge is asked once a sentence, and the log takes only forty."""
    sent: Counter[tuple[str, service_pb2.Purpose.ValueType]] = Counter()
    for entry in egress:
        sent[entry.provider, entry.purpose] += entry.bytes_sent
    return [
        service_pb2.Egress(provider=provider, purpose=purpose, bytes_sent=size)
        for (provider, purpose), size in sent.items()
    ]


def _line(call: Call) -> dict[str, object]:
    return {
        "request_id": call.request_id,
        "organization_id": identity.current().organization_id,
        "ms": round(call.report.elapsed_ms, 1),
        "steps_ms": {
            word(step_pb2.Step, step.step): round(step.elapsed_ms, 1) for step in call.report.steps
        },
        "egress": [
            (entry.provider, word(service_pb2.Purpose, entry.purpose), entry.bytes_sent)
            for entry in call.ledger.entries
        ],
    }
