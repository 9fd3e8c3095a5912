"""IndexDocument, SearchExact, Encode, and the stream."""

import asyncio
from collections.abc import AsyncIterator, Callable

import grpc
import numpy as np
import psycopg
import pytest

from folio.common.v1 import document_pb2
from folio.rerank.v1 import (
    late_interaction_pb2,
    late_interaction_pb2_grpc,
    rerank_pb2,
    rerank_pb2_grpc,
)
from native.maxsim import Tiles
from services.colbert.assembly import Service, open_service
from services.colbert.cache import TileCache
from services.colbert.settings import ColbertSettings
from services.rpc.identity import Principal
from services.rpc.matrices import unpack
from services.rpc.testing import running
from tests.colbert.asking import BODIES, QUESTION, Request, ids, rerank, texts
from tests.colbert.conftest import AddDocument
from tests.conftest import Postgres

pytestmark = pytest.mark.integration


async def index(
    channel: grpc.aio.Channel, document: int, version: int = 1
) -> list[tuple[int, int, int]]:
    stub = late_interaction_pb2_grpc.LateInteractionServiceStub(channel)
    request = late_interaction_pb2.IndexDocumentRequest(document_id=document, version=version)
    return [
        (step.chunks_done, step.chunks_total, step.chunks_failed)
        async for step in stub.IndexDocument(request, timeout=120)
    ]


class TestIndexDocument:
    async def test_a_staged_version_is_encoded_in_steps_and_once(
        self,
        channel: grpc.aio.Channel,
        postgres: Postgres,
        acme: Principal,
        add_document: AddDocument,
    ) -> None:
        bodies = [f"Sentence number {n} of the manual." for n in range(40)] + [" "]
        document, chunks = await add_document(acme.organization_id, bodies, live=False, title="")
        steps = [(done, 41, 0) for done in range(0, 41, 8)]
        assert await index(channel, document) == [*steps, (41, 41, 1)]
        assert await index(channel, document) == [(41, 41, 0)]
        with psycopg.connect(postgres.admin_url) as connection:
            rows = connection.execute(
                "select n, dim, dtype, bytes from folio.token_vectors where chunk_id = any(%s)",
                [chunks],
            ).fetchall()
        assert len(rows) == 41
        for tokens, dim, dtype, stored in rows:
            tiles = Tiles.from_bytes(stored)
            assert (tiles.tokens, tiles.dim, dtype) == (tokens, dim, "int8-tiles")

    async def test_calls_at_once_for_one_version_encode_it_once(
        self,
        channel: grpc.aio.Channel,
        service: Service,
        acme: Principal,
        add_document: AddDocument,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        document, _ = await add_document(acme.organization_id, BODIES, live=False)
        encode, encoded = service.parts.encoding.documents, []

        async def counted(texts: list[str], **options: bool) -> object:
            encoded.extend(texts)
            return await encode(texts, **options)

        monkeypatch.setattr(service.parts.encoding, "documents", counted)
        steps = await asyncio.gather(*(index(channel, document) for _ in range(8)))
        assert sorted(encoded) == sorted(f"A title\n{body}" for body in BODIES)
        assert {step[-1] for step in steps} == {(len(BODIES), len(BODIES), 0)}

    async def test_another_tenants_document_is_unknown(
        self, channel: grpc.aio.Channel, globex: Principal, add_document: AddDocument
    ) -> None:
        document, _ = await add_document(globex.organization_id, BODIES)
        for number, version in ((document, 1), (10**12, 1)):
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await index(channel, number, version)
            assert failure.value.code() is grpc.StatusCode.NOT_FOUND

    async def test_damaged_vectors_are_made_again(
        self,
        channel: grpc.aio.Channel,
        postgres: Postgres,
        acme: Principal,
        add_document: AddDocument,
    ) -> None:
        document, chunks = await add_document(acme.organization_id, BODIES)
        await index(channel, document)
        with psycopg.connect(postgres.admin_url) as connection:
            connection.execute(
                "update folio.token_vectors set bytes = substr(bytes, 1, 100) where chunk_id = %s",
                [chunks[1]],
            )
        reply = await rerank(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        assert reply.results[1].rank == 1


class TestSearchExact:
    async def search(
        self, service: Service, principal: Principal, **request: object
    ) -> late_interaction_pb2.SearchExactResponse:
        async with running("colbert", service.register, principal) as channel:
            stub = late_interaction_pb2_grpc.LateInteractionServiceStub(channel)
            return await stub.SearchExact(
                late_interaction_pb2.SearchExactRequest(
                    **{"text": QUESTION, "limit": 3, **request}  # type: ignore[arg-type]
                ),
                timeout=60,
            )

    async def test_it_ranks_every_visible_chunk_as_rerank_does(
        self, service: Service, postgres: Postgres, add_document: AddDocument
    ) -> None:
        mine = Principal(postgres.organization())
        _, chunks = await add_document(mine.organization_id, BODIES)
        await add_document(mine.organization_id, ["Parental leave: 99 weeks."], live=False)
        found = await self.search(service, mine)
        async with running("colbert", service.register, mine) as channel:
            reply = await rerank(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        best = sorted(reply.results, key=lambda result: result.rank)[:3]
        assert [(hit.chunk_id, hit.score) for hit in found.hits] == [
            (chunks[result.index], result.score) for result in best
        ]
        assert found.chunks_scored == 4

    async def test_equal_scores_are_ordered_by_chunk_id(
        self, service: Service, postgres: Postgres, add_document: AddDocument
    ) -> None:
        mine = Principal(postgres.organization())
        _, chunks = await add_document(mine.organization_id, [BODIES[1]] * 5)
        found = await self.search(service, mine, limit=2)
        assert [hit.chunk_id for hit in found.hits] == chunks[:2]

    async def test_a_document_deleted_meanwhile_takes_only_its_own_hits(
        self,
        service: Service,
        postgres: Postgres,
        add_document: AddDocument,
        delete_document: Callable[[int], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        mine = Principal(postgres.organization())
        _, kept = await add_document(mine.organization_id, BODIES)
        gone, chunks = await add_document(mine.organization_id, BODIES)
        await self.search(service, mine)  # both are in memory now
        filtered = service.parts.exact_search._store.filtered

        async def then_deleted(*arguments: object) -> list[int]:
            found = await filtered(*arguments)  # type: ignore[arg-type]
            assert set(chunks) <= set(found)
            delete_document(gone)
            service.parts.reranker._chunks._visibility.changed(mine.organization_id)
            return found

        monkeypatch.setattr(service.parts.exact_search._store, "filtered", then_deleted)
        found = await self.search(service, mine, limit=10)
        assert sorted(hit.chunk_id for hit in found.hits) == kept

    async def test_filters_restrict_it(
        self, service: Service, postgres: Postgres, add_document: AddDocument
    ) -> None:
        mine = Principal(postgres.organization())
        first, chunks = await add_document(mine.organization_id, BODIES, kind="policy")
        await add_document(mine.organization_id, BODIES, kind="manual")
        for wanted in (
            document_pb2.Filter(document_ids=[first]),
            document_pb2.Filter(kinds=["policy"]),
        ):
            found = await self.search(service, mine, filter=wanted)
            assert {hit.chunk_id for hit in found.hits} <= set(chunks)
            assert found.chunks_scored == 4
        for nothing in (
            document_pb2.Filter(collections=["none"]),
            document_pb2.Filter(published_from="2020-01-01"),
        ):
            assert not (await self.search(service, mine, filter=nothing)).hits

    async def test_more_chunks_than_the_limit_are_refused(
        self, service: Service, postgres: Postgres, add_document: AddDocument
    ) -> None:
        mine = Principal(postgres.organization())
        await add_document(mine.organization_id, ["A text."] * 61)
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await self.search(service, mine)
        assert failure.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_encode_gives_vectors_that_score_like_the_texts(channel: grpc.aio.Channel) -> None:
    stub = late_interaction_pb2_grpc.LateInteractionServiceStub(channel)
    query = await stub.Encode(
        late_interaction_pb2.EncodeRequest(
            texts=[QUESTION], encode_as=late_interaction_pb2.ENCODE_AS_QUERY
        ),
        timeout=60,
    )
    documents = await stub.Encode(
        late_interaction_pb2.EncodeRequest(
            texts=[*BODIES, ""], encode_as=late_interaction_pb2.ENCODE_AS_DOCUMENT
        ),
        timeout=60,
    )
    assert documents.lengths[-1] == 0
    rows = unpack(documents.tokens, "tokens")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    by_vector = await rerank(
        channel,
        Request(
            vectors=query.tokens,
            document_vectors=rerank_pb2.DocumentVectors(
                tokens=documents.tokens, lengths=documents.lengths
            ),
        ),
    )
    by_text = await rerank(channel, Request(text=QUESTION, texts=texts(*BODIES, "")))
    # Texts are scored as the index stores them, in int8; these vectors are fp32.
    assert [r.score for r in by_vector.results] == pytest.approx(
        [r.score for r in by_text.results], abs=0.02
    )


async def test_encode_refuses_more_than_a_message_holds(
    colbert_settings: ColbertSettings, service: Service, acme: Principal
) -> None:
    settings = colbert_settings.model_copy(update={"max_message_bytes": 2**20})
    async with (
        open_service(settings, service.parts.encoding.encoder) as small,
        running("colbert", small.register, acme) as channel,
    ):
        stub = late_interaction_pb2_grpc.LateInteractionServiceStub(channel)
        request = late_interaction_pb2.EncodeRequest(
            texts=["word " * 500] * 2, encode_as=late_interaction_pb2.ENCODE_AS_DOCUMENT
        )
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await stub.Encode(request, timeout=60)
    assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "send fewer at once" in (failure.value.details() or "")


class TestStream:
    async def test_every_request_is_answered_by_its_id_and_errors_end_nothing(
        self, channel: grpc.aio.Channel
    ) -> None:
        async def requests() -> AsyncIterator[rerank_pb2.StreamRerankRequest]:
            for n in range(40):
                request = Request(text=f"question {n}", texts=texts(f"text {n}", "another"))
                if n % 10 == 3:
                    request = Request(text="who", chunk_ids=ids(10**12))
                if n % 10 == 7:
                    request = Request(texts=texts("no query at all"))
                yield rerank_pb2.StreamRerankRequest(correlation_id=f"c{n}", request=request)

        stub = rerank_pb2_grpc.RerankServiceStub(channel)
        answers = {
            answer.correlation_id: answer
            async for answer in stub.StreamRerank(requests(), timeout=120)
        }
        assert len(answers) == 40
        assert answers["c13"].error.code == grpc.StatusCode.NOT_FOUND.value[0]
        assert answers["c17"].error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        for n in (0, 12, 39):
            results = answers[f"c{n}"].response.results
            assert [result.rank for result in results] == [1, 2]

    async def test_an_empty_stream_ends(self, channel: grpc.aio.Channel) -> None:
        async def nothing() -> AsyncIterator[rerank_pb2.StreamRerankRequest]:
            return
            yield

        stub = rerank_pb2_grpc.RerankServiceStub(channel)
        assert [answer async for answer in stub.StreamRerank(nothing(), timeout=10)] == []


def test_the_cache_stays_within_its_bytes_and_drops_the_least_recent() -> None:
    tiles = [Tiles.from_matrix(np.full((8, 64), n + 1, np.float32), "int8") for n in range(5)]
    cache = TileCache(3 * (tiles[0].nbytes + 400))
    for n in range(3):
        cache.put((1, n), tiles[n])
    assert cache.get((1, 0)) is tiles[0]
    cache.put((1, 3), tiles[3])
    assert [cache.get((1, n)) is not None for n in range(4)] == [True, False, True, True]
    assert cache.get((2, 0)) is None
    cache.put((1, 3), tiles[4])
    assert len(cache) == 3
    assert cache.bytes <= 3 * (tiles[0].nbytes + 400)
