"""Another tenant's rows: not in SQL, not through any call, not by timing a key, not by grafting."""

import asyncio
import hashlib

import grpc
import psycopg
import pytest

from folio.common.v1 import document_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres import admin
from services.postgres.pool import TenantPool, open_pool, tenant
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Caller, Retriever

pytestmark = pytest.mark.integration

SECRET = "# Plan\n\nThe merger with Initech is called project Bluebird and closes in May. CODE-77-X is its number."


@pytest.fixture(scope="module")
async def theirs(retriever: Retriever, postgres: Postgres) -> pb.IngestResult:
    """A document of globex."""
    caller = await retriever.as_(Principal(postgres.globex))
    return await caller.ingest(SECRET, "plan.md", kind="secret", collection="board")


@pytest.fixture(scope="module")
async def acme(retriever: Retriever, postgres: Postgres, theirs: pb.IngestResult) -> Caller:
    caller = await retriever.as_(Principal(postgres.acme))
    await caller.ingest(
        "# Menu\n\nThe canteen serves soup on Mondays and bread on all other days.", "menu.md"
    )
    return caller


async def their_chunks(retriever: Retriever, postgres: Postgres) -> list[int]:
    caller = await retriever.as_(Principal(postgres.globex))
    return [hit.chunk.id for hit in (await caller.search("merger")).hits]


async def test_their_ids_and_filters_find_nothing_through_any_call(
    retriever: Retriever, postgres: Postgres, acme: Caller, theirs: pb.IngestResult
) -> None:
    document = theirs.document.id
    chunks = await their_chunks(retriever, postgres)
    assert chunks
    for call, request in (
        (acme.stub.GetDocument, pb.GetDocumentRequest(document_id=document)),
        (acme.stub.DeleteDocument, pb.DeleteDocumentRequest(document_id=document)),
        (acme.stub.RenderPage, pb.RenderPageRequest(document_id=document)),
        (acme.stub.PublishDocument, pb.PublishDocumentRequest(document_id=document, version=1)),
        (acme.stub.GetPassages, pb.GetPassagesRequest(chunk_ids=chunks)),
        (
            acme.stub.LocateQuotes,
            pb.LocateQuotesRequest(
                spans=[pb.QuoteSpan(document_id=document, char_start=0, char_end=5)]
            ),
        ),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call(request, timeout=10)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        # The very words that a caller gets for an id that nobody has.
        assert "Bluebird" not in (error.value.details() or "")
    for chosen in (
        document_pb2.Filter(document_ids=[document]),
        document_pb2.Filter(collections=["board"]),
        document_pb2.Filter(kinds=["secret"]),
    ):
        assert (await acme.search("merger Bluebird", filter=chosen)).hits == []
        listed = await acme.stub.ListDocuments(pb.ListDocumentsRequest(filter=chosen), timeout=10)
        assert listed.documents == []
    names = await acme.stub.GetVocabulary(pb.GetVocabularyRequest(), timeout=10)
    assert "board" not in names.collections
    assert "secret" not in names.kinds
    assert document not in [entry.id for entry in names.documents]


async def test_their_words_are_not_found_nor_known(acme: Caller) -> None:
    found = await acme.search("Bluebird merger CODE-77-X", without_dense=True)
    assert found.hits == []
    # A misspelling of a word that only they have is not corrected.
    assert (await acme.search("Bluebrid", without_dense=True)).corrected_words == 0


async def test_a_page_token_of_theirs_gives_nothing_of_theirs(
    retriever: Retriever, postgres: Postgres, acme: Caller, theirs: pb.IngestResult
) -> None:
    caller = await retriever.as_(Principal(postgres.globex))
    await caller.ingest("Another plan, of which nothing is known to anybody else.", "other.md")
    token = (
        await caller.stub.ListDocuments(pb.ListDocumentsRequest(page_size=1), timeout=9)
    ).next_page_token
    assert token
    listed = await acme.stub.ListDocuments(pb.ListDocumentsRequest(page_token=token), timeout=9)
    assert theirs.document.id not in [document.id for document in listed.documents]


async def test_whether_they_have_a_file_is_not_told(acme: Caller, theirs: pb.IngestResult) -> None:
    result = await acme.ingest(SECRET, "plan.md", kind="secret", collection="board")
    assert not result.unchanged
    assert result.document.id != theirs.document.id
    assert result.document.sha256 == hashlib.sha256(SECRET.encode()).hexdigest()
    await acme.stub.DeleteDocument(
        pb.DeleteDocumentRequest(document_id=result.document.id), timeout=10
    )


async def tables(pool: TenantPool) -> list[str]:
    async with pool.pool.connection() as connection:
        rows = await connection.execute(
            "select c.relname from pg_class c where relnamespace = 'folio'::regnamespace and relkind in ('r', 'p') "
            "and not relispartition and exists (select from pg_attribute where attrelid = c.oid "
            "and attname = 'organization_id')"
        )
        return [row[0] for row in await rows.fetchall()]


async def test_without_a_tenant_every_table_is_empty_on_fresh_and_reused_connections(
    pool: TenantPool, postgres: Postgres, theirs: pb.IngestResult
) -> None:
    async with open_pool(postgres.settings(database_pool_size=1)) as small:
        for _ in range(2):
            async with small.pool.connection() as connection:
                for table in [*await tables(pool), "organizations"]:
                    rows = await connection.execute(f"select count(*) from folio.{table}".encode())
                    assert await rows.fetchone() == (0,), table
            async with tenant(small, Principal(postgres.globex)) as connection:
                seen = await connection.execute("select count(*) from documents")
                assert await seen.fetchone() != (0,)


async def test_a_reused_connection_sees_only_its_new_tenant(
    postgres: Postgres, acme: Caller, theirs: pb.IngestResult
) -> None:
    async with open_pool(postgres.settings(database_pool_size=1)) as small:

        async def ids(organization: int) -> set[int]:
            async with tenant(small, Principal(organization)) as connection:
                rows = await connection.execute("select id from documents")
                return {row[0] for row in await rows.fetchall()}

        assert theirs.document.id in await ids(postgres.globex)
        assert theirs.document.id not in await ids(postgres.acme)
        with pytest.raises(ZeroDivisionError):
            async with tenant(small, Principal(postgres.globex)):
                raise ZeroDivisionError
        assert theirs.document.id not in await ids(postgres.acme)
        stuck = asyncio.create_task(_sleep(small, postgres.globex))
        await asyncio.sleep(0.2)
        stuck.cancel()
        await asyncio.wait([stuck])
        assert theirs.document.id not in await ids(postgres.acme)


async def _sleep(pool: TenantPool, organization: int) -> None:
    async with tenant(pool, Principal(organization)) as connection:
        await connection.execute("select pg_sleep(30)")


async def test_their_partitions_cannot_be_read_directly(
    pool: TenantPool, postgres: Postgres
) -> None:
    for table in ("chunks", "postings"):
        async with pool.pool.connection() as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(f"select * from folio.{table}_{postgres.globex}".encode())
            await connection.rollback()


async def test_rows_cannot_be_grafted_onto_their_documents(
    pool: TenantPool, postgres: Postgres, theirs: pb.IngestResult
) -> None:
    ours, document = postgres.acme, theirs.document.id
    for organization in (ours, postgres.globex):
        with pytest.raises(
            (psycopg.errors.ForeignKeyViolation, psycopg.errors.InsufficientPrivilege)
        ):
            async with tenant(pool, Principal(ours)) as connection:
                await connection.execute(
                    "insert into pages (organization_id, document_id, version, index, label, char_start, text) "
                    "values (%s, %s, 1, 99, '1', 0, 'graft')",
                    [organization, document],
                )


async def test_rows_cannot_be_moved_to_another_tenant(
    pool: TenantPool, postgres: Postgres, acme: Caller
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with tenant(pool, Principal(postgres.acme)) as connection:
            await connection.execute(
                "update documents set organization_id = %s where collection_id is null",
                [postgres.globex],
            )


async def test_row_security_cannot_be_switched_off(pool: TenantPool) -> None:
    async with pool.pool.connection() as connection:
        await connection.execute("set local row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute("select * from folio.documents")
        await connection.rollback()


async def test_a_second_commit_in_a_request_is_an_error(
    pool: TenantPool, postgres: Postgres
) -> None:
    with pytest.raises(psycopg.ProgrammingError):
        async with tenant(pool, Principal(postgres.acme)) as connection:
            await connection.commit()


async def test_a_rooftop_sees_its_own_and_what_belongs_to_all(
    retriever: Retriever, postgres: Postgres, tenant_id: int
) -> None:
    name = {
        identifier: name for name, identifier in admin.organizations(postgres.admin_url).items()
    }[tenant_id]
    north = admin.create_rooftop(postgres.admin_url, name, "north")
    south = admin.create_rooftop(postgres.admin_url, name, "south")
    everyone = await retriever.as_(Principal(tenant_id))
    in_north = await retriever.as_(Principal(tenant_id, north))
    in_south = await retriever.as_(Principal(tenant_id, south))
    shared = await everyone.ingest(
        "Wages are paid on the last working day of each month.", "shared.txt"
    )
    own = await in_north.ingest("Wages in the north include an allowance for the cold.", "own.txt")
    assert own.document.rooftop_id == north

    async def seen(caller: Caller) -> set[str]:
        dense = await caller.search("wages", without_sparse=True)
        sparse = await caller.search("wages", without_dense=True)
        assert {h.chunk.file_name for h in dense.hits} == {h.chunk.file_name for h in sparse.hits}
        return {hit.chunk.file_name for hit in sparse.hits}

    assert await seen(everyone) == {"shared.txt", "own.txt"}
    assert await seen(in_north) == {"shared.txt", "own.txt"}
    assert await seen(in_south) == {"shared.txt"}
    for caller, document, code in (
        (in_south, own.document.id, grpc.StatusCode.NOT_FOUND),
        (in_south, shared.document.id, grpc.StatusCode.PERMISSION_DENIED),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await caller.stub.DeleteDocument(
                pb.DeleteDocumentRequest(document_id=document), timeout=9
            )
        assert error.value.code() is code
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await in_south.stage("text for the north, sent by the south", "x.txt", rooftop_id=north)
    assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_dropping_an_organization_leaves_the_others(
    retriever: Retriever, postgres: Postgres, theirs: pb.IngestResult
) -> None:
    identifier = admin.create_organization(postgres.admin_url, "shortlived")
    caller = await retriever.as_(Principal(identifier))
    await caller.ingest("A text that will not stay for very long.", "a.txt")
    admin.drop_organization(postgres.admin_url, "shortlived")
    with psycopg.connect(postgres.admin_url) as connection:
        assert connection.execute(
            "select to_regclass(%s)", [f"folio.chunks_{identifier}"]
        ).fetchone() == (None,)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.search("text")
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
    assert await their_chunks(retriever, postgres)
