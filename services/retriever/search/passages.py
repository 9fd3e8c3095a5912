"""What a generator reads: search finds chunks, a reader gets the sections around them.

Each section once, ranked by its best hit, within a budget of tokens. A section that is too long, or a document
without headings, gives the hit and its neighbourhood.
"""

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from services.postgres.pool import Connection, TenantPool, tenant
from services.retriever import catalogue
from services.retriever.documents import joined
from services.retriever.ingest.chunking import Tokenizer
from services.retriever.records import ChunkRecord
from services.rpc.errors import NotFound
from services.rpc.identity import Principal

MAX_PASSAGE_TOKENS = 2000
MAX_TOTAL_TOKENS = 8000
# Text is read so far around a hit, in characters a token: no ordinary text has longer ones on average.
CHARS_PER_TOKEN = 8

_SECTIONS = """
select id, char_start, char_end from sections where organization_id = %(organization)s and id = any(%(ids)s)
"""
_PAGES = """
select p.index, p.label, p.char_start, p.text from pages p
join documents d on d.organization_id = p.organization_id and d.id = p.document_id and d.current_version = p.version
where p.organization_id = %(organization)s and p.document_id = %(document)s
  and p.char_start < %(end)s and p.char_start + length(p.text) >= %(start)s
order by p.index
"""
_PARAGRAPH = re.compile(r"\n\n+")


@dataclass(frozen=True)
class PageStart:
    """From this character of the passage on, the text stands on this page."""

    char_offset: int
    page: int
    label: str


@dataclass(frozen=True)
class Passage:
    """What a generator reads: a slice of the document's text, with its hits, best first."""

    hits: tuple[ChunkRecord, ...]
    text: str
    char_start: int
    char_end: int
    pages: tuple[PageStart, ...]
    token_count: int


@dataclass(frozen=True)
class _Stretch:
    """The text around some hits of one section. `start` is its first character in the document."""

    hits: tuple[ChunkRecord, ...]
    start: int
    text: str
    pages: tuple[tuple[int, int, str], ...]


async def passages(
    pool: TenantPool,
    principal: Principal,
    tokenizer: Tokenizer,
    chunk_ids: Sequence[int],
    *,
    passage_tokens: int = MAX_PASSAGE_TOKENS,
    total_tokens: int = MAX_TOTAL_TOKENS,
    hits_only: bool = False,
) -> list[Passage]:
    """Ids that are gone are passed over; NotFound if none of them is there."""
    async with tenant(pool, principal, snapshot=True) as connection:
        hits = await catalogue.chunks(connection, principal.organization_id, chunk_ids)
        if not hits:
            raise NotFound("none of these chunks exists any more; search again")
        stretches = await _stretches(
            connection, principal.organization_id, hits, passage_tokens, hits_only=hits_only
        )
    return await asyncio.to_thread(_cut, stretches, tokenizer, passage_tokens, total_tokens)


async def _stretches(
    connection: Connection,
    organization_id: int,
    hits: Sequence[ChunkRecord],
    passage_tokens: int,
    *,
    hits_only: bool,
) -> list[_Stretch]:
    """One per section, in the order of their best hits; with hits_only, one per hit."""
    groups: dict[int, list[ChunkRecord]] = {}
    for hit in hits:
        groups.setdefault(-hit.id if hits_only else hit.section_id, []).append(hit)
    bounds = await _bounds(connection, organization_id, [hit.section_id for hit in hits])
    reach = passage_tokens * CHARS_PER_TOKEN
    result = []
    for members in groups.values():
        first = min(hit.char_start for hit in members)
        last = max(hit.char_end for hit in members)
        if not hits_only:
            section_start, section_end = bounds[members[0].section_id]
            first = min(first, max(section_start, first - reach))
            last = max(last, min(section_end, last + reach))
        result.append(await _read(connection, organization_id, members, first, last))
    return result


async def _bounds(
    connection: Connection, organization_id: int, ids: Sequence[int]
) -> dict[int, tuple[int, int]]:
    rows = await connection.execute(_SECTIONS, {"organization": organization_id, "ids": list(ids)})
    return {row[0]: (row[1], row[2]) for row in await rows.fetchall()}


async def _read(
    connection: Connection, organization_id: int, hits: Sequence[ChunkRecord], start: int, end: int
) -> _Stretch:
    """The document's text from start to end, put together from its pages."""
    cursor = await connection.execute(
        _PAGES,
        {
            "organization": organization_id,
            "document": hits[0].document_id,
            "start": start,
            "end": end,
        },
    )
    pages = await cursor.fetchall()
    base = pages[0][2]
    start = max(start, base)  # It may lie between two pages.
    text = joined((page_start, content) for _, _, page_start, content in pages)
    text = text[start - base : end - base]
    table = tuple((page_start, index, label) for index, label, page_start, _ in pages)
    return _Stretch(tuple(hits), start, text, table)


def _cut(
    stretches: Sequence[_Stretch], tokenizer: Tokenizer, passage_tokens: int, total_tokens: int
) -> list[Passage]:
    """Spends the budget on the best stretches first; a passage holds its best hit or is not made."""
    result: list[Passage] = []
    left = total_tokens
    for stretch in stretches:
        offsets = tokenizer.offsets(stretch.text)
        starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
        rest = list(stretch.hits)
        taken: list[tuple[int, int]] = []
        while rest:
            allowed = min(passage_tokens, left)
            window = _window(stretch, rest[0], starts, ends, allowed, taken)
            if window is None:
                break
            start, end, tokens = window
            inside = tuple(
                hit
                for hit in rest
                if start <= hit.char_start - stretch.start and hit.char_end - stretch.start <= end
            ) or (rest[0],)
            rest = [hit for hit in rest if hit not in inside]
            taken.append((start, end))
            left -= tokens
            result.append(_passage(stretch, inside, start, end, tokens))
    return result


def _window(
    stretch: _Stretch,
    hit: ChunkRecord,
    starts: Sequence[int],
    ends: Sequence[int],
    allowed: int,
    taken: Sequence[tuple[int, int]],
) -> tuple[int, int, int] | None:
    """(start, end, tokens) in the stretch: the hit, and as much around it as is allowed and not taken already."""
    hit_start, hit_end = hit.char_start - stretch.start, hit.char_end - stretch.start
    first, last = bisect_right(ends, hit_start), bisect_left(starts, hit_end)
    if not starts or last - first > allowed:
        return None
    low = max((end for _, end in taken if end <= hit_start), default=0)
    high = min((start for start, _ in taken if start >= hit_end), default=len(stretch.text))
    lowest, highest = bisect_left(starts, low), bisect_right(ends, high)
    spare = allowed - (last - first)
    before = min(first - lowest, spare // 2)
    after = min(highest - last, spare - before)
    before = min(first - lowest, spare - after)
    start = low if first - before <= lowest else starts[first - before]
    end = high if last + after >= highest else ends[last + after - 1]
    start, end = min(start, hit_start), max(end, hit_end)
    if start > low:
        start = _paragraph_after(stretch.text, start, hit_start)
    if end < high:
        end = _paragraph_before(stretch.text, hit_end, end)
    tokens = bisect_left(starts, end) - bisect_right(ends, start)
    return start, end, tokens


def _paragraph_after(text: str, start: int, limit: int) -> int:
    found = _PARAGRAPH.search(text, start, limit)
    return found.end() if found else start


def _paragraph_before(text: str, limit: int, end: int) -> int:
    found = text.rfind("\n\n", limit, end)
    return found if found > 0 else end


def _passage(
    stretch: _Stretch, hits: tuple[ChunkRecord, ...], start: int, end: int, tokens: int
) -> Passage:
    text = stretch.text[start:end]
    kept = text.strip()
    char_start = stretch.start + start + len(text) - len(text.lstrip())
    char_end = char_start + len(kept)
    page_starts = [page_start for page_start, _, _ in stretch.pages]
    begin = max(0, bisect_right(page_starts, char_start) - 1)
    table = tuple(
        PageStart(max(0, page_start - char_start), index, label)
        for page_start, index, label in stretch.pages[begin:]
        if page_start < char_end
    )
    return Passage(hits, kept, char_start, char_end, table, tokens)
