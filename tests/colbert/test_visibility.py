"""Vectors in memory never answer for what the caller may not see."""

import asyncio
from collections.abc import Callable

import grpc
import psycopg
import pytest

from folio.rerank.v1 import rerank_pb2
from services.colbert.assembly import Service, open_service
from services.colbert.settings import ColbertSettings
from services.colbert.visibility import Visibility
from services.rpc.identity import Principal
from services.rpc.testing import running
from tests.colbert.asking import BODIES, QUESTION, Request, ids, refused, rerank
from tests.colbert.conftest import AddDocument
from tests.conftest import Postgres

pytestmark = pytest.mark.integration


def by_id(*chunks: int) -> rerank_pb2.RerankRequest:
    return Request(text=QUESTION, chunk_ids=ids(*chunks))


@pytest.fixture
def rooftop(postgres: Postgres) -> Callable[[str], int]:
    def make(name: str) -> int:
        with psycopg.connect(postgres.admin_url) as connection:
            row = connection.execute(
                "insert into folio.rooftops (organization_id, name) values (%s, %s)"
                " on conflict (organization_id, name) do update set name = excluded.name returning id",
                [postgres.acme, name],
            ).fetchone()
        assert row is not None
        return int(row[0])

    return make


async def test_another_tenants_chunk_is_unknown_even_when_it_is_in_memory(
    channel: grpc.aio.Channel,
    service: Service,
    acme: Principal,
    globex: Principal,
    add_document: AddDocument,
) -> None:
    _, chunks = await add_document(acme.organization_id, BODIES)
    await rerank(channel, by_id(*chunks))
    async with running("colbert", service.register, globex) as other:
        code, message = await refused(other, by_id(*chunks))
        absent, _ = await refused(other, by_id(10**12))
    assert code is absent is grpc.StatusCode.NOT_FOUND
    assert message == f"{len(chunks)} of {len(chunks)} chunk ids are unknown"


async def test_one_unknown_id_fails_the_whole_call(
    channel: grpc.aio.Channel, acme: Principal, add_document: AddDocument
) -> None:
    _, chunks = await add_document(acme.organization_id, BODIES)
    code, message = await refused(channel, by_id(*chunks, 10**12))
    assert code is grpc.StatusCode.NOT_FOUND
    assert message == "1 of 5 chunk ids are unknown"


async def test_a_staged_chunk_is_unknown(
    channel: grpc.aio.Channel, acme: Principal, add_document: AddDocument
) -> None:
    _, chunks = await add_document(acme.organization_id, BODIES, live=False)
    code, _ = await refused(channel, by_id(chunks[0]))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_a_principal_of_another_rooftop_sees_nothing(
    channel: grpc.aio.Channel,
    service: Service,
    acme: Principal,
    add_document: AddDocument,
    rooftop: Callable[[str], int],
) -> None:
    north, south = rooftop("north"), rooftop("south")
    _, of_north = await add_document(acme.organization_id, BODIES[:2], rooftop=north)
    _, of_all = await add_document(acme.organization_id, BODIES[2:])
    await rerank(channel, by_id(*of_north, *of_all))
    in_north = Principal(acme.organization_id, rooftop_id=north)
    async with running("colbert", service.register, in_north) as inside:
        assert len((await rerank(inside, by_id(*of_north, *of_all))).results) == 4
    in_south = Principal(acme.organization_id, rooftop_id=south)
    async with running("colbert", service.register, in_south) as outside:
        assert len((await rerank(outside, by_id(*of_all))).results) == 2
        code, _ = await refused(outside, by_id(*of_north))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_a_principal_of_a_rooftop_scores_what_it_may_not_write(
    service: Service, acme: Principal, add_document: AddDocument, rooftop: Callable[[str], int]
) -> None:
    """Vectors made on demand for a chunk of the whole organization are scored, and not stored."""
    _, chunks = await add_document(acme.organization_id, BODIES[:1])
    principal = Principal(acme.organization_id, rooftop_id=rooftop("north"))
    async with running("colbert", service.register, principal) as inside:
        assert (await rerank(inside, by_id(*chunks))).results[0].score > 0


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  (the condition is of another thread of events)
            await asyncio.sleep(0.01)


async def test_a_deleted_document_is_unknown_once_the_notification_is_there(
    channel: grpc.aio.Channel,
    service: Service,
    postgres: Postgres,
    acme: Principal,
    add_document: AddDocument,
    delete_document: Callable[[int], None],
) -> None:
    visibility = service.parts.reranker._chunks._visibility
    document, chunks = await add_document(acme.organization_id, BODIES)

    async def leased() -> None:
        async with asyncio.timeout(20):
            while not visibility.held(acme) >= set(chunks):
                await rerank(channel, by_id(*chunks))

    await leased()
    delete_document(document)
    await wait_until(lambda: not visibility.held(acme) >= set(chunks))
    code, _ = await refused(channel, by_id(*chunks))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_without_leases_every_call_asks(
    colbert_settings: ColbertSettings,
    service: Service,
    acme: Principal,
    add_document: AddDocument,
    delete_document: Callable[[int], None],
) -> None:
    settings = colbert_settings.model_copy(update={"leases": False})
    document, chunks = await add_document(acme.organization_id, BODIES)
    async with (
        open_service(settings, service.parts.encoding.encoder) as strict,
        running("colbert", strict.register, acme) as channel,
    ):
        await rerank(channel, by_id(*chunks))
        delete_document(document)
        code, _ = await refused(channel, by_id(*chunks))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_a_lost_listener_voids_every_lease(postgres: Postgres, acme: Principal) -> None:
    visibility = Visibility()
    listener = asyncio.create_task(visibility.listen(postgres.url))

    def granted() -> bool:
        visibility.grant(acme, visibility.mark(acme), {1, 2})
        return visibility.held(acme) == {1, 2}

    await wait_until(granted)
    before = visibility.mark(acme)
    with psycopg.connect(postgres.admin_url) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'folio-visibility'"
        )
    await wait_until(lambda: not visibility.held(acme))
    visibility.grant(acme, before, {1})
    assert not visibility.held(acme)
    await wait_until(granted)
    listener.cancel()
    await asyncio.gather(listener, return_exceptions=True)
    assert not visibility.held(acme)


async def test_an_answer_older_than_a_change_is_not_remembered(postgres: Postgres) -> None:
    visibility, acme = Visibility(), Principal(1)
    listener = asyncio.create_task(visibility.listen(postgres.url))

    def granted() -> bool:
        visibility.grant(acme, visibility.mark(acme), {1})
        return visibility.held(acme) == {1}

    await wait_until(granted)
    asked = visibility.mark(acme)
    visibility.changed(1)
    visibility.grant(acme, asked, {1, 2})
    assert not visibility.held(acme)
    listener.cancel()
    await asyncio.gather(listener, return_exceptions=True)
