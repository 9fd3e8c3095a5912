"""Pages with tables, drawn, and the tables that are found on them."""

from collections.abc import Sequence

import pypdfium2 as pdfium

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import glyphs, grids, hidden, pages, rules, tables
from tests.retriever.parsing import pdfs

_WIDTHS = {",": 278, ".": 278, "(": 333, ")": 333, "-": 333, " ": 278, "%": 889, "$": 556}


def right(words: str, x: float, y: float, size: float = 10) -> bytes:
    """Figures that end at x."""
    width = sum(_WIDTHS.get(char, 556) for char in words) * size / 1000
    return pdfs.text(words, x - width, y, size)


def left(words: str, x: float, y: float, size: float = 10, font: str = "F1") -> bytes:
    return pdfs.text(words, x, y, size, font)


def line(x0: float, y0: float, x1: float, y1: float) -> bytes:
    return f"0.5 w {x0} {y0} m {x1} {y1} l S\n".encode()


def found(content: bytes) -> list[tuple[grids.Grid, dict[tuple[int, int], str]]]:
    """The tables of a page with this content, and the text of each cell."""
    document = pdfium.PdfDocument(pdfs.make([content]))
    try:
        page = document[0]
        chars = glyphs.read(page)
        flags = hidden.find(page, chars).flags
        grids = tables.find(chars, flags, rules.read(page, chars.frame))
        page.close()
    finally:
        document.close()
    return [
        (
            grid,
            {
                (cell.row, cell.column): "".join(
                    " " if at < 0 else chars.chars[at] for at in cell.glyphs
                )
                for cell in grid.cells
            },
        )
        for grid in grids
    ]


def statement(rows: Sequence[tuple[str, str, str]], money: bool = True) -> bytes:
    """Names at the left, two columns of figures at the right under two years."""
    content = left("(in thousands)", 60, 720) + left("2022", 382, 720) + left("2021", 482, 720)
    for at, (name, one, other) in enumerate(rows):
        y = 700 - 14 * at
        content += left(name, 60, y)
        for value, x in ((one, 400), (other, 500)):
            if value:
                content += right(value, x, y)
                if money and at == 0:
                    content += left("$", x - 65, y)
    return content


ROWS = [
    ("Inventories", "5,877,879", "4,021,330"),
    ("Receivables", "917", "1,028"),
    ("Loss on leases", "(212)", "-"),
    ("Total assets", "11,306,204", "9,000,001"),
]


PROSE = (
    "The night watch begins at ten in the",
    "evening, when 40 lamps are lit, and it",
    "goes on until the last of the 12 boats",
    "has come in, or at six, whichever is",
    "the later of the two. Whoever leaves",
    "before that tells the harbour master,",
)


def two_columns() -> bytes:
    return b"".join(
        left(words, x, 700 - 13 * at) for at, words in enumerate(PROSE) for x in (60, 320)
    )


def parsed(*contents: bytes) -> ParsedDocument:
    return pages.parse(pdfs.make(contents))
