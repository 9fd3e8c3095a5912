"""A tiny random BERT with a head, as an ONNX model in a folder, with the embedded model's tokenizer."""

import json
from pathlib import Path

import numpy as np
import onnx

from services.minilm import weights
from services.minilm.graph import BertConfig, bert

HIDDEN, LAYERS, POSITIONS = 32, 2, 64


def _tensors(classes: int, positions: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    shapes = {
        "embeddings.word_embeddings.weight": (30522, HIDDEN),
        "embeddings.position_embeddings.weight": (positions, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "pooler.dense.weight": (HIDDEN, HIDDEN),
        "pooler.dense.bias": (HIDDEN,),
        "classifier.weight": (classes, HIDDEN),
        "classifier.bias": (classes,),
    }
    for layer in (f"encoder.layer.{n}" for n in range(LAYERS)):
        for part in ("attention.self.query", "attention.self.key", "attention.self.value"):
            shapes[f"{layer}.{part}.weight"] = (HIDDEN, HIDDEN)
            shapes[f"{layer}.{part}.bias"] = (HIDDEN,)
        for part, shape in (
            ("attention.output.dense", (HIDDEN, HIDDEN)),
            ("intermediate.dense", (4 * HIDDEN, HIDDEN)),
            ("output.dense", (HIDDEN, 4 * HIDDEN)),
        ):
            shapes[f"{layer}.{part}.weight"] = shape
            shapes[f"{layer}.{part}.bias"] = shape[:1]
    made = {name: random.standard_normal(shape) * 0.3 for name, shape in shapes.items()}
    norms = ["embeddings.LayerNorm"] + [
        f"encoder.layer.{n}.{part}.LayerNorm"
        for n in range(LAYERS)
        for part in ("attention.output", "output")
    ]
    for norm in norms:
        made[f"{norm}.weight"], made[f"{norm}.bias"] = np.ones(HIDDEN), np.zeros(HIDDEN)
    return {name: values.astype(np.float32) for name, values in made.items()}


def save(path: Path, *, classes: int = 1, positions: int = POSITIONS, **config: object) -> None:
    """Writes model.onnx, tokenizer.json, and config.json with `config` beside its own."""
    shape = BertConfig(HIDDEN, LAYERS, heads=4, segments=True, classes=classes)
    onnx.save(bert(shape, _tensors(classes, positions)), str(path / "model.onnx"))
    tokenizer = (weights.model_dir() / "tokenizer.json").read_bytes()
    (path / "tokenizer.json").write_bytes(tokenizer)
    (path / "config.json").write_text(json.dumps({"max_position_embeddings": positions, **config}))
