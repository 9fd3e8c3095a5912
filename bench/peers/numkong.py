"""NumKong: packed fp32 documents; it finds each maximum with coarser numbers, so it is approximate."""

from collections.abc import Callable
from typing import Any

import numkong  # type: ignore[import-not-found,unused-ignore]

from bench.workloads import Data


def prepare(data: Data, variant: str, threads: int) -> Callable[[], Any]:
    del variant
    if threads > 1:
        raise RuntimeError("NumKong's MaxSim has no threads")
    documents = [numkong.maxsim_pack(document) for document in data.documents]

    def score() -> Any:
        packed = [numkong.maxsim_pack(q) for q in data.queries]
        # It returns a sum of angular distances, 1 - cosine for unit vectors.
        tokens = data.queries.shape[1]
        return [[tokens - numkong.maxsim_packed(q, d) for d in documents] for q in packed]

    return score
