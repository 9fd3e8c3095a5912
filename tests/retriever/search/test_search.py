"""What search finds, in what order, and that it does so every time."""

import asyncio
import random
import string

import numpy as np
import psycopg
import pytest
from pgvector import Vector

from folio.common.v1 import document_pb2, query_pb2, step_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.filters import Filter
from services.postgres.pool import TenantPool, tenant
from services.retriever.search import legs
from services.rpc.errors import Unavailable
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.documents import add_document
from tests.retriever.conftest import Caller, Retriever

pytestmark = pytest.mark.integration

HANDBOOK = {
    "leave.md": "# Leave\n\nFull-time staff are entitled to 16 weeks of paid parental leave after the first year.",
    "travel.md": "# Travel\n\nSecond-class rail tickets are refunded in full. Taxis need a reason in writing.",
    "pumps.md": "# Pumps\n\nThe impeller of part XJ-4711-B is fastened with 12 Nm. Call +(1)2345 for spares.",
    "valves.md": "# Valves\n\nThe seat of part XJ-4712-C is fastened with 15 Nm. Ask the depot for spares.",
    "network.md": "# Network\n\nThe gateway has the address 10.1.2.3 and the printer has 10.1.2.4 in every office.",
    "languages.md": "# Languages\n\nFirmware is written in C++, tools in .NET, and nothing at all in Cobol.",
    "telephone.md": "# Telephone\n\nOur contract with AT&T ends in March. Ms O'Brien negotiates the next one.",
    "relativity.md": "# Physics\n\nEinstein published the theory of general relativity in the autumn of 1915.",
    "chinese.md": "# 手册\n\n员工每年享有十五天带薪年假。请提前两周向人事部门提交申请。",
    "cafe.md": "# Canteen\n\nThe café opens at eight. Crème brûlée is served on Fridays only.",
}


@pytest.fixture(scope="module")
async def handbook(retriever: Retriever, postgres: Postgres) -> Caller:
    """An organization with the handbook."""
    caller = await retriever.as_(Principal(postgres.organization()))
    await asyncio.gather(*(caller.ingest(text, name) for name, text in HANDBOOK.items()))
    return caller


def names(response: pb.SearchResponse) -> list[str]:
    return [hit.chunk.file_name for hit in response.hits]


async def test_a_question_that_shares_few_words_finds_its_answer(handbook: Caller) -> None:
    question = "How many weeks of parental leave do full-time staff get when they adopt a child?"
    for legs_left_out in ({}, {"without_dense": True}, {"without_sparse": True}):
        assert names(await handbook.search(question, **legs_left_out))[0] == "leave.md"


async def test_stop_words_alone_are_a_legal_query(handbook: Caller) -> None:
    assert (await handbook.search("the and of", without_dense=True)).hits == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("+(1)2345", "pumps.md"),
        ("XJ-4711-B", "pumps.md"),
        ("XJ4711B", "pumps.md"),
        ("what is the torque for part XJ-4712-C?", "valves.md"),
        ("10.1.2.3", "network.md"),
        ("who has 10.1.2.4", "network.md"),
        ("C++", "languages.md"),
        (".NET", "languages.md"),
        ("do we use .NET?", "languages.md"),
        ("AT&T", "telephone.md"),
        ("O'Brien", "telephone.md"),
    ],
)
@pytest.mark.parametrize("without_dense", [False, True])
async def test_codes_are_found_in_the_top_three(
    handbook: Caller, query: str, expected: str, without_dense: bool
) -> None:
    assert expected in names(await handbook.search(query, without_dense=without_dense))[:3]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Einstien", "relativity.md"),
        ("parentel leav", "leave.md"),
        ("XJ-4171-B", "pumps.md"),
        ("brule", "cafe.md"),
    ],
)
async def test_misspelt_words_are_found_and_counted(
    handbook: Caller, query: str, expected: str
) -> None:
    found = await handbook.search(query, without_dense=True)
    assert names(found)[0] == expected
    assert found.corrected_words >= (query != "brule")
    assert (await handbook.search("Einstien", without_dense=True, without_typos=True)).hits == []


async def test_words_that_are_there_in_another_form_are_not_corrected(handbook: Caller) -> None:
    assert (await handbook.search("Einstein publishes theories of relativity")).corrected_words == 0


@pytest.mark.parametrize("query", ["cafe", "creme brulee", "CAFÉ"])
async def test_accents_do_not_matter(handbook: Caller, query: str) -> None:
    assert names(await handbook.search(query, without_dense=True))[0] == "cafe.md"


@pytest.mark.parametrize("query", ["年假", "带薪年假有几天?", "向人事部门申请"])
async def test_a_script_without_spaces_is_searched_by_bigrams(handbook: Caller, query: str) -> None:
    assert names(await handbook.search(query, without_dense=True)) == ["chinese.md"]


async def test_headings_are_searched_and_bodies_stay_slices(handbook: Caller) -> None:
    found = await handbook.search("canteen", without_dense=True)
    assert names(found) == ["cafe.md"]
    chunk = found.hits[0].chunk
    assert chunk.section_path == ["Canteen"]
    assert len(chunk.body) == chunk.char_end - chunk.char_start


async def test_a_hypothetical_answer_goes_to_the_dense_leg_only(handbook: Caller) -> None:
    queries = [pb.Query(text="XJ-4711-B", kind=query_pb2.QUERY_KIND_HYDE)]
    found = await handbook.stub.Search(pb.SearchRequest(queries=queries), timeout=30)
    assert found.hits
    assert {hit.sparse_rank for hit in found.hits} == {0}


async def test_scores_are_with_the_first_query_even_where_a_leg_cannot_use_it(
    handbook: Caller,
) -> None:
    """Runes are in no vocabulary, so the question has no vector; a hypothetical answer has no words."""
    for kind, leg in (
        (query_pb2.QUERY_KIND_QUESTION, "dense"),
        (query_pb2.QUERY_KIND_HYDE, "sparse"),
    ):
        first = pb.Query(text="\u16a0\u16a2\u16a6 \u16a8\u16b1\u16b2", kind=kind)
        second = pb.Query(text="parental leave", kind=query_pb2.QUERY_KIND_MULTI_QUERY)
        found = await handbook.stub.Search(pb.SearchRequest(queries=[first, second]), timeout=30)
        best = found.hits[0]
        assert best.chunk.file_name == "leave.md"
        assert getattr(best, f"{leg}_rank") == 1
        assert getattr(best, f"{leg}_score") == 0.0


async def test_each_filter_restricts_both_legs(caller: Caller) -> None:
    await caller.ingest(
        "Rail tickets are refunded in full. " * 3,
        "a.txt",
        kind="old",
        collection="eu",
        published_on="2020-01-31",
    )
    await caller.ingest(
        "Rail tickets are refunded in part. " * 3,
        "b.txt",
        kind="new",
        collection="us",
        published_on="2025-01-31",
    )
    first = (await caller.search("rail tickets")).hits[0].chunk.document_id
    for chosen, expected in (
        ({"kinds": ["new"]}, {"b.txt"}),
        ({"kinds": ["new", "old"]}, {"a.txt", "b.txt"}),
        ({"collections": ["eu"]}, {"a.txt"}),
        ({"published_from": "2020-02-01"}, {"b.txt"}),
        ({"published_until": "2020-01-31"}, {"a.txt"}),
        ({"document_ids": [first]}, None),
        ({"kinds": ["new"], "collections": ["eu"]}, set()),
        ({"kinds": ["none"]}, set()),
    ):
        for left_out in ({"without_dense": True}, {"without_sparse": True}):
            found = await caller.search(
                "rail tickets", filter=document_pb2.Filter(**chosen), **left_out
            )
            if expected is None:
                assert {hit.chunk.document_id for hit in found.hits} == {first}
            else:
                assert set(names(found)) == expected


async def test_at_most_so_many_of_one_document(caller: Caller) -> None:
    long = "\n\n".join(
        f"Rail tickets rule {n}: " + "tickets are refunded when the train is late. " * 6
        for n in range(9)
    )
    await caller.ingest(long, "long.txt")
    await caller.ingest("Rail tickets are refunded at the counter of the office.", "short.txt")
    found = await caller.search("rail tickets refunded", max_per_document=2, limit=10)
    assert sorted(names(found)) == ["long.txt", "long.txt", "short.txt"]
    assert len((await caller.search("rail tickets", max_per_document=2, limit=2)).hits) == 2


async def test_the_same_query_a_hundred_times_gives_the_same_list(handbook: Caller) -> None:
    first = await handbook.search("spares of a part fastened with a torque")
    for _ in range(99):
        again = await handbook.search("spares of a part fastened with a torque")
        assert [(h.chunk.id, h.score) for h in again.hits] == [
            (h.chunk.id, h.score) for h in first.hits
        ]


@pytest.mark.slow
async def test_any_text_is_a_legal_query(handbook: Caller) -> None:
    generator = random.Random(7)
    alphabet = string.printable + "'\"\\()&|!:*<->@~\x00\x01éß中文🙂\u200b\u0301"
    texts = [
        "".join(generator.choice(alphabet) for _ in range(generator.randint(1, 60)))
        for _ in range(300)
    ] + [
        "'",
        "foo' bar",
        "\\",
        "a & | b",
        "(((",
        "!!!",
        ":*",
        "''",
        "\x00",
        "%",
        "x" * 60_000,
        "a b " * 15_000,
    ]
    for start in range(0, len(texts), 8):
        batch = texts[start : start + 8]
        await handbook.search(*batch, limit=3)


async def test_the_search_of_words_goes_on_without_the_model(
    handbook: Caller, retriever: Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(texts: list[str], *, query: bool = False) -> object:
        raise Unavailable("the embedding provider does not work")

    monkeypatch.setattr(retriever.service.parts.embedder, "embed", away)
    found = await handbook.search("parental leave")
    assert names(found)[0] == "leave.md"
    status = {step.step: step.status for step in found.steps}
    assert status[step_pb2.STEP_EMBED] == step_pb2.STEP_STATUS_DEGRADED
    assert status[step_pb2.STEP_SPARSE] == step_pb2.STEP_STATUS_RAN


async def fill(pool: TenantPool, organization: int, documents: dict[str, int], seed: int) -> None:
    """Documents (kind: number of chunks) with random unit vectors and a shared vocabulary."""
    generator = np.random.default_rng(seed)
    for kind, chunks in documents.items():
        vectors = generator.normal(size=(chunks, 384))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        await add_document(
            pool,
            Principal(organization),
            [f"common word{n % 97} other{generator.integers(1000)}" for n in range(chunks)],
            vectors=vectors.astype(np.float32),
            kind=kind,
        )


@pytest.fixture(scope="module")
async def filled(pool: TenantPool, postgres: Postgres) -> int:
    """An organization with 2,000 random chunks, 1% of the kind "one" and 10% of the kind "ten"."""
    organization = postgres.organization()
    await fill(pool, organization, {"one": 20, "ten": 200, "rest": 1780}, 1)
    return organization


@pytest.mark.slow
async def test_a_one_percent_filter_returns_every_row_it_can_with_the_index_forced(
    pool: TenantPool, filled: int
) -> None:
    organization = filled
    generator = np.random.default_rng(2)
    async with tenant(pool, Principal(organization), ef_search=200) as connection:
        for chosen, eligible in (
            (Filter(kinds=("one",)), 20),
            (Filter(kinds=("ten",)), 200),
            (Filter(), 2000),
        ):
            within = await legs.visible(connection, organization, chosen)
            assert within.eligible == eligible
            for _ in range(5):
                query = generator.normal(size=384).astype(np.float32)
                found = await legs.dense(
                    connection, within, "embedding_minilm", query, 50, exact_below=0
                )
                exact = await legs.dense(
                    connection, within, "embedding_minilm", query, 50, exact_below=10**9
                )
                assert len(found) == min(50, eligible)
                shared = {entry.id for entry in found} & {entry.id for entry in exact}
                assert len(shared) >= 0.9 * len(found)
            words = await legs.sparse(connection, within, "common word5", 50)
            assert len(words) == min(50, eligible)


@pytest.mark.slow
async def test_an_index_that_gives_up_early_is_made_up_for_by_an_exact_scan(
    pool: TenantPool, filled: int
) -> None:
    query = np.random.default_rng(3).normal(size=384).astype(np.float32)
    async with tenant(pool, Principal(filled), ef_search=40) as connection:
        await connection.execute("set local hnsw.max_scan_tuples = 1")
        within = await legs.visible(connection, filled, Filter(kinds=("one",)))
        found = await legs.dense(connection, within, "embedding_minilm", query, 50, exact_below=0)
        exact = await legs.dense(
            connection, within, "embedding_minilm", query, 50, exact_below=10**9
        )
    assert len(found) == 20
    assert found == exact


@pytest.mark.slow
async def test_the_index_serves_the_dense_and_the_sparse_query(
    pool: TenantPool, postgres: Postgres, filled: int
) -> None:
    organization = filled
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute(f"vacuum analyze folio.chunks_{organization}".encode())
    async with tenant(pool, Principal(organization)) as connection:
        await connection.execute("set local enable_sort = off")
        plan = await (
            await connection.execute(
                f"explain select id from chunks where organization_id = {organization} and live "
                "order by embedding_minilm <=> %(vector)s limit 50".encode(),
                {"vector": Vector(np.ones(384, np.float32))},
            )
        ).fetchall()
        assert f"chunks_{organization}_embedding_minilm_idx" in str(plan)
        plan = await (
            await connection.execute(
                b"explain " + legs._SPARSE,
                {
                    "organization": organization,
                    "documents": None,
                    "query": "word5 other7",
                    "k1": 1.2,
                    "b": 0.75,
                    "limit": 50,
                    "apart": False,
                    "share": 0.6,
                },
            )
        ).fetchall()
        assert f"postings_{organization}_pkey" in str(plan), "\n".join(row[0] for row in plan)


async def test_scores_are_bit_identical_after_another_tenant_writes(
    pool: TenantPool, postgres: Postgres
) -> None:
    one, other = postgres.organization(), postgres.organization()
    await fill(pool, one, {"a": 200}, 4)

    async def scores() -> legs.Ranked:
        async with tenant(pool, Principal(one)) as connection:
            within = await legs.visible(connection, one, Filter())
            return await legs.sparse(connection, within, "common word5 other7", 50)

    before = await scores()
    await fill(pool, other, {"a": 500}, 5)
    assert await scores() == before
    assert len(before) == 50
