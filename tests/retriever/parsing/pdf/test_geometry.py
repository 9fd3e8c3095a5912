"""Where a quote stands: worked by hand for a page, its crop box and its rotations; and for lines and columns."""

import io

import pytest
from PIL import Image

from services.retriever import places
from services.retriever.documents import Box
from services.retriever.parsing.pdf import locate, pages, render
from services.retriever.parsing.pdf.geometry import Frame, clip, merge_lines
from services.retriever.parsing.wire import Quote
from tests.retriever.parsing.pdfs import make, text


def regions(data: bytes, start: int, end: int) -> list[tuple[int, list[Box]]]:
    """The pages that a span of the document's text stands on, each with its boxes."""
    found = ((page.index, places.regions(page, start, end)) for page in pages.parse(data).pages)
    return [(index, boxes) for index, boxes in found if boxes]


# 400 x 500 points, the lower left corner at (100, 200); a rectangle near its left edge, a bit above the middle.
RECTANGLE = (100.0, 450.0, 140.0, 500.0)


@pytest.mark.parametrize(
    ("rotation", "size", "box"),
    [
        (0, (400, 500), Box(0.0, 0.4, 0.1, 0.5)),
        (90, (500, 400), Box(0.5, 0.0, 0.6, 0.1)),
        (180, (400, 500), Box(0.9, 0.5, 1.0, 0.6)),
        (270, (500, 400), Box(0.4, 0.9, 0.5, 1.0)),
    ],
)
def test_rotations(rotation: int, size: tuple[float, float], box: Box) -> None:
    frame = Frame(100, 200, 500, 700, rotation)
    shown = frame.shown(RECTANGLE)
    assert frame.size == size
    assert (shown.left, shown.top, shown.right, shown.bottom) == pytest.approx(
        (box.left, box.top, box.right, box.bottom)
    )


def test_what_is_off_the_page_is_cut_off() -> None:
    assert clip(Box(-0.5, 0.2, 0.3, 1.2)) == Box(0.0, 0.2, 0.3, 1.0)
    assert clip(Box(1.1, 0.2, 1.3, 0.4)) is None


def test_letters_become_lines_and_columns() -> None:
    page = (100.0, 100.0)
    line = [Box(x / 100, 0.1, (x + 1) / 100, 0.12) for x in (10, 11, 13)]
    gutter = [Box(0.6, 0.1, 0.61, 0.12)]
    column = [Box(0.5, y / 100, 0.51, (y + 1) / 100) for y in (30, 31, 32, 33, 34)]
    assert merge_lines(line + gutter, page) == [Box(0.1, 0.1, 0.14, 0.12), gutter[0]]
    assert len(merge_lines(column, page)) == 1
    below = [Box(0.1, 0.125, 0.11, 0.145)]
    assert len(merge_lines(line + below, page)) == 2


@pytest.mark.parametrize("entries", ["", "/CropBox [100 200 500 700]"])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_the_highlight_is_on_the_ink(entries: str, rotation: int) -> None:
    """The only ink of the page is the quote: all dark pixels are inside its box, and the box is full of them."""
    data = make(
        [text("QUOTE", x=250, y=420, size=30)], page_entries=f"{entries} /Rotate {rotation}"
    )
    ((page, boxes),) = regions(data, 0, 5)
    png, width, height = render.render(data, page, 72, [], "", 10**7)
    ink = (
        Image.open(io.BytesIO(png)).convert("L").point(lambda value: 255 * (value < 128)).getbbox()
    )
    assert len(boxes) == 1
    assert ink is not None
    box = boxes[0]
    left, top, right, bottom = (
        box.left * width,
        box.top * height,
        box.right * width,
        box.bottom * height,
    )
    assert left - 1 <= ink[0] < ink[2] <= right + 1
    assert top - 1 <= ink[1] < ink[3] <= bottom + 1
    assert (ink[2] - ink[0]) * (ink[3] - ink[1]) > 0.5 * (right - left) * (bottom - top)


def test_a_slice_over_pages_lines_ligatures_and_broken_words() -> None:
    page = text("Das Fach heißt Politik-", y=700) + text("wissenschaft und mehr.", y=686)
    data = make([page, text("Second page.")])
    text_ = pages.parse(data).text
    word = text_.index("Politikwissenschaft")
    assert [(index, len(boxes)) for index, boxes in regions(data, word, word + 19)] == [(0, 2)]
    everything = regions(data, 0, len(text_))
    assert [(index, len(boxes)) for index, boxes in everything] == [(0, 2), (1, 1)]


@pytest.mark.parametrize("span", [(3, 5), (900, 950), (2, 1), (0, 0)])
def test_nothing_and_nowhere_have_no_place(span: tuple[int, int]) -> None:
    assert regions(make([text("one"), b""]), *span) == []


def test_words_are_found_on_their_page_again() -> None:
    """As for a document whose boxes were not kept: by letters and digits, the nearest of several places."""
    page = text("A sum of 300", y=700) + text("and a sum of 4-", y=600) + text("00 euros", y=586)
    data = make([page, text("sum", y=500)])
    quotes = [Quote(0, "sum of", 0), Quote(0, "sum of", 14), Quote(0, "of 400 euros", 17)]
    quotes += [Quote(1, "sum", 0), Quote(1, "of", 0), Quote(0, "--", 0), Quote(7, "sum", 0)]
    found = locate.locate(data, quotes)
    assert [len(boxes) for boxes in found] == [1, 1, 2, 1, 0, 0, 0]
    assert found[0][0].top < found[1][0].top


def test_the_same_bytes_give_the_same_offsets() -> None:
    data = make([text(f"Line {line}", y=700 - 13 * line) for line in range(3)])
    assert pages.parse(data) == pages.parse(data)


def test_a_huge_page_is_drawn_with_fewer_dots() -> None:
    data = make([text("x")]).replace(b"[0 0 612 792]", b"[0 0 14400 14400]")
    _, width, height = render.render(data, 0, 300, [], "", 1_000_000)
    assert width * height <= 1_010_000
