"""A local ONNX cross-encoder: a tiny random BERT with a head, and the embedded model's tokenizer."""

from pathlib import Path

import pytest

from services.crossencoder.models import PairScorer
from services.crossencoder.models.onnx import OnnxScorer
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition, InvalidArgument
from tests.minilm import tiny_bert

pytestmark = pytest.mark.integration


def folder(path: Path, classes: int = 1) -> CrossEncoderSettings:
    tiny_bert.save(path, classes=classes)
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
