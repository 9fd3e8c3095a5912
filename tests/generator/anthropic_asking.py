"""A question to Claude through its real SDK, and the answer that the tests' server gives."""

from collections.abc import Sequence

from services.generator.answering import ModelGenerator
from services.generator.answers import Citation, Result, Sentence, Source
from services.generator.models import LanguageModel
from services.generator.prices import Prices
from services.generator.providers.anthropic.provider import AnthropicProvider
from services.rpc.deadline import Deadline
from tests.generator.anthropic_wire import START, STOP, block, citation, end
from tests.generator.wire import Provider, events

KEY = "sk-ant-canary-6f1d"


PRICES = Prices(
    {"claude-x": {"input": 2.0, "output": 10.0, "cached_input": 0.2, "cache_write": 2.5}}
)


LEAVE = "Full-time staff get 16 weeks of leave. Part-time staff get 10 weeks."


SOURCES = [Source(4, "travel.pdf", "Hotels cost 140 euros."), Source(9, "handbook.pdf", LEAVE)]


FIRST = citation("Full-time staff get 16 weeks of leave.", 1, 0, 38)


SECOND = citation("Part-time staff get 10 weeks.", 1, 39, 68)


ANSWER = [
    *block(0, "According to the handbook, "),
    *block(1, "full-time staff get 16 weeks", FIRST),
    *block(2, ". "),
    *block(3, "Part-time staff get 10 weeks.", SECOND, citations_first=True),
]


SAID = (
    Sentence(
        "According to the handbook, full-time staff get 16 weeks.",
        (Citation(9, "Full-time staff get 16 weeks of leave.", 0, 38),),
    ),
    Sentence(
        "Part-time staff get 10 weeks.", (Citation(9, "Part-time staff get 10 weeks.", 39, 68),)
    ),
)


GOOD = events(START, *ANSWER, end(), STOP)


def claude(spoken: Provider) -> LanguageModel:
    return LanguageModel(AnthropicProvider(KEY, spoken.url), "claude-x", PRICES)


async def ask(
    spoken: Provider, sources: Sequence[Source] = SOURCES, seconds: float = 20.0
) -> tuple[list[Sentence], Result]:
    """What was streamed, and the result; checks that they are equal."""
    generator = ModelGenerator(claude(spoken))
    said: list[Sentence] = []
    results: list[Result] = []
    async for event in generator.answer("How long?", sources, 300, Deadline.after(seconds)):
        if isinstance(event, Result):
            results.append(event)
        else:
            assert not results
            said.append(event)
    (result,) = results
    assert result.sentences == tuple(said)
    return said, result
