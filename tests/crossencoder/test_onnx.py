"""A local ONNX cross-encoder: a tiny random BERT with a head, and the embedded model's tokenizer."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from services.crossencoder.models import PairScorer
from services.crossencoder.models.onnx import OnnxScorer
from services.crossencoder.settings import CrossEncoderSettings
from services.minilm import weights
from services.minilm.graph import BertConfig, bert
from services.rpc.errors import FailedPrecondition, InvalidArgument

pytestmark = pytest.mark.integration

HIDDEN, LAYERS, POSITIONS = 32, 2, 64


def tensors(classes: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    shapes = {
        "embeddings.word_embeddings.weight": (30522, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
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


def folder(path: Path, classes: int = 1) -> CrossEncoderSettings:
    config = BertConfig(HIDDEN, LAYERS, heads=4, segments=True, classes=classes)
    onnx.save(bert(config, tensors(classes)), str(path / "model.onnx"))
    tokenizer = (weights.model_dir() / "tokenizer.json").read_bytes()
    (path / "tokenizer.json").write_bytes(tokenizer)
    (path / "config.json").write_text(json.dumps({"max_position_embeddings": POSITIONS}))
    return CrossEncoderSettings.model_validate(
        {"internal_secret": "x" * 32, "provider": "onnx", "model": str(path)}
    )


async def score(scorer: PairScorer, query: str, *texts: str, truncate: bool = True) -> list[float]:
    scored = await scorer.score(query, texts, truncate=truncate, seconds=60)
    return [item.score for item in scored]


async def test_a_pairs_score_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    scorer = OnnxScorer.create(folder(tmp_path))
    await scorer.start()
    texts = ["short", "a rather longer text about pumps and valves", "lone \ud800 surrogate", ""]
    together = await score(scorer, "what pumps?", *texts)
    alone = [(await score(scorer, "what pumps?", text))[0] for text in texts]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(set(together)) == len(texts)
    assert await score(scorer, "a rather longer question", texts[0]) != alone[:1]
    await scorer.close()


async def test_the_text_is_cut_and_never_the_whole_question(tmp_path: Path) -> None:
    scorer = OnnxScorer.create(folder(tmp_path))
    long = "pump " * 200
    (cut,) = await scorer.score("what", [long], truncate=True, seconds=60)
    assert cut.truncated
    # 64 positions: [CLS] what [SEP] 60 words [SEP].
    assert [cut.score] == pytest.approx(await score(scorer, "what", "pump " * 60))
    (fits,) = await scorer.score("what", ["pump " * 60], truncate=False, seconds=60)
    assert not fits.truncated
    with pytest.raises(InvalidArgument, match=r"texts\.texts\[1\]"):
        await score(scorer, "what", "short", long, truncate=False)
    different = await score(scorer, "why " * 100, "short", "other")
    assert different[0] != different[1]
    with pytest.raises(InvalidArgument, match="text: is too long"):
        await score(scorer, "why " * 100, "short", truncate=False)
    await scorer.close()


def test_a_model_with_more_than_one_number_a_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match="one number for each pair"):
        OnnxScorer.create(folder(tmp_path, classes=3))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match=r"model\.onnx and tokenizer\.json"):
        OnnxScorer.create(
            CrossEncoderSettings.model_validate(
                {"internal_secret": "x" * 32, "model": str(tmp_path)}
            )
        )
