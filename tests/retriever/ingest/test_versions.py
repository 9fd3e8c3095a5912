"""A document that changes while others publish, delete or read it: the old version or the new one, never a half."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.pool import TenantPool, tenant
from services.retriever import catalogue
from services.retriever.ingest import publish
from services.retriever.search import stretches, vocabulary
from services.rpc.errors import NotFound
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Caller
from tests.retriever.ingest.stored import LEAVE

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


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, work: Callable[[], Awaitable[Any]]
) -> None:
    """Does the work in the middle of the next call of module.name's caller, just before it."""
    real, done = getattr(module, name), False

    async def with_work(*arguments: Any, **named: Any) -> Any:
        nonlocal done
        if not done:
            done = True
            await work()
        return await real(*arguments, **named)

    monkeypatch.setattr(module, name, with_work)


async def test_a_search_during_a_publication_finds_the_version_it_began_with(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.ingest(LEAVE, "leave.md")
    newer, _ = await caller.stage(LEAVE.replace("16 weeks", "20 weeks"), "leave.md")
    meanwhile(monkeypatch, catalogue, "chunks", lambda: caller.publish(newer))
    assert "16 weeks" in (await caller.search("parental leave weeks")).hits[0].chunk.body
    assert "20 weeks" in (await caller.search("parental leave weeks")).hits[0].chunk.body


async def test_passages_read_during_a_publication_are_of_one_version(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.ingest(LEAVE, "leave.md")
    hits = [hit.chunk.id for hit in (await caller.search("parental leave weeks")).hits]
    newer, _ = await caller.stage(f"A foreword.\n\n{LEAVE}", "leave.md")
    meanwhile(monkeypatch, stretches, "_bounds", lambda: caller.publish(newer))
    answer = await caller.stub.GetPassages(pb.GetPassagesRequest(chunk_ids=hits), timeout=30)
    for passage in answer.passages:
        start = passage.hits[0].char_start - passage.char_start
        assert passage.text[start:].startswith(passage.hits[0].body)


async def test_documents_that_exchange_their_words_do_not_deadlock(
    pool: TenantPool, tenant_id: int
) -> None:
    apples, pears = ([f"{fruit}{n}" for n in range(400)] for fruit in ("apple", "pear"))

    async def replace(old: list[str], new: list[str]) -> None:
        async with tenant(pool, Principal(tenant_id)) as connection:
            await vocabulary.replace(connection, tenant_id, None, old, new)

    await replace([], apples)
    await replace([], pears)
    for _ in range(3):
        await asyncio.gather(replace(apples, pears), replace(pears, apples))
    async with tenant(pool, Principal(tenant_id)) as connection:
        counts = await connection.execute("select count(*), sum(documents) from vocabulary")
        assert await counts.fetchone() == (800, 800)
