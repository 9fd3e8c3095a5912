"""Golden sets: what is read, and how a mistake is reported."""

from pathlib import Path

import pytest

from evals import evaluation
from evals.files import BadFile
from evals.golden import Case, Relevant, Scope, choose, load_golden
from evals.library import load_library
from services.rpc.errors import FailedPrecondition

MANIFEST = """\
documents:
- {path: mill/handbook.pdf, organization: mill, kind: handbook, pages: 10}
- {path: mill/old/rules.pdf, organization: mill, pages: 3}
- {path: port/rules.pdf, organization: port, pages: 3}
"""
GOOD = """\
corpus: manifest.yaml
cases:
- id: leave
  organization: mill
  question: How many days of leave?
  history:
  - {role: user, text: I work full time.}
  - {role: assistant, text: Noted.}
  expect: answer
  relevant:
  - document: handbook.pdf
    page: 7
    grade: 3
    quote: 27 days
  - document: mill/old/rules.pdf
    page: [1, 2]
  answer_must_include: [full-time, [27 days, twenty-seven days]]
  scope: {kinds: [handbook], published_from: 2025-01-01}
  tags: [lookup]
- id: gym
  organization: mill
  question: Is there a gym?
  expect: abstain
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("mill/handbook.pdf", "mill/old/rules.pdf", "port/rules.pdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    return tmp_path


def read(corpus: Path, text: str) -> tuple[Case, ...]:
    path = corpus / "set.yaml"
    path.write_text(text)
    return load_golden([path]).cases


def test_a_case_is_read_whole(corpus: Path) -> None:
    leave, gym = read(corpus, GOOD)
    assert leave == Case(
        id="leave",
        organization="mill",
        question="How many days of leave?",
        expect="answer",
        history=(("user", "I work full time."), ("assistant", "Noted.")),
        relevant=(
            Relevant("mill/handbook.pdf", 7, 7, 3),
            Relevant("mill/old/rules.pdf", 1, 2, 1),
        ),
        must_include=(("full-time",), ("27 days", "twenty-seven days")),
        scope=Scope(kinds=("handbook",), published_from="2025-01-01"),
        tags=("lookup",),
    )
    assert leave.judgements == {"mill/handbook.pdf#7": 3, "mill/old/rules.pdf#1-2": 1}
    assert gym.relevant == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("document: handbook.pdf", "document: handbok.pdf", 11, "no document 'handbok.pdf'"),
        ("document: handbook.pdf", "document: rules.pdf", 11, "write the whole path"),
        ("document: handbook.pdf", "document: port/rules.pdf", 11, "belongs to port, not mill"),
        ("page: 7", "page: 10", 12, "has pages 0 to 9"),
        ("page: [1, 2]", "page: [2, 1]", 16, "runs backwards"),
        ("page: [1, 2]", "page: [1, 3]", 16, "has pages 0 to 2"),
        ("page: 7", "page: xiv", 12, "must be a whole number"),
        ("page: 7", "page: --7", 12, "must be a whole number"),
        ("page: [1, 2]", "page: [1, ²]", 16, "must be a number or [first, last]"),
        ("grade: 3", "grade: 4", 13, "4 is not 1 to 3"),
        ("grade: 3", "grade: ²", 13, "must be a whole number"),
        ("tags: [lookup]", "[tags]: lookup", 19, "a key must be a text"),
        ("Is there a gym", "Is there\a gym", 22, "a control character"),
        ("grade: 3", "grade: 0", 13, "drop pages that do not answer"),
        ("id: gym", "id: leave", 20, "'leave' is used twice"),
        ("expect: abstain", "expect: answer", 20, "needs a relevant page"),
        ("expect: abstain", "expect: shrug", 23, "'shrug' is none of: answer"),
        ("tags: [lookup]", "tag: [lookup]", 19, "unknown key 'tag'; there are: id,"),
        ("tags: [lookup]", "tags: [draft]", 19, "a draft is not a case yet"),
        ("tags: [lookup]", "tags: lookup", 19, "must be a list"),
        ("organization: mill\n  question: Is", "organization: mil\n  question: Is", 21, "'mil'"),
        ("question: Is there a gym?", "question: ''", 22, "not blank"),
        ("{role: user, ", "{role: boss, ", 7, "'boss' is none of: user, assistant"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_cure(
    corpus: Path, old: str, new: str, line: int, expected: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(BadFile) as raised:
        read(corpus, GOOD.replace(old, new))
    assert f"set.yaml:{line}:" in str(raised.value)
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("corpus: manifest.yaml\ncases: []\n", "no case in it"),
        ("cases: []\n", "'corpus' is missing"),
        ("corpus: elsewhere.yaml\ncases: []\n", "no such file"),
        ("- id: a\n", "expected a mapping at the top"),
        ("cases: [\n", "not YAML"),
        ("", "expected a mapping at the top"),
        ("corpus: manifest.yaml\ncases:\n- id: a\n  id: b\n", "'id' is here twice"),
    ],
)
def test_a_file_that_is_no_golden_set(corpus: Path, text: str, expected: str) -> None:
    with pytest.raises(BadFile, match=expected):
        read(corpus, text)


def test_an_id_may_not_come_again_in_another_file(corpus: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (corpus / name).write_text(GOOD)
    with pytest.raises(BadFile, match=r"b\.yaml:3: the id 'leave' is used twice"):
        load_golden([corpus / "a.yaml", corpus / "b.yaml"])


def test_a_fifth_is_held_out_by_the_hash_of_the_id() -> None:
    cases = [Case(f"case-{n}", "mill", "?", "abstain") for n in range(1000)]
    working = choose(cases, held_out=False)
    assert 760 <= len(working) <= 840
    assert choose(cases, held_out=True) == tuple(cases)
    # The choice is a fact of the id, not of the set it stands in.
    assert [case.id for case in cases[:12] if case.held_out] == ["case-2", "case-6", "case-8"]


def test_a_document_without_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    with pytest.raises(BadFile, match=r"manifest\.yaml:2: no file mill/handbook\.pdf; build"):
        load_library(tmp_path / "manifest.yaml")


def test_an_installed_package_asks_for_a_golden_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "GOLDEN", tmp_path / "none.yaml")
    with pytest.raises(FailedPrecondition, match="with a checkout only; name yours with --golden"):
        evaluation.load_sets([])


def test_our_own_golden_set_is_sound() -> None:
    found = load_golden([Path(__file__).parents[2] / "evals" / "golden" / "folio.yaml"])
    withheld = [case for case in found.cases if case.expect in ("abstain", "refuse")]
    assert len(found.cases) >= 80
    assert len(withheld) >= len(found.cases) / 5
    assert len({case.organization for case in found.cases}) >= 2
