"""Plain text, and the decoding of every text format."""

from folio.formats import MediaType
from services.retriever.documents import PAGE_BREAK, Page, ParsedDocument
from services.retriever.parsing import sections
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.media import looks_utf16
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """A form feed ends a page; pages are labelled by their number. One section: no headings are guessed."""
    raw, warnings = decode(data)
    pages: list[Page] = []
    start = 0
    # A feed at the very end closes the last page; it does not open an empty one.
    for index, part in enumerate(raw.removesuffix("\f").split("\f")):
        text = clean(part).text
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


def decode(data: bytes, charset: str = "") -> tuple[str, tuple[str, ...]]:
    """Bytes to text: by byte order mark, else `charset`, UTF-8, UTF-16 by its zeros, Windows-1252, Latin-1.

    Lone surrogates come through, for `clean` to join or to drop. Never raises; the second result says what was
    guessed.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), ()
    for encoding in (charset, "utf-8", looks_utf16(data[: 2**20])):
        text = _try(data, encoding) if encoding else None
        if text is not None:
            return text, ()
    guessed = ("not UTF-8: read as Windows-1252",)
    text = _try(data, "cp1252")
    return (text if text is not None else data.decode("latin-1")), guessed


def _try(data: bytes, encoding: str) -> str | None:
    try:
        errors = "surrogatepass" if encoding.startswith("utf") else "strict"
        return data.decode(encoding, errors)
    except (UnicodeError, LookupError):
        return None
