"""A document that changes while others publish, delete or read it: the old version or the new one, never a half."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.pool import TenantPool, tenant
from services.retriever import legs, parents, publish, viewing
from services.retriever.viewing import Span
from services.rpc.errors import NotFound
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Caller, Retriever
from tests.retriever.test_ingest import LEAVE
from tests.retriever.test_passages import manual

pytestmark = pytest.mark.integration


async def while_waiting(postgres: Postgres, work: Awaitable[Any]) -> "asyncio.Future[Any]":
    """The work, begun, once it waits for somebody's lock."""
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(30):
        async with await psycopg.AsyncConnection.connect(
            postgres.admin_url, autocommit=True
        ) as connection:
            while True:
                rows = await connection.execute(
                    "select from pg_stat_activity where application_name = 'folio' and wait_event_type = 'Lock'"
                )
                if await rows.fetchone() is not None:
                    return task
                await asyncio.sleep(0.02)


async def test_an_older_version_published_at_the_same_time_does_not_win(
    caller: Caller, pool: TenantPool, postgres: Postgres, tenant_id: int
) -> None:
    older, _ = await caller.stage(LEAVE, "leave.md")
    newer, _ = await caller.stage(LEAVE.replace("16 weeks", "20 weeks"), "leave.md")
    document = older.document.id

    async def publish_older() -> None:
        async with tenant(pool, Principal(tenant_id)) as connection:
            await publish.publish(connection, tenant_id, document, older.version)

    async with tenant(pool, Principal(tenant_id)) as connection:
        await publish.publish(connection, tenant_id, document, newer.version)
        waiting = await while_waiting(postgres, publish_older())
    with pytest.raises(NotFound):
        await waiting
    got = await caller.stub.GetDocument(pb.GetDocumentRequest(document_id=document), timeout=9)
    assert got.document.version == newer.version
    assert "20 weeks" in (await caller.search("parental leave weeks")).hits[0].chunk.body


async def test_a_delete_at_the_same_time_forgets_the_words_of_the_new_version(
    caller: Caller, pool: TenantPool, postgres: Postgres, tenant_id: int
) -> None:
    first = await caller.ingest(LEAVE, "leave.md")
    second, _ = await caller.stage(LEAVE.replace("Parental", "Grandparental"), "leave.md")
    document = first.document.id

    async def delete() -> None:
        async with tenant(pool, Principal(tenant_id)) as connection:
            await publish.delete(connection, tenant_id, document)

    async with tenant(pool, Principal(tenant_id)) as connection:
        await publish.publish(connection, tenant_id, document, second.version)
        waiting = await while_waiting(postgres, delete())
    await waiting
    async with tenant(pool, Principal(tenant_id)) as connection:
        left = await (await connection.execute("select word from vocabulary")).fetchall()
    assert left == []
