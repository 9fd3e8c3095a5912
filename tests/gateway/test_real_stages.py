"""The gateway before the real stages: a PDF in, an answer out that cites its page, and an honest no."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from folio import CallFailed, Folio
from services.suite import Suite

HANDBOOK = (
    Path(__file__).resolve().parents[2] / "evals/corpus/brackwater/people/staff-handbook-2025.pdf"
)
TITLE = "Brackwater Staff Handbook, 2025 edition"
pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with Suite(tmp_path_factory.mktemp("suite"), ["acme", "globex"], port=0) as running:
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
    assert steps.index("parse") < steps.index("token_vectors") < steps.index("publish")
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


def test_what_the_documents_do_not_say_is_said(acme: Folio, handbook: Any) -> None:
    reply = acme.ask("Does the company pay for staff to join a gym?")
    assert reply.WhichOneof("outcome") in ("abstained", "unverified")


def test_another_organization_sees_nothing(globex: Folio, handbook: Any) -> None:
    reply = globex.ask("How many days of paid annual leave do full-time staff have in 2025?")
    assert reply.abstained.reason == "no_documents"
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
