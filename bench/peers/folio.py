"""This project's kernel, from stored tiles of a type or from row-major arrays."""

from collections.abc import Callable
from typing import Any

from bench.workloads import Data
from native import maxsim


def prepare(data: Data, variant: str, threads: int) -> Callable[[], Any]:
    queries = list(data.queries)
    if variant == "rows":
        ragged = maxsim.Ragged(data.tokens, data.offsets)
        return lambda: maxsim.scores(queries, ragged, threads=threads)
    tiles = [maxsim.Tiles.from_matrix(document, variant) for document in data.documents]  # type: ignore[arg-type]
    return lambda: maxsim.scores(queries, tiles, threads=threads)
