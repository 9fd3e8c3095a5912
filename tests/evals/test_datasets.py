"""Loaders of the public layouts: hand-made files for what can be wrong, the real sets for their sizes."""

import json
from pathlib import Path

import pytest

from evals.datasets import Collection, Passage, Query, open_collection
from evals.datasets.beir import load_beir
from evals.datasets.page_eval import as_golden, load_page_eval
from evals.datasets.sampling import sample
from evals.datasets.scifact import sentences
from evals.datasets.smart import load_cranfield
from evals.datasets.trec import read_qrels, read_run, write_qrels, write_run
from evals.files import BadFile
from services.rpc.errors import FailedPrecondition


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Seals", "text": "A seal leaks."}\n{"_id": "d2", "text": "Bearings."}\n'
    )
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "leak"}\n{"_id": "q2", "text": "never judged"}\n'
    )
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"
    )
    return tmp_path


def test_beir_layout(beir: Path) -> None:
    found = load_beir(beir)
    assert [passage.body for passage in found.passages] == ["Seals\n\nA seal leaks.", "Bearings."]
    assert [query.id for query in found.queries] == ["q1"]
    assert found.qrels == {"q1": {"d1": 2, "d2": 0}}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "corpus.jsonl",
            '{"_id": "d1", "text": "a"}\n{"_id": "d1", "text": "b"}\n',
            "jsonl:2: document d1",
        ),
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}\nnot json\n', "jsonl:2: not JSON"),
        ("corpus.jsonl", '{"_id": "d1"}\n', "jsonl:1: 'text' must be a string; there are: _id"),
        ("queries.jsonl", '{"_id": "q9", "text": "a"}\n', "the qrels judge query q1"),
        ("qrels/test.tsv", "q1\td1\t0\n", "no relevant pair"),
        ("qrels/test.tsv", "", "no relevant pair"),
        ("qrels/test.tsv", "q1\td7\t1\n", "tsv:1: document d7 is not in corpus.jsonl"),
        ("qrels/test.tsv", "q1\td1\t1\nq1\td1\t2\n", "tsv:2: q1 and d1 are judged twice"),
        (
            "qrels/test.tsv",
            "q1\td1\t1\nq1\td2\tgood\n",
            "tsv:2: the grade 'good' is not an integer",
        ),
    ],
)
def test_beir_errors_name_file_line_and_cure(
    beir: Path, name: str, text: str, expected: str
) -> None:
    (beir / name).write_text(text)
    with pytest.raises(BadFile) as raised:
        load_beir(beir)
    assert expected in str(raised.value)


def test_a_written_run_has_strictly_decreasing_scores_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    write_run(path, {"q1": {"b": 0.5, "a": 0.5, "c": 0.9}, "q2": ["z", "y"]}, "folio")
    assert path.read_text() == (
        "q1 Q0 c 1 3 folio\nq1 Q0 a 2 2 folio\nq1 Q0 b 3 1 folio\nq2 Q0 z 1 2 folio\nq2 Q0 y 2 1 folio\n"
    )
    assert read_run(path) == {"q1": ["c", "a", "b"], "q2": ["z", "y"]}


def test_an_id_that_a_run_cannot_hold_is_refused(tmp_path: Path) -> None:
    for run in ({"q": ["a b"]}, {"q 1": ["a"]}, {"q": [""]}):
        with pytest.raises(ValueError, match="cannot hold the id"):
            write_run(tmp_path / "run.trec", run, "folio")


def test_ties_of_a_run_are_ordered_by_rank_then_id(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q Q0 c 1 0.5 x\nq Q0 b 3 0.5 x\nq Q0 a 3 0.5 x\nq Q0 d 9 0.7 x\n")
    assert read_run(path) == {"q": ["d", "c", "a", "b"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q Q0 d 1 nan x\n", ":1: the score nan is not finite"),
        ("q Q0 d 1 2 x\nq Q0 d 2 1 x\n", ":2: d is ranked twice"),
        ("q Q0 d 1 2\n", ":1: expected"),
        ("q Q0 d one 2 x\n", ":1: rank 'one'"),
        ("", "no ranking"),
    ],
)
def test_a_run_that_would_score_by_accident_is_refused(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "run.trec"
    path.write_text(text)
    with pytest.raises(BadFile) as raised:
        read_run(path)
    assert expected in str(raised.value)


def test_qrels_write_and_read_back_and_empty_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    write_qrels(path, {"q": {"d2": 0, "d1": 2}})
    assert read_qrels(path) == {"q": {"d1": 2, "d2": 0}}
    for text, expected in (
        ("q 0 d 0\n", "no relevant pair"),
        ("q 0 d 1\nq 0 e --5\n", ":2: the grade '--5' is not an integer"),
        ("q 0 d 1\nq 0 d 1\n", ":2: q and d are judged twice"),
    ):
        path.write_text(text)
        with pytest.raises(BadFile, match=expected):
            read_qrels(path)


def test_a_printed_list_of_sentences_is_read_whole() -> None:
    assert sentences("['It''s one.'\n \"two's.\" 'thr\\'ee']") == [
        "It",
        "s one.",
        "two's.",
        "thr'ee",
    ]


def test_an_unknown_collection_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match="scifact"):
        open_collection("scfact", tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "passages", "queries", "relevant"),
    [
        ("scifact", 5183, 809, 809),
        ("cranfield", 1400, 225, 225),
        ("cisi", 1460, 76, 76),
        ("med", 1033, 30, 30),
        ("dbpedia", 5000, 40, 40),
        ("squad", 1204, 1000, 500),
        ("clapnq", 600, 600, 300),
        ("hotpotqa", 994, 100, 100),
        ("musique", 1890, 100, 100),
    ],
)
def test_sizes_of_the_real_sets(
    public_data: Path, name: str, passages: int, queries: int, relevant: int
) -> None:
    found = open_collection(name, public_data)
    assert len(found.passages) == passages
    assert len(found.queries) == queries
    with_relevant = [q.id for q in found.queries if any(g > 0 for g in found.qrels[q.id].values())]
    assert len(with_relevant) == relevant
    known = {passage.id for passage in found.passages}
    assert all(document in known for grades in found.qrels.values() for document in grades)


@pytest.mark.data
def test_mtrag_keeps_the_history(public_data: Path) -> None:
    found = open_collection("mtrag", public_data)
    assert len(found.queries) == 507
    assert any(query.history and query.history[0][0] == "user" for query in found.queries)


@pytest.mark.data
def test_cranfield_grades_are_turned_over(public_data: Path) -> None:
    found = load_cranfield(public_data)
    assert found.qrels["1"]["184"] == 3
    assert found.qrels["1"]["12"] == 2
    assert set(found.qrels["1"].values()) <= {1, 2, 3, 4}
    # .I 004 is the third question: the qrels call it 3.
    assert found.queries[2].text.startswith("what problems of heat conduction")


@pytest.mark.data
def test_page_questions_skip_wrong_labels(public_data: Path) -> None:
    rows = [json.loads(line) for line in (public_data / "page_eval.jsonl").read_text().splitlines()]
    found = load_page_eval(public_data)
    assert len(found) == sum(1 for row in rows if not row["label_issue"])
    assert {"text", "table"} <= {kind for question in found for kind in question.kinds}


def test_a_sample_keeps_relevant_documents_and_the_share_of_answerable_questions() -> None:
    passages = tuple(Passage(f"d{number}", "", "text") for number in range(100))
    queries = tuple(Query(f"q{number}", "text", number < 30) for number in range(40))
    qrels = {f"q{number}": {f"d{number}": 1, f"d{number + 50}": 0} for number in range(30)}
    found = sample(Collection("c", passages, queries, qrels), queries=20, documents=18)
    assert sum(query.answerable for query in found.queries) == 15
    assert len(found.queries) == 20
    kept = {passage.id for passage in found.passages}
    relevant = {f"d{query.id[1:]}" for query in found.queries if query.answerable}
    assert len(kept) == 18
    assert relevant < kept
    assert kept - relevant < {f"d{int(name[1:]) + 50}" for name in relevant}, "judged ones first"
    assert found.qrels.keys() == {query.id for query in found.queries if query.answerable}


def test_a_sample_keeps_what_an_unanswerable_question_was_written_for() -> None:
    passages = tuple(Passage(f"d{number}", "", "text") for number in range(100))
    queries = tuple(Query(f"q{number}", "text", number < 10) for number in range(20))
    qrels = {f"q{number}": {f"d{number}": int(number < 10)} for number in range(20)}
    found = sample(Collection("c", passages, queries, qrels), documents=5)
    assert {passage.id for passage in found.passages} == {f"d{number}" for number in range(20)}


def test_a_filing_that_is_there_twice_is_one_document(public_data: Path) -> None:
    found = as_golden(public_data, "acme", document_known=True)
    hashes = [document.sha256 for document in found.library.documents.values()]
    assert len(hashes) == len(set(hashes)) == 65
    for case in found.cases:
        assert len({item.id for item in case.relevant}) == len(case.relevant), case.id
    few = as_golden(public_data, "acme", document_known=False, files=24, pages=110)
    assert len(few.library.documents) == 24
    assert max(document.pages for document in few.library.documents.values()) <= 110
