"""Judges a whole answer: in code always, by a second model where asked for."""

import asyncio

from folio.generator.v1 import generator_pb2
from services.gateway.egress import Ledger
from services.gateway.grounding.check import CheckedSentence, Verdict, conclude
from services.gateway.grounding.factual import facts
from services.gateway.request import Call
from services.gateway.stages import Generator
from services.gateway.steps.generate import Draft

PART = 0.7
MAX_EVIDENCE = 20
# Sentences judged at once: a long answer must not fill the generator's queue and so escape its judge.
AT_ONCE = 4

_UNFINISHED = {
    generator_pb2.FINISH_MAX_TOKENS: "the answer was cut off by the limit of its length",
    generator_pb2.FINISH_CUT_SHORT: "the answer was cut short",
    generator_pb2.FINISH_UNSPECIFIED: "the answer did not end",
}


async def ground(
    call: Call, generator: Generator | None, ledger: Ledger, draft: Draft, threshold: float
) -> Verdict:
    """The verdict. An answer that is not whole is not grounded, whatever its sentences."""
    verdict = conclude(draft.checked)
    with call.account.step("ground") as step:
        unfinished = draft.failure or _UNFINISHED.get(draft.finish, "")
        if unfinished:
            # Of an answer without sentences the check says that it is empty; why it is, is the better reason.
            others = verdict.reasons if draft.checked else ()
            verdict = Verdict(verdict.sentences, (unfinished, *others))
        if verdict.grounded and call.plan.judge and generator is not None:
            described = await generator.described(call.deadline.share(PART))
            if not described.judges:
                step.degrade("a judge was asked for, and the generator has none")
            else:
                # A judge of another name than the generator's model runs inside the stage.
                about = described.capabilities
                sent = about.details.get("judge") == about.model
                verdict = await _judged(
                    call, generator, ledger if sent else None, verdict, threshold
                )
    return verdict


async def _judged(
    call: Call, generator: Generator, ledger: Ledger | None, verdict: Verdict, threshold: float
) -> Verdict:
    """Every sentence that states a fact is read beside its quotes; one that finds too little support fails."""
    places = asyncio.Semaphore(AT_ONCE)

    async def support(sentence: CheckedSentence) -> float:
        request = generator_pb2.JudgeRequest(
            sentence=sentence.text,
            evidence=[quote.text for quote in sentence.quotes[:MAX_EVIDENCE]],
        )
        async with places:
            if ledger is not None:
                await ledger.note(call.account, generator, "judge", request)
            reply = await generator.call(generator.stub.Judge, request, call.deadline.share(PART))
        call.account.spend(reply.usage)
        return reply.support

    judged = [
        (number, sentence)
        for number, sentence in enumerate(verdict.sentences, 1)
        if sentence.quotes and facts(sentence.text)
    ]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(support(sentence)) for _, sentence in judged]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    reasons = tuple(
        f"sentence {number}: the judge found its quotes too weak"
        for (number, _), task in zip(judged, tasks, strict=True)
        if not task.result() >= threshold
    )
    return Verdict(verdict.sentences, reasons)
