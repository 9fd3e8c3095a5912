"""What a caller's type checker and a caller's first run see of the clients."""

import inspect
import subprocess
import sys
import typing
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from folio import AsyncFolio, Folio, messages
from folio.gateway.v1 import gateway_pb2

ROOT = Path(__file__).resolve().parents[2]
CALLER = """
import asyncio
from folio import AsyncFolio, Folio

def sync(folio: Folio) -> None:
    reveal_type(folio.ask("q", history=[("user", "p")], steps={"colbert": True}))
    reveal_type(folio.search("q", limit=3))
    reveal_type(folio.ingest(b"", "a.txt", title="A"))
    folio.ask("q", colection="people")  # wrong: no such keyword
    folio.ask("q", steps={"colbrt": True})  # wrong: no such step
    folio.search("q", limit="3")  # wrong: no number
    folio.ingest(b"", "a.txt", titel="A")  # wrong: no such keyword
    folio.ask("q").anwsered  # wrong: no such field
    folio.statsu()  # wrong: no such method

async def both(folio: AsyncFolio) -> None:
    reveal_type(await folio.ask("q"))
    async for event in folio.stream_ask("q"):
        reveal_type(event)
    await folio.search("q", limt=3)  # wrong: no such keyword
"""


def public(client: type) -> dict[str, Callable[..., Any]]:
    return {
        name: member
        for name, member in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_")
    }


def returned(method: Callable[..., Any]) -> Any:
    """What the caller gets in the end: awaited, and with iterators of both kinds alike."""
    hint = typing.get_type_hints(method)["return"]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Coroutine:
        return inner[-1]
    return (Iterator, *inner) if origin in (Iterator, AsyncIterator) else hint


def test_both_clients_have_the_same_methods() -> None:
    sync, asynchronous = public(Folio), public(AsyncFolio)
    assert set(sync) == set(asynchronous)
    for name, method in sync.items():
        other = asynchronous[name]
        ours, theirs = inspect.signature(method), inspect.signature(other)
        assert ours.parameters == theirs.parameters, name
        assert returned(method) == returned(other), name


def test_only_the_async_client_is_awaited() -> None:
    for name, method in public(AsyncFolio).items():
        hint = typing.get_type_hints(method)["return"]
        awaited = inspect.iscoroutinefunction(method) or typing.get_origin(hint) is Coroutine
        assert awaited is (typing.get_origin(hint) is not AsyncIterator), name


@pytest.mark.parametrize(
    ("options", "build"),
    [
        (messages.AskOptions, messages.ask_request),
        (messages.SearchOptions, messages.search_request),
        (messages.IngestOptions, messages.ingest_requests),
    ],
)
def test_options_are_the_keywords_that_are_taken(
    options: type, build: Callable[..., object]
) -> None:
    hints = typing.get_type_hints(build)
    parameters = inspect.signature(build).parameters.values()
    keywords = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    assert typing.get_type_hints(options) == {name: hints[name] for name in keywords}


def test_steps_are_those_of_the_contract() -> None:
    fields = {field.name for field in gateway_pb2.StepToggles.DESCRIPTOR.fields}
    assert messages.Steps.__optional_keys__ == fields


@pytest.mark.parametrize("value", ["off", "true", None, 2])
def test_a_step_is_on_or_off_and_nothing_else(value: Any) -> None:
    with pytest.raises(ValueError, match=r"step colbert is .*; expected True or False"):
        messages.ask_request("q", steps={"colbert": value})


@pytest.mark.parametrize("method", ["ask", "stream_ask", "search"])
async def test_a_misspelt_keyword_fails_at_the_call(method: str) -> None:
    """Nothing is sent, awaited or iterated: nobody listens at this address."""
    with Folio("localhost:1", "key") as folio, pytest.raises(TypeError, match="colection"):
        getattr(folio, method)("q", colection="people")
    async with AsyncFolio("localhost:1", "key") as other:
        with pytest.raises(TypeError, match="colection"):
            getattr(other, method)("q", colection="people")
        with pytest.raises(TypeError, match="titel"):
            other.ingest(b"", "a.txt", titel="A")  # type: ignore[call-arg]
        with pytest.raises(ValueError, match="no step colbrt"):
            messages.named_steps({"colbrt": True})


def test_mypy_finds_what_is_wrong_and_knows_what_is_returned(tmp_path: Path) -> None:
    caller = tmp_path / "caller.py"
    caller.write_text(CALLER)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
            *("--cache-dir", str(tmp_path / "cache"), str(caller)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = CALLER.splitlines()
    found = {
        int(said.split(":")[1])
        for said in done.stdout.splitlines()
        if f"{caller.name}:" in said and " error: " in said
    }
    wrong = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    assert found == wrong, done.stdout
    for name in ("AskResponse", "SearchResponse", "StreamAskResponse", "IngestResponse"):
        assert f"folio.gateway.v1.gateway_pb2.{name}" in done.stdout
    assert "Any" not in done.stdout
