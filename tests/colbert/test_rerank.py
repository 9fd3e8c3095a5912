"""Rerank through a real server: by chunk id and by text."""

import asyncio

import grpc
import numpy as np
import pytest

from folio.common.v1 import step_pb2
from folio.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from services.colbert.assembly import Service
from services.rpc.identity import Principal
from services.rpc.matrices import pack
from services.rpc.testing import running
from tests.colbert.asking import (
    BODIES,
    QUESTION,
    Options,
    Request,
    ids,
    refused,
    rerank,
    texts,
)
from tests.colbert.conftest import AddDocument

pytestmark = pytest.mark.integration


class TestByTexts:
    async def test_words_that_the_model_does_not_know_match_nothing(
        self, channel: grpc.aio.Channel
    ) -> None:
        """They are all one token, [UNK]: "\u1780" would answer "\u1788" perfectly."""
        other = "\u1788\u1789 \u178a\u178b"
        for query in ("\u1780\u1781 \u1782\u1783", "x" * 300):
            response = await rerank(channel, Request(text=query, texts=texts(other, BODIES[0])))
            assert [result.score for result in response.results] == [0, 0]
        mixed = "\u1780\u1781 pump"
        response = await rerank(channel, Request(text=mixed, texts=texts(other, BODIES[0])))
        assert response.results[1].rank == 1
        alone = await rerank(channel, Request(text="pump", texts=texts(BODIES[0])))
        assert 0 < response.results[1].score_per_token < alone.results[0].score_per_token

    async def test_the_answer_comes_first(self, channel: grpc.aio.Channel) -> None:
        reply = await rerank(channel, Request(text=QUESTION, texts=texts(*BODIES)))
        assert [r.index for r in reply.results] == [0, 1, 2, 3]
        assert reply.results[1].rank == 1
        assert [report.step for report in reply.steps] == [
            step_pb2.STEP_ENCODE,
            step_pb2.STEP_SCORE,
        ]

    async def test_duplicates_keep_their_own_places(self, channel: grpc.aio.Channel) -> None:
        reply = await rerank(
            channel, Request(text=QUESTION, texts=texts(BODIES[0], BODIES[1], BODIES[0], BODIES[1]))
        )
        scores = [r.score for r in reply.results]
        assert (scores[0], scores[1]) == (scores[2], scores[3])
        assert [r.rank for r in reply.results] == [3, 1, 4, 2]

    async def test_top_n_keeps_the_best_in_the_callers_order(
        self, channel: grpc.aio.Channel
    ) -> None:
        every = await rerank(channel, Request(text=QUESTION, texts=texts(*BODIES)))
        best = await rerank(
            channel, Request(text=QUESTION, texts=texts(*BODIES), options=Options(top_n=2))
        )
        assert [(r.index, r.rank) for r in best.results] == [
            (r.index, r.rank) for r in every.results if r.rank <= 2
        ]

    async def test_no_candidate_is_an_empty_result(self, channel: grpc.aio.Channel) -> None:
        for request in (
            Request(text=QUESTION, texts=texts()),
            Request(text=QUESTION, chunk_ids=ids()),
        ):
            assert not (await rerank(channel, request)).results

    async def test_a_blank_text_is_empty_and_harms_no_other(
        self, channel: grpc.aio.Channel
    ) -> None:
        reply = await rerank(channel, Request(text=QUESTION, texts=texts("", " \n", BODIES[1])))
        assert [r.status for r in reply.results] == [2, 2, 1]
        assert reply.results[2].rank == 1

    async def test_truncation_is_flagged_or_refused(self, channel: grpc.aio.Channel) -> None:
        candidates = texts("short", "long " * 600)
        reply = await rerank(channel, Request(text=QUESTION, texts=candidates))
        assert [r.truncated for r in reply.results] == [False, True]
        code, message = await refused(
            channel,
            Request(
                text=QUESTION,
                texts=candidates,
                options=Options(truncation=rerank_pb2.TRUNCATION_NONE),
            ),
        )
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert message == "texts.texts[1]: has more than the 512 tokens that are read"

    async def test_a_query_without_words_is_refused(self, channel: grpc.aio.Channel) -> None:
        code, _ = await refused(channel, Request(text=" ", texts=texts("a")))
        assert code is grpc.StatusCode.INVALID_ARGUMENT

    async def test_alignments_come_with_the_querys_tokens(self, channel: grpc.aio.Channel) -> None:
        reply = await rerank(
            channel,
            Request(
                text="parental leave", texts=texts(BODIES[1]), options=Options(alignments=True)
            ),
        )
        tokens = list(reply.query_token_texts)
        assert [token for token in tokens if not token.startswith("[")] == ["parental", "leave"]
        alignment = reply.results[0].alignment
        assert len(alignment.document_tokens) == len(tokens) == reply.query_tokens
        assert sum(alignment.similarities) == pytest.approx(reply.results[0].score, rel=1e-5)

    async def test_a_score_does_not_depend_on_the_neighbours(
        self, channel: grpc.aio.Channel
    ) -> None:
        long = "A much longer text about quite another matter, to be padded against. " * 12
        together = await rerank(
            channel, Request(text=QUESTION, texts=texts(long, *(f"{b} !" for b in BODIES)))
        )
        alone = await rerank(channel, Request(text=QUESTION, texts=texts(f"{BODIES[1]} !!")))
        other = await rerank(
            channel, Request(text=QUESTION, texts=texts(f"{BODIES[1]} !!", long + "end"))
        )
        # The document is remembered, so the second reply has the very same bits.
        assert alone.results[0].score == other.results[0].score
        single = await rerank(channel, Request(text=QUESTION, texts=texts(f"{BODIES[2]} !")))
        assert single.results[0].score == pytest.approx(together.results[3].score, abs=1e-3)

    async def test_calls_at_once_get_their_own_scores(self, channel: grpc.aio.Channel) -> None:
        bodies = [f"The part {n} weighs {n * 7} grams." for n in range(24)]
        replies = await asyncio.gather(
            *(
                rerank(channel, Request(text=f"weight of part {n}", texts=texts(*bodies)))
                for n in range(6)
            )
        )
        for n, reply in enumerate(replies):
            again = await rerank(channel, Request(text=f"weight of part {n}", texts=texts(*bodies)))
            assert [r.score for r in reply.results] == pytest.approx(
                [r.score for r in again.results], abs=1e-3
            )


class TestByChunkId:
    async def test_scores_are_those_of_the_texts_behind_their_title(
        self, channel: grpc.aio.Channel, acme: Principal, add_document: AddDocument
    ) -> None:
        _, chunks = await add_document(acme.organization_id, BODIES)
        by_id = await rerank(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        titled = texts(*(f"A title\n{body}" for body in BODIES))
        by_text = await rerank(channel, Request(text=QUESTION, texts=titled))
        assert [r.score for r in by_id.results] == pytest.approx(
            [r.score for r in by_text.results], abs=1e-3
        )
        assert [r.rank for r in by_id.results] == [r.rank for r in by_text.results]
        assert [report.step for report in by_id.steps] == [step_pb2.STEP_FETCH, step_pb2.STEP_SCORE]

    async def test_order_and_neighbours_do_not_change_a_bit(
        self, channel: grpc.aio.Channel, acme: Principal, add_document: AddDocument
    ) -> None:
        _, chunks = await add_document(acme.organization_id, BODIES)
        forwards = await rerank(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        again = await rerank(
            channel, Request(text=QUESTION, chunk_ids=ids(*chunks[::-1], chunks[0]))
        )
        scores = [r.score for r in forwards.results]
        assert [r.score for r in again.results] == [*scores[::-1], scores[0]]

    async def test_many_chunks_are_fetched_in_steps(
        self,
        channel: grpc.aio.Channel,
        service: Service,
        acme: Principal,
        add_document: AddDocument,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        _, chunks = await add_document(acme.organization_id, [*BODIES, " "])
        request = Request(text=QUESTION, chunk_ids=ids(*chunks), options=Options(alignments=True))
        whole = await rerank(channel, request)
        asked, tiles = [], service.parts.reranker._chunks.tiles

        async def counted(principal: Principal, step: list[int]) -> object:
            asked.append(len(step))
            return await tiles(principal, step)

        monkeypatch.setattr(service.parts.reranker._chunks, "tiles", counted)
        monkeypatch.setattr("services.colbert.chunks.FETCH_STEP", 2)
        stepwise = await rerank(channel, request)
        assert asked == [2, 2, 1]
        assert list(stepwise.results) == list(whole.results)
        request.chunk_ids.ids.append(10**12)
        assert (await refused(channel, request))[0] is grpc.StatusCode.NOT_FOUND

    async def test_vectors_outlive_the_process(
        self,
        channel: grpc.aio.Channel,
        service: Service,
        acme: Principal,
        add_document: AddDocument,
    ) -> None:
        """A second service, with nothing in memory, reads what the first one stored."""
        _, chunks = await add_document(acme.organization_id, BODIES)
        first = await rerank(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        for chunk in chunks:
            service.parts.reranker._cache.remove((acme.organization_id, chunk))
        second = await rerank(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        assert [r.score for r in first.results] == [r.score for r in second.results]

    async def test_query_vectors_must_be_the_models(
        self, channel: grpc.aio.Channel, acme: Principal, add_document: AddDocument
    ) -> None:
        _, chunks = await add_document(acme.organization_id, BODIES[:1])
        code, message = await refused(
            channel,
            Request(vectors=pack(np.ones((2, 128), np.float32)), chunk_ids=ids(*chunks)),
        )
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert message == "vectors.dim: is 128; this model's vectors have 384"

    async def test_too_many_unindexed_chunks_are_refused(
        self, channel: grpc.aio.Channel, acme: Principal, add_document: AddDocument
    ) -> None:
        _, chunks = await add_document(acme.organization_id, [f"Text {n}." for n in range(9)])
        code, message = await refused(channel, Request(text=QUESTION, chunk_ids=ids(*chunks)))
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "IndexDocument" in message


async def test_remembered_queries_are_bounded_by_their_bytes(
    channel: grpc.aio.Channel, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = 384 * 4
    monkeypatch.setattr("services.colbert.queries.MAX_BYTES", 40 * row)
    for number in range(12):  # six tokens each: [CLS] long question number n [SEP]
        await rerank(channel, Request(text=f"long question number {number}", texts=texts("a")))
    held = service.parts.queries._known
    assert 5 <= len(held) <= 6
    assert sum(len(query.vectors) for query in held.values()) <= 40
    assert [text for _, text in held][-1] == "long question number 11"
    assert service.parts.queries.bytes == sum(query.vectors.nbytes for query in held.values())


async def test_capabilities_say_what_it_is(channel: grpc.aio.Channel) -> None:
    reply = await rerank_pb2_grpc.RerankServiceStub(channel).GetCapabilities(
        rerank_pb2.GetCapabilitiesRequest(), timeout=10
    )
    assert reply.capabilities.dim == 384
    (provider,) = reply.capabilities.providers
    assert provider.model == "sentence-transformers/all-MiniLM-L6-v2"
    assert provider.local
    assert reply.accepts_chunk_ids
    assert reply.capabilities.details["kernel"]


async def test_without_an_identity_nothing_is_served(service: Service) -> None:
    async with running("colbert", service.register) as channel:
        code, _ = await refused(channel, Request(text="a", texts=texts("a")))
    assert code is grpc.StatusCode.UNAUTHENTICATED
