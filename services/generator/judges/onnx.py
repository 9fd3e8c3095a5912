"""A natural-language-inference model from a folder: model.onnx, tokenizer.json, config.json with id2label.

The registry has no such model; any cross-encoder exported from a hub with an "entailment" label fits.
"""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from services.generator.judges import Judge, Judgement
from services.generator.models import Models
from services.generator.settings import GeneratorSettings
from services.rpc.deadline import Deadline
from services.rpc.errors import DeadlineExceeded, FailedPrecondition

MAX_TOKENS = 512


class OnnxJudge:
    """See Judge. The support of a sentence is its best entailment by any piece of evidence."""

    provider = "onnx"
    local = True

    def __init__(self, folder: Path) -> None:
        try:
            labels = json.loads((folder / "config.json").read_text())["id2label"]
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
            )
        except (OSError, ValueError, KeyError) as error:
            raise FailedPrecondition(
                "FOLIO_JUDGE_DIR must hold model.onnx, tokenizer.json and config.json with id2label"
            ) from error
        # The tokenizers and ONNX libraries raise classes of their own for files that are absent or broken.
        except Exception as error:
            raise FailedPrecondition(
                f"the judge in FOLIO_JUDGE_DIR cannot be loaded: {type(error).__name__}"
            ) from error
        entailing = [
            int(number) for number, name in labels.items() if str(name).lower() == "entailment"
        ]
        if len(entailing) != 1:
            raise FailedPrecondition("the judge's config.json names no label 'entailment'")
        self._entailment = entailing[0]
        self._tokenizer.enable_truncation(MAX_TOKENS, strategy="only_first")
        self._inputs = {
            one.name: np.int32 if one.type == "tensor(int32)" else np.int64
            for one in self._session.get_inputs()
        }
        self.model = folder.name
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="judge")

    @classmethod
    def create(cls, settings: GeneratorSettings, models: Models) -> Judge:
        if settings.judge_dir is None:
            raise FailedPrecondition("set FOLIO_JUDGE_DIR to the folder of the onnx judge")
        return cls(settings.judge_dir)

    async def judge(self, sentence: str, evidence: Sequence[str], deadline: Deadline) -> Judgement:
        work = asyncio.get_running_loop().run_in_executor(
            self._executor, self.support, sentence, evidence
        )
        try:
            async with asyncio.timeout(deadline.rest()):
                return Judgement(await work)
        except TimeoutError:
            raise DeadlineExceeded("there was not enough time to read the evidence") from None

    def support(self, sentence: str, evidence: Sequence[str]) -> float:
        """Blocks."""
        return max(self._entails(premise, sentence) for premise in evidence)

    def _entails(self, premise: str, sentence: str) -> float:
        encoding = self._tokenizer.encode(premise, sentence)
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {
            name: np.array([given[name]], dtype)
            for name, dtype in self._inputs.items()
            if name in given
        }
        (logits, *_) = self._session.run(None, feed)
        shifted = np.exp(logits[0] - logits[0].max())
        return float(shifted[self._entailment] / shifted.sum())
