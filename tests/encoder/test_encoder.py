"""The encoder as the other services meet it: a real server, the client that they use, a token of theirs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import grpc
import pytest

from folio.encoder.v1 import encoder_pb2, encoder_pb2_grpc
from services.encoder import assembly
from services.encoder.encoding import TEXTS
from services.encoder.settings import EncoderSettings
from services.minilm.encoder import LocalEncoder, TextEncoder
from services.minilm.model import MiniLM
from services.minilm.remote import RemoteEncoder
from services.minilm.settings import MiniLMSettings
from services.rpc import deadline, identity
from services.rpc.deadline import Deadline
from services.rpc.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from services.rpc.identity import Principal
from services.rpc.interceptors import service_authenticator
from services.rpc.lanes import Lane
from services.rpc.ports import reserved_address
from services.rpc.serve import RunningServer, start
from services.rpc.status import from_rpc_error
from services.rpc.testing import SECRET, SETTINGS, running

pytestmark = pytest.mark.integration

TEXTS_OF_ALL_LENGTHS = [
    "",
    "leave",
    "Staff are entitled to 27 days of paid leave.",
    "The seal of the pump is changed every 4,000 hours. " * 60,
    "\ud800 a lone surrogate, 東京 and \ufb01ve",
]


@contextmanager
def served_as(organization: int) -> Iterator[None]:
    """As in a call of this organization."""
    before = identity._principal.set(Principal(organization, subject="somebody"))
    try:
        yield
    finally:
        identity._principal.reset(before)


def counted(lane: str, source: str) -> float:
    return float(TEXTS.labels(lane, source)._value.get())


class Encoders:
    """A server that can be stopped and started again at one address."""

    def __init__(self, address: str, settings: EncoderSettings, cache_dir: Path) -> None:
        self.address, self._settings, self._cache_dir = address, settings, cache_dir
        self._stack = AsyncExitStack()
        self._server: RunningServer | None = None

    async def start(self) -> None:
        minilm = MiniLMSettings(cache_dir=self._cache_dir)
        service = await self._stack.enter_async_context(
            assembly.open_service(self._settings, minilm)
        )
        self._server = await start(
            self._settings, service.register, service_authenticator("encoder", SECRET)
        )

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()


@asynccontextmanager
async def encoders(cache_dir: Path, **changes: int) -> AsyncIterator[Encoders]:
    with reserved_address() as address:
        settings = EncoderSettings.model_validate(
            {**SETTINGS.model_dump(), **changes, "listen": address}
        )
        server = Encoders(address, settings, cache_dir)
        await server.start()
        try:
            yield server
        finally:
            await server.stop()


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
async def server(cache_dir: Path) -> AsyncIterator[Encoders]:
    async with encoders(cache_dir) as opened:
        yield opened


@pytest.fixture
async def remote(server: Encoders) -> AsyncIterator[RemoteEncoder]:
    client = RemoteEncoder(server.address, SETTINGS)
    yield client
    await client.close()


@pytest.fixture(scope="module")
async def local() -> AsyncIterator[TextEncoder]:
    encoder = LocalEncoder(MiniLM.load())
    yield encoder
    await encoder.close()


@pytest.mark.parametrize(
    ("lane", "limit"),
    [(Lane.QUERY, 512), (Lane.QUERY, 256), (Lane.DOCUMENT, 16), (Lane.BULK, 512), (Lane.BULK, 2)],
)
async def test_from_afar_is_as_in_the_process(
    remote: RemoteEncoder, local: TextEncoder, lane: Lane, limit: int
) -> None:
    with served_as(1):
        sentences = await remote.sentences(TEXTS_OF_ALL_LENGTHS, limit, lane)
        tokens = await remote.encode(TEXTS_OF_ALL_LENGTHS, limit, lane, special=True)
        expected = await local.sentences(TEXTS_OF_ALL_LENGTHS, limit, lane)
        assert (sentences * expected).sum(axis=1).min() > 0.9999
        wanted = await local.encode(TEXTS_OF_ALL_LENGTHS, limit, lane, special=True)
        for one, same in zip(tokens, wanted, strict=True):
            assert (one.tokens, one.offsets, one.truncated) == (
                same.tokens,
                same.offsets,
                same.truncated,
            )
            assert (one.vectors * same.vectors).sum(axis=1).min() > 0.999


async def test_an_ingest_is_read_once_and_by_nobody_else(remote: RemoteEncoder) -> None:
    texts = [f"Chunk {n} of the manual says how the seal is changed." for n in range(40)]
    made, kept = counted("bulk", "model"), counted("bulk", "kept")
    with served_as(1):
        await remote.sentences(texts, 512, Lane.BULK)
    with served_as(2):
        await remote.encode(texts, 512, Lane.BULK)
    assert counted("bulk", "model") == made + 80, "another organization's texts are its own"
    with served_as(1):
        await remote.encode(texts, 512, Lane.BULK, special=True)
    assert (counted("bulk", "model"), counted("bulk", "kept")) == (made + 80, kept + 40)
    with served_as(1):
        await remote.encode(texts, 512, Lane.BULK)
    assert counted("bulk", "model") == made + 120, "given out once"


async def test_a_question_is_read_once_wherever_it_is_cut(remote: RemoteEncoder) -> None:
    made = counted("query", "model")
    long = "How is the seal of the pump changed? " * 100
    with served_as(1):
        for limit in (512, 256):
            await remote.sentences(["How long is parental leave?"], limit, Lane.QUERY)
            await remote.encode(["How long is parental leave?"], limit, Lane.QUERY, special=True)
        assert counted("query", "model") == made + 1
        await remote.sentences([long], 512, Lane.QUERY)
        (cut,) = await remote.encode([long], 256, Lane.QUERY, special=True)
    assert len(cut.vectors) == 256
    assert counted("query", "model") == made + 3


async def test_a_spool_that_is_too_small_costs_a_second_reading(cache_dir: Path) -> None:
    texts = [f"Chunk {n} of the manual says how the seal is changed." for n in range(40)]
    async with encoders(cache_dir, spool_bytes=100_000) as small:
        remote = RemoteEncoder(small.address, SETTINGS)
        made = counted("bulk", "model")
        with served_as(1):
            await remote.sentences(texts, 512, Lane.BULK)
            found = await remote.encode(texts, 512, Lane.BULK)
        assert made + 40 < counted("bulk", "model") < made + 80
        assert all(len(one.vectors) == 12 for one in found)
        await remote.close()


async def test_an_encoder_that_is_away_is_said_so_and_found_again(
    cache_dir: Path,
) -> None:
    async with encoders(cache_dir) as server:
        remote = RemoteEncoder(server.address, SETTINGS)
        with served_as(1):
            await _away_and_back(server, remote)
        await remote.close()


async def _away_and_back(server: Encoders, remote: RemoteEncoder) -> None:
    await remote.sentences(["before"], 512, Lane.QUERY)
    await server.stop()
    deadline.set_current(Deadline.after(30))
    with pytest.raises(Unavailable) as away:
        await remote.sentences(["while it is away"], 512, Lane.QUERY)
    assert (away.value.reason, server.address in away.value.message) == (
        "ENCODER_UNREACHABLE",
        False,
    )
    ingest = asyncio.create_task(remote.sentences(["an ingest waits"], 512, Lane.BULK))
    await asyncio.sleep(0.3)
    assert not ingest.done()
    await server.start()
    assert (await ingest).shape == (1, 384)
    assert (await remote.sentences(["after"], 512, Lane.QUERY)).shape == (1, 384)


async def test_a_deadline_ends_the_wait(remote: RemoteEncoder) -> None:
    texts = [f"{n} " + "The seal of the pump is changed. " * 70 for n in range(40)]
    with served_as(1):
        deadline.set_current(Deadline.after(0.3))
        with pytest.raises(DeadlineExceeded):
            await remote.encode(texts, 512, Lane.DOCUMENT)
        deadline.set_current(Deadline.after(60))


async def test_a_full_lane_refuses_and_says_when_to_try_again(cache_dir: Path) -> None:
    texts = [f"{n} " + "The seal of the pump is changed. " * 70 for n in range(8)]
    async with encoders(cache_dir, queue_tokens=1024) as small:
        remote = RemoteEncoder(small.address, SETTINGS)
        with served_as(1):
            work = [
                asyncio.create_task(remote.sentences([f"{n} {t}" for t in texts], 512, Lane.BULK))
                for n in range(6)
            ]
            done = await asyncio.gather(*work, return_exceptions=True)
            refused = [one for one in done if isinstance(one, ResourceExhausted)]
            assert refused
            assert all(one.retry_after_s for one in refused)
            assert len(refused) < 6
            assert (await remote.sentences(["a question"], 512, Lane.QUERY)).shape == (1, 384)
        await remote.close()


async def test_who_has_no_token_and_ids_that_are_none(server: Encoders) -> None:
    request = encoder_pb2.EncodeRequest(
        texts=[encoder_pb2.Tokens(ids=[101, 2000, 102])], lane=encoder_pb2.LANE_QUERY, tokens=True
    )
    async with grpc.aio.insecure_channel(server.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await encoder_pb2_grpc.EncoderServiceStub(channel).Encode(request)
        assert isinstance(from_rpc_error(refused.value), Unauthenticated)


@pytest.mark.parametrize(
    "change",
    [
        lambda request: request.texts[0].ids.append(30522),
        lambda request: request.texts[0].ids.extend([2000] * 512),
        lambda request: request.texts.add(),
        lambda request: request.ClearField("lane"),
        lambda request: request.ClearField("texts"),
    ],
)
async def test_what_the_model_cannot_read_is_refused(
    cache_dir: Path, change: Callable[[encoder_pb2.EncodeRequest], None]
) -> None:
    request = encoder_pb2.EncodeRequest(
        texts=[encoder_pb2.Tokens(ids=[101, 2000, 102])], lane=encoder_pb2.LANE_QUERY, tokens=True
    )
    settings = EncoderSettings.model_validate(SETTINGS.model_dump())
    async with (
        assembly.open_service(settings, MiniLMSettings(cache_dir=cache_dir)) as service,
        running("encoder", service.register, Principal(1)) as channel,
    ):
        stub = encoder_pb2_grpc.EncoderServiceStub(channel)
        assert (await stub.Encode(request)).tokens.rows == 3
        change(request)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Encode(request)
        assert isinstance(from_rpc_error(refused.value), InvalidArgument)


async def test_another_release_of_the_weights_is_refused(
    remote: RemoteEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "revision", "another", raising=False)
    with served_as(1), pytest.raises(FailedPrecondition, match="same release"):
        await remote.sentences(["a"], 512, Lane.QUERY)


async def test_the_caller_is_known_by_the_organization_alone(
    remote: RemoteEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_as(3):
        ((_, bearer), *_) = remote._metadata()
    found = identity.verify(bearer.removeprefix("Bearer "), "encoder", SECRET)
    assert found == Principal(3)
    with pytest.raises(Unauthenticated):
        await remote.sentences(["outside a call"], 512, Lane.QUERY)


async def test_many_short_texts_and_a_long_one_come_back_in_order(
    remote: RemoteEncoder, local: TextEncoder
) -> None:
    texts = [f"text number {n} " * (1 + n % 30) for n in range(150)]
    with served_as(1):
        found = await remote.sentences(texts, 512, Lane.DOCUMENT)
        expected = await local.sentences(texts, 512, Lane.DOCUMENT)
    assert (found * expected).sum(axis=1).min() > 0.9999
