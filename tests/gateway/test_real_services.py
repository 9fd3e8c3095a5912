"""The gateway before the real services: a PDF in, an answer out that cites its page, and an honest no."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

from folio import CallFailed, Folio
from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2
from services.suite import Suite

HANDBOOK = (
    Path(__file__).resolve().parents[2] / "evals/corpus/brackwater/people/staff-handbook-2025.pdf"
)
TITLE = "Brackwater Staff Handbook, 2025 edition"
pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def suite(data_folders: Callable[[], Path]) -> Iterator[Suite]:
    with Suite(data_folders(), ["acme", "globex"], port=0) as running:
        yield running


@pytest.fixture(scope="module")
def acme(suite: Suite) -> Iterator[Folio]:
    with Folio(suite.client.address, suite.client.keys["acme"]) as client:
        yield client


@pytest.fixture(scope="module")
def globex(suite: Suite) -> Iterator[Folio]:
    with Folio(suite.client.address, suite.client.keys["globex"]) as client:
        yield client


@pytest.fixture(scope="module")
def handbook(acme: Folio) -> Any:
    *progress, last = acme.ingest(HANDBOOK, title=TITLE, kind="handbook", collection="people")
    steps = [event.progress.step for event in progress]
    wanted = (step_pb2.STEP_PARSE, step_pb2.STEP_TOKEN_VECTORS, step_pb2.STEP_PUBLISH)
    places = [steps.index(step) for step in wanted]
    assert places == sorted(places)
    return last.result.document


def test_the_answer_cites_the_printed_page(acme: Folio, handbook: Any) -> None:
    reply = acme.ask("How many days of paid annual leave do full-time staff have in 2025?")
    cited = reply.answered.sentences[0].citations[0]
    assert "27 days" in cited.quote
    assert (cited.page, cited.page_label) == (7, "4")
    assert cited.link == "staff-handbook-2025.pdf#page=8"
    assert cited.sha256 == handbook.sha256
    assert cited.located
    image = acme.page_image(handbook.id, cited.page, highlight=(cited.char_start, cited.char_end))
    assert image.png.startswith(b"\x89PNG")
    assert image.regions == cited.regions


def test_a_scope_in_the_question_is_found_among_the_titles(acme: Folio, handbook: Any) -> None:
    found = acme.search("annual leave in the 2025 handbook")
    assert list(found.scope.filter.document_ids) == [handbook.id]
    assert found.results[0].chunk.document_id == handbook.id


def test_three_words_and_thirty_route_alike(acme: Folio, handbook: Any) -> None:
    """MaxSim grows with the question; the route reads the score per token."""
    short = acme.ask("annual leave days?")
    long = acme.ask(
        "I have just started here as a full-time member of staff and I should like to know how many days of paid "
        "annual leave I have in a whole calendar year, please?"
    )
    for reply in (short, long):
        assert reply.answer_threshold > 0
        assert reply.answer_probability > reply.answer_threshold
    assert abs(short.answer_probability - long.answer_probability) < 0.5


def test_a_question_about_something_else_altogether_never_reaches_the_generator(
    acme: Folio, handbook: Any
) -> None:
    reply = acme.ask("Which enzyme unwinds the double helix before transcription?")
    assert reply.abstained.reason == gateway_pb2.ABSTAIN_REASON_BELOW_THRESHOLD
    assert step_pb2.STEP_GENERATE not in [report.step for report in reply.steps]


def test_what_the_documents_do_not_say_is_said(acme: Folio, handbook: Any) -> None:
    reply = acme.ask("Does the company pay for staff to join a gym?")
    assert reply.WhichOneof("outcome") in ("abstained", "unverified")


def test_another_organization_sees_nothing(globex: Folio, handbook: Any) -> None:
    reply = globex.ask("How many days of paid annual leave do full-time staff have in 2025?")
    assert reply.abstained.reason == gateway_pb2.ABSTAIN_REASON_NO_DOCUMENTS
    assert not reply.sources
    for refused in (
        lambda: globex.document(handbook.id),
        lambda: globex.delete(handbook.id),
        lambda: globex.page_image(handbook.id, 0),
    ):
        with pytest.raises(CallFailed) as failed:
            refused()
        assert failed.value.code == "NOT_FOUND"


def test_the_same_file_again_changes_nothing(acme: Folio, handbook: Any) -> None:
    *_, last = acme.ingest(HANDBOOK, title=TITLE, kind="handbook", collection="people")
    assert last.result.unchanged
    assert last.result.document.id == handbook.id


@pytest.mark.parametrize(
    ("content", "name"), [(b"", "empty.pdf"), (b"%PDF-1.7 broken", "broken.pdf")]
)
def test_a_bad_file_is_refused_with_a_reason(acme: Folio, content: bytes, name: str) -> None:
    with pytest.raises(CallFailed) as failed:
        list(acme.ingest(content, name))
    assert failed.value.code == "INVALID_ARGUMENT"
    assert failed.value.message


def test_a_cell_answers_with_its_heads_each_located(acme: Folio) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    pdf.cell(text="Boats for hire", new_x="LMARGIN", new_y="NEXT")
    rows = [(f"B-{number}", f"boat {number}", f"{3 * number}.40") for number in range(10, 60)]
    with pdf.table() as table:
        for texts in [("Code", "Name", "Price (euros)"), *rows]:
            row = table.row()
            for text in texts:
                row.cell(text)
    *_, last = acme.ingest(bytes(pdf.output()), "boats.pdf", title="Boats for hire")
    reply = acme.ask("What does B-47 cost?", table_rows=True)
    (sentence,) = reply.answered.sentences
    assert sentence.text == "B-47: Price (euros) 141.40"
    assert [cited.quote for cited in sentence.citations] == ["B-47", "Price (euros)", "141.40"]
    assert all(cited.located for cited in sentence.citations)
    (value,) = sentence.table_values
    assert [cell.text for cell in value.row] == ["B-47", "boat 47", "141.40"]
    assert acme.ask("What does B-99 cost?").WhichOneof("outcome") != "answered"
    acme.delete(last.result.document.id)
