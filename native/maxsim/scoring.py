"""Scores, the best documents, and which token answered which: the calls into the C library."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from native.maxsim._maxsim import ffi, lib
from native.maxsim.documents import Documents, Pointers, pointers
from native.maxsim.kernels import MAX_THREADS, Dtype
from native.maxsim.query import Query

Invalid = Literal["raise", "lowest"]
Queries = Query | NDArray[Any] | Sequence[Query] | Sequence[NDArray[Any]]


class Cancelled(Exception):
    """The call was cancelled; it has no result."""


class Cancel:
    """A flag that ends a running call from another thread, within about a millisecond."""

    def __init__(self) -> None:
        self._flag = np.zeros(1, dtype=np.int32)
        self.pointer = ffi.from_buffer("int32_t[]", self._flag)

    def set(self) -> None:
        self._flag[0] = 1

    def is_set(self) -> bool:
        return bool(self._flag[0])


@dataclass(frozen=True, slots=True)
class Alignments:
    """How each query token was answered; n documents, a query of `length` tokens as given."""

    scores: NDArray[np.float32]
    """(n,): MaxSim, the sum of the similarities."""
    similarities: NDArray[np.float32]
    """(n, length): max over j of q_i . d_j. 0 where the mask leaves i out; -inf for no tokens."""
    tokens: NDArray[np.int32]
    """(n, length): the first j that reaches it; -1 where there is none."""


def scores(
    query: Queries,
    documents: Documents,
    *,
    mask: NDArray[Any] | None = None,
    dtype: Dtype | None = None,
    threads: int = 1,
    cancel: Cancel | None = None,
    invalid: Invalid = "raise",
) -> NDArray[np.float32]:
    """MaxSim of a query with each document, in the documents' order.

        score(q, d) = sum over query tokens i of max over document tokens j of q_i . d_j

    Khattab & Zaharia, ColBERT, SIGIR 2020, equation 3. The raw sum, in the unit of the vectors'
    dot product: for unit vectors at most the number of query tokens. It grows with the query's
    length, so compare scores of one query only, or divide by the tokens that count.

    query: (tokens, dim) float32 or float16, or a Query packed before; 1 to 1,024 tokens count.
        Several queries, as a sequence or a (n, tokens, dim) array, give a row of scores each.
    documents: a sequence of Tiles or of (tokens, dim) arrays, a (n, tokens, dim) array, or Ragged.
        Arrays are tiled on the fly; Tiles, made once, are read where they lie.
    mask: (tokens,), False or 0 where a token of a single query given as an array does not count.
    dtype: the type to score arrays in, "fp32" unless given; Tiles bring their own.
    threads: how many threads may work, 1 to 64. The scores have the same bits with any number.
    cancel: a Cancel; once set, the call raises Cancelled.
    invalid: what to do about a document with a value that is NaN, infinite or above 2**52:
        "raise" a ValueError that names it, or give it the "lowest" score, -inf.

    Returns (documents,) or (queries, documents) float32. A document without tokens scores -inf,
    the maximum of nothing. No score is NaN. Raises TypeError or ValueError before any work if a
    dtype, shape, dimension or offset is wrong.
    """
    return score_pointers(
        query,
        pointers(documents),
        mask=mask,
        dtype=dtype,
        threads=threads,
        cancel=cancel,
        invalid=invalid,
    )


def score_pointers(
    query: Queries,
    target: Pointers,
    *,
    mask: NDArray[Any] | None = None,
    dtype: Dtype | None = None,
    threads: int = 1,
    cancel: Cancel | None = None,
    invalid: Invalid = "raise",
) -> NDArray[np.float32]:
    """scores, of documents whose addresses are known."""
    single, packed = _queries(query, mask, dtype, target)
    out = np.empty((len(packed), len(target.tokens)), dtype=np.float32)
    status = np.empty(len(target.tokens), dtype=np.uint8)
    addresses = np.array([one.address for one in packed], dtype=np.uintp)
    code = lib.maxsim_score(
        ffi.from_buffer("void *[]", addresses),
        len(packed),
        ffi.from_buffer("void *[]", target.addresses),
        ffi.from_buffer("int32_t[]", target.tokens),
        len(target.tokens),
        target.layout,
        _checked_threads(threads),
        ffi.NULL if cancel is None else cancel.pointer,
        ffi.from_buffer("float[]", out),
        ffi.from_buffer("uint8_t[]", status),
    )
    _check(code, status, invalid)
    return out[0] if single else out


def topk(
    query: Query | NDArray[Any],
    documents: Documents,
    k: int,
    *,
    mask: NDArray[Any] | None = None,
    dtype: Dtype | None = None,
    threads: int = 1,
    cancel: Cancel | None = None,
    invalid: Invalid = "raise",
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The min(k, n) best documents: their places among `documents`, and their scores.

    Best first; of equal scores the lower place first. The other arguments are those of scores.
    """
    found = scores(
        query,
        documents,
        mask=mask,
        dtype=dtype,
        threads=threads,
        cancel=cancel,
        invalid=invalid,
    )
    if found.ndim != 1:
        raise ValueError("topk takes one query")
    order = best(found, k)
    return order, found[order]


def best(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Where the min(k, n) largest of n scores are, best first, ties to the lower place."""
    if k < 0:
        raise ValueError(f"k must not be negative, but is {k}")
    values = np.ascontiguousarray(values, dtype=np.float32)
    order = np.empty(min(k, len(values)), dtype=np.int64)
    done = lib.maxsim_topk(
        ffi.from_buffer("float[]", values),
        len(values),
        len(order),
        ffi.from_buffer("int64_t[]", order),
    )
    if done < 0:
        raise MemoryError
    return order


def alignments(
    query: Query | NDArray[Any],
    documents: Documents,
    *,
    mask: NDArray[Any] | None = None,
    dtype: Dtype | None = None,
    threads: int = 1,
    cancel: Cancel | None = None,
    invalid: Invalid = "raise",
) -> Alignments:
    """Scores, and for each query token the document token that answered it best.

    The arguments are those of scores, for one query. Of equal similarities the first token wins.
    """
    target = pointers(documents)
    single, (packed, *_) = _queries(query, mask, dtype, target)
    if not single:
        raise ValueError("alignments takes one query")
    n = len(target.tokens)
    found = np.empty(n, dtype=np.float32)
    status = np.empty(n, dtype=np.uint8)
    similarities = np.empty((n, packed.tokens), dtype=np.float32)
    tokens = np.empty((n, packed.tokens), dtype=np.int32)
    code = lib.maxsim_align(
        ffi.cast("void *", packed.address),
        ffi.from_buffer("void *[]", target.addresses),
        ffi.from_buffer("int32_t[]", target.tokens),
        n,
        target.layout,
        _checked_threads(threads),
        ffi.NULL if cancel is None else cancel.pointer,
        ffi.from_buffer("float[]", found),
        ffi.from_buffer("uint8_t[]", status),
        ffi.from_buffer("float[]", similarities),
        ffi.from_buffer("int32_t[]", tokens),
    )
    _check(code, status, invalid)
    if packed.tokens < packed.length:
        every = np.zeros((n, packed.length), dtype=np.float32)
        every[:, packed.kept] = similarities
        places = np.full((n, packed.length), -1, dtype=np.int32)
        places[:, packed.kept] = tokens
        similarities, tokens = every, places
    return Alignments(found, similarities, tokens)


def _queries(
    query: Queries, mask: NDArray[Any] | None, dtype: Dtype | None, target: Pointers
) -> tuple[bool, list[Query]]:
    """Whether one query was given, and the queries packed for the documents."""
    if target.dtype is not None and dtype is not None and dtype != target.dtype:
        raise ValueError(f"the documents are {target.dtype}, so they cannot be scored as {dtype}")
    single = isinstance(query, Query) or (isinstance(query, np.ndarray) and query.ndim != 3)
    if mask is not None and (not single or isinstance(query, Query)):
        raise ValueError("mask goes with one query given as an array; else give it to Query")
    if isinstance(query, Query):
        packed = [query]
    elif single:
        packed = [Query(query, mask=mask, dtype=target.dtype or dtype or "fp32")]  # type: ignore[arg-type]
    else:
        packed = [
            one if isinstance(one, Query) else Query(one, dtype=target.dtype or dtype or "fp32")
            for one in query
        ]
    if not packed:
        raise ValueError("there must be a query")
    wanted = target.dtype or dtype or packed[0].dtype
    for one in packed:
        if one.dtype != wanted:
            raise ValueError(f"a query is packed for {one.dtype}, the documents are {wanted}")
        if one.dim != (target.dim or packed[0].dim):
            raise ValueError(
                f"a query has dimension {one.dim}, the documents {target.dim or packed[0].dim}"
            )
    return single, packed


def _checked_threads(threads: int) -> int:
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads must be 1 to {MAX_THREADS}, not {threads}")
    return threads


def _check(code: int, status: NDArray[np.uint8], invalid: Invalid) -> None:
    if code == lib.MAXSIM_CANCELLED:
        raise Cancelled("the call was cancelled")
    if code == lib.MAXSIM_NO_MEMORY:
        raise MemoryError("no memory to score with")
    if code != lib.MAXSIM_OK:
        raise ValueError("the C library refused the arguments")
    if invalid == "raise" and lib.MAXSIM_NOT_FINITE in status:
        document = int(np.flatnonzero(status == lib.MAXSIM_NOT_FINITE)[0])
        raise ValueError(
            f"document {document} holds a value that is NaN, infinite or too large; "
            'leave it out, or pass invalid="lowest"'
        )
