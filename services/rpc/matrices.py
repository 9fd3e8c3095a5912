"""The wire's Matrix to and from numpy: the only place that knows its layout."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from folio.common.v1 import vectors_pb2
from services.rpc.errors import InvalidArgument

Matrix = NDArray[np.float32]

_ITEM_BYTES = {
    vectors_pb2.DTYPE_FLOAT32: 4,
    vectors_pb2.DTYPE_FLOAT16: 2,
    vectors_pb2.DTYPE_BFLOAT16: 2,
    vectors_pb2.DTYPE_INT8: 1,
}


def unpack(matrix: vectors_pb2.Matrix, field: str) -> Matrix:
    """(rows, dim) float32, exact for every dtype. InvalidArgument, naming `field`, where sizes disagree."""
    data, scales = matrix.data, matrix.scales
    expected = matrix.rows * matrix.dim * _ITEM_BYTES[matrix.dtype]
    if len(data) != expected:
        raise InvalidArgument.field(
            f"{field}.data", f"has {len(data)} bytes; rows, dim and dtype make {expected}"
        )
    if matrix.dim % 4:
        raise InvalidArgument.field(f"{field}.dim", "must be a multiple of 4")
    wanted = 4 * matrix.rows if matrix.dtype == vectors_pb2.DTYPE_INT8 else 0
    if len(scales) != wanted:
        raise InvalidArgument.field(
            f"{field}.scales", f"has {len(scales)} bytes; expected {wanted}"
        )
    shape = (matrix.rows, matrix.dim)
    if matrix.dtype == vectors_pb2.DTYPE_INT8:
        factors = np.frombuffer(scales, "<f4").reshape(-1, 1)
        values = np.frombuffer(data, "i1").reshape(shape).astype(np.float32)
        values *= factors
        return values
    if matrix.dtype == vectors_pb2.DTYPE_BFLOAT16:
        # A bfloat16 is the upper half of the float32 of the same value.
        halves = np.frombuffer(data, "<u2").astype("<u4") << np.uint32(16)
        return halves.view("<f4").reshape(shape)
    kind = "<f2" if matrix.dtype == vectors_pb2.DTYPE_FLOAT16 else "<f4"
    return np.frombuffer(data, kind).reshape(shape).astype(np.float32, copy=False)


def unpack_documents(documents: vectors_pb2.Matrix, lengths: list[int], field: str) -> list[Matrix]:
    """One matrix per document. InvalidArgument where the lengths do not add up to the rows."""
    rows = unpack(documents, f"{field}.tokens")
    if sum(lengths) != len(rows):
        raise InvalidArgument.field(
            f"{field}.lengths", f"add up to {sum(lengths)}; the matrix has {len(rows)} rows"
        )
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(int).tolist()
    return [rows[start:end] for start, end in pairwise(ends)]


def pack(
    rows: NDArray[np.float32] | NDArray[np.float16],
) -> vectors_pb2.Matrix:
    """In the type that they have: float32 or float16."""
    half = rows.dtype == np.float16
    return vectors_pb2.Matrix(
        data=np.ascontiguousarray(rows, "<f2" if half else "<f4").tobytes(),
        rows=rows.shape[0],
        dim=rows.shape[1],
        dtype=vectors_pb2.DTYPE_FLOAT16 if half else vectors_pb2.DTYPE_FLOAT32,
    )
