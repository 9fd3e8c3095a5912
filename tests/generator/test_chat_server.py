"""A real chat server, where there is one: FOLIO_TEST_CHAT_URL=http://host:port/v1 [FOLIO_TEST_CHAT_MODEL=...].

For example llama.cpp's: python -m llama_cpp.server --model FILE.gguf --port 8000
"""

import os

import pytest

from services.generator.answering import ModelGenerator
from services.generator.answers import Finish, Result, Source
from services.generator.models import LanguageModel
from services.generator.prices import Prices
from services.generator.providers.openai_compatible.provider import OpenAICompatibleProvider
from services.rpc.deadline import Deadline

URL = os.environ.get("FOLIO_TEST_CHAT_URL", "")
MODEL = os.environ.get("FOLIO_TEST_CHAT_MODEL", "local")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not URL, reason="no chat server; name one in FOLIO_TEST_CHAT_URL"),
]
SOURCE = Source(
    6, "handbook.pdf", "Full-time staff get 16 weeks of leave. Part-time staff get 10 weeks."
)


async def answer(max_tokens: int) -> Result:
    generator = ModelGenerator(LanguageModel(OpenAICompatibleProvider("", URL), MODEL, Prices({})))
    asked = generator.answer(
        "How many weeks do full-time staff get?", [SOURCE], max_tokens, Deadline.after(120)
    )
    said = [event async for event in asked]
    result = said.pop()
    assert isinstance(result, Result)
    assert tuple(said) == result.sentences
    return result


async def test_what_it_cites_stands_in_the_source() -> None:
    result = await answer(200)
    assert result.finish in {Finish.COMPLETE, Finish.ABSTAINED, Finish.MAX_TOKENS}
    for sentence in result.sentences:
        for citation in sentence.citations:
            if citation.source_index == SOURCE.index:
                assert SOURCE.text[citation.start : citation.end] == citation.quote


async def test_a_cut_answer_says_so() -> None:
    assert (await answer(2)).finish in {Finish.MAX_TOKENS, Finish.COMPLETE, Finish.ABSTAINED}
