"""Leaves one line in the log and one row in the query log: outcome, timings, egress; never any text in the line."""

import logging

from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.request import Call
from services.gateway.stages import Retriever
from services.rpc import identity
from services.rpc.errors import FolioError

log = logging.getLogger("folio.gateway")

PART = 0.5
MOST_S = 1.0
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
    try:
        await retriever.call(
            retriever.stub.LogQuery,
            retriever_pb2.LogQueryRequest(
                request_id=call.request_id,
                outcome=outcome,
                question=request.question,
                stages=reply.stages[:MAX_ENTRIES],
                egress=[
                    retriever_pb2.EgressEntry(
                        provider=entry.provider, purpose=entry.purpose, bytes_sent=entry.bytes_sent
                    )
                    for entry in reply.egress[:MAX_ENTRIES]
                ],
            ),
            min(call.deadline.share(PART), MOST_S),
        )
    except FolioError as error:
        log.error(
            "query log not written",
            extra={"request_id": call.request_id, "code": error.code.name},
        )


def log_search(call: Call, results: int) -> None:
    """Logs a finished search."""
    log.info("search", extra={**_line(call), "results": results})


def _line(call: Call) -> dict[str, object]:
    account = call.account
    return {
        "request_id": call.request_id,
        "organization_id": identity.current().organization_id,
        "ms": round(account.elapsed_ms, 1),
        "stages_ms": {report.stage: round(report.elapsed_ms, 1) for report in account.reports},
        "egress": [(entry.provider, entry.purpose, entry.bytes_sent) for entry in account.egress],
    }
