"""Whether evidence supports a sentence: a second opinion on an answer. FOLIO_JUDGE names one of these."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.generator.answers import NOTHING, Usage
from services.rpc.deadline import Deadline
from services.rpc.providers import Worker

JUDGES = {
    "alignment": "services.generator.judges.alignment:AlignmentJudge",
    "onnx": "services.generator.judges.onnx:OnnxJudge",
    "llm": "services.generator.judges.llm:LlmJudge",
}


@dataclass(frozen=True)
class Judgement:
    """Probability, 0 to 1, that the evidence supports the sentence."""

    support: float
    usage: Usage = NOTHING


class Judge(Worker, Protocol):
    """Made by `create(settings, models)`. Raises FolioError where it cannot judge; never guesses."""

    async def judge(
        self, sentence: str, evidence: Sequence[str], deadline: Deadline
    ) -> Judgement: ...
