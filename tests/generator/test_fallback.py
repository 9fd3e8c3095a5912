"""A second generator where the first is overloaded, away or refuses; never once something was said."""

from collections.abc import Sequence

import pytest

from services.generator.answering import ModelGenerator
from services.generator.answers import Finish, Result, Sentence, Source
from services.generator.extractive.generator import ExtractiveGenerator
from services.generator.fallback import PATIENCE, FallbackGenerator
from services.generator.models import LanguageModel
from services.generator.prices import Prices
from services.generator.providers.anthropic.provider import AnthropicProvider
from services.generator.providers.openai_compatible.provider import OpenAICompatibleProvider
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition, ResourceExhausted
from tests.generator.anthropic_wire import START, STOP, block, end, error
from tests.generator.wire import Provider, Reply, events, provider, whole

SOURCES = [Source(9, "handbook.pdf", "Full-time staff get 16 weeks of leave.")]
PRICES = Prices(
    {
        "claude-x": {"input": 1.0, "output": 1.0, "cached_input": 1.0, "cache_write": 1.0},
        "m": {"input": 1.0, "output": 1.0},
    }
)
BUSY = whole(error("overloaded_error"), 529, retry_after="300")
REFUSAL = events(START, end("refusal", output_tokens=3), STOP)


def chunk(text: str, finish: str | None = None) -> dict[str, object]:
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]
    usage = {"prompt_tokens": 90, "completion_tokens": 12, "total_tokens": 102}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": choices, "usage": usage if finish else None}


SECOND = events(chunk("Staff get 16 weeks [1]."), chunk("", "stop"), named=False)


def both(first: Provider, second: Provider) -> FallbackGenerator:
    claude = LanguageModel(AnthropicProvider("k", first.url), "claude-x", PRICES)
    server = LanguageModel(OpenAICompatibleProvider("", f"{second.url}/v1"), "m", PRICES)
    return FallbackGenerator(ModelGenerator(claude, PATIENCE), ModelGenerator(server))


async def ask(
    generator: FallbackGenerator, seconds: float = 10.0
) -> tuple[Sequence[Sentence], Result]:
    asked = generator.answer("How long?", SOURCES, 100, Deadline.after(seconds))
    *said, result = [event async for event in asked]
    assert isinstance(result, Result)
    assert result.sentences == tuple(said)
    return result.sentences, result


async def test_while_the_first_answers_the_second_is_not_asked() -> None:
    good = events(START, *block(0, "Sixteen weeks."), end(), STOP)
    async with provider(good) as first, provider(SECOND) as second:
        _, result = await ask(both(first, second))
    assert (result.provider, result.model, result.finish) == (
        "anthropic",
        "claude-x",
        Finish.COMPLETE,
    )
    assert second.received == []


FAILS = {
    "overloaded": BUSY,
    "failing": whole(error("api_error"), 500, retry_after="300"),
    "out of money": whole(error("rate_limit_error", code="enforced_spend_limit_reached"), 429),
    "overloaded in its stream": events(START, error("overloaded_error")),
}


@pytest.mark.parametrize("name", FAILS)
async def test_the_second_answers_and_the_result_says_so(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with provider(FAILS[name]) as first, provider(SECOND) as second:
        said, result = await ask(both(first, second))
    assert [one.text for one in said] == ["Staff get 16 weeks."]
    assert (result.provider, result.model, result.finish) == (
        "openai_compatible",
        "m",
        Finish.COMPLETE,
    )
    assert (result.usage.provider, result.usage.input_tokens) == ("openai_compatible", 90)
    assert len(second.received) == 1
    assert "openai_compatible answers in place of anthropic" in caplog.text
    assert "How long" not in caplog.text


async def test_one_that_does_not_begin_leaves_time_for_the_second() -> None:
    async with provider(Reply(wait_s=30)) as first, provider(SECOND) as second:
        _, result = await ask(both(first, second), seconds=2.0)
    assert result.provider == "openai_compatible"


async def test_a_refusal_is_answered_by_the_second_and_both_are_counted() -> None:
    async with provider(REFUSAL) as first, provider(SECOND) as second:
        _, result = await ask(both(first, second))
    assert result.provider == "openai_compatible"
    # 107 and 3 tokens of the refusal, 40 of its cache, 90 and 12 of the answer.
    spent = result.usage
    assert (spent.input_tokens, spent.output_tokens, spent.cached_input_tokens) == (197, 15, 40)
    assert spent.cost_usd == pytest.approx((107 + 3 + 40 + 90 + 12) / 1e6)


async def test_once_something_was_said_nobody_else_speaks() -> None:
    parts = [*block(0, "Sixteen weeks. And"), *block(1, " more")]
    for late in (error("overloaded_error"), end("refusal")):
        broken = events(START, *parts, late, STOP)
        async with provider(broken) as first, provider(SECOND) as second:
            said, result = await ask(both(first, second))
        assert [one.text for one in said] == ["Sixteen weeks."]
        assert result.provider == "anthropic"
        assert result.finish in {Finish.CUT_SHORT, Finish.REFUSED}
        assert second.received == []


async def test_what_the_second_could_not_do_better_stays_an_error() -> None:
    for status, kind in ((401, "authentication_error"), (413, "request_too_large")):
        async with provider(whole(error(kind), status)) as first, provider(SECOND) as second:
            with pytest.raises((FailedPrecondition, ResourceExhausted)):
                await ask(both(first, second))
        assert second.received == []


async def test_where_both_are_overloaded_the_caller_is_told_when_to_come_back() -> None:
    busy = whole({"error": {"message": "busy"}}, 429, retry_after="60")
    async with provider(BUSY) as first, provider(busy) as second:
        with pytest.raises(ResourceExhausted) as raised:
            await ask(both(first, second), seconds=2.0)
    assert raised.value.retry_after_s == 60


async def test_the_extractive_generator_can_stand_in(extractive: ExtractiveGenerator) -> None:
    async with provider(BUSY) as first:
        claude = LanguageModel(AnthropicProvider("k", first.url), "claude-x", PRICES)
        generator = FallbackGenerator(ModelGenerator(claude, PATIENCE), extractive)
        asked = generator.answer(
            "How many weeks of leave do full-time staff get?", SOURCES, 100, Deadline.after(10)
        )
        *_, result = [event async for event in asked]
    assert isinstance(result, Result)
    assert result.provider == "extractive"
    assert "16 weeks" in result.sentences[0].text
