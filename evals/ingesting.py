"""Puts the documents of an evaluation into the services, through the public API; what is there is left alone."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from evals.datasets import Collection
from evals.library import LibraryDocument
from evals.target import call
from folio.client import AsyncFolio
from folio.failure import CallFailed

Say = Callable[[str, int, int], None]


@dataclass(frozen=True)
class File:
    """One file to ingest. `read` gives its bytes when its turn comes."""

    name: str
    sha256: str
    read: Callable[[], bytes]
    collection: str = ""
    kind: str = ""
    title: str = ""
    published_on: str = ""


@dataclass(frozen=True)
class Ingested:
    """How many were sent, were there already, and why others failed (document, reason)."""

    sent: int
    there: int
    failed: tuple[tuple[str, str], ...]


def library_files(documents: Iterable[LibraryDocument]) -> list[File]:
    """The files of a golden set's documents."""
    return [
        File(
            document.file.name,
            document.sha256,
            document.file.read_bytes,
            document.collection,
            document.kind,
            document.title,
            document.published_on,
        )
        for document in documents
    ]


def collection_files(collection: Collection) -> list[File]:
    """Each passage as a plain text file. Empty ones (Cranfield has two) and repeated texts are left out."""
    files: dict[str, File] = {}
    for number, passage in enumerate(collection.passages):
        data = passage.body.encode()
        if data.strip():
            digest = hashlib.sha256(data).hexdigest()
            name = f"{collection.name}-{number:06}.txt"
            title = passage.title or name
            read = data.__getitem__
            files.setdefault(
                digest,
                File(name, digest, lambda read=read: read(slice(None)), title=title),  # type: ignore[misc]
            )
    return list(files.values())


def collection_names(collection: Collection) -> dict[str, str]:
    """SHA-256 of a passage's file -> its id; of passages with the same text, the first."""
    names: dict[str, str] = {}
    for passage in collection.passages:
        data = passage.body.encode()
        if data.strip():
            names.setdefault(hashlib.sha256(data).hexdigest(), passage.id)
    return names


async def ingest(
    client: AsyncFolio, files: Sequence[File], say: Say, *, concurrency: int = 4
) -> Ingested:
    """Sends what is not there yet. One file that fails does not stop the others."""
    there = {document.sha256 async for document in client.documents(page_size=1000)}
    waiting = iter([file for file in files if file.sha256 not in there])
    known = sum(file.sha256 in there for file in files)
    failed: list[tuple[str, str]] = []
    sent = 0

    async def work() -> None:
        nonlocal sent
        for file in waiting:
            try:
                await call(lambda file=file: _send(client, file))  # type: ignore[misc]
                sent += 1
            except CallFailed as error:
                failed.append((file.name, f"{error.code}: {error.message}"))
            say(file.name, known + sent + len(failed), len(files))

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    return Ingested(sent, known, tuple(failed))


async def _send(client: AsyncFolio, file: File) -> None:
    events = client.ingest(
        file.read(),
        file.name,
        collection=file.collection,
        kind=file.kind,
        title=file.title,
        published_on=file.published_on,
    )
    async for _ in events:
        pass
