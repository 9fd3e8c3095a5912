"""Golden sets: what is read, and how a mistake is reported."""

from pathlib import Path

import pytest

from evals.files import BadFile
from evals.golden import Case, Relevant, Scope, choose, load_golden
from evals.library import Library, load_library

MANIFEST = """\
documents:
- {path: mill/handbook.pdf, organization: mill, kind: handbook, pages: 10}
- {path: mill/old/rules.pdf, organization: mill, pages: 3}
- {path: port/rules.pdf, organization: port, pages: 3}
"""
GOOD = """\
cases:
- id: leave
  organization: mill
  question: How many days of leave?
  history:
  - user: I work full time.
  - assistant: Noted.
  expect: answer
  relevant:
  - document: handbook.pdf
    page: 7
    grade: 3
  - document: mill/old/rules.pdf
    page: [1, 2]
  answer_must_include: ["27 days | twenty-seven days"]
  scope: {kinds: [handbook], published_from: 2025-01-01}
  tags: [lookup]
- id: gym
  organization: mill
  question: Is there a gym?
  expect: abstain
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for name in ("mill/handbook.pdf", "mill/old/rules.pdf", "port/rules.pdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    return load_library(tmp_path / "manifest.yaml")


def read(tmp_path: Path, library: Library, text: str) -> tuple[Case, ...]:
    path = tmp_path / "set.yaml"
    path.write_text(text)
    return load_golden([path], library)


def test_a_case_is_read_whole(tmp_path: Path, library: Library) -> None:
    leave, gym = read(tmp_path, library, GOOD)
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
        must_include=(("27 days", "twenty-seven days"),),
        scope=Scope(kinds=("handbook",), published_from="2025-01-01"),
        tags=("lookup",),
    )
    assert leave.judgements == {"mill/handbook.pdf#7": 3, "mill/old/rules.pdf#1-2": 1}
    assert gym.relevant == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("document: handbook.pdf", "document: handbok.pdf", 10, "no document 'handbok.pdf'"),
        ("document: handbook.pdf", "document: rules.pdf", 10, "write the whole path"),
        ("document: handbook.pdf", "document: port/rules.pdf", 10, "belongs to port, not mill"),
        ("page: 7", "page: 10", 11, "has pages 0 to 9"),
        ("page: [1, 2]", "page: [2, 1]", 14, "runs backwards"),
        ("page: [1, 2]", "page: [1, 3]", 14, "has pages 0 to 2"),
        ("page: 7", "page: xiv", 11, "must be a whole number"),
        ("grade: 3", "grade: 4", 12, "4 is not 1 to 3"),
        ("grade: 3", "grade: 0", 12, "drop pages that do not answer"),
        ("id: gym", "id: leave", 18, "'leave' is used twice"),
        ("expect: abstain", "expect: answer", 18, "needs a relevant page"),
        ("expect: abstain", "expect: shrug", 21, "'shrug' is none of: answer"),
        ("tags: [lookup]", "tag: [lookup]", 17, "unknown key 'tag'; there are: id,"),
        ("tags: [lookup]", "tags: lookup", 17, "must be a list"),
        ("organization: mill\n  question: Is", "organization: mil\n  question: Is", 19, "'mil'"),
        ("question: Is there a gym?", "question: ''", 20, "not blank"),
        ("  - user: I work full time.", "  - boss: hm", 6, "unknown key 'boss'"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_cure(
    tmp_path: Path, library: Library, old: str, new: str, line: int, expected: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(BadFile) as raised:
        read(tmp_path, library, GOOD.replace(old, new))
    assert f"set.yaml:{line}:" in str(raised.value)
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cases: []\n", "no case in it"),
        ("- id: a\n", "expected a mapping at the top"),
        ("cases: [\n", "not YAML"),
        ("", "expected a mapping at the top"),
        ("cases:\n- id: a\n  id: b\n", "'id' is here twice"),
    ],
)
def test_a_file_that_is_no_golden_set(
    tmp_path: Path, library: Library, text: str, expected: str
) -> None:
    with pytest.raises(BadFile, match=expected):
        read(tmp_path, library, text)


def test_an_id_may_not_come_again_in_another_file(tmp_path: Path, library: Library) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(GOOD)
    with pytest.raises(BadFile, match=r"b\.yaml:2: the id 'leave' is used twice"):
        load_golden([tmp_path / "a.yaml", tmp_path / "b.yaml"], library)


def test_a_fifth_is_held_out_by_the_hash_of_the_id() -> None:
    cases = [Case(f"case-{n}", "mill", "?", "abstain") for n in range(1000)]
    working = choose(cases, held_out=False)
    assert 760 <= len(working) <= 840
    assert choose(cases, held_out=True) == tuple(cases)
    # The choice is a fact of the id, not of the set it stands in.
    assert [case.id for case in cases[:12] if case.held_out] == ["case-2", "case-6", "case-8"]


def test_a_document_without_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    with pytest.raises(BadFile, match=r"manifest\.yaml:2: no file mill/handbook\.pdf"):
        load_library(tmp_path / "manifest.yaml")
