"""`folio bench`: benchmark jobs that call a service directly."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from bench.bm25 import BM25
from bench.rerank import bench, quality
from evals import connection
from evals.cli import terminal
from evals.cli.options import Address, Key, failures
from evals.datasets import LOADERS, open_collection
from evals.datasets.trec import check_ids, read_run, write_run
from folio.cli import show
from folio.cli.placeholders import name_values
from services.rpc.errors import InvalidArgument

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=show.MARKUP,
    help="Benchmark jobs.",
)


@app.callback()
def main() -> None:
    """Benchmark jobs."""


@app.command()
def rerank(
    context: typer.Context,
    collection: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="folder of the collection")
    ],
    layout: Annotated[str, typer.Option(help=f"one of {', '.join(LOADERS)}")] = "beir",
    candidates: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="TREC run to rerank; default: BM25's candidates"
        ),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="candidates of a query")] = 100,
    queries: Annotated[int, typer.Option(min=0, help="only the first this many; 0: all")] = 0,
    output: Annotated[Path, typer.Option(help="TREC run to write")] = Path(
        "build/bench/rerank.trec"
    ),
    endpoint: Annotated[
        str, typer.Option(help="host:port of a Rerank service; default: the one of `folio up`")
    ] = "",
    service: Annotated[str, typer.Option(help="colbert or crossencoder")] = "colbert",
    secret: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="file with the internal secret of the services"
        ),
    ] = None,
    organization_id: Annotated[
        int, typer.Option(min=1, help="with --endpoint: id of the organization that asks")
    ] = 1,
    in_flight: Annotated[
        int, typer.Option(min=1, max=256, help="queries on the stream at once")
    ] = 8,
    address: Address = "",
    key: Key = None,
) -> None:
    """Rerank a collection's candidates over one stream: a TREC run, pairs/s and percentiles."""
    with failures():
        found = open_collection(layout, collection)
        asked = found.queries[:queries] if queries else found.queries
        given = read_run(candidates) if candidates else {}
        if not candidates:
            index = BM25(found.passages)
            given = {query.id: index.search(query.text, depth) for query in asked}
        wanted = {query.id: given.get(query.id, [])[:depth] for query in asked}
        check_ids(wanted)
        unknown = {d for ranking in wanted.values() for d in ranking} - {
            p.id for p in found.passages
        }
        if unknown:
            raise InvalidArgument(
                f"the run ranks {len(unknown)} documents that the collection lacks, such as {min(unknown)}"
            )
        folder = getattr(context.obj, "folder", connection.DEFAULT_FOLDER)
        key_file = secret or folder / "internal.secret"
        if endpoint:
            where = (endpoint, connection.metadata(service, organization_id, key_file))
        else:
            there = connection.existing(folder, address, connection.parse_keys(key or []))
            where = asyncio.run(connection.service(there, min(there.keys), service, key_file))
        result = asyncio.run(bench(*where, found, wanted, in_flight=in_flight))
        output.parent.mkdir(parents=True, exist_ok=True)
        write_run(output, result.run, f"folio-{service}")
        numbers = result.summary()
        numbers |= quality(result, wanted, found.qrels)
        terminal.console.print_json(json.dumps(numbers))
        if result.failed:
            query, why = next(iter(result.failed.items()))
            told = escape(f"{len(result.failed)} queries failed; {query}: {why}")
            terminal.errors.print(f"[red]{told}[/]")
            raise typer.Exit(1)


name_values(app)
