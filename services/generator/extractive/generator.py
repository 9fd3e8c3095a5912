"""Answers with verbatim sentences of the sources, or abstains. The default: no key, no download, no invention."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor

from services.generator.answers import Finish, Generator, Result, Sentence, Source, Usage
from services.generator.encoding import in_thread, open_encoder
from services.generator.extractive.choice import choose, quote, sentences
from services.generator.extractive.confidence import coefficients
from services.generator.extractive.editions import out_of_date
from services.generator.extractive.encoder_cache import CachedEncoder
from services.generator.extractive.features import Encoder, Reading, read
from services.generator.extractive.question import Question
from services.generator.extractive.ranking import confidence, rank
from services.generator.extractive.requirements import met, unknown_text
from services.generator.extractive.tables import cells
from services.generator.extractive.windows import Candidate, Weights, candidates, likeliest, windows
from services.generator.settings import GeneratorSettings
from services.rpc.deadline import Deadline
from services.rpc.errors import DeadlineExceeded

MAX_SENTENCES = 3
# A question is cut here: the model reads no further.
MAX_QUESTION_CHARS = 2000


class ExtractiveGenerator:
    """`threshold` is the confidence (0 to 1) below which it abstains; None takes the fitted one."""

    provider = "extractive"
    local = True

    def __init__(
        self, encoder: Encoder, *, max_windows: int = 8, threshold: float | None = None
    ) -> None:
        self.model = "all-MiniLM-L6-v2 late interaction"
        self._encoder = CachedEncoder(encoder)
        self._max_windows = max_windows
        self._coefficients = coefficients()
        self._threshold = self._coefficients.threshold if threshold is None else threshold
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="extractive")

    @classmethod
    def create(cls, settings: GeneratorSettings) -> Generator:
        return cls(
            open_encoder(settings),
            max_windows=settings.extractive_windows,
            threshold=settings.extractive_threshold,
        )

    async def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncGenerator[Sentence | Result, None]:
        """See Generator. `max_output_tokens` does not apply: an answer has at most three sentences."""
        work = in_thread(self._executor, self.extract, question, sources)
        try:
            async with asyncio.timeout(deadline.rest()):
                result = await work
        except TimeoutError:
            raise DeadlineExceeded("there was not enough time to read the sources") from None
        for sentence in result.sentences:
            yield sentence
        yield result

    def extract(self, question: str, sources: Sequence[Source]) -> Result:
        """The whole answer; blocks."""
        asked = Question.of(question[:MAX_QUESTION_CHARS])
        old = out_of_date(asked.text, sources)
        current = [source for source in sources if source.index not in old]
        if unknown_text(asked, current):
            return self._abstain("the question does not say which of the documents it means", 0.0)
        tables = cells.read(asked, current, self._encoder)
        if tables.answer is not None:
            return self._complete([cells.sentence(tables.answer)], tables.answer.explained)
        found = candidates(current)
        siblings: dict[int, list[Candidate]] = {source.index: [] for source in sources}
        for sentence in found:
            siblings[sentence.source.index].append(sentence)
        # Of rows that fit equally well and say different things, none is an answer.
        found = [sentence for sentence in found if not tables.doubts(sentence)]
        weights = Weights.of(asked, found)
        chosen = likeliest(windows(found), weights, self._max_windows)
        if not chosen:
            return self._abstain("the sources hold no text", 0.0)
        reading = read(self._encoder, asked, chosen, weights)
        logits = rank(reading, self._coefficients.sentence)
        places = choose(reading, logits, MAX_SENTENCES, _may(reading, siblings))
        if not places:
            return self._abstain("the sources hold no sentence that could be an answer", 0.0)
        # The answer is as sure as its surest sentence.
        sure = max(confidence(reading, place, self._coefficients.answer) for place in places)
        if sure < self._threshold:
            return self._abstain("no sentence of the sources answers the question", sure)
        return self._complete(sentences(reading, places, siblings), sure)

    def _complete(self, said: Sequence[Sentence], confidence: float) -> Result:
        return Result(
            Finish.COMPLETE,
            tuple(said),
            Usage(self.provider, self.model),
            self.provider,
            self.model,
            confidence=confidence,
        )

    def _abstain(self, detail: str, confidence: float) -> Result:
        return Result(
            Finish.ABSTAINED,
            usage=Usage(self.provider, self.model),
            provider=self.provider,
            model=self.model,
            detail=detail,
            confidence=confidence,
        )


def _may(reading: Reading, siblings: dict[int, list[Candidate]]) -> list[bool]:
    """Of each sentence that was read, whether what would be quoted may answer."""
    found = []
    for one in reading.sentences:
        span = quote(one, siblings[one.source.index])
        found.append(met(reading.question, one, one.source.text[span.start : span.end]))
    return found
