"""Plain text: pages between form feeds, and no headings."""

from folio.formats import MediaType
from services.retriever.documents import PAGE_BREAK, Page, ParsedDocument
from services.retriever.parsing import sections
from services.retriever.parsing.encodings import decode
from services.retriever.parsing.hyphens import settled
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """A form feed ends a page; pages are labelled by their number. One section: no headings are guessed."""
    raw, warnings = decode(data, named=hints.charset)
    pages: list[Page] = []
    start = 0
    # A feed at the very end closes the last page; it does not open an empty one.
    parts = raw.removesuffix("\f").split("\f")
    for index, cleaned in enumerate(settled([clean(part, line_hyphens=True) for part in parts])):
        text = cleaned.text
        pages.append(Page(index, str(index + 1), text, start))
        start += len(text) + len(PAGE_BREAK)
    length = max(0, start - len(PAGE_BREAK))
    return ParsedDocument(
        media_type=MediaType.TEXT,
        title=hints.title_of(),
        pages=tuple(pages),
        sections=sections.build((), length),
        empty_pages=tuple(page.index for page in pages if not page.text),
        warnings=warnings,
    )
