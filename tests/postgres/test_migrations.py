"""Databases that there are already: their migrations never change, and their data comes along."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from services.postgres.admin import act_for, create_organization
from services.postgres.migrate import MIGRATIONS, latest, migrate, migrations
from services.rpc.errors import DataLoss
from tests.conftest import Postgres

# `migrate` refuses a database whose files are not these, comments included. New files are added below, none is edited.
APPLIED = {
    "0001_schema.sql": "7040155c1b4c57b65ec9edb81b742e22dbf0c682611a17df16be8686f6e9bb7e",
    "0002_security.sql": "ec6761d47037d1346d43602cd76f725a6719e3b9eb00361622f98d247e8aa8a0",
    "0003_postings.sql": "e85e5ac75ca85873837fd86cbd1749ffe8343cc0019352c62d7c32fd61f3b29b",
    "0004_visibility.sql": "11e68370df4fc75a72242ef8b25b436eece41e1b82e52a6089c4963dd3ec3c87",
    "0005_temporary.sql": "7f832fcb0ac0fe4960f3b47c7dcfc038d5570e658a0c6e52d15672653eb4b745",
    "0006_steps.sql": "0cee54303e8893f58f9c781c18c65e02f3d6a79c4ff139e5a7795a6b4c6e34aa",
    "0007_reading.sql": "a1274e6d54de4e8a3a69f38c6436b61d4a5607122c1733a0060fafa3306f51bb",
    "0008_rows.sql": "0a5a5aa080c13d8b1af5b32e1918c4649fbf9ca233763f750146269703d65bd8",
    "0009_encoded.sql": "42bf3f55f1afa868aa4add958e4d5aa153ed17fb972538dde230fc3cac5ae7bd",
    "0010_plans.sql": "717160c07bf1f8ebec10ee79b157fac1acc873919b2a4f33b595fd2ce2e3b69e",
    "0011_row_windows.sql": "1c0974948111d5f1f6e0eef6559c74f68012b41c8c6d8709d049c731b6a4a1eb",
}


def test_no_migration_is_edited() -> None:
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for _, path in migrations(MIGRATIONS)
    }
    assert digests == APPLIED


@pytest.fixture
def empty(postgres: Postgres) -> Iterator[str]:
    """The owner's URL of a database without anything."""
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("create database former")
    yield make_conninfo(postgres.admin_url, dbname="former")
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("drop database former")


def before(version: int, folder: Path) -> Path:
    """A folder with the migrations up to a version."""
    for number, path in migrations(MIGRATIONS):
        if number <= version:
            shutil.copy(path, folder)
    return folder


def test_the_query_log_of_schema_5_comes_along(empty: str, tmp_path: Path) -> None:
    assert migrate(empty, before(5, tmp_path)) == 5
    organization = create_organization(empty, "acme")
    with psycopg.connect(empty) as connection:
        act_for(connection, organization)
        connection.execute(
            "insert into folio.query_log (organization_id, request_id, stages) values (%s, 'a', '[7]')",
            [organization],
        )
    assert migrate(empty) == latest()
    with psycopg.connect(empty) as connection:
        act_for(connection, organization)
        assert connection.execute("select steps from folio.query_log").fetchall() == [([7],)]


_DOCUMENT_OF_SCHEMA_9 = """
with d as (insert into documents (organization_id, file_name, current_version)
           values (%(o)s, 'a.txt', 1) returning id),
v as (insert into document_versions (organization_id, document_id, version, sha256, title, media_type, size_bytes,
                                     status)
      select %(o)s, id, 1, repeat('a', 64), 'A', 'text/plain', 1, 'READY' from d returning document_id),
s as (insert into sections (organization_id, document_id, version, ordinal, path, char_start, char_end, page_start,
                            page_end, token_count)
      select %(o)s, document_id, 1, 0, '{}', 0, 4, 0, 0, 1 from v returning id, document_id),
c as (insert into chunks (organization_id, document_id, version, section_id, ordinal, page_start, page_end, page_label,
                          heading, body, char_start, char_end, token_count, text_sha256, live)
      select %(o)s, document_id, 1, id, 0, 0, 0, '1', 'A', 'word', 0, 4, 1, '', true from s returning id, document_id),
p as (insert into postings (organization_id, lexeme, chunk_id, document_id, tf, length)
      select %(o)s, 'word', id, document_id, 1, 1 from c),
w as (insert into vocabulary (organization_id, word, documents) values (%(o)s, 'word', 1) returning id)
insert into vocabulary_trigrams (organization_id, trigram, word_id) select %(o)s, 'wor', id from w
"""


def test_keys_of_schema_9_are_made_anew_around_what_is_there(empty: str, tmp_path: Path) -> None:
    migrate(empty, before(9, tmp_path))
    organization = create_organization(empty, "acme")
    with psycopg.connect(empty) as connection:
        act_for(connection, organization)
        connection.execute("set local search_path = folio, public")
        connection.execute(_DOCUMENT_OF_SCHEMA_9, {"o": organization})
    assert migrate(empty) == latest()
    with psycopg.connect(empty) as connection:
        act_for(connection, organization)
        connection.execute("set local search_path = folio, public")
        everything = (
            "select (select count(*) from postings), (select count(*) from vocabulary_trigrams)"
        )
        assert connection.execute(everything).fetchone() == (1, 1)
        connection.execute("delete from documents")
        connection.execute("delete from vocabulary")
        assert connection.execute(everything).fetchone() == (0, 0)


def test_an_edited_migration_is_refused(empty: str, tmp_path: Path) -> None:
    folder = before(1, tmp_path)
    migrate(empty, folder)
    with (folder / "0001_schema.sql").open("a") as file:
        file.write("-- nothing\n")
    with pytest.raises(DataLoss, match=r"0001_schema\.sql was changed after it was applied"):
        migrate(empty, folder)
