"""Puts the documents of an evaluation into the services, through the public API; what is there is left alone."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evals.datasets import Collection
from evals.library import LibraryDocument
from evals.target import call
from folio.client import AsyncFolio
from folio.common.v1 import document_pb2, step_pb2
from folio.failure import CallFailed
from folio.words import word

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
class Taken:
    """What became of one file. `steps` are milliseconds; those of files sent at once overlap."""

    name: str
    status: str
    pages: int
    empty_pages: int
    chunks: int
    seconds: float
    steps: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ingested:
    """How many were sent, were there already, and why others failed (document, reason)."""

    sent: int
    there: int
    failed: tuple[tuple[str, str], ...]
    taken: tuple[Taken, ...] = ()
    # From the first file to the last.
    seconds: float = 0.0

    def summary(self, most: int = 100) -> dict[str, Any]:
        """For the summary of a run: totals, and the files themselves where they are at most so many."""
        steps: Counter[str] = Counter()
        for each in self.taken:
            steps.update(each.steps)
        return {
            "sent": self.sent,
            "there": self.there,
            "failed": len(self.failed),
            "seconds": round(self.seconds, 1),
            "pages": sum(each.pages for each in self.taken),
            "chunks": sum(each.chunks for each in self.taken),
            "statuses": dict(Counter(each.status for each in self.taken)),
            "step_seconds": {name: round(ms / 1000, 1) for name, ms in steps.items()},
            "files": [asdict(each) for each in self.taken] if len(self.taken) <= most else [],
        }


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
    for passage in collection.passages:
        data = passage.body.encode()
        if data.strip():
            digest = hashlib.sha256(data).hexdigest()
            # Not by position: in another sample it is another text, and would replace this one.
            name = f"{collection.name}-{digest[:20]}.txt"
            title = passage.title or name
            read = data.__getitem__
            files.setdefault(
                digest,
                File(name, digest, lambda read=read: read(slice(None)), title=title),  # type: ignore[misc]
            )
    return list(files.values())


def collection_names(collection: Collection) -> tuple[dict[str, str], dict[str, str]]:
    """(SHA-256 of a file -> its passage, passage -> the passage that its file is called by).

    Passages with the same text are one file, called by the first of them; empty ones are in neither.
    """
    names: dict[str, str] = {}
    called: dict[str, str] = {}
    for passage in collection.passages:
        data = passage.body.encode()
        if data.strip():
            called[passage.id] = names.setdefault(hashlib.sha256(data).hexdigest(), passage.id)
    return names, called


async def ingest(
    client: AsyncFolio, files: Sequence[File], say: Say, *, concurrency: int = 4
) -> Ingested:
    """Sends what is not there yet. One file that fails does not stop the others."""
    there = {document.sha256 async for document in client.documents(page_size=1000)}
    waiting = iter([file for file in files if file.sha256 not in there])
    known = sum(file.sha256 in there for file in files)
    failed: list[tuple[str, str]] = []
    taken: list[Taken] = []
    begun = time.monotonic()

    async def work() -> None:
        for file in waiting:
            try:
                taken.append(await call(lambda file=file: _send(client, file)))  # type: ignore[misc]
            except CallFailed as error:
                failed.append((file.name, f"{error.code}: {error.message}"))
            say(file.name, known + len(taken) + len(failed), len(files))

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    seconds = time.monotonic() - begun
    return Ingested(len(taken), known, tuple(failed), tuple(taken), seconds)


async def _send(client: AsyncFolio, file: File) -> Taken:
    begun = time.monotonic()
    events = client.ingest(
        file.read(),
        file.name,
        collection=file.collection,
        kind=file.kind,
        title=file.title,
        published_on=file.published_on,
    )
    result = None
    async for event in events:
        if event.HasField("result"):
            result = event.result
    if result is None:
        raise CallFailed("INTERNAL", "the ingest ended without a result")
    document = result.document
    return Taken(
        file.name,
        document_pb2.DocumentStatus.Name(document.status).removeprefix("DOCUMENT_STATUS_"),
        document.page_count,
        len(document.empty_pages),
        document.chunk_count,
        round(time.monotonic() - begun, 3),
        {word(step_pb2.Step, step.step): round(step.elapsed_ms, 1) for step in result.steps},
    )
