"""Judges a whole answer: in code always, by a second model where asked for."""

import asyncio
from dataclasses import replace

from folio.common.v1 import service_pb2, step_pb2
from folio.generator.v1 import generator_pb2
from services.gateway.clients import GeneratorClient
from services.gateway.grounding.check import CheckedSentence, Verdict, conclude
from services.gateway.grounding.factual import facts
from services.gateway.request import Call
from services.gateway.steps.generate import Draft
from services.rpc import rules

PART = 0.7
MAX_EVIDENCE = rules.max_items(generator_pb2.JudgeRequest, "evidence")
# Sentences judged at once: a long answer must not fill the generator's queue and so escape its judge.
AT_ONCE = 4

CUT_OFF = "the answer was cut off by the limit of its length"


async def ground(call: Call, draft: Draft) -> Verdict:
    """The verdict. An answer that is not whole is not grounded, whatever its sentences."""
    verdict, generator = conclude(draft.checked), call.clients.generator
    with call.report.step(step_pb2.STEP_GROUND) as step:
        objection = draft.objection
        if not objection and draft.finish == generator_pb2.FINISH_MAX_TOKENS:
            objection = CUT_OFF
        if objection:
            # Of an answer without sentences the check says that it is empty; why it is, is the better reason.
            others = verdict.reasons if draft.checked else ()
            verdict = Verdict(verdict.sentences, (objection, *others))
        if verdict.grounded and call.plan.judge and generator is not None:
            if (await generator.about(call.deadline.share(PART))).judges:
                verdict = await _judged(call, generator, verdict)
            else:
                step.degrade("a judge was asked for, but the generator has none")
    return verdict


async def _judged(call: Call, generator: GeneratorClient, verdict: Verdict) -> Verdict:
    """Every sentence that states a fact is read beside its quotes; one that finds too little support fails."""
    places = asyncio.Semaphore(AT_ONCE)

    async def support(sentence: CheckedSentence) -> float:
        request = generator_pb2.JudgeRequest(
            sentence=sentence.text,
            evidence=[quote.text for quote in sentence.quotes[:MAX_EVIDENCE]],
        )
        async with places:
            seconds = call.deadline.share(PART)
            await call.ledger.note(generator, service_pb2.PURPOSE_JUDGE, request, seconds)
            reply = await generator.call(generator.stub.Judge, request, call.deadline.share(PART))
        call.spend(reply.usage)
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
        if not task.result() >= call.settings.judge_threshold
    )
    read = {number for number, _ in judged}
    return Verdict(
        tuple(
            replace(sentence, judged=number in read)
            for number, sentence in enumerate(verdict.sentences, 1)
        ),
        reasons,
    )
