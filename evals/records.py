"""One question through one configuration: what came back, and what it was worth. A JSON line each."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evals.files import BadFile, read_text


@dataclass(frozen=True)
class StepRanking:
    """One step's order, best first: chunk ids with the step's scores, and the items that they stand for.

    `signals` are the numbers that a calibration of `model` reads, one per chunk; empty where the step gave none.
    """

    step: str
    chunks: tuple[int, ...]
    scores: tuple[float, ...]
    items: tuple[str, ...]
    model: str = ""
    signal: str = ""
    signals: tuple[float, ...] = ()


@dataclass(frozen=True)
class StepTime:
    """What a step did: `status` is ran, skipped or degraded."""

    step: str
    status: str
    reason: str
    elapsed_ms: float
    model: str


@dataclass(frozen=True)
class Cited:
    """A citation as place and quote; `relevant` says whether its page is one that answers."""

    document: str
    page: int
    label: str
    quote: str
    relevant: bool


@dataclass(frozen=True)
class Spent:
    """Tokens and US dollars with one model; `cost_usd` is None where no price is known."""

    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class Record:
    """`failed` is empty, or says which step or call failed: then nothing here is averaged."""

    rung: str
    case: str
    organization: str = ""
    expect: str = "answer"
    tags: tuple[str, ...] = ()
    failed: str = ""
    outcome: str = ""
    reason: str = ""
    sentences: tuple[str, ...] = ()
    citations: tuple[tuple[Cited, ...], ...] = ()
    judgements: Mapping[str, int] = field(default_factory=dict)
    rankings: tuple[StepRanking, ...] = ()
    # Of the last ranking; empty where no item is relevant.
    metrics: Mapping[str, float] = field(default_factory=dict)
    # One of answers.SCORES; empty for a search.
    score: str = ""
    citation_precision: float | None = None
    # Share of the relevant items whose pages are in the passages that were read.
    source_recall: float | None = None
    probability: float = 0.0
    threshold: float = 0.0
    generator: str = ""
    steps: tuple[StepTime, ...] = ()
    usage: tuple[Spent, ...] = ()
    elapsed_ms: float = 0.0

    @property
    def ranking(self) -> tuple[str, ...]:
        """Items in the order of the last step that ranked."""
        return self.rankings[-1].items if self.rankings else ()


def to_line(record: Record) -> str:
    """One line of JSON, with its line end."""
    return json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":")) + "\n"


def from_dict(row: Mapping[str, Any]) -> Record:
    """The inverse of asdict. TypeError or KeyError for a row that is no record."""
    return Record(
        **{
            **row,
            "tags": tuple(row["tags"]),
            "sentences": tuple(row["sentences"]),
            "citations": tuple(tuple(Cited(**c) for c in cs) for cs in row["citations"]),
            "rankings": tuple(
                StepRanking(
                    r["step"],
                    tuple(r["chunks"]),
                    tuple(r["scores"]),
                    tuple(r["items"]),
                    r["model"],
                    r["signal"],
                    tuple(r["signals"]),
                )
                for r in row["rankings"]
            ),
            "steps": tuple(StepTime(**s) for s in row["steps"]),
            "usage": tuple(Spent(**u) for u in row["usage"]),
        }
    )


def read_records(path: Path) -> list[Record]:
    """Every record of a run. A last line without an end was cut by a kill and is left out; BadFile for other damage."""
    found = []
    whole = read_text(path).split("\n")[:-1]
    for number, line in enumerate(whole, 1):
        try:
            found.append(from_dict(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BadFile(
                path, number, "not a record of this version; run again with --fresh"
            ) from None
    return found


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Replaces the file, in one step: a kill leaves the one before or the one after."""
    new = path.with_suffix(".new")
    new.write_text("".join(map(to_line, records)), encoding="utf-8")
    new.replace(path)
