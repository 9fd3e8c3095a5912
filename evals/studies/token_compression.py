"""What smaller token vectors cost: NDCG@10 of exact late interaction, per way of storing them.

    python -m evals.studies.token_compression --data FOLDER --sets scifact cranfield dbpedia

Every query is scored against every document of its collection by MaxSim, so the figures show the
token vectors alone, with no first stage. The projection is fitted on the documents of the first
set and applied to all. One JSON line per set and variant on standard output.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets import Collection, open_collection
from evals.scoring.metrics import ndcg, relevant
from native import maxsim
from services.colbert.compression import Projection, pool
from services.minilm.model import MiniLM
from services.minilm.settings import MiniLMSettings

Matrix = NDArray[np.float32]
Dtype = maxsim.Dtype

# Tokens of the fitting sample: 384 x 384 moments are settled far below this.
FIT_TOKENS = 200_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data")
    parser.add_argument("--sets", nargs="+", default=["cranfield", "dbpedia", "scifact"])
    parser.add_argument("--queries", type=int, default=300, help="at most so many a set")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    model = MiniLM.load(MiniLMSettings(model_threads=arguments.threads))
    projections: dict[int, Projection] = {}
    for name in arguments.sets:
        collection = open_collection(name, arguments.data)
        started = time.perf_counter()
        documents = _encode(model, [passage.body for passage in collection.passages])
        encoded_s = time.perf_counter() - started
        if not projections:
            sample = np.concatenate([d[1:-1] for d in documents])[:FIT_TOKENS]
            projections = {dim: Projection.fit(sample, dim) for dim in (256, 192, 128, 96)}
        for row in _measure(model, collection, documents, projections, arguments):
            print(json.dumps({"set": name, "encode_s": round(encoded_s, 1), **row}), flush=True)


def _measure(
    model: MiniLM,
    collection: Collection,
    documents: list[Matrix],
    projections: dict[int, Projection],
    arguments: argparse.Namespace,
) -> Iterator[dict[str, object]]:
    judged = [q for q in collection.queries if relevant(collection.qrels.get(q.id, {}))]
    judged = judged[: arguments.queries]
    queries = _encode(model, [query.text for query in judged])
    ids = [passage.id for passage in collection.passages]
    pooled: dict[int, list[Matrix]] = {}

    def inner(matrix: Matrix) -> Matrix:
        return matrix[1:-1]

    def pool_all(factor: int) -> list[Matrix]:
        if factor not in pooled:
            pooled[factor] = [pool(inner(d), factor) for d in documents]
        return pooled[factor]

    variants: list[tuple[str, Callable[[], list[Matrix]], Callable[[Matrix], Matrix], Dtype]] = [
        ("[CLS] and [SEP] kept", lambda: documents, lambda q: q, "int8"),
        ("fp32", lambda: [inner(d) for d in documents], inner, "fp32"),
        ("int8", lambda: [inner(d) for d in documents], inner, "int8"),
        *(
            (f"int8, pooled by {factor}", lambda factor=factor: pool_all(factor), inner, "int8")
            for factor in (2, 3)
        ),
        *(
            (
                f"int8, {dim} dimensions",
                lambda p=projection: [p(inner(d)) for d in documents],
                lambda q, p=projection: p(inner(q)),
                "int8",
            )
            for dim, projection in projections.items()
        ),
        (
            "int8, pooled by 2, 128 dimensions",
            lambda: [projections[128](d) for d in pool_all(2)],
            lambda q: projections[128](inner(q)),
            "int8",
        ),
    ]
    for label, make, prepare, dtype in variants:
        tiles = [maxsim.Tiles.from_matrix(matrix, dtype) for matrix in make()]
        gains = []
        started = time.perf_counter()
        for query, vectors in zip(judged, queries, strict=True):
            scores = maxsim.scores(prepare(vectors), tiles, threads=arguments.threads)
            ranking = [ids[place] for place in maxsim.best(scores, 10)]
            gains.append(ndcg(ranking, collection.qrels[query.id], 10))
        yield {
            "variant": label,
            "ndcg@10": round(float(np.mean(gains)), 4),
            "queries": len(gains),
            "documents": len(tiles),
            "bytes": sum(tile.nbytes for tile in tiles),
            "score_ms": round((time.perf_counter() - started) / len(gains) * 1000, 2),
        }


def _encode(model: MiniLM, texts: list[str]) -> list[Matrix]:
    """Token vectors with [CLS] and [SEP]; a thousand texts at a time bound the memory."""
    return [
        item.vectors
        for start in range(0, len(texts), 1000)
        for item in model.encode(texts[start : start + 1000], special=True)
    ]


if __name__ == "__main__":
    main()
