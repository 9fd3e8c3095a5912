"""Asks every question of every rung: some at once, each once, in a journal that survives being broken off."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from evals.golden import Case
from evals.journal import Journal
from evals.records import Record
from evals.rungs import Rung, switches

# Asks one case with these switches; makes a record of whatever happens.
Ask = Callable[[Case, str, Mapping[str, bool]], Awaitable[Record]]
Done = Callable[[Record], None]
PROBES = 2


def unheard(record: Record) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Measured:
    """One rung with its records; `skipped` says why there are none."""

    rung: Rung
    switches: Mapping[str, bool]
    records: tuple[Record, ...] = ()
    skipped: str = ""


async def run_rung(
    cases: Sequence[Case],
    rung: Rung,
    toggles: Mapping[str, bool],
    ask: Ask,
    journal: Journal,
    *,
    concurrency: int = 4,
    done: Done = unheard,
) -> tuple[Record, ...]:
    """A record per case, in their order. What the journal has is not asked again."""
    waiting = iter(cases)
    found: dict[str, Record] = {}

    async def work() -> None:
        for case in waiting:
            record = journal.get(rung.name, case.id)
            if record is None:
                record = await _asked(case, rung, toggles, ask)
                journal.add(record)
            found[case.id] = record
            done(record)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(cases))):
            group.create_task(work())
    return tuple(found[case.id] for case in cases)


async def climb(
    cases: Sequence[Case],
    rungs: Sequence[Rung],
    ask: Ask,
    journal: Journal,
    *,
    concurrency: int = 4,
    done: Done = unheard,
    begin: Callable[[Rung], None] = lambda rung: None,
) -> list[Measured]:
    """Every rung in order. A rung whose step cannot run is left out of the later ones, and says why."""
    kept: dict[str, bool] = {}
    found = []
    for rung in rungs:
        begin(rung)
        toggles = switches(rung, kept)
        reason = await _probe(cases, rung, toggles, ask)
        if reason:
            found.append(Measured(rung, toggles, skipped=reason))
            continue
        records = await run_rung(
            cases, rung, toggles, ask, journal, concurrency=concurrency, done=done
        )
        kept |= dict.fromkeys(rung.keeps, True)
        found.append(Measured(rung, toggles, records))
    return found


async def _probe(cases: Sequence[Case], rung: Rung, toggles: Mapping[str, bool], ask: Ask) -> str:
    """Why a rung cannot be measured; "" if it can. It also warms the services up.

    A question that fails by itself is counted as failed; only a second one that fails too says that no other can do.
    """
    reason = ""
    for case in sorted(cases, key=lambda case: not case.history)[:PROBES]:
        reason = _why_not(rung, await _asked(case, rung, toggles, ask))
        if not reason:
            break
    return reason


def _why_not(rung: Rung, record: Record) -> str:
    if not rung.adds:
        return record.failed
    states = [step for step in record.steps if step.step in rung.adds]
    if any(step.status == "ran" for step in states):
        return ""
    reasons = [step.reason for step in states if step.reason]
    return (reasons or [record.failed or f"the services report no step {rung.adds[0]}"])[0]


async def _asked(case: Case, rung: Rung, toggles: Mapping[str, bool], ask: Ask) -> Record:
    """A reply that cannot be judged (a chunk ranked twice) is a failure of the step, not ours."""
    try:
        return await ask(case, rung.name, toggles)
    except ValueError as error:
        empty = Record(rung.name, case.id, case.organization, case.expect, case.tags)
        return replace(empty, failed=f"ranking: {error}", judgements=case.judgements)
