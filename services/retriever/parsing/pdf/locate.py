"""From words of a PDF to rectangles on its pages, for documents whose boxes were not kept when they were read.

Runs in a worker process only.
"""

from collections.abc import Sequence
from dataclasses import replace

import pypdfium2 as pdfium

from services.retriever import places
from services.retriever.documents import Box, Page
from services.retriever.parsing.pdf import pages
from services.retriever.parsing.pdf.opening import opened
from services.retriever.parsing.pdf.page import read_page
from services.retriever.parsing.wire import Quote


def locate(data: bytes, quotes: Sequence[Quote]) -> list[list[Box]]:
    """For each quote one rectangle per line; none where its page no longer reads so. Raises as `opening.opened`."""
    read: dict[int, Page | None] = {}
    with opened(data) as document:
        found = []
        for quote in quotes:
            if quote.page not in read:
                read[quote.page] = _page(document, quote.page)
            page = read[quote.page]
            found.append(_boxes(page, quote) if page is not None else [])
        return found


def _page(document: pdfium.PdfDocument, index: int) -> Page | None:
    if not 0 <= index < len(document):
        return None
    try:
        return pages.as_page(read_page(document, index), index)
    except pdfium.PdfiumError:
        return None


def _boxes(page: Page, quote: Quote) -> list[Box]:
    """Letters and digits are compared, nothing else: hyphens, spaces and marks are what another reading changes."""
    kept = [index for index, char in enumerate(page.text) if char.isalnum()]
    letters = "".join(page.text[index] for index in kept)
    wanted = "".join(filter(str.isalnum, quote.words))
    starts = []
    at = letters.find(wanted) if wanted else -1
    while at >= 0:
        starts.append(at)
        at = letters.find(wanted, at + 1)
    if not starts:
        return []
    first = min(starts, key=lambda start: abs(start - quote.before))
    return places.regions(
        replace(page, char_start=0), kept[first], kept[first + len(wanted) - 1] + 1
    )
