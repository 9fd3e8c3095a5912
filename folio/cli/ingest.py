"""Sends files with a progress bar each; one that fails does not stop the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from folio.cli import show
from folio.client import Folio
from folio.common.v1 import document_pb2
from folio.failure import CallFailed
from folio.formats import SUFFIXES
from folio.gateway.v1 import gateway_pb2


@dataclass(frozen=True)
class File:
    """A file to send, and what is said of it."""

    path: Path
    collection: str = ""
    kind: str = ""
    title: str = ""
    published_on: str = ""


def find_files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files named, and those of a known kind in the folders named, by name; hidden ones are left out."""
    for path in paths:
        if path.is_dir():
            yield from (found for found in _inside(path) if _known(found))
        else:
            yield path


def other_files(paths: Sequence[Path]) -> list[Path]:
    """The files of the folders named that find_files leaves out for their kind."""
    folders = [path for path in paths if path.is_dir()]
    return [found for path in folders for found in _inside(path) if not _known(found)]


def _inside(folder: Path) -> list[Path]:
    """Every file that is not hidden, by name."""
    return sorted(
        found
        for found in folder.rglob("*")
        if found.is_file()
        and not any(part.startswith(".") for part in found.relative_to(folder).parts)
    )


def _known(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def ingest_files(
    folio: Folio,
    paths: Sequence[Path],
    *,
    collection: str,
    kind: str,
    published_on: str,
    title: str,
    password: str,
    ocr: bool,
) -> int:
    """Sends what `paths` name; returns how many files failed."""
    files = [
        File(path, collection or path.resolve().parent.name, kind, title, published_on)
        for path in find_files(paths)
    ]
    if not files:
        show.errors.print("nothing to ingest: no file there has a supported type")
        return 1
    if others := other_files(paths):
        name = escape(show.plain(others[0].name))
        show.errors.print(
            f"{len(others)} files of other kinds are left out, such as {name};"
            f" what is read: {', '.join(sorted(SUFFIXES))}"
        )
    return send(folio, files, password=password, ocr=ocr)


def send(folio: Folio, files: Sequence[File], *, password: str = "", ocr: bool = False) -> int:
    """Sends files one after the other, prints an outcome for each, and returns how many failed."""
    failed = 0
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        console=show.console,
        transient=True,
    ) as progress:
        overall = progress.add_task("files", total=len(files))
        for file in files:
            name = escape(show.plain(file.path.name))
            step = progress.add_task(name, total=None)
            try:
                for event in folio.ingest(
                    file.path,
                    collection=file.collection,
                    kind=file.kind,
                    title=file.title,
                    published_on=file.published_on,
                    password=password,
                    ocr=ocr,
                ):
                    if event.HasField("progress"):
                        progress.update(
                            step,
                            description=f"{name} [dim]{event.progress.step}[/]",
                            completed=event.progress.done,
                            total=event.progress.total or None,
                        )
                    else:
                        progress.console.print(_line(event.result))
            except (CallFailed, OSError, ValueError) as error:
                failed += 1
                text = error.message if isinstance(error, CallFailed) else str(error)
                code = error.code if isinstance(error, CallFailed) else type(error).__name__
                progress.console.print(
                    f"[red]failed[/]     {name}  [dim]{code}[/] {escape(show.plain(text))}"
                )
            progress.remove_task(step)
            progress.advance(overall)
    return failed


def _line(result: gateway_pb2.IngestResult) -> str:
    document = result.document
    name = escape(show.plain(document.file_name))
    size = f"[dim]{document.page_count} pages, {document.chunk_count} chunks, version {document.version}[/]"
    if document.status == document_pb2.DOCUMENT_STATUS_NEEDS_OCR:
        return f"[yellow]needs OCR[/]  {name}  {size}: no page holds text; not searchable"
    word = "[dim]unchanged[/]  " if result.unchanged else "[green]ingested[/]   "
    warnings = "".join(
        f"\n           [yellow]{escape(show.plain(text))}[/]" for text in document.warnings
    )
    return f"{word}{name}  {size}{warnings}"
