"""Sends files with a progress bar each; one that fails does not stop the others."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from folio.cli import show
from folio.client import Folio
from folio.common.v1 import document_pb2, step_pb2
from folio.failure import CallFailed
from folio.formats import SUFFIXES
from folio.gateway.v1 import gateway_pb2
from folio.words import word


@dataclass(frozen=True)
class File:
    """A file to send, and what is said of it."""

    path: Path
    collection: str = ""
    kind: str = ""
    title: str = ""
    published_on: str = ""


@dataclass
class Found:
    """What folders hold that is not hidden, by name: `files` of a kind that is read, and what is left out of them.

    `outside`: links to files that lie outside the folder that was named. `failures`: folders that cannot be read.
    """

    files: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)
    failures: list[OSError] = field(default_factory=list)


def find(paths: Sequence[Path]) -> Found:
    """The files named, of whatever kind, and those in the folders named."""
    found = Found()
    for path in paths:
        if path.is_dir():
            _look_through(path, found)
        else:
            found.files.append(path)
    return found


def _look_through(folder: Path, found: Found) -> None:
    inside = []
    for parent, folders, names in os.walk(folder, onerror=found.failures.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside += [Path(parent, name) for name in names if not name.startswith(".")]
    for path in sorted(filter(Path.is_file, inside)):
        if path.suffix.lower() not in SUFFIXES:
            found.others.append(path)
        elif not path.resolve().is_relative_to(folder.resolve()):
            found.outside.append(path)
        else:
            found.files.append(path)


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
    found = find(paths)
    # abspath and not resolve: a link belongs to the folder that it lies in.
    files = [
        File(path, collection or Path(os.path.abspath(path)).parent.name, kind, title, published_on)
        for path in found.files
    ]
    for error in found.failures:
        show.errors.print(
            f"[red]failed[/]     {escape(show.plain(str(error.filename)))}  {_unreadable(error)}",
            soft_wrap=True,
        )
    if found.outside:
        show.errors.print(
            f"{show.count(len(found.outside), 'link')} to files outside the folder left out, such as"
            f" {_name(found.outside[0])}; name such a file itself to ingest it"
        )
    if not files:
        show.errors.print("nothing to ingest: no file there has a supported type")
        return 1
    if found.others:
        show.errors.print(
            f"{show.count(len(found.others), 'file')} of other kinds left out, such as {_name(found.others[0])};"
            f" what is read: {', '.join(sorted(SUFFIXES))}"
        )
    return len(found.failures) + send(folio, files, password=password, ocr=ocr)


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
            name = _name(file.path)
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
                            description=f"{name} [dim]{word(step_pb2.Step, event.progress.step)}[/]",
                            completed=event.progress.done,
                            total=event.progress.total or None,
                        )
                    else:
                        progress.console.print(_line(event.result))
            except (CallFailed, OSError, ValueError) as error:
                failed += 1
                progress.console.print(f"[red]failed[/]     {name}  {_problem(error)}")
            progress.remove_task(step)
            progress.advance(overall)
    return failed


def _name(path: Path) -> str:
    return escape(show.plain(path.name))


def _problem(error: CallFailed | OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return _unreadable(error)
    if isinstance(error, CallFailed):
        return f"[dim]{error.code}[/] {escape(show.plain(error.message))}"
    return escape(show.plain(str(error)))


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {escape(error.strerror or str(error))}"


def _line(result: gateway_pb2.IngestResult) -> str:
    document = result.document
    name = escape(show.plain(document.file_name))
    pages, chunks = document.page_count, document.chunk_count
    size = f"[dim]{show.count(pages, 'page')}, {show.count(chunks, 'chunk')}, version {document.version}[/]"
    if document.status == document_pb2.DOCUMENT_STATUS_NEEDS_OCR:
        return f"[yellow]needs OCR[/]  {name}  {size}: no page holds text; not searchable"
    word = "[dim]unchanged[/]  " if result.unchanged else "[green]ingested[/]   "
    warnings = "".join(
        f"\n           [yellow]{escape(show.plain(text))}[/]" for text in document.warnings
    )
    return f"{word}{name}  {size}{warnings}"
