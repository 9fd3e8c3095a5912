"""PyTorch: one product and a maximum where lengths are equal, else document by document."""

from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

from bench.workloads import Data


def prepare(data: Data, variant: str, threads: int) -> Callable[[], Any]:
    del variant
    torch.set_num_threads(threads)
    queries = [torch.from_numpy(q) for q in data.queries]
    tokens = torch.from_numpy(data.tokens)
    n = len(data.offsets) - 1
    length = int(data.offsets[1])
    if (data.offsets[1:] - data.offsets[:-1] == length).all():
        step = max(1, (1 << 18) // length)
        groups = [tokens[i * length : (i + step) * length] for i in range(0, n, step)]

        def score() -> Any:
            with torch.inference_mode():
                return [
                    torch.cat(
                        [(g @ q.T).view(-1, length, len(q)).amax(1).sum(1) for g in groups]
                    ).numpy()
                    for q in queries
                ]

        return score

    documents = [torch.from_numpy(document) for document in data.documents]

    def score_each() -> Any:
        with torch.inference_mode():
            return [
                torch.stack([(d @ q.T).amax(0).sum() for d in documents]).numpy() for q in queries
            ]

    return score_each
