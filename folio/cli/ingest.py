"""Sends files with a progress bar each; one that fails does not stop the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from folio.cli import show
from folio.cli.files import Found, find, named
from folio.client import Folio
from folio.common.v1 import document_pb2, step_pb2
from folio.failure import CallFailed
from folio.formats import SUFFIXES
from folio.gateway.v1 import gateway_pb2
from folio.words import word


@dataclass(frozen=True)
class File:
    """A file to send, and what is said of it. `name`: what it is stored as, its own name where that is empty."""

    path: Path
    collection: str = ""
    kind: str = ""
    title: str = ""
    published_on: str = ""
    name: str = ""


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
    charset: str = "",
    follow_links: bool = False,
) -> int:
    """Sends what `paths` name; returns how many files failed. `charset`: the encoding of text files."""
    found = find(paths, follow_links)
    files: list[File] = []
    taken: dict[tuple[str, str], Path] = {}
    failed = len(found.failures)
    for error in found.failures:
        _failed(show.plain(str(error.filename)), _unreadable(error))
    for path, stored_in, name in named(found, collection):
        other = taken.setdefault((stored_in, name), path)
        if other is path:
            files.append(File(path, stored_in, kind, title, published_on, name))
        elif other.resolve() != path.resolve():
            failed += 1
            _failed(
                show.plain(str(path)),
                f"{_path(other)} has the same name in collection {escape(show.plain(stored_in))} and would be replaced;"
                " ingest the folder above both, or name a --collection",
            )
    _tell_left_out(found)
    if not files:
        show.errors.print("nothing to ingest: no file there has a supported type")
        return 1
    media_type = f"text/plain; charset={charset}" if charset else ""
    return failed + send(folio, files, password=password, ocr=ocr, media_type=media_type)


def _failed(name: str, why: str) -> None:
    show.errors.print(f"[red]failed[/]     {escape(name)}  {why}", soft_wrap=True)


def _tell_left_out(found: Found) -> None:
    """What folders hold and is not sent is named, one of each kind."""
    if found.outside:
        show.errors.print(
            f"{show.count(len(found.outside), 'link')} to files outside the folder left out, such as"
            f" {_name(found.outside[0])}; name such a file itself to ingest it, or use --follow-links",
            soft_wrap=True,
        )
    if found.folders:
        show.errors.print(
            f"{show.count(len(found.folders), 'link')} to folders outside the folder left out, such as"
            f" {_path(found.folders[0])}; name such a folder itself to ingest it, or use --follow-links",
            soft_wrap=True,
        )
    if found.broken:
        show.errors.print(
            f"{show.count(len(found.broken), 'link')} to nothing left out, such as {_path(found.broken[0])}",
            soft_wrap=True,
        )
    if found.files and found.others:
        show.errors.print(
            f"{show.count(len(found.others), 'file')} of other kinds left out, such as {_name(found.others[0])};"
            f" what is read: {', '.join(sorted(SUFFIXES))}"
        )


def send(
    folio: Folio,
    files: Sequence[File],
    *,
    password: str = "",
    ocr: bool = False,
    media_type: str = "",
) -> int:
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
            name = escape(show.plain(file.name)) if file.name else _name(file.path)
            step = progress.add_task(name, total=None)
            try:
                for event in folio.ingest(
                    file.path,
                    file.name,
                    media_type=media_type,
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


def _path(path: Path) -> str:
    return escape(show.plain(str(path)))


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
