"""Many documents under integer ids: append, delete, save, load without reading, score."""

import mmap
import os
import secrets
import struct
import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from native.maxsim._maxsim import lib
from native.maxsim.documents import Pointers
from native.maxsim.kernels import Dtype, address_of, check_dim, code_of
from native.maxsim.query import Query
from native.maxsim.scoring import Cancel, best, score_pointers
from native.maxsim.tiles import DTYPES, Tiles

# The file, little-endian: this header (magic, version, element type, dim, documents, CRC-32 of the
# table), the table (ids as int64, lengths in tokens as int32), zeros up to a multiple of 64, then
# each document's tiles.
HEADER: Final = struct.Struct("<4sHHIQI8x")
MAGIC: Final = b"MXIX"
VERSION: Final = 1
ALIGNMENT: Final = 64


@dataclass(frozen=True, slots=True)
class _State:
    """What a reader sees: never changed, only replaced."""

    ids: NDArray[np.int64]
    addresses: NDArray[np.uintp]
    tokens: NDArray[np.int32]
    owners: tuple[object, ...]  # what keeps each document's memory alive


class Index:
    """Token vectors of many documents of one dtype and dim, each under a unique integer id.

    Readers and writers may be in different threads: a call sees the index as it was when the call
    began. append and delete take time proportional to the index, so pass many documents at once.
    """

    def __init__(self, dim: int, dtype: Dtype = "int8") -> None:
        """An empty index of (tokens, dim) documents. ValueError on a dim or dtype that is not."""
        check_dim(dim, "the index")
        code_of(dtype)
        self.dim = dim
        self.dtype: Dtype = dtype
        self._writing = threading.Lock()
        self._state = _State(
            np.empty(0, np.int64), np.empty(0, np.uintp), np.empty(0, np.int32), ()
        )

    def __len__(self) -> int:
        return len(self._state.ids)

    @property
    def ids(self) -> NDArray[np.int64]:
        """(n,): the documents' ids, in the order of scores()."""
        return self._state.ids.copy()

    @property
    def tokens(self) -> NDArray[np.int32]:
        """(n,): the documents' lengths in tokens."""
        return self._state.tokens.copy()

    def append(self, ids: Sequence[int], documents: Iterable[Tiles | NDArray[Any]]) -> None:
        """Add documents: Tiles of the index's dtype, or (tokens, dim) arrays to tile.

        All or none: raises ValueError, and adds nothing, if an id is taken or given twice, the
        counts differ, or a document does not fit; TypeError on another dtype.
        """
        added = [
            one if isinstance(one, Tiles) else Tiles.from_matrix(one, self.dtype)
            for one in documents
        ]
        new = _as_ids(ids)
        if len(new) != len(added):
            raise ValueError(f"{len(new)} ids for {len(added)} documents")
        for name, one in zip(new.tolist(), added, strict=True):
            if one.dim != self.dim or one.dtype != self.dtype:
                raise ValueError(f"document {name} is {one!r}, the index {self!r}")
        with self._writing:
            old = self._state
            every = np.concatenate([old.ids, new])
            values, counts = np.unique(every, return_counts=True)
            if len(values) < len(every):
                raise ValueError(f"id {values[counts > 1][0]} is taken or given twice")
            addresses = np.array([one.address for one in added], dtype=np.uintp)
            tokens = np.array([one.tokens for one in added], dtype=np.int32)
            self._state = _State(
                every,
                np.concatenate([old.addresses, addresses]),
                np.concatenate([old.tokens, tokens]),
                old.owners + tuple(added),
            )

    def delete(self, ids: Sequence[int]) -> int:
        """Remove documents; returns how many were there. Unknown ids are no error."""
        with self._writing:
            old = self._state
            keep = ~np.isin(old.ids, _as_ids(ids))
            self._state = _State(
                old.ids[keep],
                old.addresses[keep],
                old.tokens[keep],
                tuple(old.owners[i] for i in np.flatnonzero(keep)),
            )
            return len(old.ids) - len(self._state.ids)

    def scores(
        self,
        query: Query | NDArray[Any],
        ids: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        mask: NDArray[Any] | None = None,
        threads: int = 1,
        cancel: Cancel | None = None,
    ) -> NDArray[np.float32]:
        """MaxSim of one query with all documents, in the order of `ids`, or with those named.

        (n,) float32, as native.maxsim.scores. Raises KeyError if a named id is not in the index.
        """
        state = self._state
        chosen = slice(None) if ids is None else _places(state.ids, _as_ids(ids))
        return self._score(state, chosen, query, mask, threads, cancel)

    def topk(
        self,
        query: Query | NDArray[Any],
        k: int,
        *,
        mask: NDArray[Any] | None = None,
        threads: int = 1,
        cancel: Cancel | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ids and scores of the min(k, n) best documents, best first.

        Exact: every document is scored. Of equal scores the one appended first comes first.
        """
        state = self._state
        found = self._score(state, slice(None), query, mask, threads, cancel)
        order = best(found, k)
        return state.ids[order], found[order]

    def _score(
        self,
        state: _State,
        chosen: slice | NDArray[np.intp],
        query: Query | NDArray[Any],
        mask: NDArray[Any] | None,
        threads: int,
        cancel: Cancel | None,
    ) -> NDArray[np.float32]:
        target = Pointers(
            np.ascontiguousarray(state.addresses[chosen]),
            np.ascontiguousarray(state.tokens[chosen]),
            lib.MAXSIM_TILES,
            self.dtype,
            self.dim,
            state.owners,
        )
        found = score_pointers(query, target, mask=mask, threads=threads, cancel=cancel)
        if found.ndim != 1:
            raise ValueError("an index is asked one query at a time")
        return found

    def get(self, id: int) -> Tiles:
        """One document's tiles, where they lie. Raises KeyError if the id is not in the index."""
        state = self._state
        owner = state.owners[int(_places(state.ids, _as_ids([id]))[0])]
        if isinstance(owner, _Mapped):
            return owner.tiles()
        assert isinstance(owner, Tiles)
        return owner

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, replacing it as a whole: a reader never sees a half."""
        state = self._state
        target = Path(path)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            with partial.open("xb") as file:
                n = len(state.ids)
                table = state.ids.astype("<i8").tobytes() + state.tokens.astype("<i4").tobytes()
                code, crc = code_of(self.dtype), zlib.crc32(table)
                file.write(HEADER.pack(MAGIC, VERSION, code, self.dim, n, crc) + table)
                file.write(bytes(-(HEADER.size + len(table)) % ALIGNMENT))
                for owner in state.owners:
                    file.write(owner.data if isinstance(owner, Tiles | _Mapped) else b"")
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Map a saved index: documents are read from the file as they are scored.

        The file may be replaced (save does) but must not be truncated while it is mapped. Raises
        ValueError if it is not a whole index of a known version; the tiles are not verified.
        """
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < HEADER.size:
                raise ValueError(f"{os.fspath(path)} is too short to be a saved index")
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        magic, version, code, dim, n, crc = HEADER.unpack_from(view)
        if magic != MAGIC or version != VERSION or code not in DTYPES:
            raise ValueError(f"{os.fspath(path)} is not a saved index of version {VERSION}")
        index = cls(dim, DTYPES[code])
        start = HEADER.size + n * 12
        start += -start % ALIGNMENT
        if start > size:
            raise ValueError(f"{os.fspath(path)} ends within its table of documents")
        if zlib.crc32(view[HEADER.size : HEADER.size + n * 12]) != crc:
            raise ValueError(f"{os.fspath(path)} is damaged: the table's CRC-32 does not match")
        ids = np.frombuffer(view, "<i8", n, HEADER.size).astype(np.int64)
        tokens = np.frombuffer(view, "<i4", n, HEADER.size + n * 8).astype(np.int32)
        if n and tokens.min() < 0:
            raise ValueError(f"{os.fspath(path)} has a document of negative length")
        tile = lib.maxsim_tiles_bytes(code, 1, dim)
        ends = start + np.cumsum((tokens.astype(np.int64) + 7) // 8 * tile)
        # A document has at most 2^45 bytes, so a sum that overflows is negative on its way.
        overflows = bool((ends < 0).any())
        if overflows or (int(ends[-1]) if n else start) != size or len(np.unique(ids)) < n:
            raise ValueError(f"{os.fspath(path)} does not have the size its table says")
        starts = np.concatenate([[start], ends[:-1]]) if n else ends
        owners = tuple(
            _Mapped(view, index.dtype, dim, int(a), int(b), int(t))
            for a, b, t in zip(starts, ends, tokens, strict=True)
        )
        addresses = (address_of(view) + starts).astype(np.uintp)
        index._state = _State(ids, addresses, tokens, owners)
        return index

    def __repr__(self) -> str:
        return f"Index({len(self)} documents x {self.dim}, {self.dtype})"


@dataclass(frozen=True, slots=True)
class _Mapped:
    """A document in a mapped file."""

    view: memoryview
    dtype: Dtype
    dim: int
    start: int
    end: int
    length: int

    @property
    def data(self) -> memoryview:
        return self.view[self.start : self.end]

    def tiles(self) -> Tiles:
        return Tiles(self.data, self.dtype, self.length, self.dim)


def _as_ids(ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    array = np.asarray(ids)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError("ids must be a sequence of integers")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError("ids must fit 64 bits with a sign")
    return array.astype(np.int64)


def _places(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    order = np.argsort(ids, kind="stable")
    at = np.searchsorted(ids, wanted, sorter=order)
    inside = at < len(ids)
    places = order[np.where(inside, at, 0)] if len(ids) else np.zeros(len(wanted), np.intp)
    missing = ~inside | (ids[places] != wanted) if len(ids) else np.ones(len(wanted), bool)
    if missing.any():
        raise KeyError(int(wanted[missing][0]))
    return places
