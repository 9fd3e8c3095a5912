"""Claude's citations: what they prove, and that what is wrong with one proves nothing."""

import anthropic
import pytest
from pydantic import TypeAdapter

from services.generator.answers import NO_SOURCE, Citation, Finish, Sentence, Source
from services.generator.blocks import BlockReader, checked
from services.generator.providers import BlockEnd, Text
from services.generator.providers.anthropic.events import EventReader, quote
from services.generator.providers.anthropic.request import request
from tests.generator.anthropic_asking import ANSWER, FIRST, GOOD, LEAVE, SAID, SECOND, SOURCES, ask
from tests.generator.anthropic_wire import START, STOP, block, citation, end
from tests.generator.wire import events, provider


async def test_each_sentence_gets_the_citations_of_its_own_blocks() -> None:
    async with provider(GOOD) as spoken:
        said, result = await ask(spoken)
    assert tuple(said) == SAID
    assert result.finish is Finish.COMPLETE


def test_streamed_and_whole_messages_give_equal_citations() -> None:
    streamed, came_whole, events = BlockReader(SOURCES), BlockReader(SOURCES), EventReader()
    event_type = TypeAdapter[anthropic.types.RawMessageStreamEvent](
        anthropic.types.RawMessageStreamEvent
    )
    one = [
        sentence
        for event in ANSWER
        for delta in events.read(event_type.validate_python(event))
        for sentence in streamed.read(delta)
    ]
    one += streamed.finish()
    message = anthropic.types.Message.model_validate(
        {
            **START["message"],
            "content": [
                {"type": "text", "text": "According to the handbook, "},
                {"type": "text", "text": "full-time staff get 16 weeks", "citations": [FIRST]},
                {"type": "text", "text": ". "},
                {"type": "text", "text": "Part-time staff get 10 weeks.", "citations": [SECOND]},
            ],
        }
    )
    two: list[Sentence] = []
    for content in message.content:
        assert content.type == "text"
        two += came_whole.read(Text(content.text))
        for raw in content.citations or ():
            two += came_whole.read(quote(raw))
        two += came_whole.read(BlockEnd())
    two += came_whole.finish()
    assert tuple(one) == tuple(two) == SAID


NOTHING = Citation(NO_SOURCE, "", 0, 0)


CITATIONS = {
    "as it should be": (FIRST, Citation(9, "Full-time staff get 16 weeks of leave.", 0, 38)),
    "index past the end": (citation("Hotels", 7, 0, 6), NOTHING),
    "negative index": (citation("Hotels", -1, 0, 6), NOTHING),
    "huge index": (citation("Hotels", 10**9, 0, 6), NOTHING),
    "range past the end": (
        citation("Part-time staff", 1, 900, 915),
        Citation(9, "Part-time staff", 39, 54),
    ),
    "range reversed": (
        citation("Part-time staff", 1, 54, 39),
        Citation(9, "Part-time staff", 39, 54),
    ),
    "range of other text": (
        citation("Part-time staff", 1, 0, 15),
        Citation(9, "Part-time staff", 39, 54),
    ),
    "quote from nowhere": (citation("Staff get a car.", 1, 0, 16), Citation(9, "", 0, 0)),
    "empty quote": (citation("", 1, 0, 0), Citation(9, "", 0, 0)),
    "blank quote": (citation(" \u200b", 1, 9, 10), Citation(9, "", 0, 0)),
    "other white space": (
        citation("16\nweeks  of leave", 1, 0, 5),
        Citation(9, "16 weeks of leave", 20, 37),
    ),
}


@pytest.mark.parametrize("name", CITATIONS)
async def test_a_citation_is_right_or_proves_nothing(name: str) -> None:
    raw, expected = CITATIONS[name]
    async with provider(events(START, *block(0, "A sentence.", raw), end(), STOP)) as spoken:
        said, _ = await ask(spoken)
    assert [one.citations for one in said] == [(expected,)]


async def test_a_citation_that_comes_twice_counts_once() -> None:
    async with provider(
        events(START, *block(0, "A sentence.", FIRST, FIRST), end(), STOP)
    ) as spoken:
        said, _ = await ask(spoken)
    assert len(said[0].citations) == 1


async def test_a_citation_of_a_block_that_never_began_goes_nowhere() -> None:
    stray = {
        "type": "content_block_delta",
        "index": 5,
        "delta": {"type": "citations_delta", "citation": FIRST},
    }
    async with provider(events(START, stray, *block(0, "A sentence."), end(), STOP)) as spoken:
        said, _ = await ask(spoken)
    assert said == [Sentence("A sentence.")]


async def test_blank_text_is_never_sent_and_indices_still_fit() -> None:
    sources = [
        Source(1, "a", " \n"),
        Source(2, "b", "\u200b\u2060"),
        Source(3, "c", LEAVE),
        Source(5, "d", ""),
    ]
    shifted = citation("Part-time staff", 0, 39, 54)
    async with provider(events(START, *block(0, "A sentence.", shifted), end(), STOP)) as spoken:
        said, _ = await ask(spoken, sources)
        assert said[0].citations == (Citation(3, "Part-time staff", 39, 54),)
        documents = [
            one
            for one in spoken.received[0].json["messages"][0]["content"]
            if one["type"] == "document"
        ]
        assert len(documents) == 1
        _, result = await ask(spoken, sources[:2])
    assert result.finish is Finish.ABSTAINED
    assert len(spoken.received) == 1


ASTRAL = [
    "😀 fee: 12 €",
    "𝒜lpha rule 7",
    "e\u0301tude no 3",
    "👩‍👩‍👧 family of 3",
    "日本語の規則 4",
]


@pytest.mark.parametrize("text", ASTRAL)
@pytest.mark.parametrize("shift", [0, 1, -1, 7])
def test_offsets_are_found_again_whatever_the_provider_counts(text: str, shift: int) -> None:
    source = Source(0, "s", f"Before. {text}. After.")
    start = source.text.index(text) + shift
    raw = anthropic.types.CitationCharLocation(
        type="char_location",
        cited_text=text,
        document_index=0,
        start_char_index=start,
        end_char_index=start + len(text),
    )
    found = checked(quote(raw), [source])
    assert source.text[found.start : found.end] == found.quote == text


def test_a_lone_surrogate_is_sent_as_one_character() -> None:
    sent = request("m", "q\ud800", [Source(0, "t\udfff", "a\ud83d b")], 10)
    assert sent["messages"][0]["content"][0]["source"]["data"] == "a\ufffd b"
