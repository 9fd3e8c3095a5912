"""The generator as a process: settings from the environment, parts by name, a clean end."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from folio.common.v1 import query_pb2, service_pb2
from folio.words import word
from services.generator.answers import Source
from services.generator.assembly import assemble, open_service
from services.generator.expand.model import ModelExpander
from services.generator.models import Models
from services.generator.providers.anthropic.provider import AnthropicProvider
from services.generator.providers.anthropic.settings import AnthropicSettings
from services.generator.rewrite import Turn
from services.generator.rewrite.model import ModelRewriter
from services.generator.servicer import Parts
from services.generator.settings import GeneratorSettings
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition
from services.rpc.ports import reserved_address
from services.rpc.probe import probe
from services.rpc.testing import SECRET
from tests.generator.anthropic_wire import error
from tests.generator.wire import provider, whole

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-canary-0b42"


def parts_of(chosen: GeneratorSettings) -> Parts:
    return assemble(chosen, Models(chosen))


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> GeneratorSettings:
    monkeypatch.setenv("FOLIO_INTERNAL_SECRET", SECRET)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "RAG_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return GeneratorSettings.load()


CONFIGURED = {
    "extractive": {},
    "anthropic": {"ANTHROPIC_API_KEY": KEY, "RAG_MODEL": "claude-x"},
    "openai_compatible": {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "RAG_MODEL": "m"},
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_provider_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    chosen = settings(monkeypatch, FOLIO_GENERATOR=name, **CONFIGURED[name])
    parts = parts_of(chosen)
    assert parts.generator.provider == name
    has_model = name != "extractive"
    assert parts.rewrites_with_model is has_model
    assert isinstance(parts.rewriter, ModelRewriter) is has_model
    assert isinstance(parts.expander, ModelExpander) is has_model
    assert (parts.judge, parts.web) == (None, None)
    assert KEY not in chosen.describe() + repr(chosen)


@pytest.mark.parametrize(
    ("fallback", "second"),
    [
        ("openai_compatible:m", ("openai_compatible", "m", False)),
        ("anthropic:claude-y", ("anthropic", "claude-y", False)),
        ("extractive", ("extractive", "all-MiniLM-L6-v2 late interaction", True)),
    ],
)
def test_all_who_may_be_sent_the_question_are_told(
    monkeypatch: pytest.MonkeyPatch, fallback: str, second: tuple[str, str, bool]
) -> None:
    configured = {**CONFIGURED["openai_compatible"], **CONFIGURED["anthropic"]}
    told = parts_of(
        settings(
            monkeypatch,
            FOLIO_GENERATOR="anthropic",
            FOLIO_GENERATOR_FALLBACK=fallback,
            **configured,
        )
    ).providers()
    answering = [one for one in told if one.purpose == service_pb2.PURPOSE_ANSWER]
    assert [(one.provider, one.model, one.local) for one in answering] == [
        ("anthropic", "claude-x", False),
        second,
    ]


CLAUDE = {"FOLIO_GENERATOR": "anthropic", **CONFIGURED["anthropic"]}
SEARXNG = {"FOLIO_WEB_SEARCH": "searxng", "FOLIO_SEARXNG_URL": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("variables", "elsewhere"),
    [
        ({"FOLIO_JUDGE": "alignment"}, {}),
        ({"FOLIO_JUDGE": "alignment", **SEARXNG}, {"search_web": "searxng"}),
        (
            {**CLAUDE, "FOLIO_JUDGE": "alignment"},
            {"rewrite": "anthropic", "expand": "anthropic", "answer": "anthropic"},
        ),
        (
            {**CLAUDE, "FOLIO_JUDGE": "llm", "FOLIO_REWRITE_WITH_MODEL": "false"},
            {"expand": "anthropic", "answer": "anthropic", "judge": "anthropic"},
        ),
    ],
)
def test_what_is_done_elsewhere_is_told_for_each_purpose(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], elsewhere: dict[str, str]
) -> None:
    told = parts_of(settings(monkeypatch, **variables)).providers()
    remote = {word(service_pb2.Purpose, one.purpose): one.provider for one in told if not one.local}
    assert remote == elsewhere


WRONG = {
    "an unknown generator": ({"FOLIO_GENERATOR": "oracle"}, "anthropic, extractive"),
    "no key": ({"FOLIO_GENERATOR": "anthropic", "RAG_MODEL": "m"}, "ANTHROPIC_API_KEY"),
    "no model": ({"FOLIO_GENERATOR": "anthropic", "ANTHROPIC_API_KEY": KEY}, "RAG_MODEL"),
    "no server": ({"FOLIO_GENERATOR": "openai_compatible", "RAG_MODEL": "m"}, "OPENAI_BASE_URL"),
    "a fallback without a language model": (
        {"FOLIO_GENERATOR_FALLBACK": "anthropic"},
        "FOLIO_GENERATOR_FALLBACK needs",
    ),
    "a fallback that is the generator": (
        {
            "FOLIO_GENERATOR": "anthropic",
            "FOLIO_GENERATOR_FALLBACK": "anthropic:m",
            "RAG_MODEL": "m",
            "ANTHROPIC_API_KEY": KEY,
        },
        "names the generator itself",
    ),
    "an unknown fallback": (
        {
            "FOLIO_GENERATOR": "anthropic",
            "FOLIO_GENERATOR_FALLBACK": "oracle",
            "RAG_MODEL": "m",
            "ANTHROPIC_API_KEY": KEY,
        },
        "anthropic, extractive",
    ),
    "an llm judge without an llm": ({"FOLIO_JUDGE": "llm"}, "FOLIO_GENERATOR"),
    "an onnx judge without a folder": ({"FOLIO_JUDGE": "onnx"}, "FOLIO_JUDGE_DIR"),
    "an unknown judge": ({"FOLIO_JUDGE": "x"}, "alignment, llm, onnx"),
    "searxng without an address": ({"FOLIO_WEB_SEARCH": "searxng"}, "FOLIO_SEARXNG_URL"),
    "brave without a key": ({"FOLIO_WEB_SEARCH": "brave"}, "FOLIO_BRAVE_API_KEY"),
    "no price file": (
        {
            "FOLIO_GENERATOR": "anthropic",
            "RAG_MODEL": "m",
            "ANTHROPIC_API_KEY": KEY,
            "FOLIO_PRICES": "/nowhere.yaml",
        },
        "FOLIO_PRICES",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    variables, named = WRONG[name]
    with pytest.raises(FailedPrecondition, match=named) as raised:
        parts_of(settings(monkeypatch, **variables))
    assert KEY not in raised.value.message


CAPPED = whole(error("rate_limit_error", code="enforced_spend_limit_reached"), 429)


async def test_one_client_serves_all_and_a_spend_limit_met_by_one_stops_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []
    created = AnthropicProvider.create

    def counting(chosen: AnthropicSettings) -> AnthropicProvider:
        made.append(created(chosen))
        return made[-1]  # type: ignore[return-value]

    monkeypatch.setattr(AnthropicProvider, "create", counting)
    async with provider(CAPPED) as spoken:
        chosen = settings(
            monkeypatch,
            FOLIO_GENERATOR="anthropic",
            FOLIO_GENERATOR_FALLBACK="anthropic:claude-y",
            FOLIO_JUDGE="llm",
            FOLIO_WEB_SEARCH="anthropic",
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_BASE_URL=spoken.url,
            RAG_MODEL="claude-x",
        )
        async with open_service(chosen) as service:
            parts, deadline = service.parts, Deadline.after(10)
            assert parts.judge is not None
            assert parts.web is not None
            assert len(made) == 1
            for work in (
                parts.web.search("q", 3, deadline),
                parts.judge.judge("s", ["e"], deadline),
                anext(aiter(parts.generator.answer("q", [Source(0, "t", "x")], 9, deadline))),
            ):
                with pytest.raises(FailedPrecondition) as raised:
                    await work
                assert raised.value.reason == "SPEND_LIMIT"
            expansion = await parts.expander.expand(
                "q", [query_pb2.QUERY_KIND_HYDE], 3, 1, deadline
            )
            assert "spend limit" in expansion.degraded_reason
            rewrite = await parts.rewriter.rewrite("and it?", [Turn(True, "a pump?")], deadline)
            assert "spend limit" in rewrite.degraded_reason
    assert len(made) == 1
    assert len(spoken.received) == 1


async def test_a_web_searchs_connections_end_with_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_service(settings(monkeypatch, **SEARXNG)) as service:
        web = service.parts.web
    assert web is not None
    with pytest.raises(RuntimeError, match="closed"):
        await web.search("q", 3, Deadline.after(5))


@pytest.mark.integration
async def test_serves_until_sigterm() -> None:
    with reserved_address() as address:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "services.generator",
            env={**os.environ, "FOLIO_INTERNAL_SECRET": SECRET, "FOLIO_LISTEN": address},
            cwd=ROOT,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            while problem := await asyncio.to_thread(
                probe, address, "folio.generator.v1.GeneratorService"
            ):
                assert process.returncode is None, problem
                await asyncio.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
