"""The difficult PDFs of the public data: no crash of the pool, no hang, and what is known of them."""

import os
from pathlib import Path

import pytest

from evals.studies.parse_report import hard_cases
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import ParseLimits, ParserPool
from services.rpc.errors import FailedPrecondition, FolioError, InvalidArgument, ResourceExhausted

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.integration]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def hard() -> Path:
    data = Path(os.environ.get("FOLIO_DATA") or ROOT.parent / "shared" / "data")
    if not (data / "pdf_hard" / "INDEX.json").exists():
        pytest.skip(f"no difficult PDFs at {data}; set FOLIO_DATA to the public data's folder")
    return data


@pytest.fixture(scope="module")
async def outcomes(hard: Path) -> dict[str, ParsedDocument | FolioError]:
    found: dict[str, ParsedDocument | FolioError] = {}
    pool = ParserPool(ParseLimits(wall_s=60))
    for case in hard_cases(hard):
        try:
            found[case.path.name] = await pool.parse(
                case.path.read_bytes(), file_name=case.path.name, password=case.password
            )
        except FolioError as error:
            found[case.path.name] = error
    await pool.close()
    return found


def test_every_file_has_an_outcome_of_the_right_kind(
    outcomes: dict[str, ParsedDocument | FolioError],
) -> None:
    assert len(outcomes) > 100
    for name, outcome in outcomes.items():
        if isinstance(outcome, FolioError):
            kinds = (InvalidArgument, FailedPrecondition, ResourceExhausted)
            assert isinstance(outcome, kinds), name
            assert outcome.reason != "PARSE_FAILED", f"{name}: a bug of ours"
        else:
            assert outcome.pages, name
            outcome.text.encode()


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("bad-PageLabels.pdf", ["X3"]),
        ("bug793632.pdf", ["i", "ii", "iii", "1"]),
        ("issue1453.pdf", ["Front Page1"]),
        ("labelled_pages.pdf", ["i", "ii", "iii", "iv", "1", "2", "3", "a", "b", "4", "5"]),
    ],
)
def test_printed_labels(
    outcomes: dict[str, ParsedDocument | FolioError], name: str, labels: list[str]
) -> None:
    document = outcomes[name]
    assert isinstance(document, ParsedDocument)
    assert [page.label for page in document.pages] == labels


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("multilang.pdf", "مرحبا بالعالم"),
        ("multilang.pdf", "你好世界"),
        ("multilang.pdf", "สวัสดีชาวโลก"),
        ("saslprep-r6.pdf", "Hello pdf.js world"),
        ("r4-aes-user-password.pdf", "pdf encryption test"),
        ("hello_world_rotated.pdf", "Hello world"),
    ],
)
def test_words_of_all_scripts_and_behind_passwords(
    outcomes: dict[str, ParsedDocument | FolioError], name: str, words: str
) -> None:
    document = outcomes[name]
    assert isinstance(document, ParsedDocument)
    assert words in document.text
