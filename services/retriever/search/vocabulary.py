"""The words that an organization's documents have, to tell a misspelt word from a rare one and to find what was meant.

Trigrams are kept in a table of our own, whose keys begin with the organization: pg_trgm is not in every PostgreSQL
(nor in the embedded one), and a GIN index over all tenants would tell one of another's words by its timing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from services.postgres.pool import Connection
from services.retriever.search import lexical

MAX_CHECKED = 32
CANDIDATES = 200

# Two documents that lose and gain each other's words would each wait for the other's rows.
_LOCK = "select pg_advisory_xact_lock(hashtextextended(%(organization)s::text, 7402))"
_ADD = """
insert into vocabulary (organization_id, rooftop_id, word, documents)
select %(organization)s, %(rooftop)s, word, 1 from unnest(%(words)s::text[]) word order by word
on conflict (organization_id, word, rooftop_id) do update set documents = vocabulary.documents + 1
returning id, word, documents
"""
_ADD_TRIGRAMS = """
insert into vocabulary_trigrams (organization_id, trigram, word_id, rooftop_id)
select %(organization)s, trigram, id, %(rooftop)s
from unnest(%(ids)s::bigint[], %(trigrams)s::text[]) as pair (id, trigram)
"""
_REMOVE = """
update vocabulary set documents = documents - 1
where organization_id = %(organization)s and id in (
    select id from vocabulary where organization_id = %(organization)s and rooftop_id is not distinct from %(rooftop)s
       and word = any(%(words)s) order by word for update)
"""
_SWEEP = """
delete from vocabulary where organization_id = %(organization)s and documents <= 0
   and rooftop_id is not distinct from %(rooftop)s and word = any(%(words)s)
"""
# A word whose stem is known is no misspelling, whatever its ending.
_KNOWN = """
select asked from unnest(%(words)s::text[]) asked
where exists (select from vocabulary v where v.organization_id = %(organization)s and v.word = asked)
"""
_CANDIDATES = """
select v.word, sum(v.documents)::int, to_tsvector('english', v.word) = to_tsvector('english', %(word)s)
from (select word_id, count(*) as shared from vocabulary_trigrams
       where organization_id = %(organization)s and trigram = any(%(trigrams)s)
       group by word_id order by count(*) desc, word_id limit %(limit)s) t
join vocabulary v on v.organization_id = %(organization)s and v.id = t.word_id
group by v.word
"""


@dataclass(frozen=True)
class Correction:
    """`text` is the query with what was probably meant added; `corrected` counts the words in doubt."""

    text: str
    corrected: int


async def replace(
    connection: Connection,
    organization_id: int,
    rooftop_id: int | None,
    old: Sequence[str],
    new: Sequence[str],
) -> None:
    """Counts a document's words anew. Whoever does the same for the organization waits until the transaction ends."""
    parameters: dict[str, object] = {"organization": organization_id, "rooftop": rooftop_id}
    gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    if come or gone:
        await connection.execute(_LOCK, parameters)
    if come:
        rows = await (await connection.execute(_ADD, {**parameters, "words": come})).fetchall()
        fresh = [(identifier, word) for identifier, word, documents in rows if documents == 1]
        # COPY would be faster, but PostgreSQL refuses it on tables with row-level security.
        pairs = [
            (identifier, gram) for identifier, word in fresh for gram in lexical.trigrams(word)
        ]
        await connection.execute(
            _ADD_TRIGRAMS,
            {
                **parameters,
                "ids": [identifier for identifier, _ in pairs],
                "trigrams": [gram for _, gram in pairs],
            },
        )
    if gone:
        await connection.execute(_REMOVE, {**parameters, "words": gone})
        await connection.execute(_SWEEP, {**parameters, "words": gone})


async def correct(connection: Connection, organization_id: int, query: str) -> Correction:
    """Adds to a query, for each word that no document has, the nearest words that some document has.

    The word itself stays in the query: this only ever adds results.
    """
    asked = sorted(word for word in lexical.words(query) if lexical.edits_allowed(word))[
        :MAX_CHECKED
    ]
    if not asked:
        return Correction(query, 0)
    known = await connection.execute(_KNOWN, {"organization": organization_id, "words": asked})
    present = {row[0] for row in await known.fetchall()}
    added: list[str] = []
    corrected = 0
    for word in asked:
        if word in present:
            continue
        rows = await (
            await connection.execute(
                _CANDIDATES,
                {
                    "organization": organization_id,
                    "word": word,
                    "trigrams": lexical.trigrams(word),
                    "limit": CANDIDATES,
                },
            )
        ).fetchall()
        if any(same_stem for _, _, same_stem in rows):
            continue
        meant = lexical.closest(word, [(candidate, documents) for candidate, documents, _ in rows])
        added += meant
        corrected += bool(meant)
    return Correction(" ".join([query, *added]), corrected)
