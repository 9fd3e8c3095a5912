"""A whole evaluation: connect, check that the documents are there, climb the rungs, sum up."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from evals import environment, question
from evals.connection import Connection
from evals.datasets import Collection
from evals.files import named
from evals.golden import Case, GoldenSet, choose
from evals.ingest import Ingested, collection_files, collection_names, ingest, library_files
from evals.journal import Journal
from evals.records import Record
from evals.rungs import Rung
from evals.runner import Measured, climb
from evals.scoring.summary import summarise
from evals.target import Target, open_target
from services.rpc.errors import InvalidArgument

SEARCH_DEPTH = 100


class Progress(Protocol):
    """What a run tells while it goes."""

    def rung(self, rung: Rung, cases: int) -> None:
        """A rung begins."""

    def record(self, record: Record) -> None:
        """A question is done."""

    def file(self, name: str, done: int, total: int) -> None:
        """A document is there."""


@dataclass(frozen=True)
class Plan:
    """How to run. `held_out` is written into the summary: numbers with held-out cases are looked at once."""

    rungs: Sequence[Rung]
    output: Path
    held_out: bool = False
    concurrency: int = 4
    fresh: bool = False
    answer_threshold: float | None = None
    # The first rungs, which a search can measure, are searched, not asked: the same rankings, no answers.
    quick: bool = False


def golden_names(golden: GoldenSet) -> dict[str, dict[str, str]]:
    """Organization -> SHA-256 -> path."""
    names: dict[str, dict[str, str]] = {}
    for path, document in golden.library.documents.items():
        names.setdefault(document.organization, {})[document.sha256] = path
    return names


async def ingest_golden(
    connection: Connection, golden: GoldenSet, progress: Progress, concurrency: int = 2
) -> dict[str, Ingested]:
    """Every document of the set into its organization."""
    found = {}
    async with open_target(connection.address, connection.keys, golden_names(golden)) as target:
        for name, organization in target.organizations.items():
            own = [d for d in golden.library.documents.values() if d.organization == name]
            found[name] = await ingest(
                organization.client, library_files(own), progress.file, concurrency=concurrency
            )
    return found


async def run_golden(
    connection: Connection, golden: GoldenSet, plan: Plan, progress: Progress
) -> tuple[dict[str, Any], list[Measured]]:
    """Asks the cases on every rung; writes `<output>.jsonl` as it goes and returns the summary with the records."""
    cases = choose(golden.cases, held_out=plan.held_out)
    about = {
        "set": {
            "name": "golden",
            "digest": golden.digest,
            "cases": len(cases),
            "held_out": plan.held_out,
            "held_out_cases": sum(case.held_out for case in cases),
        }
    }
    async with open_target(connection.address, connection.keys, golden_names(golden)) as target:
        for organization in target.organizations.values():
            await organization.prepare()

        # After a rung that must be asked, all are: a search does not do what that rung keeps on.
        first = itertools.takewhile(lambda rung: rung.searchable, plan.rungs)
        searched = {rung.name for rung in first} if plan.quick else set()

        async def ask(case: Case, rung: str, switches: Mapping[str, bool]) -> Record:
            organization = target.organizations[case.organization]
            if rung in searched:
                return await question.search(case, rung, switches, organization)
            return await question.ask(
                case, rung, switches, organization, answer_threshold=plan.answer_threshold
            )

        return await _climb(target, cases, ask, plan, about, progress)


async def run_collection(
    connection: Connection,
    collection: Collection,
    organization: str,
    plan: Plan,
    progress: Progress,
    *,
    answers: bool = False,
    ingest_concurrency: int = 4,
) -> tuple[dict[str, Any], list[Measured]]:
    """Ingests a public collection into an organization of its own and searches (or, with `answers`, asks) it."""
    if any(not rung.searchable for rung in plan.rungs) and not answers:
        names = ", ".join(rung.name for rung in plan.rungs if not rung.searchable)
        raise InvalidArgument(f"a search cannot measure {names}; pass --answers, or leave them out")
    documents, called = collection_names(collection)
    cases = collection_cases(collection, organization, called)
    tenant = {organization: documents}
    async with open_target(connection.address, connection.keys, tenant) as target:
        there = target.organizations[organization]
        done = await ingest(
            there.client,
            collection_files(collection),
            progress.file,
            concurrency=ingest_concurrency,
        )
        if done.failed:
            name, why = done.failed[0]
            raise InvalidArgument(f"{len(done.failed)} documents failed; the first, {name}: {why}")
        await there.prepare()
        one = (
            question.ask
            if answers
            else functools.partial(question.search, limit=SEARCH_DEPTH, candidates=SEARCH_DEPTH)
        )

        async def ask(case: Case, rung: str, switches: Mapping[str, bool]) -> Record:
            return await one(case, rung, switches, there)

        about = {
            "set": {
                "name": collection.name,
                "digest": "",
                "cases": len(cases),
                "documents": len(documents),
                "held_out": False,
            }
        }
        summary, measured = await _climb(target, cases, ask, plan, about, progress)
        return {**summary, "ingest": {organization: done.summary()}}, measured


def collection_cases(
    collection: Collection, organization: str, called: Mapping[str, str]
) -> list[Case]:
    """Questions as cases: grades of documents that are there, by what each is called (its better grade, where two
    are one text); must be abstained where nothing answers.
    """
    cases = []
    for query in collection.queries:
        found: dict[str, int] = {}
        for document, grade in collection.qrels.get(query.id, {}).items():
            if grade > 0 and document in called:
                name = called[document]
                found[name] = max(grade, found.get(name, 0))
        cases.append(
            Case(
                query.id,
                organization,
                query.text,
                "answer" if query.answerable else "abstain",
                history=query.history,
                must_include=(query.answers,) if query.answers else (),
                grades=found,
                tags=query.tags,
            )
        )
    return cases


async def _climb(
    target: Target,
    cases: Sequence[Case],
    ask: Callable[[Case, str, Mapping[str, bool]], Any],
    plan: Plan,
    about: Mapping[str, Any],
    progress: Progress,
) -> tuple[dict[str, Any], list[Measured]]:
    if not cases:
        raise InvalidArgument("no case is left to ask; check the set and the options")
    status = await target.status()
    about = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": environment.commit(),
        **about,
        "settings": {
            "answer_threshold": plan.answer_threshold,
            "concurrency": plan.concurrency,
            "quick": plan.quick,
            "rungs": [rung.name for rung in plan.rungs],
        },
        "models": environment.models(status),
        "hardware": environment.hardware(),
    }
    # What makes two runs the same run. Models and commit count; the time, and how many at once, do not.
    head = {key: about[key] for key in ("commit", "set", "models")}
    head |= {"answer_threshold": plan.answer_threshold, "quick": plan.quick}
    journal = Journal(named(plan.output, ".jsonl"), head, fresh=plan.fresh)
    measured = await climb(
        cases,
        plan.rungs,
        ask,
        journal,
        concurrency=plan.concurrency,
        done=progress.record,
        begin=lambda rung: progress.rung(rung, len(cases)),
    )
    if not any(record.failed for each in measured for record in each.records):
        journal.finish()
    return summarise(measured, about), measured
