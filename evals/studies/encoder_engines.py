"""What an engine of the embedded model costs and keeps: CPU time, and cosine to ONNX Runtime's fp32.

    python -m evals.studies.encoder_engines DATA --texts 60      # pages of SciFact abstracts
    python -m evals.studies.encoder_engines FILE --texts 60      # pages of a text file, between form feeds
    python -m evals.studies.encoder_engines --shapes

With --shapes: random tokens in batches of one length. DATA is the folder of public data. Engines take turns, one thread
each. One JSON line each.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evals.studies.ingest_cost import abstracts
from services.minilm.engines import ENGINES
from services.minilm.model import MiniLM
from services.minilm.settings import MiniLMSettings

ROUNDS = 3
# Texts, and tokens of each.
SHAPES = ((1, 16), (1, 512), (2, 512), (4, 512), (8, 256), (8, 128))
LEAST_TOKENS = 3_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=512, help="where texts are cut")
    arguments = parser.parse_args()
    if not (arguments.file or arguments.shapes):
        parser.error("name a file, or --shapes")
    models = {
        name: MiniLM.load(
            MiniLMSettings.model_validate({"minilm_engine": name, "model_threads": 1}),
            max_tokens=arguments.tokens,
        )
        for name in ENGINES
    }
    if arguments.shapes:
        _shapes(models)
    if arguments.file:
        pages = (
            abstracts(arguments.file, arguments.texts).decode()
            if arguments.file.is_dir()
            else arguments.file.read_text()
        )
        texts = pages.split("\f")[: arguments.texts]
        _texts(models, texts, arguments.tokens)


def _shapes(models: Mapping[str, MiniLM]) -> None:
    random = np.random.default_rng(7)
    for count, length in SHAPES:
        batch = [
            [int(one) for one in ids] for ids in random.integers(1_000, 20_000, (count, length))
        ]
        turns = -(-LEAST_TOKENS // (count * length))
        seconds = dict.fromkeys(models, 0.0)
        for turn in range(ROUNDS + 1):
            for name, model in models.items():
                began = time.process_time()
                for _ in range(turns):
                    model.states(batch)
                # The first turn is for what is done once.
                seconds[name] += (time.process_time() - began) if turn else 0.0
        tokens = ROUNDS * turns * count * length
        rates = {name: round(tokens / spent) for name, spent in seconds.items()}
        print(json.dumps({"texts": count, "tokens_each": length, **rates}), flush=True)


def _texts(models: Mapping[str, MiniLM], texts: Sequence[str], limit: int) -> None:
    tokens = sum(len(read.ids) for read in models["onnxruntime"].reader.read(texts, limit))
    seconds = dict.fromkeys(models, 0.0)
    for _ in range(ROUNDS):
        for name, model in models.items():
            began = time.process_time()
            model.embed(texts)
            seconds[name] += time.process_time() - began
    exact = models["onnxruntime"]
    sentences, vectors = exact.embed(texts), exact.token_vectors(texts)
    for name, model in models.items():
        found, rows = model.embed(texts), model.token_vectors(texts)
        alone = np.concatenate([model.embed([text]) for text in texts])
        alone_rows = [model.token_vectors([text])[0] for text in texts]
        cosines = {
            "sentence": (found * sentences).sum(axis=1),
            "token": _cosines(rows, vectors),
            "sentence_alone": (found * alone).sum(axis=1),
            "token_alone": _cosines(rows, alone_rows),
        }
        print(
            json.dumps(
                {
                    "engine": model.engine.name,
                    "tokens": tokens,
                    "tokens_per_cpu_s": round(ROUNDS * tokens / seconds[name]),
                    "ratio": round(seconds["onnxruntime"] / seconds[name], 2),
                    **{
                        f"{kind}_{how.__name__}": round(float(how(values)), 6)
                        for kind, values in cosines.items()
                        for how in (np.mean, np.min)
                    },
                }
            ),
            flush=True,
        )


def _cosines(
    ones: list[np.ndarray[tuple[int, int], np.dtype[np.float32]]],
    others: list[np.ndarray[tuple[int, int], np.dtype[np.float32]]],
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    found: np.ndarray[tuple[int], np.dtype[np.float32]] = (
        np.concatenate(ones) * np.concatenate(others)
    ).sum(axis=1)
    return found


if __name__ == "__main__":
    main()
