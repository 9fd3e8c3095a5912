"""A whole evaluation against a gateway that speaks the contract: ingest, climb, resume, sum up."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals import evaluation
from evals.connection import Connection
from evals.datasets import Collection, Passage, Query
from evals.files import BadFile, named
from evals.golden import GoldenSet, load_golden
from evals.records import Record, Spent, StepRanking, read_records, write_records
from evals.rungs import CONFIGURED, DENSE, FUSED, LADDER, LATE, SPARSE, Rung
from evals.session import Plan, ingest_golden, run_collection, run_golden
from services.rpc.errors import FailedPrecondition, InvalidArgument
from tests.evals.gateway import SmallGateway, serving

SET = """\
corpus: manifest.yaml
cases:
- id: seal
  organization: mill
  question: leak at the seal means what?
  expect: answer
  relevant: [{document: codes.txt, page: 1, grade: 3}]
  answer_must_include: [E-47]
  tags: [code]
- id: bearing
  organization: mill
  question: when is the bearing greased?
  history: [{role: user, text: 'How are pumps serviced?'}]
  expect: answer
  relevant: [{document: codes.txt, page: 2}]
  answer_must_include: [monthly]
  tags: [lookup]
- id: gym
  organization: mill
  question: gym?
  expect: abstain
- id: port-fee
  organization: port
  question: what is the fee of the harbour?
  expect: answer
  relevant: [{document: fees.txt, page: 0}]
  answer_must_include: [12 pounds]
"""
CODES = """\
A long line about nothing in particular, longer than all.
E-47 means leak at the seal
the bearing is greased monthly
"""


SPENT = Spent("words", "shared-words", 10, 2, None)


class Watch:
    """Counts what a run tells."""

    def __init__(self) -> None:
        self.rungs: list[str] = []
        self.records: list[Record] = []
        self.files: list[str] = []

    def rung(self, rung: Rung, cases: int) -> None:
        self.rungs.append(rung.name)

    def record(self, record: Record) -> None:
        self.records.append(record)

    def file(self, name: str, done: int, total: int) -> None:
        self.files.append(name)


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    (tmp_path / "codes.txt").write_text(CODES)
    (tmp_path / "fees.txt").write_text("the fee of the harbour is 12 pounds\n")
    (tmp_path / "manifest.yaml").write_text(
        "documents:\n- {path: codes.txt, organization: mill, pages: 3}\n"
        "- {path: fees.txt, organization: port, pages: 1}\n"
    )
    (tmp_path / "set.yaml").write_text(SET)
    return load_golden([tmp_path / "set.yaml"])


@pytest.fixture
async def served(golden: GoldenSet) -> AsyncIterator[tuple[SmallGateway, Connection]]:
    gateway = SmallGateway()
    async with serving(gateway) as address:
        there = Connection(address, {"mill": "mill-key", "port": "port-key"})
        await ingest_golden(there, golden, Watch())
        yield gateway, there


def plan(tmp_path: Path, *rungs: Rung, **changes: Any) -> Plan:
    return Plan(rungs, tmp_path / "out" / "run", held_out=True, concurrency=2, **changes)


async def test_ingest_sends_what_is_missing_once(
    served: tuple[SmallGateway, Connection], golden: GoldenSet
) -> None:
    gateway, there = served
    assert len(gateway.documents) == 2
    again = await ingest_golden(there, golden, Watch())
    assert {name: (done.sent, done.there) for name, done in again.items()} == {
        "mill": (0, 1),
        "port": (0, 1),
    }


async def test_a_run_asks_each_organization_as_itself_and_scores(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    summary, measured = await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    records = {record.case: record for record in measured[0].records}
    assert {name: record.score for name, record in records.items()} == dict.fromkeys(
        records, "correct"
    )
    assert records["seal"].ranking[0] == "codes.txt#1"
    assert records["seal"].metrics["ndcg@10"] == 1.0
    assert records["gym"].metrics == {}
    assert records["seal"].citations[0][0].relevant
    assert records["seal"].source_recall == 1.0
    asked = {request.question: request for request in gateway.asked}
    assert asked["when is the bearing greased?"].history[0].text == "How are pumps serviced?"
    rung = summary["rungs"][0]
    assert rung["metrics"]["ndcg@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "count": 3}
    assert rung["answers"]["false_answer_rate"] == 0.0
    assert rung["usage"] == {
        "calls": 4,
        "input_tokens": 40,
        "output_tokens": 8,
        "cost_usd": 0.0,
        "unpriced": 4,
    }
    assert rung["tags"]["code"]["count"] == 1
    assert summary["set"]["held_out"] is True
    (provider,) = summary["models"][0]["providers"]
    assert (provider["model"], provider["revision"]) == ("shared-words", "r1")
    json.dumps(summary)


async def test_the_ladder_skips_what_cannot_run_and_says_why(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    _, there = served
    summary, _ = await run_golden(there, golden, plan(tmp_path, *LADDER), Watch())
    rungs = {rung["name"]: rung for rung in summary["rungs"]}
    assert rungs["crossencoder"]["status"] == "skipped"
    assert rungs["crossencoder"]["reason"] == "not configured"
    assert rungs["rewrite"]["reason"] == "the services report no step rewrite"
    assert rungs["dense"]["metrics"]["hit@1"]["mean"] == pytest.approx(1 / 3)
    assert rungs["bm25"]["metrics"]["hit@1"]["mean"] == 1.0
    assert rungs["bm25"]["against"]["better"] == 2
    assert rungs["colbert"]["switches"] == ["colbert", "dense", "sparse"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("explode", "INTERNAL: a broken invariant"),
        ("stumble", "colbert: UNAVAILABLE: colbert"),
        ("stutter", "ranking: search ranked a chunk twice"),
        ("overload", "unavailable: overloaded"),
    ],
)
async def test_a_failure_is_counted_and_never_averaged_as_zero(
    served: tuple[SmallGateway, Connection],
    golden: GoldenSet,
    tmp_path: Path,
    word: str,
    expected: str,
) -> None:
    gateway, there = served
    gateway.broken = frozenset({word})
    cases = tuple(
        replace(case, question=f"{case.question} {word}") if case.id == "seal" else case
        for case in golden.cases
    )
    summary, _ = await run_golden(
        there, replace(golden, cases=cases), plan(tmp_path, FUSED, LATE), Watch()
    )
    rung = summary["rungs"][-1]
    assert rung["failed"] == 1
    assert rung["failures"][0].startswith(expected)
    assert rung["metrics"]["ndcg@10"]["count"] == 2
    assert rung["metrics"]["ndcg@10"]["mean"] == 1.0
    assert sum(rung["answers"]["counts"].values()) == 3
    assert rung["questions"]["seal"] == {"failed": rung["failures"][0]}


async def test_without_a_generator_searches_count_and_answers_do_not(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    gateway.broken = frozenset({"alone"})
    cases = tuple(replace(case, question=f"{case.question} alone") for case in golden.cases)
    summary, _ = await run_golden(
        there, replace(golden, cases=cases), plan(tmp_path, FUSED), Watch()
    )
    (rung,) = summary["rungs"]
    assert rung["failed"] == 0
    assert rung["metrics"]["ndcg@10"]["count"] == 3
    assert rung["answers"]["counts"]["unavailable"] == 4
    assert rung["answers"]["over_abstention_rate"] is None


async def test_one_question_that_fails_does_not_leave_its_rung_out(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    gateway.broken = frozenset({"stumble"})
    # The one with a history, which is asked first of all.
    cases = tuple(
        replace(case, question=f"{case.question} stumble") if case.history else case
        for case in golden.cases
    )
    summary, _ = await run_golden(
        there, replace(golden, cases=cases), plan(tmp_path, LATE, CONFIGURED), Watch()
    )
    assert [rung["status"] for rung in summary["rungs"]] == ["measured", "measured"]
    assert [rung["failed"] for rung in summary["rungs"]] == [1, 1]


async def test_full_queues_are_waited_for(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    gateway.crowded = 2
    summary, _ = await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    assert summary["rungs"][0]["failed"] == 0


async def test_a_run_that_was_broken_off_goes_on_and_asks_failed_ones_again(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    whole, _ = await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    path = tmp_path / "out" / "run.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    failed = lines[1].replace('"failed":""', '"failed":"INTERNAL: gone"')
    # One is whole, one failed, one was cut in the middle of its line; and the run was not finished.
    path.write_text(lines[0] + failed + lines[2][:40])
    head = path.with_suffix(".head.json")
    head.write_text(head.read_text().replace('"finished": true', '"finished": false'))
    gateway.asked.clear()
    again, _ = await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    # One more than the three that are missing: the probe.
    assert len(gateway.asked) == 4
    assert again["rungs"][0]["metrics"] == whole["rungs"][0]["metrics"]
    assert len(read_records(path)) == 4


async def test_a_run_that_was_finished_is_made_again(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    # The services may be set otherwise by now: old records under a new date would be no measurement.
    gateway, there = served
    cases = tuple(
        replace(case, question="gym explode?") if case.id == "gym" else case
        for case in golden.cases
    )
    golden = replace(golden, cases=cases)
    await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    gateway.asked.clear()
    await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    assert len(gateway.asked) == 5
    # One that failed leaves the run unfinished: only that one is asked again.
    gateway.broken = frozenset({"explode"})
    await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    gateway.broken = frozenset()
    gateway.asked.clear()
    await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    assert [request.question for request in gateway.asked[1:]] == ["gym explode?"]


def test_a_record_reads_back_whole(tmp_path: Path) -> None:
    # A sweep that goes on after a kill reads the signals of the questions that were asked before it.
    ranking = StepRanking("colbert", (7, 8), (2.0, 1.0), ("a#1", "chunk 8"), "m", "s", (0.5, 0.25))
    written = [Record("colbert", "seal", rankings=(ranking,), tags=("code",), usage=(SPENT,))]
    write_records(tmp_path / "run.jsonl", written)
    assert read_records(tmp_path / "run.jsonl") == written


async def test_records_of_another_run_are_not_taken_over(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    _, there = served
    await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
    other = replace(golden, digest="another")
    with pytest.raises(FailedPrecondition, match="another set"):
        await run_golden(there, other, plan(tmp_path, FUSED), Watch())
    await run_golden(there, other, plan(tmp_path, FUSED, fresh=True), Watch())


def test_two_runs_whose_names_end_in_numbers_do_not_share_files() -> None:
    assert named(Path("runs/minilm-v1.2"), ".json") == Path("runs/minilm-v1.2.json")
    assert named(Path("runs/a.json"), ".html") == Path("runs/a.html")


def test_a_damaged_record_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"rung": "x"}\n')
    with pytest.raises(BadFile, match=r"run\.jsonl:1: not a record"):
        read_records(tmp_path / "run.jsonl")


async def test_documents_that_are_not_there_are_named(golden: GoldenSet, tmp_path: Path) -> None:
    async with serving(SmallGateway()) as address:
        there = Connection(address, {"mill": "mill-key", "port": "port-key"})
        with pytest.raises(FailedPrecondition, match=r"codes\.txt.*folio eval ingest"):
            await run_golden(there, golden, plan(tmp_path, FUSED), Watch())
        with pytest.raises(InvalidArgument, match="no API key for port"):
            await run_golden(replace_keys(there), golden, plan(tmp_path, FUSED), Watch())


def replace_keys(there: Connection) -> Connection:
    return Connection(there.address, {"mill": "mill-key"})


async def test_a_public_collection_is_ingested_and_judged_by_document(tmp_path: Path) -> None:
    collection = Collection(
        "pumps",
        (
            Passage("d1", "Seals", "the seal leaks"),
            Passage("d2", "", "the bearing is greased and the seal too, it is long"),
            Passage("empty", "", ""),
            Passage("d3", "Seals", "the seal leaks"),
        ),
        (Query("q1", "seal leaks"), Query("q2", "unknown", answerable=False)),
        {"q1": {"d3": 2, "empty": 1}},
    )
    gateway = SmallGateway()
    async with serving(gateway) as address:
        there = Connection(address, {"scratch": "key"})
        summary, measured = await run_collection(
            there, collection, "scratch", plan(tmp_path, SPARSE), Watch()
        )
        with pytest.raises(InvalidArgument, match="--answers"):
            await run_collection(there, collection, "scratch", plan(tmp_path, *LADDER), Watch())
    assert len(gateway.documents) == 2
    record = measured[0].records[0]
    assert record.ranking == ("d1", "d2")
    # d3 is d1 again: one file, and finding it is finding both.
    assert record.judgements == {"d1": 2}
    # The empty document cannot be ingested, so it does not count against the search.
    assert summary["rungs"][0]["metrics"]["recall@10"]["mean"] == 1.0
    assert gateway.searched[-1].limit == 100
    assert summary["set"]["name"] == "pumps"


async def test_a_sweep_asks_everything_to_be_answered(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    # Too few questions for a fit, said plainly; what was asked is what counts here.
    with pytest.raises(FailedPrecondition, match="too few to fit"):
        await evaluation.sweep_rungs(there, golden, plan(tmp_path, LATE), Watch())
    assert all(
        request.HasField("answer_threshold") and request.answer_threshold == 0
        for request in gateway.asked
    )


async def test_as_configured_sends_no_switches(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    gateway, there = served
    await run_golden(there, golden, plan(tmp_path, DENSE, CONFIGURED), Watch())
    assert gateway.asked[0].steps.sparse == 2
    assert not gateway.asked[-1].steps.ListFields()


async def test_a_quick_run_asks_every_rung_after_the_first_that_must_be_asked(
    served: tuple[SmallGateway, Connection], golden: GoldenSet, tmp_path: Path
) -> None:
    _, there = served
    after = replace(SPARSE, name="after")
    rungs = (DENSE, CONFIGURED, after)
    _, measured = await run_golden(there, golden, plan(tmp_path, *rungs, quick=True), Watch())
    asked = {each.rung.name: any(record.score for record in each.records) for each in measured}
    assert asked == {"dense": False, "configured": True, "after": True}
