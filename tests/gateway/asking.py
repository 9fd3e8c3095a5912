"""Asks a gateway in tests, and reads its replies."""

from typing import Any

from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.words import word
from tests.gateway.suite import Suite

QUESTION = "How many weeks of parental leave do full-time staff get?"
RAN, SKIPPED, DEGRADED = (
    step_pb2.STEP_STATUS_RAN,
    step_pb2.STEP_STATUS_SKIPPED,
    step_pb2.STEP_STATUS_DEGRADED,
)


def ask(question: str = QUESTION, **fields: Any) -> gateway_pb2.AskRequest:
    return gateway_pb2.AskRequest(question=question, **fields)


def report(reply: Any, step: str) -> step_pb2.StepReport:
    """The report of a step."""
    found: list[step_pb2.StepReport] = [
        each for each in reply.steps if word(step_pb2.Step, each.step) == step
    ]
    (only,) = found
    return only


async def events(suite: Suite, request: gateway_pb2.StreamAskRequest) -> list[Any]:
    call = suite.stub.StreamAsk(request, timeout=20, metadata=suite.metadata())
    return [event async for event in call]
