"""Asks a gateway in tests, and reads its replies."""

from typing import Any

from folio.common.v1 import stage_pb2
from folio.gateway.v1 import gateway_pb2
from tests.gateway.stage_servers import (
    Suite,
)

QUESTION = "How many weeks of parental leave do full-time staff get?"
RAN, SKIPPED, DEGRADED = (
    stage_pb2.STAGE_STATUS_RAN,
    stage_pb2.STAGE_STATUS_SKIPPED,
    stage_pb2.STAGE_STATUS_DEGRADED,
)


def ask(question: str = QUESTION, **fields: Any) -> gateway_pb2.AskRequest:
    return gateway_pb2.AskRequest(question=question, **fields)


def report(reply: Any, stage: str) -> stage_pb2.StageReport:
    """The last report of a stage."""
    found: list[stage_pb2.StageReport] = [each for each in reply.stages if each.stage == stage]
    return found[-1]


async def events(suite: Suite, request: gateway_pb2.StreamAskRequest) -> list[Any]:
    call = suite.stub.StreamAsk(request, timeout=20, metadata=suite.metadata())
    return [event async for event in call]
