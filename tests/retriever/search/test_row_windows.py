"""Rows of tables that are found by their names stand for the windows that hold them."""

import asyncio
import re
from contextlib import AsyncExitStack

import pytest

from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.filters import Filter
from services.postgres.pool import TenantPool, tenant
from services.retriever.assembly import open_service
from services.retriever.search import legs
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Caller, Retriever, settings_on

pytestmark = pytest.mark.integration

BEFORE = (
    "hydraulic",
    "ceramic",
    "copper",
    "rubber",
    "thermal",
    "rotary",
    "welded",
    "tapered",
    "sealed",
    "garden",
)
AFTER = (
    "coupling",
    "bearing",
    "gasket",
    "valve",
    "nozzle",
    "bracket",
    "flange",
    "piston",
    "spindle",
    "washer",
)
# Each word stands in ten rows, the two together in one; the order is that of no word.
NAMES = [f"{BEFORE[at % 10]} {AFTER[(at * 7 + at // 10) % 10]}" for at in range(100)]
PARTS = "# Parts\n\n| Name | Price in euros |\n|---|---|\n" + "\n".join(
    f"| {name} | {number + 100}.50 |" for number, name in enumerate(NAMES)
)
PROSE = "# Pumps\n\nA hydraulic pump needs a coupling that is sealed. It is greased once a year.\n"


@pytest.mark.parametrize("leg", ["dense", "sparse"])
async def test_a_row_is_found_by_its_name_as_the_window_that_holds_it(
    caller: Caller, leg: str
) -> None:
    await caller.ingest(PARTS, "parts.md")
    await caller.ingest(PROSE, "pumps.md")
    other = {"dense": "without_sparse", "sparse": "without_dense"}[leg]
    for name in (NAMES[17], NAMES[50], NAMES[83]):
        hits = (await caller.search(f"What does the {name} cost?", limit=30, **{other: True})).hits
        assert not any(hit.chunk.reading for hit in hits)
        assert len({hit.chunk.id for hit in hits}) == len(hits)
        line = next(line for line in PARTS.splitlines() if f" {name} " in line)
        row = line.strip("| ")
        assert row in hits[0].chunk.body
        assert hits[0].rows[0].body == row


async def test_rows_leave_the_scores_of_windows_as_they_are(
    caller: Caller, pool: TenantPool, postgres: Postgres, tenant_id: int
) -> None:
    """Their words count in no document frequency and in no length."""

    async def scores(organization: int) -> list[float]:
        async with tenant(pool, Principal(organization)) as connection:
            within = await legs.visible(connection, organization, Filter())
            found = await legs.sparse(connection, within, "hydraulic coupling greased", 100)
            bodies = dict(
                await (
                    await connection.execute(
                        "select id, body from chunks where organization_id = %s", [organization]
                    )
                ).fetchall()
            )
        return [entry.score for entry in found if "greased" in bodies[entry.id]]

    await caller.ingest(PARTS, "parts.md")
    await caller.ingest(PROSE, "pumps.md")
    plain = await asyncio.to_thread(postgres.organization)
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(open_service(settings_on(postgres, row_chunks=0)))
        without = await Retriever(service, stack).as_(Principal(plain))
        await without.ingest(PARTS, "parts.md")
        await without.ingest(PROSE, "pumps.md")
    assert len(await scores(tenant_id)) == 1
    assert await scores(tenant_id) == pytest.approx(await scores(plain), rel=1e-12)


async def test_the_index_gives_as_many_windows_where_rows_are_nearer(
    caller: Caller, pool: TenantPool, tenant_id: int
) -> None:
    await caller.ingest(PARTS, "parts.md")
    async with tenant(pool, Principal(tenant_id)) as connection:
        within = await legs.visible(connection, tenant_id, Filter())
        row = await (
            await connection.execute(
                "select embedding_minilm from chunks where organization_id = %s and reading <> '' limit 1",
                [tenant_id],
            )
        ).fetchone()
        assert row is not None
        vector = row[0].to_numpy()
        by_index, exact = [
            await legs.dense(connection, within, "embedding_minilm", vector, 8, exact_below=below)
            for below in (0, 10**9)
        ]
    assert within.compared == within.eligible + len(NAMES)
    assert [entry.id for entry in by_index] == [entry.id for entry in exact]
    assert by_index[0].row == exact[0].row != 0
    assert len(exact) == min(8, within.eligible)


async def test_rows_go_with_their_document(
    caller: Caller, pool: TenantPool, tenant_id: int
) -> None:
    result = await caller.ingest(PARTS, "parts.md")
    again = await caller.ingest(re.sub(r"\.50", ".75", PARTS), "parts.md")
    assert again.document.id == result.document.id
    hits = (await caller.search(f"What does the {NAMES[17]} cost?")).hits
    assert hits[0].rows[0].body.endswith("117.75")

    async def postings() -> int:
        async with tenant(pool, Principal(tenant_id)) as connection:
            row = await (
                await connection.execute(
                    "select count(distinct row_id) from row_postings where organization_id = %s",
                    [tenant_id],
                )
            ).fetchone()
        assert row is not None
        return int(row[0])

    assert await postings() == len(NAMES)
    await caller.stub.DeleteDocument(
        pb.DeleteDocumentRequest(document_id=again.document.id), timeout=60
    )
    assert await postings() == 0
