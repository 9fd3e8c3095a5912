"""From characters of a PDF's text back to rectangles on its pages. Runs in a worker process only."""

from bisect import bisect_right
from collections.abc import Sequence

import pypdfium2 as pdfium

from services.retriever.documents import PAGE_BREAK, Box
from services.retriever.parsing.pdf import pages
from services.retriever.parsing.pdf.geometry import merge_lines
from services.retriever.parsing.pdf.page import FULL, PageText

Place = tuple[int, list[Box]]


def locate(
    data: bytes,
    spans: Sequence[tuple[int, int]],
    password: str = "",
    page_starts: Sequence[int] = (),
) -> list[list[Place]]:
    """For each span of the document's text, the pages it stands on with one rectangle per line.

    `page_starts` are the pages' char_start as they were stored; with them only the pages that the spans touch are
    read. A span without ink (spaces, nothing) has no places. Raises as pages.opened.
    """
    with pages.opened(data, password) as document:
        found = _Pages(document, page_starts)
        return [found.places(start, end) for start, end in spans]


class _Pages:
    def __init__(self, document: pdfium.PdfDocument, starts: Sequence[int]) -> None:
        self._document = document
        self._read: dict[int, PageText | None] = {}
        self._starts = list(starts) if len(starts) == len(document) else self._count()

    def places(self, start: int, end: int) -> list[Place]:
        found: list[Place] = []
        index = max(0, bisect_right(self._starts, start) - 1)
        while index < len(self._starts) and self._starts[index] < end:
            page = self._page(index)
            if page is not None:
                offset = self._starts[index]
                boxes = _boxes(page, max(0, start - offset), end - offset)
                if boxes:
                    found.append((index, boxes))
            index += 1
        return found

    def _page(self, index: int) -> PageText | None:
        if index not in self._read:
            try:
                self._read[index] = pages.read_page(self._document, index)
            except pdfium.PdfiumError:
                self._read[index] = None
        return self._read[index]

    def _count(self) -> list[int]:
        starts, start = [], 0
        for index in range(len(self._document)):
            starts.append(start)
            page = self._page(index)
            start += (len(page.text) if page else 0) + len(PAGE_BREAK)
        return starts


def _boxes(page: PageText, start: int, end: int) -> list[Box]:
    boxes: list[Box] = []
    for index in range(start, min(end, len(page.text))):
        left, top, right, bottom = page.boxes[4 * index : 4 * index + 4]
        if left < right and top < bottom:
            boxes.append(Box(left / FULL, top / FULL, right / FULL, bottom / FULL))
    return merge_lines(boxes, page.size)
