"""What PostgreSQL reads to publish a document grows with the document, whatever its statistics knew before.

Statistics of a table that all organizations share know nothing of a new one, and those of a small table nothing of what
is written to it: both once made the check of each trigram's foreign key walk all words of the organization.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import islice, product

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from services.postgres import admin
from services.retriever.assembly import open_service
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Retriever, settings_on

pytestmark = pytest.mark.integration

WORDS = 2_000
# In all tables together. Of an organization's words each is read once for each of its trigrams, 14 times in all.
READS_A_WORD = 60


def text(words: int, start: str) -> str:
    """So many different words."""
    syllables = product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou", "lnrst")
    return " ".join(start + "".join(letters) for letters in islice(syllables, words))


@pytest.fixture
async def alone(postgres: Postgres) -> AsyncIterator[tuple[Postgres, Retriever]]:
    """A database without anything, and a retriever with one connection: what PostgreSQL planned there, it keeps."""
    name = "plans"
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    owner = make_conninfo(postgres.admin_url, dbname=name)
    url = admin.prepare(owner, "of the tests")
    there = Postgres(owner, url, *(admin.create_organization(owner, each) for each in "ab"))
    async with AsyncExitStack() as stack:
        settings = settings_on(there, database_pool_size=1)
        service = await stack.enter_async_context(open_service(settings))
        yield there, Retriever(service, stack)
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute(f"drop database {name} (force)".encode())


def analyze(postgres: Postgres) -> None:
    """What autovacuum does, some time or other."""
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("analyze")


def await_end(postgres: Postgres) -> None:
    """Until no connection of the retriever is left: PostgreSQL counts for good what one has read when it ends."""
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        while connection.execute(
            "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and backend_type = 'client backend'"
        ).fetchone():
            time.sleep(0.05)


def reads(postgres: Postgres) -> dict[str, int]:
    """Rows and entries of indexes that were read, by table of ours."""
    with psycopg.connect(postgres.admin_url) as connection:
        found = connection.execute(
            "select t.relname, t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)::bigint"
            " from pg_stat_user_tables t left join pg_stat_user_indexes i using (relid)"
            " where t.schemaname = 'folio' group by 1, t.seq_tup_read"
        )
        return dict(found.fetchall())


@pytest.mark.parametrize("earlier", ["nothing", "another organization's", "a few words"])
async def test_a_publish_reads_in_proportion(
    alone: tuple[Postgres, Retriever], earlier: str
) -> None:
    postgres, retriever = alone
    if earlier == "another organization's":
        other = await retriever.as_(Principal(postgres.globex))
        await other.ingest(text(WORDS, "x"), "long.txt")
        analyze(postgres)
    caller = await retriever.as_(Principal(postgres.acme))
    if earlier == "a few words":
        await caller.ingest("a few words", "first.txt")
        analyze(postgres)
        # Often enough that PostgreSQL keeps its plans.
        for turn in range(8):
            await caller.ingest(f"number{turn}", f"{turn}.txt")
    staged, _ = await caller.stage(text(WORDS, ""), "long.txt")
    before = reads(postgres)
    await caller.publish(staged)
    await retriever.service.parts.pool.pool.close()
    await asyncio.to_thread(await_end, postgres)
    after = reads(postgres)
    spent = {name: after[name] - before.get(name, 0) for name in after}
    assert sum(spent.values()) < READS_A_WORD * WORDS, spent
    assert spent["vocabulary"] > WORDS


def test_one_index_of_a_table_begins_with_the_organization(postgres: Postgres) -> None:
    """Of two of them the planner takes either, for an organization of which it knows nothing."""
    with psycopg.connect(postgres.admin_url) as connection:
        found = connection.execute(
            "select t.relname, count(*) from pg_index i join pg_class t on t.oid = i.indrelid"
            " join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]"
            " where t.relnamespace = 'folio'::regnamespace and a.attname = 'organization_id'"
            " group by 1 having count(*) > 1"
        ).fetchall()
    assert found == []
