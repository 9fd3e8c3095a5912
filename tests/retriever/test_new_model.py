"""A second embedding model beside the first, then instead of it."""

import asyncio
from collections.abc import Sequence

import numpy as np
import psycopg
import pytest

from services.postgres import admin
from services.postgres.filters import Filter
from services.postgres.pool import tenant
from services.retriever import embedding_column, embedding_models
from services.retriever.embedders import Vectors, normalised
from services.retriever.search import legs
from services.rpc.errors import FailedPrecondition, NotFound
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Retriever

pytestmark = pytest.mark.integration


class Letters:
    """Counts letters: a real, if poor, embedding of 26 dimensions."""

    provider, model, revision, local = "letters", "Example/Letters-26", "1", True
    dim, max_tokens, batch_texts = 26, 512, 32

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(text))]

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        counts = [[text.lower().count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts]
        return normalised(counts, len(texts), self.dim)

    async def warm_up(self) -> None:
        pass

    async def close(self) -> None:
        pass


async def test_column_backfill_index_switch_drop(retriever: Retriever, postgres: Postgres) -> None:
    organization = postgres.organization()
    caller = await retriever.as_(Principal(organization))
    await caller.ingest("Zebras and quizzes puzzle the lazy wizard. " * 20, "z.txt")
    await caller.ingest("An apple a day keeps all bad ailments away. " * 20, "a.txt")
    embedder, pool = Letters(), retriever.service.parts.pool
    with pytest.raises(FailedPrecondition, match="add-model"):
        await embedding_models.column_of(pool, embedder)
    everyone = list(admin.organizations(postgres.admin_url).values())
    try:
        assert await embedding_column.add(postgres.admin_url, embedder, everyone) > 0
        # Again: nothing is left to do, and nothing breaks.
        assert await embedding_column.add(postgres.admin_url, embedder, everyone) == 0
        column = await embedding_models.column_of(pool, embedder)
        assert column == "embedding_example_letters_26"
        async with tenant(pool, Principal(organization)) as connection:
            within = await legs.visible(connection, organization, Filter())
            query = (await embedder.embed(["zzz quiz puzzle"]))[0]
            for exact_below in (0, 10**9):
                found = await legs.dense(connection, within, column, query, 5, exact_below)
                assert len(found) == min(5, within.eligible)
                row = await (
                    await connection.execute("select body from chunks where id = %s", [found[0][0]])
                ).fetchone()
                assert row is not None
                assert "Zebras" in row[0]
        # The model that serves is untouched.
        assert (await caller.search("apple")).hits
        # A new organization gets the new index as well.
        admin.create_organization(postgres.admin_url, "after the new model")
    finally:
        embedding_column.drop(postgres.admin_url, embedder.model)
    with pytest.raises(FailedPrecondition, match="add-model"):
        await embedding_models.column_of(pool, embedder)


def without_vector(admin_url: str, organization: int, column: str) -> int:
    with psycopg.connect(admin_url) as connection:
        row = connection.execute(
            f"select count(*) from folio.chunks where organization_id = %s and {column} is null".encode(),
            [organization],
        ).fetchone()
    assert row is not None
    return int(row[0])


async def test_several_at_once_share_the_work_and_none_is_done_before_all_is(
    retriever: Retriever, postgres: Postgres
) -> None:
    organization = postgres.organization()
    caller = await retriever.as_(Principal(organization))
    await caller.ingest("\n\n".join(f"Rule {n} of the house. " * 12 for n in range(80)), "r.txt")
    embedder, url = Letters(), postgres.admin_url
    try:
        column = embedding_column._register(url, embedder)
        with psycopg.connect(url) as other:
            # Another one at work: it has taken a chunk, and the model is slow.
            other.execute(
                "select id from folio.chunks where organization_id = %s order by id desc limit 1 for update",
                [organization],
            )
            adding = [
                asyncio.create_task(embedding_column.add(url, embedder, [organization]))
                for _ in range(3)
            ]
            await asyncio.wait(adding, timeout=2)
            with psycopg.connect(url) as connection:
                state = connection.execute(
                    "select state from folio.embedding_models where name = %s", [embedder.model]
                ).fetchone()
            assert state == ("filling",)
        made = await asyncio.gather(*adding)
        assert without_vector(url, organization, column) == 0
        chunks = (await caller.search("rule", limit=1000)).hits
        assert sum(made) == len(chunks) > embedding_column.BATCH
    finally:
        embedding_column.drop(url, embedder.model)


async def test_another_revision_is_not_filled_into_the_column(postgres: Postgres) -> None:
    class Newer(Letters):
        revision = "2"

    try:
        await embedding_column.add(postgres.admin_url, Letters(), [])
        with pytest.raises(FailedPrecondition, match="revision"):
            await embedding_column.add(postgres.admin_url, Newer(), [])
    finally:
        embedding_column.drop(postgres.admin_url, Letters.model)


def test_the_last_model_is_not_dropped(postgres: Postgres) -> None:
    with pytest.raises(FailedPrecondition, match="only model"):
        embedding_column.drop(postgres.admin_url, "sentence-transformers/all-MiniLM-L6-v2")
    with pytest.raises(NotFound):
        embedding_column.drop(postgres.admin_url, "no/such")


async def test_another_dimension_or_revision_is_refused(retriever: Retriever) -> None:
    class Wrong(Letters):
        model = "sentence-transformers/all-MiniLM-L6-v2"

    with pytest.raises(FailedPrecondition, match="26"):
        await embedding_models.column_of(retriever.service.parts.pool, Wrong())


@pytest.mark.parametrize(
    ("rows", "bad"),
    [
        ([[3.0, 4.0]], False),
        ([[0.0, 0.0]], True),
        ([[float("nan"), 1.0]], True),
        ([[1e39, 1.0]], True),
    ],
)
def test_vectors_are_unit_length_or_refused_one_by_one(rows: list[list[float]], bad: bool) -> None:
    vectors = normalised([*rows, [0.0, 2.0]], 2, 2)
    assert bool(np.isnan(vectors[0]).all()) is bad
    assert vectors[1].tolist() == [0.0, 1.0]
