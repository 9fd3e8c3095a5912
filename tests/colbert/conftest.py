"""colbert itself on the session's PostgreSQL with the embedded model, and documents with chosen chunks."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import grpc
import psycopg
import pytest

from services.colbert.assembly import Service, open_service
from services.colbert.settings import ColbertSettings
from services.postgres.pool import TenantPool
from services.rpc.identity import Principal
from services.rpc.testing import running
from tests import documents
from tests.conftest import Postgres

AddDocument = Callable[..., Awaitable[tuple[int, list[int]]]]


@pytest.fixture(scope="session")
def colbert_settings(postgres: Postgres) -> ColbertSettings:
    return ColbertSettings.model_validate(
        {**postgres.settings().model_dump(), "max_encode_on_demand": 8, "max_exact_chunks": 60}
    )


@pytest.fixture(scope="session")
async def service(colbert_settings: ColbertSettings) -> AsyncIterator[Service]:
    async with open_service(colbert_settings) as opened:
        await opened.warm_up()
        yield opened


@pytest.fixture
async def channel(service: Service, acme: Principal) -> AsyncIterator[grpc.aio.Channel]:
    """Acts for acme, all of it."""
    async with running("colbert", service.register, acme) as opened:
        yield opened


@pytest.fixture
def add_document(pool: TenantPool) -> AddDocument:
    """await add_document(organization, bodies, rooftop=None, live=True, kind="") -> document id, chunk ids."""

    async def add(organization: int, bodies: Sequence[str], **about: Any) -> tuple[int, list[int]]:
        return await documents.add_document(pool, Principal(organization), bodies, **about)

    return add


@pytest.fixture
def delete_document(postgres: Postgres) -> Callable[[int], None]:
    def delete(document: int) -> None:
        with psycopg.connect(postgres.admin_url) as connection:
            connection.execute("delete from folio.documents where id = %s", [document])

    return delete
