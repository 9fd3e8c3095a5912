"""What a question left behind: outcome, steps, and where text left the suite. Its own text only if retained."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from services.postgres.pool import TenantPool, tenant
from services.rpc.identity import Principal

_LOG = """
insert into query_log (organization_id, request_id, rooftop_id, subject, outcome, question, steps)
select %(organization)s, %(request)s, %(rooftop)s, %(subject)s, %(outcome)s,
       case when o.retains_text then %(question)s end, %(steps)s
from organizations o where o.id = %(organization)s
on conflict do nothing
"""
_EGRESS = """
insert into egress (organization_id, request_id, ordinal, rooftop_id, provider, purpose, bytes_sent)
values (%s, %s, %s, %s, %s, %s, %s) on conflict do nothing
"""


@dataclass(frozen=True)
class Egress:
    """One call that sent text to a provider."""

    provider: str
    purpose: str
    bytes_sent: int


async def log_query(
    pool: TenantPool,
    principal: Principal,
    request_id: str,
    outcome: str,
    question: str,
    steps: Sequence[dict[str, Any]],
    egress: Sequence[Egress],
) -> None:
    """Once per request id; a repetition changes nothing."""
    async with tenant(pool, principal) as connection:
        await connection.execute(
            _LOG,
            {
                "organization": principal.organization_id,
                "request": request_id,
                "rooftop": principal.rooftop_id,
                "subject": principal.subject,
                "outcome": outcome,
                "question": question,
                "steps": Jsonb(list(steps)),
            },
        )
        async with connection.cursor() as cursor:
            await cursor.executemany(
                _EGRESS,
                [
                    (
                        principal.organization_id,
                        request_id,
                        ordinal,
                        principal.rooftop_id,
                        entry.provider,
                        entry.purpose,
                        entry.bytes_sent,
                    )
                    for ordinal, entry in enumerate(egress)
                ],
            )
