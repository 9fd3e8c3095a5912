"""The real stage on the session's PostgreSQL with the embedded model, and documents put there by SQL."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence

import grpc
import psycopg
import pytest

from services.colbert.settings import ColbertSettings
from services.colbert.stage import Stage, open_stage
from services.rpc.identity import Principal
from services.rpc.testing import running
from tests.conftest import Postgres

AddDocument = Callable[..., tuple[int, list[int]]]


@pytest.fixture(scope="session")
def colbert_settings(postgres: Postgres) -> ColbertSettings:
    return ColbertSettings.model_validate(
        {**postgres.settings().model_dump(), "max_encode_on_demand": 8, "max_exact_chunks": 60}
    )


@pytest.fixture(scope="session")
async def stage(colbert_settings: ColbertSettings) -> AsyncIterator[Stage]:
    async with open_stage(colbert_settings) as opened:
        await opened.warm_up()
        yield opened


@pytest.fixture
async def channel(stage: Stage, acme: Principal) -> AsyncIterator[grpc.aio.Channel]:
    """Acts for acme, all of it."""
    async with running("colbert", stage.register, acme) as opened:
        yield opened


@pytest.fixture
def add_document(postgres: Postgres) -> AddDocument:
    """add_document(organization, bodies, rooftop=None, live=True, kind="") -> document id, chunk ids."""

    def add(
        organization: int,
        bodies: Sequence[str],
        *,
        rooftop: int | None = None,
        live: bool = True,
        kind: str = "",
    ) -> tuple[int, list[int]]:
        with psycopg.connect(postgres.admin_url) as connection:
            connection.execute("set search_path = folio, public")

            def one(query: str, *values: object) -> int:
                row = connection.execute(query.encode(), values).fetchone()
                assert row is not None
                return int(row[0])

            count = one("select count(*) from documents")
            document = one(
                "insert into documents (organization_id, rooftop_id, file_name, current_version)"
                " values (%s, %s, %s, %s) returning id",
                organization,
                rooftop,
                f"file-{count}.txt",
                1 if live else None,
            )
            connection.execute(
                "insert into document_versions (organization_id, document_id, version, rooftop_id,"
                " sha256, title, media_type, size_bytes, status)"
                " values (%s, %s, 1, %s, %s, 'A title', 'text/plain', 1, %s)",
                [organization, document, rooftop, "0" * 64, "READY" if live else "STAGED"],
            )
            section = one(
                "insert into sections (organization_id, document_id, version, rooftop_id, ordinal,"
                " path, char_start, char_end, page_start, page_end, token_count)"
                " values (%s, %s, 1, %s, 0, '{}', 0, 1, 0, 0, 1) returning id",
                organization,
                document,
                rooftop,
            )
            chunks = [
                one(
                    "insert into chunks (organization_id, document_id, version, rooftop_id,"
                    " section_id, ordinal, page_start, page_end, page_label, heading, body, kind,"
                    " char_start, char_end, token_count, text_sha256, live)"
                    " values (%s, %s, 1, %s, %s, %s, 0, 0, '1', '', %s, %s, 0, %s, 1, %s, %s)"
                    " returning id",
                    organization,
                    document,
                    rooftop,
                    section,
                    ordinal,
                    body,
                    kind,
                    len(body),
                    hashlib.sha256(body.encode()).digest(),
                    live,
                )
                for ordinal, body in enumerate(bodies)
            ]
        return document, chunks

    return add


@pytest.fixture
def delete_document(postgres: Postgres) -> Callable[[int], None]:
    def delete(document: int) -> None:
        with psycopg.connect(postgres.admin_url) as connection:
            connection.execute("delete from folio.documents where id = %s", [document])

    return delete
