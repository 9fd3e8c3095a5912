"""Folds the blocks of a message into sentences with citations; the same whether it was streamed or came whole.

A block's citations support that block's text. Blocks do not end where sentences do: a sentence takes the citations
of every block that gave it a letter or a digit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.generator.answers import Citation, Sentence, Source
from services.generator.quotes import locate
from services.generator.sentences import split

# An index that no source has: a citation of nothing, which no check lets pass.
NO_SOURCE = 2**32 - 1


@dataclass
class _Block:
    start: int
    text: list[str] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)


class Transcript:
    """Fed with blocks in order; gives sentences as soon as nothing can change them."""

    def __init__(self, documents: Sequence[Source]) -> None:
        self._documents = documents
        self._text = ""
        self._said_until = 0
        self._closed: list[tuple[int, int, tuple[Citation, ...]]] = []
        self._open: dict[int, _Block] = {}

    @property
    def text(self) -> str:
        """Of all closed blocks."""
        return self._text

    def feed(self, event: Any) -> Iterator[Sentence]:
        """Takes one event of a stream; gives the sentences that it makes certain."""
        if event.type == "content_block_start" and event.content_block.type == "text":
            self.open(event.index)
            self.add_text(event.index, event.content_block.text or "")
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            self.add_text(event.index, event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "citations_delta":
            self.add_citation(event.index, event.delta.citation)
        elif event.type == "content_block_stop":
            yield from self.close(event.index)

    def open(self, index: int) -> None:
        """A text block begins."""
        self._open[index] = _Block(len(self._text))

    def add_text(self, index: int, text: str) -> None:
        """More text of an open block; a block nobody opened is ignored."""
        if index in self._open:
            self._open[index].text.append(text)

    def add_citation(self, index: int, raw: Any) -> None:
        """A citation of an open block, before, between or after its text."""
        block = self._open.get(index)
        if block is not None:
            citation = checked(raw, self._documents)
            if citation not in block.citations:
                block.citations.append(citation)

    def close(self, index: int) -> Iterator[Sentence]:
        """The block is whole: gives the sentences that are now certain."""
        block = self._open.pop(index, None)
        if block is None:
            return
        start = len(self._text)
        self._text += "".join(block.text)
        self._closed.append((start, len(self._text), tuple(block.citations)))
        yield from self._say(keep_last=True)

    def finish(self) -> Iterator[Sentence]:
        """The message is whole: gives what is left."""
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


def checked(raw: Any, documents: Sequence[Source]) -> Citation:
    """A citation as the provider gave it, made ours: offsets right, quote verbatim, or one that proves nothing."""
    index = getattr(raw, "document_index", None)
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(documents):
        return Citation(NO_SOURCE, "", 0, 0)
    source = documents[index]
    quote = getattr(raw, "cited_text", None)
    start, end = getattr(raw, "start_char_index", None), getattr(raw, "end_char_index", None)
    if getattr(raw, "type", "") != "char_location" or not isinstance(quote, str):
        return Citation(source.index, "", 0, 0)
    near = start if isinstance(start, int) else 0
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(source.text):
        given = source.text[start:end]
        if given == quote and given.strip():
            return Citation(source.index, quote, start, end)
    span = locate(source.text, quote, near)
    if span is None:
        return Citation(source.index, "", 0, 0)
    return Citation(source.index, source.text[span.start : span.end], span.start, span.end)
