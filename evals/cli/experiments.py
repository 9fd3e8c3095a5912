"""The commands of `folio eval` that are made for an experiment: public collections, chunk sizes, drafts of cases."""

import asyncio
import os
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evals import connection, drafts, evaluation
from evals.cli import terminal
from evals.cli.options import Address, Concurrency, Fresh, Golden, Key, RungNames, failures
from evals.datasets import open_collection, page_eval
from evals.datasets.sampling import by_hash, sample
from evals.rungs import LADDER
from evals.session import Plan, run_collection
from evals.studies import chunk_sweep
from services.rpc.errors import InvalidArgument


def chunks(
    size: Annotated[list[int] | None, typer.Option(help="tokens of a chunk; repeatable")] = None,
    golden: Golden = None,
    folder: Annotated[
        Path, typer.Option(help="folder for the data of the suites that are started")
    ] = evaluation.FOLDER,
    fill: Annotated[
        Path | None, typer.Option(exists=True, help="CHUNKING.md, to put the table in")
    ] = None,
) -> None:
    """Compares chunk sizes; starts a suite for each."""
    with failures(), terminal.bars() as bars:
        rows = chunk_sweep.measure(
            evaluation.load_sets(golden or []), folder, bars, size or chunk_sweep.SIZES
        )
        text = chunk_sweep.table(rows)
        if fill is not None:
            chunk_sweep.fill(fill, text)
    terminal.console.print(text)


def public(
    name: Annotated[
        str, typer.Argument(help="scifact, cranfield, dbpedia, squad, ...; page_eval; beir")
    ],
    data: Annotated[
        Path,
        typer.Option(
            envvar="FOLIO_DATA",
            exists=True,
            file_okay=False,
            show_default="shared/data beside the checkout",
            help="folder of the public data",
        ),
    ] = connection.PUBLIC_DATA,
    answers: Annotated[
        bool, typer.Option(help="ask questions too, instead of only searching")
    ] = False,
    document_known: Annotated[
        bool, typer.Option(help="page_eval: ask each question of its own file")
    ] = False,
    queries: Annotated[int, typer.Option(min=0, help="only this many, chosen by hash; 0: all")] = 0,
    documents: Annotated[
        int,
        typer.Option(min=0, help="only this many, relevant ones first, chosen by hash; 0: all"),
    ] = 0,
    pages: Annotated[
        int,
        typer.Option(
            min=0,
            help="page_eval: only files of at most this many pages; 0: all",
        ),
    ] = 0,
    rung: RungNames = None,
    concurrency: Concurrency = 4,
    fresh: Fresh = False,
    results: Annotated[Path, typer.Option(help="folder of the results")] = evaluation.FOLDER,
    folder: Annotated[
        Path, typer.Option(help="folder for the data of the suite that is started")
    ] = evaluation.FOLDER,
    organization: Annotated[
        str, typer.Option(help="organization to use; default: public-NAME")
    ] = "",
    address: Address = "",
    key: Key = None,
) -> None:
    """Measures a public collection in an organization of its own."""
    tenant = organization or f"public-{name.replace('_', '-')}"
    default = [r for r in LADDER if r.searchable or answers]
    with failures():
        plan = Plan(
            evaluation.rungs_named(rung) if rung else default,
            folder / f"{name}{'-known' if document_known else ''}{'-answers' if answers else ''}",
            concurrency=concurrency,
            fresh=fresh,
            quick=not answers,
        )
        if name == "page_eval":
            golden = page_eval.as_golden(
                data, tenant, document_known=document_known, files=documents, pages=pages
            )
            if queries:
                kept = set(by_hash(case.id for case in golden.cases)[:queries])
                golden = replace(
                    golden, cases=tuple(case for case in golden.cases if case.id in kept)
                )
            whole = replace(plan, held_out=True)
            with _open(folder, tenant, address, key) as there, terminal.bars() as bars:
                summary = asyncio.run(evaluation.evaluate(there, golden, whole, bars))
            summary["set"]["name"] = plan.output.name
        else:
            collection = sample(open_collection(name, data), queries=queries, documents=documents)
            with _open(folder, tenant, address, key) as there, terminal.bars() as bars:
                summary, _ = asyncio.run(
                    run_collection(there, collection, tenant, plan, bars, answers=answers)
                )
        terminal.console.print(terminal.ladder(summary))
        written = evaluation.write(summary, results)
        terminal.console.print(f"wrote {written[0]} and {written[1]}")


def draft(
    context: typer.Context,
    organization: Annotated[str, typer.Argument(help="whose documents")],
    output: Annotated[Path, typer.Option(help="YAML file to write")] = Path(
        "build/eval/drafts.yaml"
    ),
    count: Annotated[int, typer.Option(min=1, max=200, help="drafts per document")] = 3,
    by_rule: Annotated[bool, typer.Option(help="without a language model")] = False,
    corpus: Annotated[
        Path, typer.Option(help="manifest of the documents", show_default="ours")
    ] = evaluation.CORPUS,
    address: Address = "",
    key: Key = None,
) -> None:
    """Propose cases from chunks, for a person to correct and approve."""
    with failures():
        folder = getattr(context.obj, "folder", connection.DEFAULT_FOLDER)
        there = connection.existing(folder, address, connection.parse_keys(key or []))
        if organization not in there.keys:
            raise InvalidArgument(f"no key for {organization}; there are: {', '.join(there.keys)}")
        proposed = asyncio.run(
            drafts.drafts(
                there, organization, count, by_rule=by_rule, secret=folder / "internal.secret"
            )
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        beside = os.path.relpath(corpus, output.parent)
        output.write_text(drafts.to_yaml(proposed, beside), encoding="utf-8")
    terminal.console.print(
        f"{len(proposed)} drafts in {output}: read each, then take its tag `draft` away"
    )


def _open(
    folder: Path, tenant: str, address: str, keys: list[str] | None
) -> AbstractContextManager[connection.Connection]:
    return connection.given_or_started(
        folder / f"suite-{tenant}", [tenant], address, connection.parse_keys(keys or [])
    )
