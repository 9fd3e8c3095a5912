"""The forms in which documents may be given, and what the C library sees of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from native.maxsim._maxsim import lib
from native.maxsim.kernels import Dtype, as_matrix
from native.maxsim.tiles import Tiles

MAX_TOKENS: Final = 2**31 - 9


@dataclass(frozen=True, slots=True)
class Ragged:
    """Documents end to end: document i is tokens[offsets[i] : offsets[i + 1]].

    tokens has shape (all tokens, dim), float32 or float16; offsets are integers, start anywhere,
    never decrease and stay within tokens.
    """

    tokens: NDArray[Any]
    offsets: NDArray[Any]


Documents = Sequence[Tiles] | Sequence[NDArray[Any]] | NDArray[Any] | Ragged


@dataclass(frozen=True, slots=True)
class Pointers:
    """Where each document lies, its length, and what keeps the memory alive."""

    addresses: NDArray[np.uintp]
    tokens: NDArray[np.int32]
    layout: int
    dtype: Dtype | None  # of tiles; rows are tiled to the query's
    dim: int | None  # None: there is no document
    owner: object


def pointers(documents: Documents) -> Pointers:
    """Check documents and take their addresses. Errors name the first document that is wrong."""
    if isinstance(documents, Ragged):
        return _ragged(documents)
    if isinstance(documents, np.ndarray):
        if documents.ndim != 3:
            raise ValueError(
                f"an array of documents must have shape (n, tokens, dim), not {documents.shape}"
            )
        n, tokens, dim = documents.shape
        flat = as_matrix(documents.reshape(n * tokens, dim), "the documents")
        return _ragged(Ragged(flat, np.arange(n + 1) * tokens))
    if isinstance(documents, Tiles):
        raise TypeError("documents must be a sequence; put a single one into a list")
    held = tuple(documents)
    return _tiles(held) if held and isinstance(held[0], Tiles) else _rows(held)


def _tiles(documents: tuple[Any, ...]) -> Pointers:
    # A reranker calls this for every request, so it is written for speed: 12 us for 100.
    first: Tiles = documents[0]
    alike = set(map(type, documents)) == {Tiles}
    if not (alike and len({d.dtype for d in documents}) == len({d.dim for d in documents}) == 1):
        _refuse(documents)
    return Pointers(
        np.array([d.address for d in documents], dtype=np.uintp),
        np.array([d.tokens for d in documents], dtype=np.int32),
        lib.MAXSIM_TILES,
        first.dtype,
        first.dim,
        documents,
    )


def _refuse(documents: tuple[Any, ...]) -> NoReturn:
    first: Tiles = documents[0]
    for i, tiles in enumerate(documents):
        if type(tiles) is not Tiles:
            raise TypeError(f"document {i} is a {type(tiles).__name__}, the first one is Tiles")
        if (tiles.dtype, tiles.dim) != (first.dtype, first.dim):
            raise ValueError(f"document {i} is {tiles!r}, the first one {first!r}")
    raise AssertionError("the documents are alike")


def _rows(documents: tuple[Any, ...]) -> Pointers:
    rows = tuple(as_matrix(array, f"document {i}") for i, array in enumerate(documents))
    for i, array in enumerate(rows):
        if array.shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"document {i} has dimension {array.shape[1]}, the first one {rows[0].shape[1]}"
            )
    return Pointers(
        np.array([array.ctypes.data for array in rows], dtype=np.uintp),
        np.array([array.shape[0] for array in rows], dtype=np.int32),
        lib.MAXSIM_ROWS,
        None,
        rows[0].shape[1] if rows else None,
        rows,
    )


def _ragged(documents: Ragged) -> Pointers:
    rows = as_matrix(documents.tokens, "tokens")
    offsets = documents.offsets
    if not isinstance(offsets, np.ndarray) or offsets.dtype.kind not in "iu":
        raise TypeError("offsets must be a numpy array of integers")
    if offsets.ndim != 1 or len(offsets) < 1:
        raise ValueError(f"offsets must have shape (documents + 1,), not {offsets.shape}")
    if offsets.dtype.kind == "u" and offsets.max() > np.iinfo(np.int64).max:
        raise ValueError("offsets must fit 64 bits with a sign")
    starts = offsets.astype(np.int64)
    # Compared, not subtracted: the difference of two offsets may overflow.
    if starts[0] < 0 or starts[-1] > len(rows) or bool((starts[1:] < starts[:-1]).any()):
        raise ValueError(f"offsets must never decrease and stay within 0 and {len(rows)}")
    lengths = np.diff(starts)
    if len(lengths) and lengths.max() > MAX_TOKENS:
        raise ValueError(f"a document has at most {MAX_TOKENS} tokens")
    addresses = rows.ctypes.data + starts[:-1] * (rows.shape[1] * rows.itemsize)
    return Pointers(
        addresses.astype(np.uintp),
        lengths.astype(np.int32),
        lib.MAXSIM_ROWS,
        None,
        rows.shape[1],
        rows,
    )
