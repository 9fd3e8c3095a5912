"""Who reads which file: one worker per document and content, whatever arrives at once or dies half-way.

A claim is a row of document_versions in the state STAGING with a lease. It is made in a short transaction under an
advisory lock on the document's name, and lives while its worker renews the lease; a lapsed one may be taken over.
"""

import json
from dataclasses import dataclass
from datetime import date

from psycopg.rows import dict_row

from services.postgres.pool import Connection
from services.rpc.errors import Aborted, AlreadyExists, NotFound, PermissionDenied
from services.rpc.identity import Principal


@dataclass(frozen=True)
class Upload:
    """What was sent beside the bytes, cleaned. `recipe` is a hash of all that shapes the version but the bytes."""

    file_name: str
    collection: str
    kind: str
    title: str
    published_on: date | None
    sha256: str
    size_bytes: int
    media_type: str
    rooftop_id: int | None
    request_id: str
    recipe: str


@dataclass(frozen=True)
class Claim:
    """`state` is MINE (read the file now), BUSY (another worker does), STAGED (done, not published) or SERVED."""

    state: str
    document_id: int
    version: int


_FIND = """
select d.id, d.current_version, v.version, v.status, v.leased_until < clock_timestamp() as lapsed
from documents d
left join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id
 and v.sha256 = %(sha256)s and v.recipe = %(recipe)s
where d.organization_id = %(organization)s and d.file_name = %(file_name)s
  and d.collection_id is not distinct from %(collection_id)s
  and d.rooftop_id is not distinct from %(rooftop)s
order by v.version desc nulls last limit 1
"""
_REQUEST = """
select document_id, sha256 from ingest_requests
where organization_id = %(organization)s and request_id = %(request_id)s
"""
_NEW_DOCUMENT = """
insert into documents (organization_id, rooftop_id, collection_id, file_name)
values (%(organization)s, %(rooftop)s, %(collection_id)s, %(file_name)s) returning id
"""
_NEW_VERSION = """
insert into document_versions (organization_id, document_id, version, rooftop_id, sha256, recipe, title, media_type,
                               kind, published_on, size_bytes, status, worker, leased_until, attempts)
select %(organization)s, %(document_id)s,
       1 + coalesce((select max(version) from document_versions
                      where organization_id = %(organization)s and document_id = %(document_id)s), 0),
       %(rooftop)s, %(sha256)s, %(recipe)s, %(title)s, %(media_type)s, %(kind)s, %(published_on)s, %(size_bytes)s,
       'STAGING', %(worker)s, clock_timestamp() + %(lease)s * interval '1 second', 1
returning version
"""
_TAKE_OVER = """
update document_versions
   set status = 'STAGING', error = '', worker = %(worker)s, attempts = attempts + 1, title = %(title)s,
       leased_until = clock_timestamp() + %(lease)s * interval '1 second'
 where organization_id = %(organization)s and document_id = %(document_id)s and version = %(version)s
"""
_RENEW = """
update document_versions set leased_until = clock_timestamp() + %(lease)s * interval '1 second'
 where organization_id = %(organization)s and document_id = %(document_id)s and version = %(version)s
   and worker = %(worker)s and status = 'STAGING'
"""


async def claim(
    connection: Connection, principal: Principal, upload: Upload, worker: str, lease_s: float
) -> Claim:
    """Decides what this upload is: new work, a wait, or done already.

    AlreadyExists if the request id was used for other bytes or another document; PermissionDenied for another rooftop
    than the principal's; NotFound for one that does not exist.
    """
    rooftop = await _rooftop(connection, principal, upload.rooftop_id)
    parameters: dict[str, object] = {
        "organization": principal.organization_id,
        "rooftop": rooftop,
        "file_name": upload.file_name,
        "kind": upload.kind,
        "title": upload.title or upload.file_name,
        "published_on": upload.published_on,
        "sha256": upload.sha256,
        "recipe": upload.recipe,
        "size_bytes": upload.size_bytes,
        "media_type": upload.media_type,
        "request_id": upload.request_id,
        "worker": worker,
        "lease": lease_s,
    }
    if upload.request_id:
        await _lock(connection, principal.organization_id, upload.request_id)
    await _lock(connection, principal.organization_id, rooftop, upload.collection, upload.file_name)
    parameters["collection_id"] = await _collection(
        connection, principal.organization_id, upload.collection
    )
    cursor = connection.cursor(row_factory=dict_row)
    found = await (await cursor.execute(_FIND, parameters)).fetchone()
    if upload.request_id:
        await _check_request(connection, parameters, found["id"] if found else None)
    if found is None:
        made = await (await connection.execute(_NEW_DOCUMENT, parameters)).fetchone()
        assert made is not None
        parameters["document_id"] = made[0]
    else:
        parameters["document_id"] = found["id"]
    if found is None or found["version"] is None:
        row = await (await connection.execute(_NEW_VERSION, parameters)).fetchone()
        assert row is not None
        result = Claim("MINE", int(str(parameters["document_id"])), row[0])
    else:
        parameters["version"] = found["version"]
        result = Claim(_state(found), found["id"], found["version"])
        if result.state == "MINE":
            await clear(connection, principal.organization_id, result)
            await connection.execute(_TAKE_OVER, parameters)
    if upload.request_id:
        await connection.execute(
            "insert into ingest_requests (organization_id, request_id, document_id, version, sha256, rooftop_id) "
            "values (%(organization)s, %(request_id)s, %(document_id)s, %(version)s, %(sha256)s, %(rooftop)s) "
            "on conflict do nothing",
            {**parameters, "version": result.version},
        )
    return result


def _state(found: dict[str, object]) -> str:
    if found["version"] == found["current_version"]:
        return "SERVED"
    if found["status"] == "STAGED":
        return "STAGED"
    if found["status"] == "STAGING" and not found["lapsed"]:
        return "BUSY"
    return "MINE"


async def _lock(connection: Connection, *name: object) -> None:
    """Waits for whoever claims under this name, and keeps others waiting until the transaction ends."""
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended(%s, 7401))", [json.dumps(name)]
    )


async def _check_request(
    connection: Connection, parameters: dict[str, object], document_id: int | None
) -> None:
    used = await (await connection.execute(_REQUEST, parameters)).fetchone()
    if used is not None and used != (document_id, parameters["sha256"]):
        raise AlreadyExists(
            "this request_id was used for another file; use a new one", reason="REQUEST_ID_REUSED"
        )


async def _rooftop(connection: Connection, principal: Principal, asked: int | None) -> int | None:
    rooftop = principal.rooftop_id
    if rooftop is None:
        rooftop = asked
    elif asked not in (None, rooftop):
        raise PermissionDenied("documents of another rooftop cannot be written")
    if rooftop is None:
        return None
    found = await connection.execute(
        "select 1 from rooftops where organization_id = %s and id = %s",
        [principal.organization_id, rooftop],
    )
    if await found.fetchone() is None:
        raise NotFound("no such rooftop; create it with `folio admin create-rooftop`")
    return rooftop


async def _collection(connection: Connection, organization_id: int, name: str) -> int | None:
    """The id of the collection, made if there is none; null for no collection."""
    if not name:
        return None
    parameters = {"organization": organization_id, "name": name}
    await connection.execute(
        "insert into collections (organization_id, name) values (%(organization)s, %(name)s) "
        "on conflict do nothing",
        parameters,
    )
    row = await (
        await connection.execute(
            "select id from collections where organization_id = %(organization)s and name = %(name)s",
            parameters,
        )
    ).fetchone()
    assert row is not None
    return int(row[0])


async def renew(
    connection: Connection, organization_id: int, claimed: Claim, worker: str, lease_s: float
) -> None:
    """Says that the worker lives, and keeps the claim from being taken over until the transaction ends.

    Aborted if another worker has taken over already or the document is gone.
    """
    done = await connection.execute(
        _RENEW,
        {
            "organization": organization_id,
            "document_id": claimed.document_id,
            "version": claimed.version,
            "worker": worker,
            "lease": lease_s,
        },
    )
    if done.rowcount != 1:
        raise Aborted(
            "the document was deleted, or another ingest took it over", reason="LEASE_LOST"
        )


async def fail(
    connection: Connection, organization_id: int, claimed: Claim, worker: str, error: str
) -> None:
    """Removes what was stored and keeps the reason. With an empty error: gives the claim back for a new try.

    Does nothing if the claim was lost: what is stored is another worker's, and may be served by now.
    """
    done = await connection.execute(
        "update document_versions set status = %s, error = %s, leased_until = clock_timestamp() "
        "where organization_id = %s and document_id = %s and version = %s and worker = %s and status = 'STAGING'",
        [
            "FAILED" if error else "STAGING",
            error[:2000],
            organization_id,
            claimed.document_id,
            claimed.version,
            worker,
        ],
    )
    if done.rowcount == 1:
        await clear(connection, organization_id, claimed)


async def clear(connection: Connection, organization_id: int, claimed: Claim) -> None:
    """Removes the rows of a version that is not finished."""
    for table in ("chunks", "tables", "sections", "pages", "files"):
        await connection.execute(
            f"delete from {table} where organization_id = %s and document_id = %s and version = %s".encode(),
            [organization_id, claimed.document_id, claimed.version],
        )
