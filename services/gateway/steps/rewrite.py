"""Makes the last message of a conversation a question that stands alone, or asks back."""

from collections.abc import Sequence
from dataclasses import dataclass

from folio.common.v1 import service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from services.gateway.grounding.text import neutralise
from services.gateway.request import Call

# Only these many turns are read, and of each so many characters: enough for "it" and "there", bounded for a model.
TURNS = 6
TURN_CHARACTERS = 4000
PART = 0.15

_ROLES = {
    gateway_pb2.SPEAKER_USER: generator_pb2.ROLE_USER,
    gateway_pb2.SPEAKER_ASSISTANT: generator_pb2.ROLE_ASSISTANT,
}


@dataclass(frozen=True)
class Rewritten:
    """The question as it is searched; or, if `clarification` is set, what to ask back."""

    question: str
    clarification: str = ""


async def rewrite(call: Call, question: str, history: Sequence[gateway_pb2.Message]) -> Rewritten:
    """The standalone question. On any failure the question as it was asked, and the report says so."""
    if not call.plan.rewrite:
        call.report.skip(step_pb2.STEP_REWRITE, "switched off")
        return Rewritten(question)
    generator = call.clients.generator
    if generator is None:
        call.report.skip(step_pb2.STEP_REWRITE, "no generator is configured")
        return Rewritten(question)
    result = Rewritten(question)
    with call.report.step(step_pb2.STEP_REWRITE) as step:
        request = generator_pb2.RewriteRequest(
            question=question,
            history=[
                generator_pb2.Turn(role=_ROLES[turn.speaker], text=turn.text[:TURN_CHARACTERS])
                for turn in history[-TURNS:]
                if turn.text.strip()
            ],
        )
        # Without a conversation there is nothing to resolve, and no model is asked.
        described = await generator.about(call.deadline.share(PART))
        if described.rewrites_with_model and request.history:
            await call.ledger.note(
                generator, service_pb2.PURPOSE_REWRITE, request, call.deadline.share(PART)
            )
        reply = await generator.call(generator.stub.Rewrite, request, call.deadline.share(PART))
        call.spend(reply.usage)
        step.model = reply.method
        if reply.unchanged:
            step.skip("the question stands alone")
        if reply.degraded_reason:
            step.degrade(reply.degraded_reason)
        standalone = reply.standalone_question.strip()
        if reply.WhichOneof("outcome") == "clarification" and reply.clarification.strip():
            result = Rewritten(question, neutralise(reply.clarification.strip()))
        elif standalone:
            result = Rewritten(standalone)
        else:
            step.degrade("the rewrite was empty; the question is searched as it was asked")
    return result
