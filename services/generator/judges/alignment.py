"""The embedded judge: every word of the sentence must be met by the evidence. It aligns, it does not reason.

Token vectors of sentence and evidence, MaxSim per token, and what vectors are blind to: numbers and negation. The
coefficients were fitted by evals/training/fit_alignment_judge.py; what it is worth is measured there.
"""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from native import maxsim
from services.generator.encoding import in_thread, open_encoder
from services.generator.extractive.confidence import Logistic
from services.generator.extractive.features import Encoder
from services.generator.judges import Judge, Judgement
from services.generator.models import Models
from services.generator.sentences import split
from services.generator.settings import GeneratorSettings
from services.generator.words import content_words, numbers, words
from services.rpc.deadline import Deadline
from services.rpc.errors import DeadlineExceeded, Internal
from services.text.words import STOP_WORDS

FEATURES = (
    "similarity",  # mean over the sentence's content tokens of the best token of any evidence
    "similarity_least",  # of the content token that is met worst
    "similarity_best_sentence",  # mean over content tokens against the one sentence that meets them best
    "coverage",  # share of the sentence's content words in the evidence
    "numbers_missing",  # share of its numbers that the evidence lacks
    "names_missing",  # share of its names that the evidence lacks
    "negation_differs",  # one of the two negates, the other does not
)
NEGATIONS = frozenset("not no never none neither nor without cannot n't nobody nothing".split())  # noqa: SIM905
MAX_SENTENCES = 200


class AlignmentJudge:
    """See Judge."""

    provider = "alignment"
    local = True
    model = "alignment (all-MiniLM-L6-v2 late interaction)"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._logistic = coefficients()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="judge")

    @classmethod
    def create(cls, settings: GeneratorSettings, models: Models) -> Judge:
        return cls(open_encoder(settings))

    async def judge(self, sentence: str, evidence: Sequence[str], deadline: Deadline) -> Judgement:
        work = in_thread(self._executor, self.support, sentence, evidence)
        try:
            async with asyncio.timeout(deadline.rest()):
                return Judgement(await work)
        except TimeoutError:
            raise DeadlineExceeded("there was not enough time to read the evidence") from None

    def support(self, sentence: str, evidence: Sequence[str]) -> float:
        """Blocks. 0 where there is nothing to align."""
        found = features(self._encoder, sentence, evidence)
        return 0.0 if found is None else self._logistic.probability(found)


def features(
    encoder: Encoder, sentence: str, evidence: Sequence[str]
) -> NDArray[np.float64] | None:
    """(FEATURES,), or None where the sentence or the evidence has no words."""
    pieces = [text[span.start : span.end] for text in evidence for span in split(text)]
    pieces = _likeliest(sentence, pieces)
    if not pieces:
        return None
    claim, *read = encoder.encode([sentence, *pieces])
    vectors = [one.vectors for one in read if len(one.vectors)]
    if not len(claim.vectors) or not vectors:
        return None
    similarities = maxsim.alignments(claim.vectors, vectors).similarities
    content = np.array(
        [
            sentence[start:end].lower() not in STOP_WORDS
            and any(map(str.isalnum, sentence[start:end]))
            for start, end in claim.offsets
        ]
    )
    if not content.any():
        content[:] = True
    best = int(similarities[:, content].mean(axis=1).argmax())
    anywhere = similarities[:, content].max(axis=0)
    said, shown = words(sentence), words("\n".join(pieces))
    stems = {word.stem for word in shown}
    names = {word.stem for word in said if word.is_name and word.text.lower() not in STOP_WORDS}
    return np.array(
        [
            float(anywhere.mean()),
            float(anywhere.min()),
            float(similarities[best, content].mean()),
            _share({word.stem for word in content_words(sentence)}, stems),
            1 - _share(set(numbers(sentence)), set(numbers("\n".join(pieces)))),
            1 - _share(names, stems),
            float(_negates(sentence) != _negates(pieces[best])),
        ]
    )


def _likeliest(sentence: str, pieces: list[str]) -> list[str]:
    """At most MAX_SENTENCES pieces, those that share most words with the sentence, in order."""
    if len(pieces) <= MAX_SENTENCES:
        return pieces
    wanted = {word.stem for word in content_words(sentence)}
    shares = [len(wanted & {word.stem for word in words(piece)}) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda place: (-shares[place], place))[:MAX_SENTENCES]
    return [pieces[place] for place in sorted(order)]


def _share(wanted: set[str], present: set[str]) -> float:
    return len(wanted & present) / len(wanted) if wanted else 1.0


def _negates(text: str) -> bool:
    lower = text.lower().replace("’", "'")
    return "n't" in lower or any(word.text.lower() in NEGATIONS for word in words(text))


@cache
def coefficients() -> Logistic:
    """The fitted ones."""
    data = json.loads(resources.files(__package__).joinpath("alignment.json").read_text())[
        "weights"
    ]
    if set(data) != {*FEATURES, "bias"}:
        raise Internal(
            "alignment.json does not fit the features; run evals/training/fit_alignment_judge.py"
        )
    return Logistic(np.array([data[name] for name in FEATURES]), data["bias"])
