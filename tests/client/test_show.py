"""How replies look in a terminal."""

from typing import Any

import pytest

from folio.cli import proofs, show
from folio.common.v1 import document_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2


@pytest.mark.parametrize(
    ("seconds", "shown"), [(7, "in 7 s."), (0.1, "in 1 s."), (60.4, "in 61 s.")]
)
def test_an_outage_is_told_as_one_with_the_sources(
    seconds: float, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = gateway_pb2.AskResponse(
        unavailable=gateway_pb2.Unavailable(
            message="The generator has too much to do at the moment.",
            reason=gateway_pb2.UNAVAILABLE_REASON_OVERLOADED,
            retry_after_s=seconds,
        ),
        sources=[
            gateway_pb2.SourcePassage(
                chunk=document_pb2.Chunk(title="Handbook", page_label="xiv"), probability=0.91
            )
        ],
    )
    show.answer(reply)
    said = capsys.readouterr().out
    assert "too much to do" in said
    assert f"Try again {shown}" in said
    assert "Handbook, p. xiv (0.91)" in said


def test_a_service_that_sends_text_elsewhere_says_to_whom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply = gateway_pb2.GetStatusResponse()
    state = reply.services.add(service="generator", reachable=True)
    state.capabilities.providers.add(provider="extractive", model="words", local=True)
    state.capabilities.providers.add(provider="brave")
    show.status(reply)
    assert "words, brave (remote: brave)" in " ".join(capsys.readouterr().out.split())


def test_a_long_chunk_in_a_list_ends_in_dots(capsys: pytest.CaptureFixture[str]) -> None:
    chunk = document_pb2.Chunk(title="Handbook", body="leave " * 40)
    show.results(gateway_pb2.SearchResponse(results=[gateway_pb2.SearchResult(chunk=chunk)]))
    assert "leave lea…" in capsys.readouterr().out
    chunk.body = "leave"
    show.results(gateway_pb2.SearchResponse(results=[gateway_pb2.SearchResult(chunk=chunk)]))
    assert "…" not in capsys.readouterr().out


def test_no_documents_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    show.documents([])
    assert capsys.readouterr().out == "no documents\n"


def test_a_thing_and_two_things() -> None:
    assert [show.count(number, "page") for number in (0, 1, 2000)] == [
        "0 pages",
        "1 page",
        "2,000 pages",
    ]


def test_the_time_of_a_step_that_failed_is_told() -> None:
    failed = step_pb2.StepReport(
        step=step_pb2.STEP_COLBERT,
        status=step_pb2.STEP_STATUS_DEGRADED,
        reason="too slow",
        elapsed_ms=15000.4,
    )
    skipped = step_pb2.StepReport(
        step=step_pb2.STEP_WEB, status=step_pb2.STEP_STATUS_SKIPPED, elapsed_ms=2.0
    )
    assert show.steps([failed, skipped], 15010).plain == (
        "steps  colbert degraded after 15000 ms (too slow)  web skipped  total 15010 ms"
    )


def table_answer(**place: Any) -> gateway_pb2.AskResponse:
    """What `folio ask --row` is given for "What does B-11 weigh?"."""
    citation = gateway_pb2.Citation(
        title="Boats for hire", file_name="boats.xlsx", link="boats.xlsx", **place
    )
    quotes = {"B-11": "A3", "Weight (kg)": "C1", "21": "C3"}
    sentence = gateway_pb2.Sentence(text="B-11: Weight (kg) 21")
    for quote, cells in quotes.items():
        sentence.citations.add(quote=quote, cells=cells).MergeFrom(citation)
    value = sentence.table_values.add(
        row_heads=["B-11"], column_heads=["Weight (kg)"], value="21", citation=2
    )
    for head, text in (("Code", "B-11"), ("Boat", "single kayak"), ("Weight (kg)", "21")):
        value.row.add(column_heads=[head], text=text, is_value=text == "21")
    return gateway_pb2.AskResponse(answered=gateway_pb2.Answered(sentences=[sentence]))


def test_an_answer_from_a_table_has_one_proof_and_its_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show.answer(table_answer(page_kind=document_pb2.PAGE_KIND_SHEET, page_label="Prices"))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:5] == [
        "B-11: Weight (kg) 21 [1]",
        "  Code         B-11",
        "  Boat         single kayak",
        "  Weight (kg)  21",
    ]
    assert lines[6].split("   ")[0] == "[1]  Boats for hire, sheet Prices, A3, C1, C3"
    assert lines[7].strip() == "“B-11” · “Weight (kg)” · “21”"


def test_a_row_has_the_name_and_the_unit_of_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    reply = table_answer(page_label="2")
    value = reply.answered.sentences[0].table_values[0]
    value.caption, value.unit = "Boats of the station", "(in kilograms)"
    show.answer(reply)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:7] == [
        "B-11: Weight (kg) 21 (in kilograms) [1]",
        "  Boats of the station",
        "  Code         B-11",
        "  Boat         single kayak",
        "  Weight (kg)  21",
        "  Unit         in kilograms",
    ]


@pytest.mark.parametrize(
    ("text", "unit", "shown"),
    [
        ("Inventories were 14,215 in 2021.", "(amounts in millions)", "amounts in millions"),
        ("Inventories were 14,215 (amounts in millions).", "amounts in millions", ""),
        ("Inventories were 14,215 million dollars.", "in millions", ""),
        ("Inventories were 14,215.", "", ""),
    ],
)
def test_a_unit_that_a_sentence_leaves_out_is_shown(text: str, unit: str, shown: str) -> None:
    sentence = gateway_pb2.Sentence(text=text)
    sentence.table_values.add(value="14,215", unit=unit)
    sentence.table_values.add(value="14,215", unit=unit)
    assert proofs.units(sentence) == shown


def test_files_of_one_name_in_two_folders_are_told_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    chunks = [
        document_pb2.Chunk(title="january", file_name=f"{year}/minutes/january.txt", body="Agreed.")
        for year in (2023, 2024)
    ]
    sources = [gateway_pb2.SourcePassage(chunk=chunk, probability=0.5) for chunk in chunks]
    show.answer(gateway_pb2.AskResponse(unavailable=gateway_pb2.Unavailable(), sources=sources))
    found = [gateway_pb2.SearchResult(chunk=chunk) for chunk in chunks]
    show.results(gateway_pb2.SearchResponse(results=found))
    said = capsys.readouterr().out
    assert said.count("2023/minutes/january.txt") == 2
    assert said.count("2024/minutes/january.txt") == 2


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ({"page_label": "2"}, "p. 2"),
        ({"page_kind": "PAGE", "page_label": "2", "page_end_label": "3"}, "p. 2 to 3"),
        ({"page_kind": "SLIDE", "page_label": "4"}, "slide 4"),
        ({"page_kind": "CHAPTER", "page_label": "Tides"}, "chapter Tides"),
        ({"page_kind": "NONE", "page_label": "1", "heading": "Weights"}, "“Weights”"),
    ],
)
def test_a_proof_names_its_place_as_the_file_counts(place: dict[str, Any], shown: str) -> None:
    kind = f"PAGE_KIND_{place.pop('page_kind', 'UNSPECIFIED')}"
    citation = gateway_pb2.Citation(
        file_name="a.md", title="Boats", page_kind=document_pb2.PageKind.Value(kind), **place
    )
    assert proofs.proof([citation]).plain.splitlines()[0].rstrip() == f"Boats, {shown}"


def test_a_figure_that_the_scan_shows_badly_is_said_to_be_one() -> None:
    citation = gateway_pb2.Citation(file_name="a.pdf", located=True, quote="21", uncertain=True)
    assert "hard to read" in proofs.proof([citation]).plain
