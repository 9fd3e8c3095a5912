"""A query, packed once for any number of calls."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from native.maxsim._maxsim import ffi, lib
from native.maxsim.kernels import MAX_QUERY_TOKENS, Dtype, address_of, as_matrix, code_of


class Query:
    """A query of (tokens, dim) vectors, packed for documents of one dtype.

    Attributes: dtype, dim, tokens (those that count), kept (their places in the query as given),
    length (tokens as given) and address.
    """

    __slots__ = ("_data", "address", "dim", "dtype", "kept", "length", "tokens")

    def __init__(
        self, vectors: NDArray[Any], *, mask: NDArray[Any] | None = None, dtype: Dtype = "fp32"
    ) -> None:
        """Pack float32 or float16 vectors; tokens whose mask is False or 0 do not count.

        For "int8" documents the query is quantised too, each token by its largest magnitude / 127;
        for "bf16" it is rounded to bf16. Raises TypeError on another dtype, and ValueError on a
        wrong shape, no token or more than 1,024 that count, or a value that is NaN, infinite or
        above 2**52 in magnitude.
        """
        rows = as_matrix(vectors, "the query")
        self.length = rows.shape[0]
        self.kept = _kept(self.length, mask)
        if len(self.kept) < self.length:
            rows = rows[self.kept]
        self.dtype = dtype
        self.tokens, self.dim = rows.shape
        if not 1 <= self.tokens <= MAX_QUERY_TOKENS:
            raise ValueError(
                f"{self.tokens} tokens of the query count; there must be 1 to {MAX_QUERY_TOKENS}"
            )
        code = code_of(dtype)
        size = lib.maxsim_query_bytes(code, self.tokens, self.dim)
        memory = np.empty(size + 63, dtype=np.uint8)
        start = -address_of(memory) % 64  # the kernels load whole cache lines
        self._data = memory[start : start + size]
        self.address = address_of(self._data)
        source = ffi.from_buffer("float[]", rows)
        done = lib.maxsim_query_pack(
            code, source, self.tokens, self.dim, ffi.from_buffer(self._data)
        )
        if done < 0:
            token = int(self.kept[-1 - done])
            raise ValueError(
                f"token {token} of the query holds a value that is NaN, infinite or above 2**52"
            )

    def __repr__(self) -> str:
        return f"Query({self.tokens} x {self.dim}, {self.dtype})"


def _kept(length: int, mask: NDArray[Any] | None) -> NDArray[np.intp]:
    if mask is None:
        return np.arange(length)
    if not isinstance(mask, np.ndarray) or mask.dtype.kind not in "biu":
        raise TypeError("mask must be a numpy array of booleans or integers")
    if mask.shape != (length,):
        raise ValueError(f"mask must have shape ({length},), one entry a token, not {mask.shape}")
    return np.flatnonzero(mask)
