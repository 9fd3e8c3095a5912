"""The providers behind HTTP, against a local server that speaks their documented formats and their errors."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from services.retriever.embedders.openai_compatible import OpenAICompatibleEmbedder
from services.retriever.embedders.remote import batches
from services.retriever.embedders.tei import TEIEmbedder
from services.retriever.settings import RetrieverSettings
from services.rpc import deadline
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    ResourceExhausted,
    Unavailable,
)

Answer = tuple[int, Any, dict[str, str]]
Handler = Callable[[str, dict[str, Any]], Answer]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A plain HTTP/1.1 server; yields its URL."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                path, length = line.split()[1].decode(), 0
                while (header := (await reader.readline()).strip()) != b"":
                    if header.lower().startswith(b"content-length:"):
                        length = int(header.split(b":")[1])
                body = json.loads(await reader.readexactly(length))
                status, content, headers = handler(path, body)
                payload = content if isinstance(content, bytes) else json.dumps(content).encode()
                if status == 0:
                    await asyncio.sleep(30)
                lines = [
                    f"HTTP/1.1 {status} X",
                    f"content-length: {len(payload)}",
                    "content-type: application/json",
                ]
                lines += [f"{key}: {value}" for key, value in headers.items()]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def settings(url: str, embedder: str, **changes: object) -> RetrieverSettings:
    return RetrieverSettings.model_validate(
        {
            "internal_secret": "x" * 32,
            "database_url": "postgresql://nowhere/",
            "embedder": embedder,
            "embeddings_url": url,
            "embeddings_model": "org/model",
            "embeddings_dim": 2,
            **changes,
        }
    )


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0]


def tei(path: str, body: dict[str, Any]) -> Answer:
    assert path == "/embed"
    return 200, [vector(text) for text in body["inputs"]], {}


def openai(path: str, body: dict[str, Any]) -> Answer:
    assert path == "/v1/embeddings"
    assert body["model"] == "org/model"
    rows = [
        {"object": "embedding", "index": i, "embedding": vector(t)}
        for i, t in enumerate(body["input"])
    ]
    # The format does not promise the order.
    return (
        200,
        {"object": "list", "data": rows[::-1], "model": "m", "usage": {"total_tokens": 1}},
        {},
    )


PROVIDERS = [
    pytest.param(TEIEmbedder, "tei", "", tei, id="tei"),
    pytest.param(OpenAICompatibleEmbedder, "openai_compatible", "/v1", openai, id="openai"),
]


@pytest.mark.parametrize(("provider", "name", "base", "handler"), PROVIDERS)
async def test_vectors_come_back_in_order_and_of_length_one(
    provider: Any, name: str, base: str, handler: Handler
) -> None:
    texts = [f"text {'x' * n}" for n in range(70)]
    async with serving(handler) as url:
        embedder = provider.create(settings(url + base, name, embeddings_batch_texts=32))
        vectors = await embedder.embed(texts)
        await embedder.close()
    assert vectors.shape == (70, 2)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert [round(row[0] / row[1]) for row in vectors] == [len(text) for text in texts]


@pytest.mark.parametrize(("provider", "name", "base", "handler"), PROVIDERS)
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_failure_is_tried_again(
    provider: Any, name: str, base: str, handler: Handler, status: int
) -> None:
    calls = 0

    def flaky(path: str, body: dict[str, Any]) -> Answer:
        nonlocal calls
        calls += 1
        return (
            (status, {"error": "busy"}, {"retry-after": "0"}) if calls < 3 else handler(path, body)
        )

    async with serving(flaky) as url:
        embedder = provider.create(settings(url + base, name))
        assert (await embedder.embed(["a"])).shape == (1, 2)
        await embedder.close()
    assert calls == 3


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((503, {}, {"retry-after": "0"}), Unavailable),
        ((429, {}, {"retry-after": "0"}), ResourceExhausted),
        ((401, {}, {}), FailedPrecondition),
        ((413, {}, {}), ResourceExhausted),
        ((200, [[1.0, 2.0], [1.0, 2.0]], {}), Internal),
        ((200, [[1.0, 2.0, 3.0]], {}), Internal),
        ((200, [], {}), Internal),
        ((200, [["a", "b"]], {}), Internal),
        ((200, b"not json", {}), Internal),
    ],
)
async def test_a_wrong_answer_is_an_error_that_says_which(
    answer: Answer, error: type[Exception]
) -> None:
    async with serving(lambda path, body: answer) as url:
        embedder = TEIEmbedder.create(settings(url, "tei"))
        with pytest.raises(error):
            await embedder.embed(["a"])
        await embedder.close()


@pytest.mark.parametrize("data", [[], [{"index": 0}], [{"index": 1, "embedding": [1, 2]}], "no"])
async def test_an_openai_answer_without_its_rows_is_an_error(data: Any) -> None:
    async with serving(lambda path, body: (200, {"data": data}, {})) as url:
        embedder = OpenAICompatibleEmbedder.create(settings(url + "/v1", "openai_compatible"))
        with pytest.raises(Internal):
            await embedder.embed(["a"])
        await embedder.close()


async def test_a_vector_that_is_not_finite_spoils_only_itself() -> None:
    async with serving(lambda path, body: (200, b"[[NaN, 1.0], [3.0, 4.0]]", {})) as url:
        embedder = TEIEmbedder.create(settings(url, "tei"))
        vectors = await embedder.embed(["a", "b"])
        await embedder.close()
    assert np.isnan(vectors[0]).all()
    assert np.allclose(vectors[1], [0.6, 0.8])


async def test_a_long_retry_after_does_not_outlast_the_deadline() -> None:
    async with serving(lambda path, body: (503, {}, {"retry-after": "300"})) as url:
        embedder = TEIEmbedder.create(settings(url, "tei"))
        with pytest.raises(Unavailable):
            await asyncio.wait_for(embedder.embed(["a"]), 20)
        await embedder.close()


async def test_a_server_that_hangs_is_left_at_the_deadline() -> None:
    async with serving(lambda path, body: (0, {}, {})) as url:
        embedder = TEIEmbedder.create(settings(url, "tei"))
        deadline.set_current(Deadline.after(0.3))
        with pytest.raises((DeadlineExceeded, Unavailable)):
            await asyncio.wait_for(embedder.embed(["a"]), 20)
        await embedder.close()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    embedder = TEIEmbedder.create(settings("http://127.0.0.1:1", "tei"))
    with pytest.raises(Unavailable):
        await embedder.embed(["a"])
    await embedder.close()


def test_missing_settings_are_named() -> None:
    with pytest.raises(FailedPrecondition, match="EMBEDDINGS_DIM"):
        TEIEmbedder.create(settings("http://x", "tei", embeddings_dim=0))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], []),
        ([5, 5, 5], [range(0, 2), range(2, 3)]),
        ([50, 1, 1], [range(0, 1), range(1, 3)]),
        ([1, 1, 1, 1], [range(0, 3), range(3, 4)]),
    ],
)
def test_batches_hold_so_many_tokens_and_texts(lengths: list[int], expected: list[range]) -> None:
    assert list(batches(lengths, 10, 3)) == expected
