"""A value of a table in an answer: what it is the value of, where it stands, and whether it is that row's."""

from typing import Any

import pytest

from folio.common.v1 import document_pb2, table_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from services.rpc import tables
from tests.gateway.asking import ask
from tests.gateway.script import CHUNKS
from tests.gateway.suite import Suite
from tests.text.grids import grid

GAP = "\n[…]\n"
HEAD = "Part | Boat | Weight (kg) | Price"
GRID = grid([HEAD, "B-10 | raft | 45 | 39", "B-11 | kayak | 21 | 12"])
ROWS_AT = len(HEAD) + 1
TEXT = HEAD + GAP + GRID.text[ROWS_AT:]


def passage(**fields: Any) -> retriever_pb2.Passage:
    """The head of a sheet from character 500, and two rows of it from 9,000."""
    shift = len(GAP) - 1
    packed = tables.pack(GRID.table)
    packed.char_end = len(TEXT)
    for cell in packed.cells:
        cell.address = f"{'ABCD'[cell.column]}{cell.row + 1}"
        if cell.row:
            cell.char_start += shift
            cell.char_end += shift
    rows = ROWS_AT + shift
    return retriever_pb2.Passage(
        document_id=1,
        title="Boats",
        file_name="boats.xlsx",
        text=TEXT,
        char_start=500,
        char_end=9000 + len(TEXT) - rows,
        pages=[
            retriever_pb2.PageStart(char_offset=0, page=2, page_label="Prices"),
            retriever_pb2.PageStart(char_offset=rows, page=3, page_label="More"),
        ],
        hits=[CHUNKS[1]],
        tables=[packed],
        slices=[
            retriever_pb2.Slice(char_offset=0, length=len(HEAD), char_start=500),
            retriever_pb2.Slice(char_offset=rows, length=len(TEXT) - rows, char_start=9000),
        ],
        page_kind=document_pb2.PAGE_KIND_SHEET,
        **fields,
    )


def said(text: str, *quotes: str) -> generator_pb2.AnswerSentence:
    cited = [
        generator_pb2.Citation(source_index=0, quote=quote, char_start=TEXT.find(quote))
        for quote in quotes
    ]
    return generator_pb2.AnswerSentence(text=text, citations=cited)


async def reply(
    suite: Suite, sentence: generator_pb2.AnswerSentence, read: retriever_pb2.Passage, **asked: Any
) -> gateway_pb2.AskResponse:
    async def passages(request: Any) -> retriever_pb2.GetPassagesResponse:
        return retriever_pb2.GetPassagesResponse(passages=[read])

    suite.script.on["retriever.GetPassages"] = passages
    suite.script.sentences = [sentence]
    answer: gateway_pb2.AskResponse = await suite.call("Ask", ask(**asked))
    return answer


WEIGHT = said("B-11: Weight (kg) 21", "B-11", "Weight (kg)", "21")


async def test_a_value_says_what_it_is_the_value_of(suite: Suite) -> None:
    (sentence,) = (await reply(suite, WEIGHT, passage())).answered.sentences
    (value,) = sentence.table_values
    assert list(value.row_heads) == ["B-11"]
    assert list(value.column_heads) == ["Weight (kg)"]
    assert (value.value, value.address) == ("21", "C3")
    assert sentence.citations[value.citation].quote == "21"
    assert not value.row


async def test_the_row_comes_with_it_on_request(suite: Suite) -> None:
    (sentence,) = (await reply(suite, WEIGHT, passage(), table_rows=True)).answered.sentences
    row = sentence.table_values[0].row
    assert [(list(cell.column_heads), cell.text) for cell in row] == [
        (["Part"], "B-11"),
        (["Boat"], "kayak"),
        (["Weight (kg)"], "21"),
        (["Price"], "12"),
    ]
    assert [cell.is_value for cell in row] == [False, False, True, False]


async def test_what_tells_the_row_is_no_value(suite: Suite) -> None:
    told = said("B-11, kayak: Price 12", "B-11", "kayak", "Price", "12")
    (sentence,) = (await reply(suite, told, passage())).answered.sentences
    (value,) = sentence.table_values
    assert (list(value.row_heads), value.value) == (["B-11", "kayak"], "12")


async def test_a_whole_row_quoted_gives_the_values_that_are_told(suite: Suite) -> None:
    told = said("The kayak B-11 weighs 21 kg.", "B-11 | kayak | 21 | 12")
    (sentence,) = (await reply(suite, told, passage())).answered.sentences
    assert [value.value for value in sentence.table_values] == ["kayak", "21"]


async def test_quotes_of_a_cut_table_stand_where_the_document_has_them(suite: Suite) -> None:
    (sentence,) = (await reply(suite, WEIGHT, passage())).answered.sentences
    name, head, value = sentence.citations
    row = len("B-10 | raft | 45 | 39") + 1
    assert (head.char_start, head.page_label, head.cells) == (
        500 + HEAD.find("Weight"),
        "Prices",
        "C1",
    )
    assert (name.char_start, name.page_label, name.cells) == (9000 + row, "More", "A3")
    assert (value.cells, value.page_kind) == ("C3", document_pb2.PAGE_KIND_SHEET)


async def test_a_quote_over_what_was_left_out_is_none(suite: Suite) -> None:
    told = said("B-10 weighs 45 kg.", TEXT[len(HEAD) - 5 :])
    assert (await reply(suite, told, passage())).WhichOneof("outcome") == "unverified"


@pytest.mark.parametrize(
    "told",
    [
        said("B-11: Weight (kg) 45", "B-11", "Weight (kg)", "45"),
        said("B-11: Price 21", "B-11", "Price", "21"),
        said("The price of B-11 is 21.", "B-11 | kayak | 21 | 12"),
    ],
)
async def test_the_value_of_another_cell_is_withheld(
    suite: Suite, told: generator_pb2.AnswerSentence
) -> None:
    response = await reply(suite, told, passage())
    assert response.WhichOneof("outcome") == "unverified"
    assert "another row or column" in response.unverified.reasons[0]


async def test_the_generator_is_given_the_table_and_the_hits_in_it(suite: Suite) -> None:
    read = passage()
    read.hits[0].char_start, read.hits[0].char_end = 9000, 9021
    await reply(suite, WEIGHT, read)
    (source,) = suite.script.request("generator.Answer").sources
    assert source.tables[0] == read.tables[0]
    assert [TEXT[hit.start : hit.end] for hit in source.hits] == ["B-10 | raft | 45 | 39"]


async def test_a_figure_that_was_hard_to_read_is_marked(suite: Suite) -> None:
    at = TEXT.find("21")
    unsure = [table_pb2.TextSpan(char_start=at, char_end=at + 2)]
    (sentence,) = (await reply(suite, WEIGHT, passage(uncertain=unsure))).answered.sentences
    assert [cited.uncertain for cited in sentence.citations] == [False, False, True]


async def test_a_quote_over_two_pages_names_both(suite: Suite) -> None:
    text = "The lease ends after nine\nweeks of notice."
    read = retriever_pb2.Passage(
        document_id=1,
        title="Lease",
        file_name="lease.pdf",
        text=text,
        char_start=0,
        char_end=len(text),
        pages=[
            retriever_pb2.PageStart(char_offset=0, page=1, page_label="2"),
            retriever_pb2.PageStart(char_offset=26, page=2, page_label="3"),
        ],
        hits=[CHUNKS[1]],
        page_kind=document_pb2.PAGE_KIND_PAGE,
    )
    told = generator_pb2.AnswerSentence(
        text=text, citations=[generator_pb2.Citation(source_index=0, quote=text)]
    )
    (cited,) = (await reply(suite, told, read)).answered.sentences[0].citations
    assert (cited.page, cited.page_label) == (1, "2")
    assert (cited.page_end, cited.page_end_label) == (2, "3")
    assert cited.link == "lease.pdf#page=2"
