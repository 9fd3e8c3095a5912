"""Rerank by vectors that the caller sends, through a real server."""

import struct

import grpc
import numpy as np
import pytest

from folio.common.v1 import vectors_pb2
from folio.rerank.v1 import rerank_pb2
from services.rpc.matrices import pack
from tests.colbert.asking import Options, Request, documents, refused, rerank

pytestmark = pytest.mark.integration


class TestByVectors:
    """What the caller brings is scored as it is, in fp32."""

    # Two query tokens against three document tokens of four dimensions, worked by hand:
    # token 0: max(1, 0, .5) = 1; token 1: max(0, 3, -1) = 3.
    QUERY = np.array([[1, 0, 0, 0], [0, 1, 0, 0]], np.float32)
    HAND = np.array([[1, 0, 9, 9], [0, 3, 0, 0], [0.5, -1, 0, 0]], np.float32)

    async def test_the_hand_worked_example(self, channel: grpc.aio.Channel) -> None:
        negative = np.array([[-2, -1, 0, 0]], np.float32)
        reply = await rerank(
            channel,
            Request(vectors=pack(self.QUERY), document_vectors=documents(negative, self.HAND)),
        )
        assert [r.score for r in reply.results] == [-3.0, 4.0]
        assert [r.score_per_token for r in reply.results] == [-1.5, 2.0]
        assert [r.rank for r in reply.results] == [2, 1]
        assert reply.query_tokens == 2

    async def test_alignments_name_the_token_that_answered(self, channel: grpc.aio.Channel) -> None:
        reply = await rerank(
            channel,
            Request(
                vectors=pack(self.QUERY),
                document_vectors=documents(self.HAND),
                options=Options(alignments=True),
            ),
        )
        alignment = reply.results[0].alignment
        assert list(alignment.document_tokens) == [0, 1]
        assert list(alignment.similarities) == [1.0, 3.0]

    @pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "BFLOAT16", "INT8"])
    async def test_every_element_type_means_the_same(
        self, channel: grpc.aio.Channel, dtype: str
    ) -> None:
        data = {
            "FLOAT32": self.HAND.astype("<f4").tobytes(),
            "FLOAT16": self.HAND.astype("<f2").tobytes(),
            "BFLOAT16": (self.HAND.view("<u4") >> 16).astype("<u2").tobytes(),
            "INT8": (self.HAND * 2).astype("i1").tobytes(),
        }[dtype]
        matrix = vectors_pb2.Matrix(
            data=data,
            rows=3,
            dim=4,
            dtype=vectors_pb2.Dtype.Value(f"DTYPE_{dtype}"),
            scales=struct.pack("<3f", 0.5, 0.5, 0.5) if dtype == "INT8" else b"",
        )
        reply = await rerank(
            channel,
            Request(
                vectors=pack(self.QUERY),
                document_vectors=rerank_pb2.DocumentVectors(tokens=matrix, lengths=[3]),
            ),
        )
        assert reply.results[0].score == 4.0

    async def test_what_cannot_be_scored_says_so_and_ranks_last(
        self, channel: grpc.aio.Channel
    ) -> None:
        bad = self.HAND.copy()
        bad[1, 2] = np.nan
        reply = await rerank(
            channel,
            Request(
                vectors=pack(self.QUERY),
                document_vectors=documents(
                    bad, np.zeros((0, 4)), np.array([[-5, -5, 0, 0]]), self.HAND
                ),
            ),
        )
        assert [rerank_pb2.CandidateStatus.Name(r.status)[17:] for r in reply.results] == [
            "NOT_FINITE",
            "EMPTY",
            "SCORED",
            "SCORED",
        ]
        assert [r.score for r in reply.results] == [0, 0, -10, 4]
        assert [r.rank for r in reply.results] == [3, 4, 2, 1]

    async def test_scores_are_bit_equal_alone_and_in_a_batch(
        self, channel: grpc.aio.Channel
    ) -> None:
        random = np.random.default_rng(7)
        query = random.standard_normal((17, 128)).astype(np.float32)
        matrices = [
            random.standard_normal((n, 128)).astype(np.float32) for n in (1, 7, 8, 9, 200, 33)
        ]
        together = await rerank(
            channel, Request(vectors=pack(query), document_vectors=documents(*matrices))
        )
        backwards = await rerank(
            channel, Request(vectors=pack(query), document_vectors=documents(*matrices[::-1]))
        )
        alone = [
            (await rerank(channel, Request(vectors=pack(query), document_vectors=documents(m))))
            .results[0]
            .score
            for m in matrices
        ]
        assert [r.score for r in together.results] == alone
        assert [r.score for r in backwards.results] == alone[::-1]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            (np.zeros((0, 4), np.float32), "vectors.rows"),
            (np.zeros((1025, 4), np.float32), "vectors.rows"),
            (np.full((1, 4), np.inf, np.float32), "vectors.data"),
            (np.zeros((1, 6), np.float32), "vectors.dim"),
            (np.zeros((1, 8), np.float32), "document_vectors.tokens.dim"),
        ],
    )
    async def test_a_wrong_query_is_named(
        self, channel: grpc.aio.Channel, query: np.ndarray, field: str
    ) -> None:
        code, message = await refused(
            channel, Request(vectors=pack(query), document_vectors=documents(self.HAND))
        )
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert message.startswith(field)

    async def test_sizes_that_disagree_are_named(self, channel: grpc.aio.Channel) -> None:
        wrong = documents(self.HAND)
        wrong.lengths[0] = 2
        code, message = await refused(
            channel, Request(vectors=pack(self.QUERY), document_vectors=wrong)
        )
        assert (code, message) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "document_vectors.lengths: add up to 2; the matrix has 3 rows",
        )
        short = pack(self.QUERY)
        short.data = short.data[:-1]
        code, message = await refused(
            channel, Request(vectors=short, document_vectors=documents(self.HAND))
        )
        assert message == "vectors.data: has 31 bytes; rows, dim and dtype make 32"
