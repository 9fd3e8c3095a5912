"""What a generator reads: search finds chunks, a reader gets the sections around them.

Each section once, ranked by its best hit, within a budget of tokens. A section that is too long, or a document
without headings, gives the hit and its neighbourhood.
"""

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from services.postgres.pool import TenantPool, tenant
from services.retriever import catalogue
from services.retriever.documents import Table
from services.retriever.ingest.chunking import Tokenizer
from services.retriever.records import ChunkRecord
from services.retriever.search.pieces import around, cut, heads, merged, whole_rows
from services.retriever.search.stretches import Fragment, Stretch, stretches
from services.rpc.errors import NotFound
from services.rpc.identity import Principal
from services.text.tables import Place

MAX_PASSAGE_TOKENS = 2000
MAX_TOTAL_TOKENS = 8000
# What stands between the slices of a passage.
OMITTED = "\n[\u2026]\n"

_PARAGRAPH = re.compile(r"\n\n+")


@dataclass(frozen=True)
class PageStart:
    """From this character of the passage on, the text stands on this page."""

    char_offset: int
    page: int
    label: str


@dataclass(frozen=True)
class Slice:
    """So many characters of the passage from char_offset on are the document's from char_start on."""

    char_offset: int
    length: int
    char_start: int


@dataclass(frozen=True)
class Passage:
    """What a generator reads, with its hits, best first: a slice of the document's text, or several with OMITTED
    between them, where rows far below the head of their table are read. `tables` and `uncertain` are places in `text`.
    """

    hits: tuple[ChunkRecord, ...]
    text: str
    char_start: int
    char_end: int
    pages: tuple[PageStart, ...]
    token_count: int
    slices: tuple[Slice, ...]
    tables: tuple[Table, ...] = ()
    uncertain: tuple[Place, ...] = ()


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
        found = await stretches(
            connection, principal.organization_id, hits, passage_tokens, hits_only=hits_only
        )
    return await asyncio.to_thread(_cut, found, tokenizer, passage_tokens, total_tokens)


def _cut(
    found: Sequence[Stretch], tokenizer: Tokenizer, passage_tokens: int, total_tokens: int
) -> list[Passage]:
    """Spends the budget on the best stretches first; a passage holds its best hit or is not made."""
    result: list[Passage] = []
    left = total_tokens
    for stretch in found:
        cutter = _Cutter(stretch, tokenizer)
        rest = list(stretch.hits)
        while rest:
            made = cutter.rows(rest, min(passage_tokens, left)) or cutter.window(
                rest, min(passage_tokens, left)
            )
            if made is None:
                break
            rest = [hit for hit in rest if hit not in made.hits]
            left -= made.token_count
            result.append(made)
    return result


class _Cutter:
    """Cuts passages from one stretch."""

    def __init__(self, stretch: Stretch, tokenizer: Tokenizer) -> None:
        self._stretch, self._body = stretch, stretch.body
        self._tokenizer = tokenizer
        offsets = tokenizer.offsets(stretch.body.text)
        self._starts = [start for start, _ in offsets]
        self._ends = [end for _, end in offsets]
        self._taken: list[tuple[int, int]] = []

    def rows(self, hits: Sequence[ChunkRecord], allowed: int) -> Passage | None:
        """Of a table that is too long to be read whole: its head, and the rows around all hits in it, the best first.

        None where the first hit lies in no such table, or there is no room for it.
        """
        table = self._long_table(hits[0], allowed)
        if table is None:
            return None
        inside = [hit for hit in hits if _within(hit, table)]
        pieces: list[Place] = []
        kept: list[ChunkRecord] = []
        for hit, rows in zip(inside, around(table, inside), strict=True):
            here = [row for row in rows if self._body.start <= row[0] and row[1] <= self._body.end]
            longer = merged([*pieces, *here])
            if self._count([*heads(self._stretch, longer), *longer]) > allowed:
                break
            pieces = longer
            kept.append(hit)
        return self._passage(kept, pieces) if kept else None

    def _long_table(self, hit: ChunkRecord, allowed: int) -> Table | None:
        for each in self._stretch.tables:
            table = each.table
            if _within(hit, table) and self._count([(table.char_start, table.char_end)]) > allowed:
                return table
        return None

    def window(self, hits: Sequence[ChunkRecord], allowed: int) -> Passage | None:
        """The best hit, and as much around it as is allowed."""
        hit, base = hits[0], self._body.start
        lacking = heads(self._stretch, [(hit.char_start, hit.char_end)])
        room = allowed - self._count(lacking)
        window = _window(self._body, hit, self._starts, self._ends, room, self._taken)
        if window is None and lacking:
            # No room for the heads too: the hit alone is better than nothing.
            window = _window(self._body, hit, self._starts, self._ends, allowed, self._taken)
        if window is None:
            return None
        start, end = whole_rows(
            self._stretch.tables,
            window[0] + base,
            window[1] + base,
            (hit.char_start, hit.char_end),
        )
        inside = [each for each in hits if start <= each.char_start and each.char_end <= end]
        self._taken.append((start - base, end - base))
        return self._passage(inside or [hit], [(start, end)])

    def _count(self, places: Sequence[Place]) -> int:
        """Tokens of slices of the document."""
        total = 0
        for start, end in places:
            if self._body.start <= start and end <= self._body.end:
                first, last = start - self._body.start, end - self._body.start
                total += bisect_left(self._starts, last) - bisect_right(self._ends, first)
            else:
                total += len(self._tokenizer.offsets(self._text((start, end))))
        return total

    def _text(self, place: Place) -> str:
        """What of a slice was read."""
        at, end = place
        parts: list[str] = []
        for fragment in sorted(self._fragments, key=lambda fragment: fragment.start):
            if fragment.end <= at or end <= fragment.start:
                continue
            if fragment.start > at:
                # Two rows that were read apart: a line end stands between them.
                parts += ["\n"] if fragment.start == at + 1 and parts else []
                at = fragment.start
            parts.append(fragment.text[at - fragment.start : end - fragment.start])
            at = min(end, fragment.end)
        return "".join(parts)

    @property
    def _fragments(self) -> list[Fragment]:
        return [self._body, *(one for each in self._stretch.tables for one in each.above)]

    def _passage(self, hits: Sequence[ChunkRecord], found: Sequence[Place]) -> Passage:
        pieces = []
        for start, end in merged([*heads(self._stretch, found), *found]):
            text = self._text((start, end))
            begin = start + len(text) - len(text.lstrip())
            pieces.append((begin, begin + len(text.strip())))
        texts = [self._text(piece) for piece in pieces]
        slices: list[Slice] = []
        at = 0
        for piece, text in zip(pieces, texts, strict=True):
            slices.append(Slice(at, len(text), piece[0]))
            at += len(text) + len(OMITTED)
        placed = [(each.char_offset, piece) for each, piece in zip(slices, pieces, strict=True)]
        tables = (cut(each.table, placed) for each in self._stretch.tables)
        return Passage(
            hits=tuple(hits),
            text=OMITTED.join(texts),
            char_start=pieces[0][0],
            char_end=pieces[-1][1],
            pages=self._pages(placed),
            token_count=self._count(pieces),
            slices=tuple(slices),
            tables=tuple(table for table in tables if table is not None),
            uncertain=self._uncertain(placed),
        )

    def _pages(self, placed: Sequence[tuple[int, Place]]) -> tuple[PageStart, ...]:
        pages = {page.char_start: page for one in self._fragments for page in one.pages}
        ordered = [pages[start] for start in sorted(pages)]
        starts = [page.char_start for page in ordered]
        found: list[PageStart] = []
        for offset, (start, end) in placed:
            for page in ordered[max(0, bisect_right(starts, start) - 1) :]:
                if page.char_start >= end:
                    break
                at = offset + max(0, page.char_start - start)
                if not found or found[-1].page != page.page:
                    found.append(PageStart(at, page.page, page.label))
        return tuple(found)

    def _uncertain(self, placed: Sequence[tuple[int, Place]]) -> tuple[Place, ...]:
        spans = dict.fromkeys(span for one in self._fragments for span in one.uncertain)
        return tuple(
            (max(first, start) - start + offset, min(last, end) - start + offset)
            for offset, (start, end) in placed
            for first, last in spans
            if first < end and start < last
        )


def _within(hit: ChunkRecord, table: Table) -> bool:
    """Whether most of a hit lies in a table."""
    shared = min(hit.char_end, table.char_end) - max(hit.char_start, table.char_start)
    return 2 * shared > hit.char_end - hit.char_start


def _window(
    body: Fragment,
    hit: ChunkRecord,
    starts: Sequence[int],
    ends: Sequence[int],
    allowed: int,
    taken: Sequence[tuple[int, int]],
) -> tuple[int, int, int] | None:
    """(start, end, tokens) in the stretch: the hit, and as much around it as is allowed and not taken already."""
    hit_start, hit_end = hit.char_start - body.start, hit.char_end - body.start
    first, last = bisect_right(ends, hit_start), bisect_left(starts, hit_end)
    if not starts or last - first > allowed:
        return None
    low = max((end for _, end in taken if end <= hit_start), default=0)
    high = min((start for start, _ in taken if start >= hit_end), default=len(body.text))
    lowest, highest = bisect_left(starts, low), bisect_right(ends, high)
    spare = allowed - (last - first)
    before = min(first - lowest, spare // 2)
    after = min(highest - last, spare - before)
    before = min(first - lowest, spare - after)
    start = low if first - before <= lowest else starts[first - before]
    end = high if last + after >= highest else ends[last + after - 1]
    start, end = min(start, hit_start), max(end, hit_end)
    if start > low:
        start = _paragraph_after(body.text, start, hit_start)
    if end < high:
        end = _paragraph_before(body.text, hit_end, end)
    tokens = bisect_left(starts, end) - bisect_right(ends, start)
    return start, end, tokens


def _paragraph_after(text: str, start: int, limit: int) -> int:
    found = _PARAGRAPH.search(text, start, limit)
    return found.end() if found else start


def _paragraph_before(text: str, limit: int, end: int) -> int:
    found = text.rfind("\n\n", limit, end)
    return found if found > 0 else end
