"""What the query log keeps."""

import psycopg
import pytest

from folio.common.v1 import query_pb2, service_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres import admin
from tests.conftest import Postgres
from tests.retriever.conftest import Caller
from tests.retriever.ingest.stored import count

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("retains", [False, True])
async def test_the_query_log_keeps_text_only_where_it_is_retained(
    caller: Caller, postgres: Postgres, tenant_id: int, retains: bool
) -> None:
    name = next(n for n, i in admin.organizations(postgres.admin_url).items() if i == tenant_id)
    admin.retain_text(postgres.admin_url, name, retains)
    entry = service_pb2.Egress(
        provider="anthropic", purpose=service_pb2.PURPOSE_ANSWER, bytes_sent=100
    )
    for _ in range(2):
        await caller.stub.LogQuery(
            pb.LogQueryRequest(
                request_id="r",
                outcome=query_pb2.OUTCOME_ANSWERED,
                question="Who knows?",
                egress=[entry],
            ),
            timeout=9,
        )
    with psycopg.connect(postgres.admin_url) as connection:
        connection.execute("select set_config('app.organization_id', %s, true)", [str(tenant_id)])
        logged = connection.execute(
            "select question, outcome from folio.query_log where organization_id = %s", [tenant_id]
        ).fetchall()
    assert logged == [("Who knows?" if retains else None, "answered")]
    assert count(postgres, tenant_id, "egress") == 1
