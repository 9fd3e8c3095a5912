"""The values of a document: how pages join, what travels and is kept, and where characters stand."""

import json
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folio.formats import MediaType
from services.retriever import places
from services.retriever.documents import Cell, ChunkSpan, Page, ParsedDocument, Section, Table
from services.retriever.parsing import wire

TABLE = Table(
    0, 9, 1, 1, (Cell(0, 0, 0, 3), Cell(0, 1, 4, 4, 2, 3, "B1")), caption=(1, 2), unit=None
)
BOXES = places.encode(array("H", [1, 2, 3, 4]), (612.0, 792.0))


def document(*pages: Page) -> ParsedDocument:
    return ParsedDocument(MediaType.PDF, "t", pages, (Section(("a", "b"), 0, 5),), tables=(TABLE,))


@pytest.mark.parametrize(
    ("gap", "text"), [(0, "firstsecond"), (1, "first\nsecond"), (2, "first\n\nsecond")]
)
def test_pages_join_as_their_starts_say(gap: int, text: str) -> None:
    assert document(Page(0, "1", "first", 0), Page(1, "2", "second", 5 + gap)).text == text


def test_a_document_travels_as_it_is() -> None:
    sent = ParsedDocument(
        MediaType.PDF,
        "t",
        (
            Page(0, "1", "a", 0, "Head", BOXES, ((0, 1),)),
            Page(1, "2", "", 3),
            Page(2, "3", "b", 5, boxes=BOXES),
        ),
        (Section(("a", "b"), 0, 5),),
        (1,),
        ("a warning",),
        {"Title": "t"},
        (TABLE,),
    )
    message, blob = wire.document_answer(sent)
    assert wire.received_document(json.loads(json.dumps(message)), blob) == sent


def test_a_chunk_is_encoded_behind_its_document_s_title() -> None:
    span = ChunkSpan(0, 0, 2, 4, 0, 0, "1", 1)
    assert span.encoded("Handbook", "abcdef") == "Handbook\ncd"
    assert span.encoded("x" * 300, "abcdef") == "x" * 100 + "\ncd"
    row = ChunkSpan(0, 0, 2, 4, 0, 0, "1", 1, reading="Price: cd")
    assert row.encoded("Handbook", "abcdef") == "Handbook\nPrice: cd"


coordinate = st.integers(0, places.FULL)


@given(st.lists(st.tuples(coordinate, coordinate, coordinate, coordinate)))
def test_boxes_are_kept_exactly(boxes: list[tuple[int, int, int, int]]) -> None:
    flat = array("H", [value for box in boxes for value in box])
    columns, size = places.decode(places.encode(flat, (612.0, 792.0)), len(boxes))
    assert list(zip(*columns, strict=True)) == boxes
    assert size == (612.0, 792.0)


def test_no_more_is_unpacked_than_the_text_is_long() -> None:
    bomb = places.encode(array("H", bytes(8 * 1_000_000)), (1.0, 1.0))
    columns, _ = places.decode(bomb, 10)
    assert [len(column) for column in columns] == [10] * 4


def test_regions_are_lines_of_characters_with_ink() -> None:
    line = [0, 100, 500, 200, 0, 0, 0, 0, 600, 100, 1000, 200]
    below = [0, 300, 500, 400]
    page = Page(0, "1", "a bc", 10, boxes=places.encode(array("H", line + below), (600.0, 600.0)))
    assert len(places.regions(page, 10, 13)) == 1
    assert len(places.regions(page, 0, 99)) == 2
    assert places.regions(page, 11, 12) == []
    assert places.regions(page, 14, 20) == []
    assert places.regions(Page(0, "1", "abc", 0), 0, 3) == []
