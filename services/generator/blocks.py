"""Folds blocks of text and their quotes into sentences with citations.

A block's quotes support that block's text. Blocks do not end where sentences do: a sentence takes the quotes of every
block that gave it a letter or a digit.
"""

from collections.abc import Iterator, Sequence

from services.generator.answers import NO_SOURCE, Citation, Sentence, Source
from services.generator.providers import BlockEnd, Quote, Text
from services.generator.quotes import locate
from services.generator.sentences import split


class BlockReader:
    """Fed with deltas in order; gives sentences as soon as nothing can change them."""

    def __init__(self, documents: Sequence[Source]) -> None:
        self._documents = documents
        self._text = ""
        self._said_until = 0
        self._block: list[str] = []
        self._quotes: dict[Citation, None] = {}
        self._closed: list[tuple[int, int, tuple[Citation, ...]]] = []

    @property
    def text(self) -> str:
        """Of all closed blocks."""
        return self._text

    def read(self, delta: Text | Quote | BlockEnd) -> Iterator[Sentence]:
        """Takes what came; gives the sentences that it makes certain. Quotes come before, between or after the text."""
        match delta:
            case Text():
                self._block.append(delta.text)
            case Quote():
                self._quotes[checked(delta, self._documents)] = None
            case BlockEnd():
                start = len(self._text)
                self._text += "".join(self._block)
                self._closed.append((start, len(self._text), tuple(self._quotes)))
                self._block, self._quotes = [], {}
                yield from self._say(keep_last=True)

    def finish(self) -> Iterator[Sentence]:
        """There is no more: gives what is left."""
        yield from self._say(keep_last=False)

    def _say(self, *, keep_last: bool) -> Iterator[Sentence]:
        offset = self._said_until
        spans = split(self._text[offset:])
        for span in spans[:-1] if keep_last else spans:
            start, end = span.start + offset, span.end + offset
            self._said_until = end
            yield Sentence(" ".join(self._text[start:end].split()), self._citations(start, end))

    def _citations(self, start: int, end: int) -> tuple[Citation, ...]:
        found: dict[Citation, None] = {}
        for block_start, block_end, citations in self._closed:
            shared = self._text[max(start, block_start) : min(end, block_end)]
            if any(char.isalnum() for char in shared):
                found.update(dict.fromkeys(citations))
        return tuple(found)


def checked(quote: Quote, documents: Sequence[Source]) -> Citation:
    """A quote as the provider gave it, made ours: offsets right, words verbatim, or one that proves nothing."""
    if not 0 <= quote.document < len(documents):
        return Citation(NO_SOURCE, "", 0, 0)
    source = documents[quote.document]
    if 0 <= quote.start < quote.end <= len(source.text):
        given = source.text[quote.start : quote.end]
        if given == quote.text and given.strip():
            return Citation(source.index, quote.text, quote.start, quote.end)
    span = locate(source.text, quote.text, quote.start)
    if span is None:
        return Citation(source.index, "", 0, 0)
    return Citation(source.index, source.text[span.start : span.end], span.start, span.end)
