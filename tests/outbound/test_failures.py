"""Every status means the same, whichever provider sends it and whichever SDK is in between."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any, TypeVar

import pytest
from pydantic import SecretStr
from pydantic_settings import BaseSettings

from services.crossencoder.models import SCORERS
from services.crossencoder.settings import CrossEncoderSettings
from services.generator.answers import Source
from services.generator.models import Models
from services.generator.providers import PROVIDERS
from services.generator.settings import GeneratorSettings
from services.generator.websearch import WEB_SEARCHES
from services.outbound import failures
from services.outbound.failures import AWAY, BUSY, REFUSED, TOO_LARGE, UNREADABLE
from services.outbound.retries import RETRY_AFTER_S, retrying
from services.retriever.embedders import EMBEDDERS
from services.retriever.settings import RetrieverSettings
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    FailedPrecondition,
    FolioError,
    Internal,
    ResourceExhausted,
    Unavailable,
)
from services.rpc.providers import load
from tests.generator.wire import provider, whole

KEY = "canary-key-77d0"
REFUSES = (FailedPrecondition, REFUSED)
IS_AWAY = (Unavailable, AWAY)
IS_BUSY = (ResourceExhausted, BUSY)
MEANINGS: dict[int, tuple[type[FolioError], str]] = {
    302: REFUSES,
    400: REFUSES,
    401: REFUSES,
    402: REFUSES,
    403: REFUSES,
    404: REFUSES,
    405: REFUSES,
    408: IS_AWAY,
    409: IS_AWAY,
    410: REFUSES,
    413: (ResourceExhausted, TOO_LARGE),
    418: REFUSES,
    422: REFUSES,
    424: IS_AWAY,
    425: IS_AWAY,
    429: IS_BUSY,
    500: IS_AWAY,
    501: IS_AWAY,
    502: IS_AWAY,
    503: IS_AWAY,
    504: IS_AWAY,
    529: IS_BUSY,
}
# What this SDK takes for an answer, and then cannot read.
UNSEEN = {"scorer voyage": {302, 501, 529}}
# Whose SDK keeps the headers of a failure to itself.
WITHOUT_HEADERS = {"language_model ollama"}

Call = Callable[[], Awaitable[object]]
S = TypeVar("S", bound=BaseSettings)


def filled(settings: type[S], url: str, **others: object) -> S:
    """Settings in which every address is `url` and every key is KEY."""
    values: dict[str, object] = {
        name: KEY if field.annotation is SecretStr else url
        for name, field in settings.model_fields.items()
        if field.annotation is SecretStr or name.endswith(("_url", "_host"))
    }
    return settings.model_validate({**values, "internal_secret": "x" * 32, **others})


def embedder(name: str, url: str) -> Call:
    settings = filled(
        RetrieverSettings,
        url,
        database_url="postgresql://nowhere/",
        embedder=name,
        embeddings_model="org/model",
        embeddings_dim=2,
    )
    made = load(EMBEDDERS, name).create(settings)
    return lambda: made.embed(["secret words"])


def scorer(name: str, url: str) -> Call:
    made = load(SCORERS, name).create(filled(CrossEncoderSettings, url, model="m"))

    async def call(seconds: float) -> object:
        return await made.score("secret words", ["text"], truncate=True, seconds=seconds)

    return lambda: retrying(name, call, Deadline.after(30))


def web_search(name: str, url: str) -> Call:
    settings = filled(GeneratorSettings, url, model="m")
    made = load(WEB_SEARCHES, name).create(settings, Models(settings))
    return lambda: made.search("secret words", 5, Deadline.after(30))


def language_model(name: str, url: str) -> Call:
    """One try. That the generator's tries end with the deadline is in tests/generator."""
    model = Models(filled(GeneratorSettings, url)).open(name, "m")
    sources = [Source(index=0, title="Title", text="Some text.", hits=(), relevance=1.0)]

    async def call(seconds: float) -> object:
        return [delta async for delta in model.stream("secret words", sources, 10)]

    return lambda: retrying(name, call, Deadline.after(30), attempts=1)


# All that are not in this process, so that a new provider is called here by itself.
CALLS = {
    f"{make.__name__} {name}": partial(make, name)
    for make, registry in (
        (embedder, EMBEDDERS),
        (scorer, SCORERS),
        (web_search, WEB_SEARCHES),
        (language_model, PROVIDERS),
    )
    for name in registry
    # It needs PyTorch to be imported, and is local.
    if name != "sentence-transformers" and not load(registry, name).local
}


async def failure_of(call: Call) -> FolioError:
    with pytest.raises(FolioError) as raised:
        await call()
    return raised.value


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("as_date", [False, True])
async def test_every_status_means_the_same_from_everybody(name: str, as_date: bool) -> None:
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    sent = {"retry-after": in_an_hour if as_date else "3600"}
    body = {"detail": KEY, "message": KEY}
    unseen = UNSEEN.get(name, set())
    seen: dict[int, tuple[type[FolioError], str]] = {}
    async with provider(*(whole(body, status, **sent) for status in MEANINGS)) as spoken:
        call = CALLS[name](spoken.url)
        for number, status in enumerate(MEANINGS, start=1):
            error = await failure_of(call)
            # Nothing is tried again: it is of no use, or the deadline is nearer than the time to come back.
            assert len(spoken.received) == number
            seen[status] = (type(error), error.reason)
            asked = RETRY_AFTER_S if name in WITHOUT_HEADERS else pytest.approx(3600, abs=600)
            waits = error.reason in (BUSY, AWAY)
            assert error.retry_after_s == (asked if waits else None)
            assert KEY not in error.message
            assert "secret" not in error.message
    expected = {
        status: (Internal, UNREADABLE) if status in unseen else meaning
        for status, meaning in MEANINGS.items()
    }
    assert seen == expected


@pytest.mark.parametrize("name", CALLS)
async def test_who_is_busy_always_says_when_to_come_back(name: str) -> None:
    """The gateway takes ResourceExhausted without a time for a refusal for ever, and would go on pushing."""
    body = {"detail": "busy", "message": "busy"}
    async with provider(whole(body, 429)) as spoken:
        error = await failure_of(CALLS[name](spoken.url))
    assert (type(error), error.reason) == IS_BUSY
    assert error.retry_after_s is not None


@pytest.mark.parametrize("name", CALLS)
async def test_a_server_that_is_not_there_is_away(name: str) -> None:
    error = await failure_of(CALLS[name]("http://127.0.0.1:9"))
    assert (type(error), error.reason) == IS_AWAY


@pytest.mark.parametrize("status", [0, 100, 200, 600, 999])
def test_what_is_no_status_of_a_failure_is_unreadable(status: int) -> None:
    error = failures.from_status(status, "the server")
    assert (type(error), error.reason) == (Internal, UNREADABLE)


def test_advice_stands_at_the_end() -> None:
    advice = {401: "check THE_KEY"}
    refused = failures.from_status(401, "the server", advice=advice)
    assert refused.message == "the server does not accept the key (401): check THE_KEY"
    assert failures.from_status(403, "the server", advice=advice).message.endswith("(403)")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        (" 12 ", 12.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("Sun Nov  6 08:49:37 1994", 0.0),
        ("", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("soon", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str, expected: float | None) -> None:
    assert failures.retry_after({"Retry-After": value}) == expected


def test_retry_after_of_nothing() -> None:
    headers: list[Any] = [None, {}, {"x-retry-after": "3"}]
    assert [failures.retry_after(one) for one in headers] == [None, None, None]
