"""The workloads of `make bench`: unit vectors from a fixed seed, and their exact scores."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    what: str
    queries: int
    documents: int
    shortest: int
    longest: int
    dim: int
    query_tokens: int = 32


WORKLOADS = (
    Workload("A", "32 x 128 query, 100 documents of 180 tokens", 1, 100, 180, 180, 128),
    Workload("B", "32 x 128 query, 1,000 documents of 300 tokens", 1, 1000, 300, 300, 128),
    Workload("C", "32 x 128 query, 1,000 documents of 20 to 500 tokens", 1, 1000, 20, 500, 128),
    Workload("D", "32 x 384 query, 100 documents of 180 tokens", 1, 100, 180, 180, 384),
    Workload("E", "16 queries of 32 x 128, 100 documents of 180 tokens", 16, 100, 180, 180, 128),
    Workload("F", "32 x 128 query, 10,000 documents of 180 tokens", 1, 10000, 180, 180, 128),
)


@dataclass(frozen=True, slots=True)
class Data:
    """queries (n, tokens, dim); all documents' tokens end to end, from offsets[i] to [i + 1]."""

    queries: NDArray[np.float32]
    tokens: NDArray[np.float32]
    offsets: NDArray[np.int64]
    exact: NDArray[np.float64]

    @property
    def documents(self) -> list[NDArray[np.float32]]:
        return [self.tokens[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False)]

    @property
    def multiplications(self) -> int:
        return int(self.queries[..., 0].size * self.tokens.size)


def write(workload: Workload, folder: Path) -> None:
    """Make a workload's data, once for all peers."""
    random = np.random.default_rng(7)
    lengths = random.integers(workload.shortest, workload.longest + 1, workload.documents)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    queries = _units(random, (workload.queries, workload.query_tokens, workload.dim))
    np.save(folder / "queries.npy", queries)
    np.save(folder / "offsets.npy", offsets)
    shape = (int(offsets[-1]), workload.dim)
    tokens = np.lib.format.open_memmap(folder / "tokens.npy", "w+", np.float32, shape)
    exact = np.empty((workload.queries, workload.documents))
    for d in range(workload.documents):
        a, b = offsets[d], offsets[d + 1]
        tokens[a:b] = _units(random, (b - a, workload.dim))
        document = tokens[a:b].astype(np.float64)
        for q in range(workload.queries):
            exact[q, d] = (queries[q].astype(np.float64) @ document.T).max(axis=1).sum()
    np.save(folder / "exact.npy", exact)


def read(folder: Path) -> Data:
    return Data(
        np.load(folder / "queries.npy"),
        np.load(folder / "tokens.npy", mmap_mode="c"),
        np.load(folder / "offsets.npy"),
        np.load(folder / "exact.npy"),
    )


def _units(random: np.random.Generator, shape: tuple[Any, ...]) -> NDArray[np.float32]:
    rows = random.standard_normal(shape, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows
