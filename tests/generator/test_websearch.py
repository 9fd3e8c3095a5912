"""Web search providers against a server that speaks their wire formats; what strangers wrote comes out plain."""

from typing import Any

import pytest

from services.generator.models import LanguageModel
from services.generator.prices import Prices
from services.generator.providers.anthropic.provider import AnthropicProvider
from services.generator.providers.anthropic.web_search import AnthropicWebSearch
from services.generator.websearch import WebResult, WebSearch
from services.generator.websearch.brave import BraveSearch
from services.generator.websearch.cleaning import is_page, plain
from services.generator.websearch.searxng import SearxngSearch
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
from tests.generator.anthropic_wire import START
from tests.generator.wire import Reply, provider, whole

KEY = "canary-key-31c9"
ROWS = [
    ("Leave <b>law</b>", "https://example.org/leave", "16&nbsp;weeks\u200b of\nleave"),
    ("Script", "javascript:alert(1)", "x"),
    ("Other", "http://example.com/a?b=c", "te\U000e0041xt \u0645\u06cc\u200c\u062e\u2066"),
    ("Twice", "https://example.org/leave", "again"),
]
RESULTS = (
    WebResult("Leave law", "https://example.org/leave", "16 weeks of leave"),
    WebResult("Other", "http://example.com/a?b=c", "text \u0645\u06cc\u200c\u062e"),
)


def searxng_reply() -> Reply:
    return whole({"results": [{"title": t, "url": u, "content": s} for t, u, s in ROWS]})


def brave_reply() -> Reply:
    rows = [{"title": t, "url": u, "description": s} for t, u, s in ROWS]
    return whole({"type": "search", "web": {"type": "search", "results": rows}})


def claude_reply(stop: str = "end_turn", failed: bool = False) -> Reply:
    found: Any = [
        {
            "type": "web_search_result",
            "title": t,
            "url": u,
            "encrypted_content": "e",
            "page_age": None,
        }
        for t, u, _ in ROWS
    ]
    if failed:
        found = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    cites = [
        {
            "type": "web_search_result_location",
            "url": u,
            "title": t,
            "encrypted_index": "i",
            "cited_text": s,
        }
        for t, u, s in ROWS[:3]
    ]
    content = [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "q"},
        },
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
        {"type": "text", "text": "So it is.", "citations": cites},
    ]
    return whole({**START["message"], "content": content, "stop_reason": stop})


def searches(url: str) -> dict[str, WebSearch]:
    claude = AnthropicProvider(KEY, url)
    return {
        "searxng": SearxngSearch(url),
        "brave": BraveSearch(KEY, url),
        "anthropic": AnthropicWebSearch(claude, LanguageModel(claude, "claude-x", Prices({}))),
    }


REPLIES = {"searxng": searxng_reply, "brave": brave_reply, "anthropic": claude_reply}


@pytest.mark.parametrize("name", REPLIES)
async def test_results_are_plain_text_and_web_pages(name: str) -> None:
    async with provider(REPLIES[name]()) as spoken:
        found = await searches(spoken.url)[name].search("parental leave law", 5, Deadline.after(5))
        (received,) = spoken.received
    assert found.results == RESULTS
    assert b"parental" in received.path.encode() + received.body
    assert len("parental leave law") <= found.bytes_sent <= len(received.path) + len(received.body)
    assert (KEY in str(received.headers)) == (name != "searxng")


@pytest.mark.parametrize("name", REPLIES)
async def test_no_more_than_asked_for(name: str) -> None:
    async with provider(REPLIES[name]()) as spoken:
        found = await searches(spoken.url)[name].search("q", 1, Deadline.after(5))
    assert found.results == RESULTS[:1]


FAULTS: dict[str, tuple[Reply, type[FolioError]]] = {
    "bad key": (whole({}, 401), FailedPrecondition),
    "too many": (whole({}, 429, retry_after="7"), ResourceExhausted),
    "down": (whole({}, 502), Unavailable),
    "moved": (whole({}, 302, location="http://elsewhere.example/"), FailedPrecondition),
    "no JSON": (Reply(chunks=[b"<html>"]), Internal),
    "a list": (whole([]), Internal),
    "cut": (Reply(chunks=[b'{"results'], cut=True), Unavailable),
    "huge": (Reply(chunks=[b" " * 2**20] * 5), Internal),
}


@pytest.mark.parametrize("name", ["searxng", "brave"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_an_error_with_a_kind(name: str, fault: str) -> None:
    reply, expected = FAULTS[fault]
    async with provider(reply) as spoken:
        with pytest.raises(expected) as raised:
            await searches(spoken.url)[name].search("secret words", 5, Deadline.after(5))
    assert "secret" not in raised.value.message
    assert KEY not in raised.value.message


@pytest.mark.parametrize("name", REPLIES)
async def test_the_deadline_holds(name: str) -> None:
    async with provider(Reply(wait_s=30)) as spoken:
        with pytest.raises(DeadlineExceeded):
            await searches(spoken.url)[name].search("q", 5, Deadline.after(0.6))
        assert await spoken.left()


@pytest.mark.parametrize(
    "body", [{}, {"results": None}, {"results": [1, None, {}]}, {"web": {"results": "x"}}]
)
@pytest.mark.parametrize("name", ["searxng", "brave"])
async def test_a_reply_without_results_has_none(name: str, body: dict[str, Any]) -> None:
    async with provider(whole(body)) as spoken:
        found = await searches(spoken.url)[name].search("q", 5, Deadline.after(5))
    assert found.results == ()


async def test_claude_goes_on_after_a_pause() -> None:
    async with provider(claude_reply("pause_turn"), claude_reply()) as spoken:
        found = await searches(spoken.url)["anthropic"].search("q", 5, Deadline.after(5))
    assert found.results == RESULTS
    assert spoken.received[1].json["messages"][-1]["role"] == "assistant"
    assert found.usage.input_tokens == 214


@pytest.mark.parametrize("reply", [claude_reply(failed=True), claude_reply("refusal")])
async def test_claudes_failed_search_is_an_error(reply: Reply) -> None:
    async with provider(reply) as spoken:
        with pytest.raises(Aborted):
            await searches(spoken.url)["anthropic"].search("q", 5, Deadline.after(5))


BAD_ADDRESSES = [
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "//example.org",
    "https://",
    "https://u:p@example.org/",
    "https://example.org/\n",
    "https://example.org/ x",
    "https://ex\u0430mple.org/",
    'https://example.org/"onload=',
    "https://[x",
    "https://example.org/" + "a" * 3000,
]


@pytest.mark.parametrize("url", BAD_ADDRESSES)
def test_what_is_no_web_page_is_left_out(url: str) -> None:
    assert not is_page(url)


def test_markup_goes_even_where_entities_spell_it() -> None:
    assert (
        plain("&lt;script&gt;alert(1)&lt;/script&gt; \x1b[31mred\u202e", 100) == "alert(1) [31mred"
    )
