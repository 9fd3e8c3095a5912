"""The ingest pipeline: bytes in, a staged version out.

claim, parse, chunk, embed (through the cache), store: read `Ingest.run` from top to bottom. Killed
anywhere, the version that was served stays served; sent again, the file goes on with the embeddings that were made.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from folio.common.v1 import step_pb2
from folio.formats import PICTURES, MediaType
from services.postgres.pool import Connection, TenantPool, tenant
from services.retriever import catalogue
from services.retriever.documents import ENCODED_TITLE_CHARS, ChunkSpan, ParsedDocument
from services.retriever.embedders import Embedder, Vectors
from services.retriever.ingest import claims, embedding_cache, staging
from services.retriever.ingest.chunking import chunk, row_chunks
from services.retriever.ingest.claims import Claim, Upload
from services.retriever.ingest.staging import Staging, text_sha256
from services.retriever.parsing import ParserPool
from services.retriever.records import DocumentRecord
from services.retriever.settings import RetrieverSettings
from services.rpc.errors import (
    Aborted,
    DeadlineExceeded,
    FolioError,
    InvalidArgument,
    ResourceExhausted,
    Unavailable,
)
from services.rpc.identity import Principal
from services.rpc.report import Report

log = logging.getLogger("folio.retriever.ingest")

STORE_ROWS = 256
POLL_S = 0.2


@dataclass(frozen=True)
class Progress:
    """A step of the ingest, and how far it is."""

    step: "step_pb2.Step.ValueType"
    done: int
    total: int


@dataclass(frozen=True)
class Ingested:
    """The staged version, or the one that is served already (`unchanged`), and what it took."""

    document: DocumentRecord
    version: int
    unchanged: bool
    steps: list[step_pb2.StepReport]


@dataclass(frozen=True)
class Options:
    """What of an upload is not stored."""

    password: str = ""
    ocr: bool = False


class Ingest:
    """One file of one principal on its way. `tell` is called with every Progress and must not wait."""

    def __init__(
        self,
        pool: TenantPool,
        parser: ParserPool,
        embedder: Embedder,
        column: str,
        settings: RetrieverSettings,
        principal: Principal,
        tell: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._pool, self._parser, self._embedder, self._column = pool, parser, embedder, column
        self._settings, self._principal, self._tell = settings, principal, tell
        self._worker = secrets.token_hex(16)
        self._report = Report()

    async def run(self, upload: Upload, data: bytes, options: Options) -> Ingested:
        """Raises what the parser raises for a file that cannot be read; the document is then FAILED and says why."""
        claim = await self._claim(upload)
        if claim.state != "MINE":
            return await self._result(claim, unchanged=claim.state == "SERVED")
        try:
            async with self._lease(claim):
                finish = await self._read_and_store(claim, upload, data, options)
            # Not under the lease: renewed at that moment, a version that is staged would seem to be lost.
            await finish()
        except FolioError as error:
            await self._give_up(claim, "" if _is_passing(error) else error.message)
            raise
        except BaseException:
            await self._give_up(claim, "")
            raise
        return await self._result(claim, unchanged=False)

    async def _read_and_store(
        self, claim: Claim, upload: Upload, data: bytes, options: Options
    ) -> Callable[[], Awaitable[None]]:
        """All rows of the version; what is returned makes it staged."""
        self._tell(Progress(step_pb2.STEP_PARSE, 0, 1))
        with self._report.step(step_pb2.STEP_PARSE, needed=True):
            document = await self._parser.parse(
                data,
                file_name=upload.file_name,
                media_type=upload.media_type,
                password=options.password,
                title=upload.title,
                ocr=options.ocr,
                tell=lambda done, total: self._tell(Progress(step_pb2.STEP_PARSE, done, total)),
            )
        self._tell(Progress(step_pb2.STEP_PARSE, 1, 1))
        if document.is_scan and document.media_type != MediaType.PDF:
            what = "picture" if document.media_type in PICTURES else "file"
            raise InvalidArgument(f"the {what} contains no text", reason="EMPTY_FILE")
        with self._report.step(step_pb2.STEP_CHUNK, needed=True):
            spans, section_tokens, warnings = await asyncio.to_thread(self._chunk, document)
            document = replace(document, warnings=(*document.warnings, *warnings))
        self._tell(Progress(step_pb2.STEP_CHUNK, len(spans), len(spans)))
        with self._report.step(step_pb2.STEP_EMBED, needed=True):
            text = document.text
            vectors = await self._embed([span.encoded(document.title, text) for span in spans])
        with self._report.step(step_pb2.STEP_STORE, needed=True):
            return await self._store(claim, upload, data, document, spans, section_tokens, vectors)

    async def _claim(self, upload: Upload) -> Claim:
        """Waits while another worker reads the same file for the same document."""
        while True:
            async with tenant(self._pool, self._principal) as connection:
                claim = await claims.claim(
                    connection, self._principal, upload, self._worker, self._settings.lease_seconds
                )
            if claim.state != "BUSY":
                return claim
            await asyncio.sleep(POLL_S)

    @contextlib.asynccontextmanager
    async def _lease(self, claim: Claim) -> AsyncIterator[None]:
        """Renews the claim while the block runs; cancels the block, as Aborted, if the claim is lost."""
        lost: Aborted | None = None
        ended = False
        work = asyncio.current_task()
        assert work is not None

        async def renew() -> None:
            nonlocal lost
            while not ended:
                await asyncio.sleep(self._settings.lease_seconds / 3)
                try:
                    async with self._mine(claim):
                        pass
                except Aborted as error:
                    lost = error
                    work.cancel()
                    return
                except FolioError as error:
                    log.warning("lease not renewed", extra={"error": error.message})

        renewing = asyncio.create_task(renew())
        try:
            try:
                yield
            finally:
                ended = True
                renewing.cancel()
                # It may go on: asyncio.wait_for of Python 3.11, in the pool, forgets a cancellation that comes with a
                # connection. It must have ended before the version is staged.
                await asyncio.wait({renewing})
        except asyncio.CancelledError:
            if lost is not None:
                work.uncancel()
                raise lost from None
            raise

    @contextlib.asynccontextmanager
    async def _mine(self, claim: Claim) -> AsyncIterator[Connection]:
        """A transaction in which the claim is ours to the end. Aborted if it is not ours any more."""
        async with tenant(self._pool, self._principal) as connection:
            await claims.renew(
                connection,
                self._principal.organization_id,
                claim,
                self._worker,
                self._settings.lease_seconds,
            )
            yield connection

    def _chunk(self, document: ParsedDocument) -> tuple[list[ChunkSpan], list[int], list[str]]:
        """Windows over the text, then rows of tables; the tokens of each section; and what to warn of."""
        if document.is_scan:
            return [], [0] * len(document.sections), []
        settings = self._settings
        most = self._embedder.max_tokens - 2
        title = self._embedder.offsets(document.title[:ENCODED_TITLE_CHARS])
        limit = max(most - len(title), most // 2)
        size = min(settings.chunk_tokens, limit)
        spans = chunk(
            document,
            self._embedder,
            size,
            min(settings.chunk_overlap, size // 2),
            settings.chunk_snap,
            limit=limit,
        )
        rows, left_out = row_chunks(document, self._embedder, spans, settings.row_chunks, limit)
        spans += rows
        warnings = (
            [
                f"{left_out} tables are found as text only: the document's tables have more than"
                f" {settings.row_chunks:,} rows"
            ]
            if left_out and settings.row_chunks
            else []
        )
        if len(spans) > settings.max_chunks:
            raise ResourceExhausted(
                f"the file gives {len(spans):,} chunks, more than the {settings.max_chunks:,} allowed: split it",
                reason="TOO_MUCH_TEXT",
            )
        text = document.text
        return (
            spans,
            [
                len(self._embedder.offsets(text[section.char_start : section.char_end]))
                for section in document.sections
            ],
            warnings,
        )

    async def _embed(self, readings: Sequence[str]) -> Vectors:
        """(n, dim). Each text is embedded once; each batch is in the cache before the next is begun."""
        organization = self._principal.organization_id
        keys = [text_sha256(reading) for reading in readings]
        texts = dict(zip(keys, readings, strict=True))
        async with tenant(self._pool, self._principal) as connection:
            known = await embedding_cache.load(
                connection, organization, self._embedder, list(texts)
            )
        missing = [key for key in texts if key not in known]
        self._tell(Progress(step_pb2.STEP_EMBED, len(known), len(texts)))
        step = self._embedder.batch_texts
        for start in range(0, len(missing), step):
            batch = missing[start : start + step]
            rows = await self._embedder.embed([texts[key] for key in batch])
            made = dict(zip(batch, rows, strict=True))
            async with tenant(self._pool, self._principal) as connection:
                await embedding_cache.save(connection, organization, self._embedder, made)
            known.update(made)
            self._tell(Progress(step_pb2.STEP_EMBED, len(known), len(texts)))
        result = np.empty((len(keys), self._embedder.dim), np.float32)
        for index, key in enumerate(keys):
            result[index] = known[key]
        return result

    async def _store(
        self,
        claim: Claim,
        upload: Upload,
        data: bytes,
        document: ParsedDocument,
        spans: Sequence[ChunkSpan],
        section_tokens: Sequence[int],
        vectors: Vectors,
    ) -> Callable[[], Awaitable[None]]:
        principal = self._principal
        rooftop = principal.rooftop_id if principal.rooftop_id is not None else upload.rooftop_id
        target = Staging(principal.organization_id, rooftop, claim, self._worker)
        async with self._mine(claim) as connection:
            # What an earlier try of this worker may have left; readers of the version see none of it.
            await claims.clear(connection, principal.organization_id, claim)
            await staging.write_file(connection, target, data)
            await staging.write_pages(connection, target, document)
            await staging.write_tables(connection, target, document)
            section_ids = await staging.write_sections(connection, target, document, section_tokens)
        text = document.text
        missing = int(np.isnan(vectors[:, :1]).sum())
        row_count = sum(bool(span.reading) for span in spans)
        for start in range(0, len(spans), STORE_ROWS):
            async with self._mine(claim) as connection:
                await staging.write_chunks(
                    connection,
                    target,
                    upload,
                    document,
                    text,
                    spans[start : start + STORE_ROWS],
                    section_ids,
                    vectors[start : start + STORE_ROWS],
                    self._column,
                )
            self._tell(
                Progress(step_pb2.STEP_STORE, min(start + STORE_ROWS, len(spans)), len(spans))
            )

        async def finish() -> None:
            async with self._mine(claim) as connection:
                await staging.finish(connection, target, document, len(spans), missing, row_count)

        return finish

    async def _give_up(self, claim: Claim, reason: str) -> None:
        async def release() -> None:
            async with tenant(self._pool, self._principal) as connection:
                await claims.fail(
                    connection, self._principal.organization_id, claim, self._worker, reason
                )

        # The caller may be gone and the database too: the lease ends by itself then.
        with contextlib.suppress(FolioError):
            await asyncio.shield(asyncio.create_task(release()))

    async def _result(self, claim: Claim, *, unchanged: bool) -> Ingested:
        async with tenant(self._pool, self._principal) as connection:
            record = await catalogue.get_version(
                connection, self._principal.organization_id, claim.document_id, claim.version
            )
        return Ingested(record, claim.version, unchanged, self._report.steps)


def _is_passing(error: FolioError) -> bool:
    """Whether the failure says nothing of the file: the same bytes may do at another time."""
    if isinstance(error, ResourceExhausted):
        return not error.reason.startswith(("PARSE_", "TOO_"))
    return isinstance(error, (Unavailable, DeadlineExceeded, Aborted))
