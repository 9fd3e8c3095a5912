"""numpy with its BLAS: a product for each document, as it is commonly written, or for all at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workloads import Data

ROWS_AT_ONCE = 1 << 18  # bounds the matrix of similarities


def prepare(data: Data, variant: str, threads: int) -> Callable[[], Any]:
    del threads  # OPENBLAS_NUM_THREADS
    documents = data.documents
    if variant == "each":
        return lambda: [[(q @ d.T).max(axis=1).sum() for d in documents] for q in data.queries]

    groups = []
    first = 0
    while first < len(documents):
        last = first + 1
        while (
            last < len(documents) and data.offsets[last + 1] - data.offsets[first] <= ROWS_AT_ONCE
        ):
            last += 1
        start = data.offsets[first]
        tokens = data.tokens[start : data.offsets[last]]
        groups.append((tokens, data.offsets[first:last] - start))
        first = last

    def score() -> Any:
        return [
            np.concatenate(
                [np.maximum.reduceat(d @ q.T, at, axis=0).sum(axis=1) for d, at in groups]
            )
            for q in data.queries
        ]

    return score
