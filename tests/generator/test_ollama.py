"""Ollama through its real SDK, against a server that speaks the documented format, faults included."""

import json
import logging
from typing import Any

import pytest

from services.generator.answering import ModelGenerator
from services.generator.answers import Citation, Finish, Result, Sentence, Source
from services.generator.instructions import ABSTAINS
from services.generator.models import LanguageModel
from services.generator.prices import Prices
from services.generator.providers.ollama.provider import OllamaProvider
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
    Unavailable,
)
from tests.generator.wire import Provider, Reply, provider, whole

KEY = "ollama-canary-51c0"
LEAVE = "Full-time staff get 16 weeks of leave. Part-time staff get 10 weeks."
SOURCES = [Source(4, "travel.pdf", "Hotels cost 140 euros."), Source(9, "handbook.pdf", LEAVE)]
SAID = (
    Sentence(
        "Full-time staff get 16 weeks.",
        (Citation(9, "Full-time staff get 16 weeks of leave.", 0, 38),),
    ),
    Sentence(
        "Part-time staff get 10 weeks.", (Citation(9, "Part-time staff get 10 weeks.", 39, 68),)
    ),
)
PIECES = ["Full-time staff", " get 16 weeks [", "2]. Part-time", " staff get 10 weeks.[2]"]


def line(text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "model": "llama3.2",
        "created_at": "2023-08-04T08:52:19.385406455-07:00",
        "message": {"role": "assistant", "content": text},
        "done": False,
        **more,
    }


def end(reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    why = {"done_reason": reason} if reason else {}
    return {
        **line(**more),
        **why,
        "done": True,
        "prompt_eval_count": 90,
        "eval_count": 12,
        "total_duration": 4883583458,
    }


def lines(*values: dict[str, Any], **options: Any) -> Reply:
    chunks = [json.dumps(value).encode() + b"\n" for value in values]
    return Reply(chunks=chunks, headers={"content-type": "application/x-ndjson"}, **options)


TEXT = [line(piece) for piece in PIECES]
GOOD = lines(*TEXT, end())


def llama(spoken: Provider) -> LanguageModel:
    source = OllamaProvider(spoken.url, KEY, context_tokens=4096)
    return LanguageModel(source, "llama3.2", Prices({"llama3.2": {"input": 1.0, "output": 2.0}}))


async def ask(spoken: Provider, seconds: float = 20.0) -> tuple[list[Sentence], Result]:
    """What was streamed, and the result; checks that they are equal."""
    said: list[Sentence] = []
    results: list[Result] = []
    generator = ModelGenerator(llama(spoken))
    async for event in generator.answer("How long?", SOURCES, 300, Deadline.after(seconds)):
        if isinstance(event, Result):
            results.append(event)
        else:
            said.append(event)
    (result,) = results
    assert result.sentences == tuple(said)
    return said, result


async def test_markers_become_citations_with_the_words_of_the_source() -> None:
    async with provider(GOOD) as spoken:
        said, result = await ask(spoken)
    assert tuple(said) == SAID
    assert (result.finish, result.provider, result.model) == (
        Finish.COMPLETE,
        "ollama",
        "llama3.2",
    )
    assert (result.usage.input_tokens, result.usage.output_tokens) == (90, 12)
    assert result.usage.cost_usd == pytest.approx((90 + 24) / 1e6)


async def test_sends_numbered_sources_and_the_limits() -> None:
    async with provider(GOOD) as spoken:
        await ask(spoken)
    (received,) = spoken.received
    assert (received.method, received.path) == ("POST", "/api/chat")
    assert received.headers["authorization"] == f"Bearer {KEY}"
    sent = received.json
    assert (sent["model"], sent["stream"], sent["think"]) == ("llama3.2", True, False)
    assert sent["options"] == {"num_predict": 300, "num_ctx": 4096, "temperature": 0}
    system, user = sent["messages"]
    assert system["role"] == "system"
    assert '<document number="2" title="handbook.pdf">' in user["content"]
    assert user["content"].endswith("Question: How long?")


async def test_what_a_model_thinks_is_no_answer() -> None:
    thought = {**line(), "message": {"role": "assistant", "content": "", "thinking": "Hm [1]. So."}}
    async with provider(lines(thought, *TEXT, end())) as spoken:
        said, _ = await ask(spoken)
    assert tuple(said) == SAID


ENDS = {
    "stop": Finish.COMPLETE,
    "length": Finish.MAX_TOKENS,
    None: Finish.CUT_SHORT,
}


@pytest.mark.parametrize("reason", ENDS)
async def test_only_stop_is_an_answer(reason: str | None) -> None:
    async with provider(lines(*TEXT, end(reason))) as spoken:
        _, result = await ask(spoken)
    assert result.finish is ENDS[reason]


@pytest.mark.parametrize("reason", ["load", "unload", "something_new"])
async def test_an_unknown_end_is_no_answer(reason: str) -> None:
    async with provider(lines(*TEXT, end(reason))) as spoken:
        with pytest.raises(Internal):
            await ask(spoken)


async def test_a_call_of_a_tool_is_no_answer() -> None:
    call = {"function": {"name": "search", "arguments": {"q": "leave"}}}
    asked = {**line(), "message": {"role": "assistant", "content": "", "tool_calls": [call]}}
    async with provider(lines(*TEXT, asked, end())) as spoken:
        _, result = await ask(spoken)
    assert result.finish is Finish.CUT_SHORT


async def test_says_that_the_documents_do_not_answer() -> None:
    async with provider(lines(line(ABSTAINS[:5]), line(ABSTAINS[5:]), end())) as spoken:
        said, result = await ask(spoken)
    assert (said, result.finish) == ([], Finish.ABSTAINED)


@pytest.mark.parametrize("kept", range(1, 5))
@pytest.mark.parametrize("cut", [True, False])
async def test_a_cut_stream_is_never_complete(kept: int, cut: bool) -> None:
    async with provider(lines(*TEXT[:kept], cut=cut)) as spoken:
        try:
            said, result = await ask(spoken, seconds=1.0)
        except FolioError:
            return
    assert result.finish is Finish.CUT_SHORT
    assert tuple(said) == SAID[: len(said)]


async def test_a_stream_that_stalls_ends_with_the_deadline() -> None:
    async with provider(lines(*TEXT, wait_s=30)) as spoken:
        _, result = await ask(spoken, seconds=3.0)
        assert await spoken.left()
    assert result.finish is Finish.CUT_SHORT
    async with provider(Reply(wait_s=30)) as spoken:
        with pytest.raises(DeadlineExceeded):
            await ask(spoken, seconds=0.5)


FAILED = {"error": "llama runner process has terminated: canary"}


async def test_an_error_inside_the_stream_is_tried_again_before_any_text_only() -> None:
    async with provider(lines(FAILED), GOOD) as spoken:
        said, result = await ask(spoken)
        assert len(spoken.received) == 2
    assert (tuple(said), result.finish) == (SAID, Finish.COMPLETE)
    async with provider(lines(*TEXT, FAILED), GOOD) as spoken:
        said, result = await ask(spoken)
        assert len(spoken.received) == 1
    assert (tuple(said), result.finish) == (SAID[:1], Finish.CUT_SHORT)
    assert "canary" not in result.detail


FINAL: dict[str, tuple[Reply, type[FolioError], str]] = {
    "no such model": (
        whole({"error": "model 'llama3.2' not found, canary"}, 404),
        FailedPrecondition,
        "pull the model",
    ),
    "no such parameter": (
        whole({"error": "llama3.2 does not support chat, canary"}, 400),
        FailedPrecondition,
        "did not accept",
    ),
    "no key": (
        whole({"error": "unauthorized", "signin_url": "https://ollama.com/canary"}, 401),
        FailedPrecondition,
        "OLLAMA_API_KEY",
    ),
    "moved": (
        whole({}, 302, location="http://elsewhere.example/"),
        FailedPrecondition,
        "another address",
    ),
    "no JSON": (Reply(chunks=[b"<html>canary\n"]), Internal, "Ollama sent"),
    "a list": (Reply(chunks=[b'["canary"]\n']), Internal, "Ollama sent"),
    "no message": (lines({"model": "m", "done": False}), Internal, "Ollama sent"),
    "a text that is none": (lines(line(5)), Internal, "Ollama sent"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", FINAL)
async def test_what_cannot_get_better_is_tried_once(name: str) -> None:
    reply, expected, says = FINAL[name]
    async with provider(reply) as spoken:
        with pytest.raises(expected, match=says) as raised:
            await ask(spoken)
    assert len(spoken.received) == 1
    assert "canary" not in raised.value.message


@pytest.mark.parametrize(("status", "expected"), [(503, Unavailable), (429, ResourceExhausted)])
async def test_a_busy_server_is_tried_again_within_the_deadline(
    status: int, expected: type[FolioError]
) -> None:
    busy = whole({"error": "server busy, please try again. maximum pending requests"}, status)
    async with provider(busy, busy, GOOD) as spoken:
        _, result = await ask(spoken)
    assert result.finish is Finish.COMPLETE
    async with provider(busy) as spoken:
        with pytest.raises(expected) as raised:
            await ask(spoken)
    assert raised.value.retry_after_s is not None


async def test_a_server_that_is_away_is_unavailable() -> None:
    async with provider(GOOD) as spoken:
        pass
    with pytest.raises(Unavailable, match="Ollama cannot be reached"):
        await ask(spoken)


async def test_the_key_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="folio")
    async with provider(GOOD) as spoken:
        _, result = await ask(spoken)
    assert KEY not in repr(result) + caplog.text


async def test_small_tasks_refuse_a_cut_text() -> None:
    async with provider(
        whole(end(message={"role": "assistant", "content": "yes"})),
        whole(end("length", message={"role": "assistant", "content": "ye"})),
    ) as spoken:
        model = llama(spoken)
        done = await model.complete("s", "p", max_tokens=5, seconds=5)
        assert (done.text, done.usage.input_tokens, done.usage.output_tokens) == ("yes", 90, 12)
        with pytest.raises(Aborted):
            await model.complete("s", "p", max_tokens=5, seconds=5)
    assert spoken.received[0].json["stream"] is False
