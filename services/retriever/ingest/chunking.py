"""A document to chunks: windows of tokens, snapped to paragraphs and headings. Rules and formulas: CHUNKING.md.

A chunk is a slice of the document's text by the tokenizer's offsets, never decoded tokens: an uncased tokenizer
would lose case, and then no quote would be verbatim.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from typing import Protocol

from services.retriever.documents import PAGE_BREAK, ChunkSpan, ParsedDocument, Section
from services.retriever.ingest import rows
from services.retriever.parsing.sections import top_level
from services.text.scripts import is_unspaced

# A token longer than this is a run that the tokenizer gave up on (WordPiece: [UNK] for a megabyte without a space).
# It counts as one token for every four characters, the usual ratio, and may be cut there.
_LONG_TOKEN = 32
_CHARS_PER_PIECE = 4
# Tokens of a word, at most: a longer run is data, and may be cut.
_MAX_WORD = 64
# Numbers and dates with spaces in them.
_SPACED = re.compile(
    r"(?<![\w.,])\d{1,3}(?:[ \xa0\u2009\u202f]\d{3})+(?!\w)"
    r"|(?<!\w)\d{1,2}\.?[ \xa0][^\W\d_]{3,12}\.?[ \xa0]\d{4}(?!\w)"
    r"|(?<!\w)[^\W\d_]{3,12}\.?[ \xa0]\d{1,2}(?:st|nd|rd|th)?,?[ \xa0]\d{4}(?!\w)"
)
_GAP = re.compile(r"[ \xa0\u2009\u202f]+")
_SENTENCE = re.compile(
    r"(?<!\b[^\W\d_])[.!?\u2026][\"')\]\u201d\u2019\u00bb]*\s+(?=[^\Wa-z_]|[\"'(\[\u201c\u201e\u00ab])"
    r"|[\u3002\uff01\uff1f]\s*"
)
# Texts are tokenized in blocks of about this many characters: an encoding takes a hundred times its text in memory.
_MAX_INDENT = 200
_BLOCK_CHARS = 65_536


class Tokenizer(Protocol):
    """The embedder's tokenizer."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The characters of every token of `text`, end exclusive: no special tokens, nothing truncated."""
        ...


@dataclass(frozen=True)
class _Tokens:
    """Places where a chunk may begin: `starts[i]` is a character offset, `before[i]` the tokens in front of it.

    `before` has one entry more than `starts`: the number of all tokens. Tokens that share a source character (the
    three tokens of a ligature) are one place, and so are those of a word, a number, a code, an address or a date: no
    border is inside of one.
    """

    starts: list[int]
    before: list[int]


def chunk(
    document: ParsedDocument,
    tokenizer: Tokenizer,
    size: int = 500,
    overlap: int = 50,
    snap: int = 50,
    limit: int | None = None,
) -> list[ChunkSpan]:
    """Cuts a document into windows of `size` tokens, each beginning `overlap` tokens before the end of the last.

    A window's end moves to the nearest heading, else the nearest paragraph, else the nearest sentence, within `snap`
    tokens. No window crosses a top-level section. `limit` is the most tokens that the embedder reads in one text,
    without its special tokens: no chunk is longer. Raises ValueError for sizes that cannot work.

    Every character that is not a space is in a chunk; char_start and char_end strictly increase.
    """
    if limit is not None:
        size = min(size, limit)
    if not 0 <= overlap < size or snap < 0:
        raise ValueError(
            f"size {size}, overlap {overlap}, snap {snap}: 0 <= overlap < size, 0 <= snap"
        )
    # A window that ends early must still reach beyond the next one's beginning.
    back = min(snap, size - overlap - 1)
    forward = snap if limit is None else min(snap, limit - size)
    text = document.text
    places = _Places(document)
    chunks: list[ChunkSpan] = []
    for start, end in _units(document.sections, len(text)):
        tokens = _whole_words(_tokenize(tokenizer, text, start, end), text, start, end, size)
        for first, last in _windows(tokens, size, overlap, back, forward, places):
            char_start = start if first == 0 else tokens.starts[first]
            char_end = end if last == len(tokens.starts) else tokens.starts[last]
            char_start, char_end = _strip(text, char_start, char_end)
            if char_start < char_end:
                count = tokens.before[last] - tokens.before[first]
                chunks.append(places.span(len(chunks), char_start, char_end, count))
    return chunks


def row_chunks(
    document: ParsedDocument,
    tokenizer: Tokenizer,
    windows: Sequence[ChunkSpan],
    most: int,
    limit: int,
) -> tuple[list[ChunkSpan], int]:
    """The rows of a document's tables as chunks, numbered on from its windows; and how many tables have none, for
    there are more than `most` rows. A row of more than `limit` tokens with its heads has none: its windows hold it."""
    found, left_out = rows.rows(document, most)
    places = _Places(document)
    ends = [window.char_end for window in windows]
    chunks: list[ChunkSpan] = []
    for row in found:
        # The first window that reaches to the row's end: if any holds it whole, this one does.
        window = min(bisect_left(ends, row.char_end), len(windows) - 1)
        count = len(tokenizer.offsets(row.reading))
        if 0 < count <= limit:
            chunks.append(
                replace(
                    places.span(len(windows) + len(chunks), row.char_start, row.char_end, count),
                    reading=row.reading,
                    window=windows[window].ordinal,
                )
            )
    return chunks, left_out


def plain_count(tokens: int, size: int = 500, overlap: int = 50) -> int:
    """Windows over `tokens` tokens when nothing snaps: ceil((N - O) / (S - O)), and one for a short text."""
    return max(1, ceil((tokens - overlap) / (size - overlap))) if tokens else 0


def _units(sections: Sequence[Section], length: int) -> Iterator[tuple[int, int]]:
    borders = top_level(sections)
    yield from zip(borders, [*borders[1:], length], strict=True)


def _windows(
    tokens: _Tokens,
    size: int,
    overlap: int,
    back: int,
    forward: int,
    places: "_Places",
) -> Iterator[tuple[int, int]]:
    """Ranges of `tokens.starts`, end exclusive. Text without any token is one window."""
    count, before = len(tokens.starts), tokens.before
    first = last = 0
    while True:
        plain = before[first] + size
        if before[count] <= plain + forward:
            # The end of the unit is a border like a heading. Without snapping it is reached exactly or not at all.
            last = count
        else:
            last = max(last + 1, _snapped(tokens, places, plain, size, overlap, back, forward))
        yield first, last
        if last >= count:
            return
        start = min(last, bisect_left(before, before[last] - overlap))
        if back or forward:
            start = places.sentence_near(tokens, start, overlap // 2)
        # The next window must reach beyond this one.
        least = bisect_left(before, before[last + 1] - size)
        first = max(first + 1, min(last, max(least, places.row_after(tokens, start))))


def _snapped(
    tokens: _Tokens, places: "_Places", plain: int, size: int, overlap: int, back: int, forward: int
) -> int:
    """The index of the border nearest to `plain` tokens: a heading before a paragraph before a sentence before the
    plain place; within a table the beginning of a row, so far as the window reaches beyond the next one's beginning."""
    low = bisect_left(tokens.before, plain - back)
    high = bisect_right(tokens.before, plain + forward) - 1
    for borders in (places.headings, places.paragraphs, places.sentences) if low <= high else ():
        left = bisect_left(borders, tokens.starts[low])
        right = bisect_right(borders, tokens.starts[high])
        found = {bisect_left(tokens.starts, border) for border in borders[left:right]}
        candidates = [index for index in found if low <= index <= high]
        if candidates:
            return min(candidates, key=lambda index: (abs(tokens.before[index] - plain), index))
    end = bisect_right(tokens.before, plain) - 1
    row = places.row_before(tokens, end)
    return row if tokens.before[row] > plain - size + overlap else end


def _tokenize(tokenizer: Tokenizer, text: str, start: int, end: int) -> _Tokens:
    starts: list[int] = []
    weights: list[int] = []
    covered = start
    for block_start, block_end in _blocks(text, start, end):
        for token_start, token_end in tokenizer.offsets(text[block_start:block_end]):
            # Offsets are trusted to be inside their block and nothing more: some normalizers give them out of order.
            char_start = max(covered, block_start + token_start)
            char_end = min(block_start + token_end, block_end)
            if char_end <= char_start:
                if weights:
                    weights[-1] += 1
                continue
            step = (
                _CHARS_PER_PIECE if char_end - char_start > _LONG_TOKEN else char_end - char_start
            )
            for piece in range(char_start, char_end, step):
                starts.append(piece)
                weights.append(1)
            covered = char_end
    return _Tokens(starts, list(accumulate(weights, initial=0)))


def _whole_words(tokens: _Tokens, text: str, first: int, end: int, size: int) -> _Tokens:
    """The same without the places inside words; a run of more than _MAX_WORD tokens, or half a window, may be cut."""
    within = {
        match.start() + gap.end()
        for match in _SPACED.finditer(text, first, end)
        for gap in _GAP.finditer(match.group())
    }
    most = max(1, min(_MAX_WORD, size // 2))
    starts: list[int] = []
    before: list[int] = []
    for start, count in zip(tokens.starts, tokens.before, strict=False):
        whole = not starts or (start not in within and _parts(text[start - 1], text[start]))
        if whole or count - before[-1] >= most:
            starts.append(start)
            before.append(count)
    return _Tokens(starts, [*before, tokens.before[-1]])


def _parts(before: str, char: str) -> bool:
    """Whether a word may end between two characters."""
    return before.isspace() or is_unspaced(before) or is_unspaced(char)


def _blocks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cuts at paragraphs, else at lines, else at spaces, else anywhere, so that no word is in two blocks if it fits."""
    while end - start > _BLOCK_CHARS:
        cut = start + _BLOCK_CHARS
        for separator in (PAGE_BREAK, "\n", " "):
            found = text.rfind(separator, start + _BLOCK_CHARS // 2, cut)
            if found > 0:
                cut = found
                break
        yield start, cut
        start = cut
    yield start, end


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the white space at both ends, but with the indentation of a first line that has one: of code."""
    body = text[start:end]
    end = start + len(body.rstrip())
    start = line = end - len(body.strip())
    while line > max(0, start - _MAX_INDENT) and text[line - 1] in " \t":
        line -= 1
    return (line if line == 0 or text[line - 1] == "\n" else start), end


class _Places:
    """Where the pages, sections, headings, paragraphs, sentences and rows of a document begin."""

    def __init__(self, document: ParsedDocument) -> None:
        self._text = document.text
        self._pages = document.pages
        self._page_starts = [page.char_start for page in document.pages]
        self._sections = document.sections
        self.headings = [section.char_start for section in document.sections]
        self.paragraphs = _paragraphs(document.text, set(self._page_starts))
        self.sentences = [match.end() for match in _SENTENCE.finditer(document.text)]
        self._rows = rows.borders(document.tables)
        self._tables = [(table.char_start, table.char_end) for table in document.tables]

    def span(self, ordinal: int, start: int, end: int, tokens: int) -> ChunkSpan:
        first = self._page(start)
        return ChunkSpan(
            ordinal=ordinal,
            section=self._section(start, end),
            char_start=start,
            char_end=end,
            page_start=self._pages[first].index,
            page_end=self._pages[self._page(end - 1)].index,
            page_label=self._pages[first].label,
            token_count=tokens,
        )

    def sentence_near(self, tokens: _Tokens, index: int, reach: int) -> int:
        """The place nearest to `index`, within `reach` tokens, where a sentence or a paragraph begins; else itself."""
        if index >= len(tokens.starts):
            return index
        at = tokens.before[index]
        low = bisect_left(tokens.before, at - reach)
        high = min(bisect_right(tokens.before, at + reach), len(tokens.starts)) - 1
        found = set()
        for borders in (self.sentences, self.paragraphs):
            left = bisect_left(borders, tokens.starts[low])
            right = bisect_right(borders, tokens.starts[high])
            found |= {bisect_left(tokens.starts, border) for border in borders[left:right]}
        return min(found, key=lambda place: (abs(tokens.before[place] - at), place), default=index)

    def row_before(self, tokens: _Tokens, index: int) -> int:
        """The place where the row of a table begins that `index` is in; itself outside of tables."""
        offset = tokens.starts[index]
        if not self._in_table(offset):
            return index
        return bisect_left(tokens.starts, self._rows[bisect_right(self._rows, offset) - 1])

    def row_after(self, tokens: _Tokens, index: int) -> int:
        """The place where the next row begins, if `index` is within one; itself outside of tables."""
        if index >= len(tokens.starts) or not self._in_table(tokens.starts[index]):
            return index
        return bisect_left(tokens.starts, self._rows[bisect_left(self._rows, tokens.starts[index])])

    def _in_table(self, offset: int) -> bool:
        at = bisect_right(self._tables, (offset, len(self._text))) - 1
        return at >= 0 and self._tables[at][0] <= offset < self._tables[at][1]

    def _page(self, offset: int) -> int:
        return bisect_right(self._page_starts, offset) - 1

    def _section(self, start: int, end: int) -> int:
        """The section that holds most of the chunk, the first of equals."""
        index = bisect_right(self.headings, start) - 1
        best, most = index, 0
        while index < len(self._sections) and self._sections[index].char_start < end:
            section = self._sections[index]
            share = min(end, section.char_end) - max(start, section.char_start)
            if share > most:
                best, most = index, share
            index += 1
        return best


def _paragraphs(text: str, page_starts: set[int]) -> list[int]:
    """Offsets behind empty lines. A page's beginning counts unless its first word goes on in lower case."""
    found: list[int] = []
    at = text.find(PAGE_BREAK)
    while at >= 0:
        at += len(PAGE_BREAK)
        while text.startswith("\n", at):
            at += 1
        if at not in page_starts or not text[at : at + 1].islower():
            found.append(at)
        at = text.find(PAGE_BREAK, at)
    return found
