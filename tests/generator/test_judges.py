"""Judges: a probability that evidence supports a sentence, or an error; never a guess."""

import json
from pathlib import Path

import numpy as np
import pytest

from folio.common.v1 import service_pb2
from folio.generator.v1 import generator_pb2 as pb
from services.generator.answers import Usage
from services.generator.extractive.generator import ExtractiveGenerator
from services.generator.judges.alignment import AlignmentJudge
from services.generator.judges.llm import LlmJudge
from services.generator.judges.onnx import OnnxJudge
from services.generator.models import Completion
from services.minilm import weights
from services.minilm.graph import BertConfig, bert
from services.minilm.model import MiniLM
from services.rpc.deadline import Deadline
from services.rpc.errors import Aborted, FailedPrecondition
from tests.generator.conftest import Serve

EVIDENCE = [
    "Full-time staff are entitled to 16 weeks of paid parental leave. Hotels cost 140 euros."
]
TRUE = "Full-time staff get 16 weeks of paid parental leave."
FALSE = {
    "another subject": "The pump must be drained before the winter.",
    "another number": "Full-time staff get 26 weeks of paid parental leave.",
    "another name": "Contractors of Brackwater get 16 weeks of paid study leave.",
}


@pytest.mark.parametrize("name", FALSE)
def test_alignment_prefers_what_the_evidence_says(minilm: MiniLM, name: str) -> None:
    judge = AlignmentJudge(minilm)
    assert judge.support(TRUE, EVIDENCE) > judge.support(FALSE[name], EVIDENCE)


@pytest.mark.parametrize(("sentence", "evidence"), [("", EVIDENCE), (TRUE, [""]), (TRUE, [" \n"])])
def test_alignment_of_nothing_is_no_support(
    minilm: MiniLM, sentence: str, evidence: list[str]
) -> None:
    assert AlignmentJudge(minilm).support(sentence, evidence) == 0


async def test_judges_over_grpc(
    serve: Serve, minilm: MiniLM, extractive: ExtractiveGenerator
) -> None:
    async with serve(extractive, judge=AlignmentJudge(minilm)) as stub:
        done = await stub.Judge(pb.JudgeRequest(sentence=TRUE, evidence=EVIDENCE), timeout=20)
        said = await stub.GetCapabilities(pb.GetCapabilitiesRequest(), timeout=5)
    assert 0 <= done.support <= 1
    assert said.judges
    (judge,) = (
        one for one in said.capabilities.providers if one.purpose == service_pb2.PURPOSE_JUDGE
    )
    assert (done.model, judge.local) == (judge.model, True)


class Model:
    provider = "p"
    model = "m"
    local = False

    def __init__(self, reply: str) -> None:
        self.reply = reply

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, seconds: float
    ) -> Completion:
        assert json.loads(prompt)["statement"] == TRUE
        return Completion(self.reply, Usage("p", "m", 3, 4))


@pytest.mark.parametrize(
    ("reply", "support"),
    [('{"support": 0.9}', 0.9), ('Sure: {"support": 1}', 1), ('{"support":0}', 0)],
)
async def test_the_llm_judge_reads_a_probability(reply: str, support: float) -> None:
    done = await LlmJudge(Model(reply), 5).judge(TRUE, EVIDENCE, Deadline.after(5))
    assert done.support == support
    assert done.usage.output_tokens == 4


@pytest.mark.parametrize(
    "reply",
    [
        *("yes", '{"support": 7}', '{"support": "high"}', ""),
        *('{"support": 10}', '{"support": 100}', '{"support": 1e-3}', '{"support": 1/10}'),
    ],
)
async def test_the_llm_judge_does_not_guess(reply: str) -> None:
    with pytest.raises(Aborted):
        await LlmJudge(Model(reply), 5).judge(TRUE, EVIDENCE, Deadline.after(5))


def nli_folder(folder: Path, labels: dict[str, str]) -> Path:
    """A cross-encoder with random weights in the form that hubs export."""
    hidden, vocabulary, chance = 32, 30522, np.random.default_rng(0)
    layer = "encoder.layer.0"
    shapes = {
        "embeddings.word_embeddings.weight": (vocabulary, hidden),
        "embeddings.position_embeddings.weight": (512, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "pooler.dense.weight": (hidden, hidden),
        "pooler.dense.bias": (hidden,),
        "classifier.weight": (3, hidden),
        "classifier.bias": (3,),
        f"{layer}.intermediate.dense.weight": (64, hidden),
        f"{layer}.intermediate.dense.bias": (64,),
        f"{layer}.output.dense.weight": (hidden, 64),
        f"{layer}.output.dense.bias": (hidden,),
    }
    for name in (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
    ):
        shapes |= {f"{layer}.{name}.weight": (hidden, hidden), f"{layer}.{name}.bias": (hidden,)}
    for name in (
        "embeddings.LayerNorm",
        f"{layer}.attention.output.LayerNorm",
        f"{layer}.output.LayerNorm",
    ):
        shapes |= {f"{name}.weight": (hidden,), f"{name}.bias": (hidden,)}
    values = {
        name: chance.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()
    }
    model = bert(BertConfig(hidden, 1, 2, segments=True, classes=3), values)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tokenizer.json").write_bytes((weights.model_dir() / "tokenizer.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({"id2label": labels}))
    return folder


LABELS = {"0": "contradiction", "1": "entailment", "2": "neutral"}


async def test_a_local_nli_model_gives_its_entailment(tmp_path: Path) -> None:
    one = OnnxJudge(nli_folder(tmp_path, LABELS))
    done = await one.judge(TRUE, EVIDENCE, Deadline.after(10))
    (tmp_path / "config.json").write_text(
        json.dumps({"id2label": {"0": "entailment", "1": "no", "2": "x"}})
    )
    other = OnnxJudge(tmp_path).support(TRUE, EVIDENCE)
    (tmp_path / "config.json").write_text(
        json.dumps({"id2label": {"0": "no", "1": "x", "2": "ENTAILMENT"}})
    )
    third = OnnxJudge(tmp_path).support(TRUE, EVIDENCE)
    assert done.support + other + third == pytest.approx(1, abs=1e-5)


def test_the_best_evidence_counts(tmp_path: Path) -> None:
    judge = OnnxJudge(nli_folder(tmp_path, LABELS))
    texts = ["one text", "another text of more words", TRUE]
    assert judge.support(TRUE, texts) == max(judge.support(TRUE, [text]) for text in texts)


@pytest.mark.parametrize("labels", [{"0": "a", "1": "b", "2": "c"}, {}])
def test_a_model_without_the_label_is_refused(tmp_path: Path, labels: dict[str, str]) -> None:
    with pytest.raises(FailedPrecondition):
        OnnxJudge(nli_folder(tmp_path, labels))


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_folder_that_lacks_a_file_is_refused(tmp_path: Path, missing: str) -> None:
    (nli_folder(tmp_path, LABELS) / missing).unlink()
    with pytest.raises(FailedPrecondition):
        OnnxJudge(tmp_path)
