"""Every command of `folio`. What talks to a server goes through folio.client; what runs one, through services.suite."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from folio import messages
from folio.cli import admin, show
from folio.cli.parameters import (
    Collections,
    DocumentId,
    From,
    Kinds,
    Until,
    With,
    Without,
    parse_date,
    parse_toggles,
)
from folio.cli.placeholders import name_values
from folio.cli.profile import DEFAULT_FOLDER, Profile
from folio.common.v1 import step_pb2
from folio.failure import CallFailed
from folio.gateway.v1 import gateway_pb2
from folio.words import word

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=show.MARKUP,
    help="Page-cited answers from your own documents.",
)
documents_app = typer.Typer(no_args_is_help=True, help="List, show and delete documents.")
app.add_typer(documents_app, name="documents")


def _version(asked: bool) -> None:
    if asked:
        show.console.print(f"folio {metadata.version('folio')}")
        raise typer.Exit


@app.callback()
def shared_options(
    context: typer.Context,
    address: Annotated[
        str,
        typer.Option(
            envvar="FOLIO_ADDRESS", help="host:port of a gateway; default: the one of `folio up`"
        ),
    ] = "",
    api_key: Annotated[
        str, typer.Option(envvar="FOLIO_API_KEY", help="API key or JWT", show_default=False)
    ] = "",
    organization: Annotated[
        str,
        typer.Option("--organization", "-o", help="organization whose key of `folio up` to use"),
    ] = "",
    folder: Annotated[Path, typer.Option(help="the folder of `folio up`")] = DEFAULT_FOLDER,
    tls: Annotated[bool, typer.Option(help="use TLS")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
    ca_certificate: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="PEM file of the authority that signed the server's certificate",
        ),
    ] = None,
) -> None:
    """Options that say which server, and as whom."""
    context.obj = Profile(
        address, api_key, organization, folder.expanduser().resolve(), tls, ca_certificate
    )


@contextmanager
def failures() -> Iterator[None]:
    """Ends the command with what a failed call says, and exit status 1; with 130 on Ctrl-C."""
    try:
        yield
    except CallFailed as failed:
        show.errors.print(f"[red]{escape(failed.code)}[/] {escape(show.plain(failed.message))}")
        for violation in failed.violations[1:]:
            show.errors.print(f"  {escape(violation.field)}: {escape(violation.description)}")
        if failed.retry_after_s is not None:
            show.errors.print(f"  try again in {failed.retry_after_s:.1f} s")
        if failed.code == "UNAVAILABLE" and not failed.reason:
            # Nothing of ours answered: the words above are gRPC's.
            show.errors.print("  is a gateway running there? `folio up` starts one")
        if failed.request_id:
            show.errors.print(f"  [dim]request {escape(failed.request_id)}[/]")
        raise typer.Exit(1) from None
    except UnicodeError:
        show.errors.print("[red]an argument or the input of this command is not UTF-8[/]")
        raise typer.Exit(2) from None
    except OSError as error:
        show.errors.print(f"[red]{escape(show.plain(str(error)))}[/]")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


@app.command()
def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="the question; - reads it from standard input")],
    after: Annotated[
        list[str],
        typer.Option(help="an earlier question of the conversation; may be repeated, oldest first"),
    ] = [],  # noqa: B006  (typer's way to say: none)
    collection: Collections = [],  # noqa: B006
    kind: Kinds = [],  # noqa: B006
    published_from: From = "",
    published_until: Until = "",
    on: With = [],  # noqa: B006
    off: Without = [],  # noqa: B006
    scope: Annotated[
        bool, typer.Option("--scope/--no-scope", help="look for a scope in the question")
    ] = True,
    row: Annotated[
        bool, typer.Option("--row", help="show the whole row of a value that is read from a table")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="print the whole reply as JSON")] = False,
) -> None:
    """Answers a question with its sources, or says that the documents do not contain the answer."""
    profile: Profile = context.obj
    toggles = parse_toggles(on, off if scope else [*off, "scope"])
    with failures(), profile.connect() as folio:
        text = sys.stdin.read() if question == "-" else question
        final = gateway_pb2.AskResponse()
        with show.console.status("asking") as waiting:
            for event in folio.stream_ask(
                text,
                history=[("user", earlier) for earlier in after],
                filter=messages.make_filter(
                    collections=collection,
                    kinds=kind,
                    published_from=published_from,
                    published_until=published_until,
                ),
                steps=toggles,
                table_rows=row,
            ):
                match event.WhichOneof("event"):
                    case "step":
                        waiting.update(f"{word(step_pb2.Step, event.step.step)} done")
                    case "heartbeat":
                        waiting.update(
                            f"waiting for {word(step_pb2.Step, event.heartbeat.waiting_for)}"
                        )
                    case "final":
                        final = event.final
        if json:
            show.as_json(final)
        else:
            show.answer(final)


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="words, or a question")],
    limit: Annotated[int, typer.Option(min=1, max=200, help="most chunks to show")] = 10,
    collection: Collections = [],  # noqa: B006
    kind: Kinds = [],  # noqa: B006
    published_from: From = "",
    published_until: Until = "",
    on: With = [],  # noqa: B006
    off: Without = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="print the whole reply as JSON")] = False,
) -> None:
    """Finds chunks, best first."""
    profile: Profile = context.obj
    toggles = parse_toggles(on, off)
    with failures(), profile.connect() as folio:
        response = folio.search(
            query,
            limit=limit,
            filter=messages.make_filter(
                collections=collection,
                kinds=kind,
                published_from=published_from,
                published_until=published_until,
            ),
            steps=toggles,
        )
        if json:
            show.as_json(response)
        else:
            show.results(response)


@app.command()
def ingest(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(exists=True, help="files, or folders to look through")
    ],
    collection: Annotated[
        str, typer.Option(help="default: the name of the folder that holds the file")
    ] = "",
    kind: Annotated[str, typer.Option(help="handbook, policy, manual, ...")] = "",
    published_on: Annotated[
        str, typer.Option(callback=parse_date, metavar="DATE", help="2025-01-31")
    ] = "",
    title: Annotated[str, typer.Option(help="default: the document's own title")] = "",
    password: Annotated[str, typer.Option(help="for encrypted PDFs", show_default=False)] = "",
    ocr: Annotated[
        bool,
        typer.Option(help="read scanned pages, also where the service does so only for who asks"),
    ] = False,
    charset: Annotated[
        str,
        typer.Option(help="encoding of text files, such as koi8-r; default: told by its letters"),
    ] = "",
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="read what links lead to outside the folder, too")
    ] = False,
) -> None:
    """Ingests files. If one fails, it is reported, the others continue, and the exit status is 1."""
    from folio.cli.ingest import ingest_files

    profile: Profile = context.obj
    with failures(), profile.connect() as folio:
        failed = ingest_files(
            folio,
            paths,
            collection=collection,
            kind=kind,
            published_on=published_on,
            title=title,
            password=password,
            ocr=ocr,
            charset=charset,
            follow_links=follow_links,
        )
    if failed:
        raise typer.Exit(1)


@app.command()
def status(context: typer.Context) -> None:
    """Shows every service: whether it can be reached, and what it runs."""
    profile: Profile = context.obj
    with failures(), profile.connect() as folio:
        show.status(folio.status())


@documents_app.command("list")
def list_documents(context: typer.Context) -> None:
    """Lists all documents."""
    profile: Profile = context.obj
    with failures(), profile.connect() as folio:
        show.documents(folio.documents())


@documents_app.command("show")
def show_document(context: typer.Context, document_id: DocumentId) -> None:
    """Shows one document."""
    profile: Profile = context.obj
    with failures(), profile.connect() as folio:
        show.as_json(folio.document(document_id))


@documents_app.command("delete")
def delete_document(context: typer.Context, document_id: DocumentId) -> None:
    """Deletes a document and everything that was derived from it."""
    profile: Profile = context.obj
    with failures(), profile.connect() as folio:
        show.console.print(f"deleted, {show.count(folio.delete(document_id), 'chunk')}")


@app.command()
def page(
    context: typer.Context,
    document_id: DocumentId,
    number: Annotated[int, typer.Argument(min=1, help="physical page, as viewers count, from 1")],
    output: Annotated[Path, typer.Option("--output", "-O", help="where to write the PNG")] = Path(
        "page.png"
    ),
    highlight: Annotated[
        str,
        typer.Option(
            help="START:END, the char_start and char_end of a citation, see `folio ask --json`"
        ),
    ] = "",
    dpi: Annotated[int, typer.Option(min=36, max=300, help="pixels per inch")] = 110,
) -> None:
    """Writes a page as PNG, with a quote highlighted."""
    profile: Profile = context.obj
    start, _, end = (highlight or "0:0").partition(":")
    if not (start.isdigit() and end.isdigit()):
        raise typer.BadParameter("--highlight takes START:END")
    with failures(), profile.connect() as folio:
        pages = folio.document(document_id).page_count
        if number > pages:
            raise typer.BadParameter(f"the document has {show.count(pages, 'page')}")
        image = folio.page_image(document_id, number - 1, dpi=dpi, highlight=(int(start), int(end)))
        output.write_bytes(image.png)
    show.console.print(f"{output}: {image.width} x {image.height}")


@app.command()
def up(
    context: typer.Context,
    organization: Annotated[
        list[str],
        typer.Option(
            "--create",
            help="an organization to create if there is none of this name; may be repeated; "
            "those of earlier runs stay",
        ),
    ] = [],  # noqa: B006
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="port of the gateway; 0: a free one")
    ] = 7400,
) -> None:
    """Runs all services on this machine until Ctrl-C."""
    from folio.cli.up import run_until_stopped

    profile: Profile = context.obj
    run_until_stopped(profile.folder, organization, port)


@app.command()
def demo(context: typer.Context) -> None:
    """Starts everything, reads the sample documents, asks five questions, and stops."""
    from folio.cli.demo import run_demo

    profile: Profile = context.obj
    run_demo(profile.folder / "demo")


# What these need, scipy or a database driver, `folio ask` should not wait for: they pass their arguments on.
FORWARD = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.command("admin", context_settings=FORWARD)
def administer(context: typer.Context) -> None:
    """Commands of an operator: schema, organizations, embedding models, API keys."""
    raise typer.Exit(admin.main(context.args))


@app.command("eval", context_settings=FORWARD)
def evaluate(context: typer.Context) -> None:
    """Measure answers and searches; compare runs; gate a release."""
    from evals.cli import app as evaluation

    evaluation(context.args, prog_name="folio eval", obj=context.obj)


@app.command(context_settings=FORWARD)
def bench(context: typer.Context) -> None:
    """Benchmark jobs against a reranker."""
    from bench.cli import app as benchmarks

    benchmarks(context.args, prog_name="folio bench", obj=context.obj)


name_values(app)
