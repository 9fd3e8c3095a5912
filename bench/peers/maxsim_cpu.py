"""maxsim-cpu (Rust and BLAS)."""

from collections.abc import Callable
from typing import Any

import maxsim_cpu  # type: ignore[import-not-found,unused-ignore]

from bench.workloads import Data


def prepare(data: Data, variant: str, threads: int) -> Callable[[], Any]:
    del variant, threads  # RAYON_NUM_THREADS
    length = int(data.offsets[1])
    if (data.offsets[1:] - data.offsets[:-1] == length).all():
        documents = data.tokens.reshape(-1, length, data.tokens.shape[1])
        return lambda: [maxsim_cpu.maxsim_scores(q, documents) for q in data.queries]
    each = data.documents
    return lambda: [maxsim_cpu.maxsim_scores_variable(q, each) for q in data.queries]
