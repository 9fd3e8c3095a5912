"""Documents whose chunks a test chooses itself, written as an ingest writes them, but without a file and a model."""

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from folio.formats import MediaType
from services.postgres.pool import TenantPool, tenant
from services.retriever.documents import PAGE_BREAK, ChunkSpan, Page, ParsedDocument, Section
from services.retriever.ingest import claims, publish, staging
from services.retriever.ingest.claims import Upload
from services.retriever.ingest.staging import Staging
from services.rpc.identity import Principal

DIM = 384


async def add_document(
    pool: TenantPool,
    principal: Principal,
    bodies: Sequence[str],
    *,
    vectors: NDArray[np.float32] | None = None,
    rooftop: int | None = None,
    kind: str = "",
    live: bool = True,
    title: str = "A title",
) -> tuple[int, list[int]]:
    """The ids of a new document and of its chunks, one for each of `bodies`, in order.

    `vectors`: (len(bodies), 384) for the dense leg; without them the chunks are found by their words alone. `live`:
    published, so that searches see it.
    """
    worker, name = secrets.token_hex(16), f"{secrets.token_hex(8)}.txt"
    text = PAGE_BREAK.join(bodies)
    document = ParsedDocument(
        MediaType.TEXT, title, (Page(0, "1", text, 0),), (Section((), 0, len(text)),)
    )
    spans = []
    start = 0
    for ordinal, body in enumerate(bodies):
        spans.append(ChunkSpan(ordinal, 0, start, start + len(body), 0, 0, "1", 1))
        start += len(body) + len(PAGE_BREAK)
    upload = Upload(
        file_name=name,
        collection="",
        kind=kind,
        title="",
        published_on=None,
        sha256=staging.text_sha256(text).hex(),
        size_bytes=1,
        media_type="",
        rooftop_id=rooftop,
        request_id="",
        recipe="",
    )
    async with tenant(pool, principal) as connection:
        claim = await claims.claim(connection, principal, upload, worker, 600.0)
        target = Staging(principal.organization_id, rooftop, claim, worker)
        sections = await staging.write_sections(connection, target, document, [1])
        await staging.write_chunks(
            connection,
            target,
            upload,
            document,
            text,
            spans,
            sections,
            np.full((len(bodies), DIM), np.nan, np.float32) if vectors is None else vectors,
            "embedding_minilm",
        )
        await staging.finish(connection, target, document, len(bodies), 0)
        if live:
            await publish.publish(
                connection, principal.organization_id, claim.document_id, claim.version
            )
        cursor = await connection.execute(
            "select id from chunks where organization_id = %s and document_id = %s order by ordinal",
            [principal.organization_id, claim.document_id],
        )
        return claim.document_id, [row[0] for row in await cursor.fetchall()]
