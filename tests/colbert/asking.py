"""What tests of Rerank ask, and how: by chunk id, by text, by vector."""

import grpc
import numpy as np
import pytest

from folio.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from services.rpc.matrices import pack

QUESTION = "How long is the parental leave?"


BODIES = [
    "The pump P-2041 is served every 24 months.",
    "Full-time staff are entitled to 16 weeks of paid parental leave.",
    "Travel is booked through the office.",
    "Leave must be requested in writing.",
]


Request = rerank_pb2.RerankRequest


Options = rerank_pb2.RerankOptions


def ids(*chunk_ids: int) -> rerank_pb2.ChunkIds:
    return rerank_pb2.ChunkIds(ids=chunk_ids)


def texts(*bodies: str) -> rerank_pb2.Texts:
    return rerank_pb2.Texts(texts=bodies)


def documents(*matrices: np.ndarray) -> rerank_pb2.DocumentVectors:
    return rerank_pb2.DocumentVectors(
        tokens=pack(np.concatenate(matrices).astype(np.float32)),
        lengths=[len(matrix) for matrix in matrices],
    )


async def rerank(
    channel: grpc.aio.Channel, request: rerank_pb2.RerankRequest
) -> rerank_pb2.RerankResponse:
    return await rerank_pb2_grpc.RerankServiceStub(channel).Rerank(request, timeout=60)


async def refused(
    channel: grpc.aio.Channel, request: rerank_pb2.RerankRequest
) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await rerank(channel, request)
    return failure.value.code(), failure.value.details() or ""
