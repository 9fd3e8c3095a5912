"""What an engine of the embedded model costs and keeps: CPU time, and cosine to ONNX Runtime's fp32.

    python -m evals.studies.encoder_engines FILE --texts 60

The texts are the pages (between form feeds) of a text file. Engines take turns, one thread each. One JSON line each.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from services.minilm.engines import ENGINES
from services.minilm.model import MiniLM
from services.minilm.settings import MiniLMSettings

ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=512, help="where texts are cut")
    arguments = parser.parse_args()
    texts = arguments.file.read_text().split("\f")[: arguments.texts]
    models = {
        name: MiniLM.load(
            MiniLMSettings.model_validate({"minilm_engine": name, "model_threads": 1}),
            max_tokens=arguments.tokens,
        )
        for name in ENGINES
    }
    tokens = sum(
        len(read.ids) for read in models["onnxruntime"].reader.read(texts, arguments.tokens)
    )
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
