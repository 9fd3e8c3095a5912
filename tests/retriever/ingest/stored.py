"""A small document, and what the database holds of an organization's."""

import psycopg

from tests.conftest import Postgres

LEAVE = """# Leave

## Parental leave

Full-time staff are entitled to 16 weeks of paid parental leave. It may be taken in two parts.

## Sick leave

A medical certificate is needed after three days of sickness. Send it to the personnel office.
"""


def count(postgres: Postgres, organization: int, table: str) -> int:
    with psycopg.connect(postgres.admin_url) as connection:
        connection.execute(
            "select set_config('app.organization_id', %s, true)", [str(organization)]
        )
        row = connection.execute(
            f"select count(*) from folio.{table} where organization_id = %s".encode(),
            [organization],
        ).fetchone()
    assert row is not None
    return int(row[0])
