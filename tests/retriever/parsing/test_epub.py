"""EPUB books as text."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from services.retriever.parsing import epub
from services.rpc.errors import FailedPrecondition, InvalidArgument
from tests.retriever.parsing.office.files import zipped

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PAGE = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'
CHAPTERS = {
    "c1.xhtml": "<h1>The storm</h1><p>It was dark<a href='#n'><sup>1</sup></a>.</p>",
    "c1b.xhtml": "<p>And it went on.</p>",
    "c2.xhtml": "<h1>The calm</h1><table><tr><th>Day</th><th>Wind</th></tr><tr><td>Monday</td><td>3</td></tr></table>",
}


def book(nav: bool = True, more: Mapping[str, str] = MappingProxyType({})) -> bytes:
    items = "".join(
        f'<item id="{name}" href="text/{name}" media-type="application/xhtml+xml"/>'
        for name in CHAPTERS
    )
    contents = (
        '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        if nav
        else '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in ("nav", *CHAPTERS))
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>At sea</dc:title></metadata><manifest>{items}{contents}</manifest><spine>{spine}</spine></package>"
    )
    entries = (("text/c1.xhtml", "1 The storm"), ("text/c2.xhtml#start", "2 The calm"))
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": opf,
        "OEBPS/nav.xhtml": PAGE.format(
            "<nav><ol>"
            + "".join(f'<li><a href="{at}">{name}</a></li>' for at, name in entries)
            + "</ol></nav>"
        ),
        "OEBPS/toc.ncx": '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://127.0.0.1:9/ncx.dtd"><ncx><navMap>'
        + "".join(
            f'<navPoint><navLabel><text>{name}</text></navLabel><content src="{at}"/></navPoint>'
            for at, name in entries
        )
        + "</navMap></ncx>",
        **{f"OEBPS/text/{name}": PAGE.format(text) for name, text in CHAPTERS.items()},
        **more,
    }
    return zipped(files, "mimetype")


@pytest.mark.parametrize("nav", [True, False])
def test_chapters_are_pages_in_the_order_of_reading(nav: bool) -> None:
    found = epub.parse(book(nav))
    assert found.title == "At sea"
    assert [page.label for page in found.pages] == ["1 The storm", "1 The storm", "2 The calm"]
    assert [page.text for page in found.pages] == [
        "The storm\n\nIt was dark[^1].",
        "And it went on.",
        "The calm\n\nDay | Wind\nMonday | 3",
    ]
    assert [section.path for section in found.sections] == [("The storm",), ("The calm",)]
    assert found.tables[0].head_rows == 1


def test_a_locked_book_is_refused_and_locked_fonts_are_not() -> None:
    def lock(path: str) -> str:
        return f'<encryption><CipherData><CipherReference URI="{path}"/></CipherData></encryption>'

    epub.parse(book(more={"META-INF/encryption.xml": lock("OEBPS/fonts/a.otf")}))
    with pytest.raises(FailedPrecondition) as raised:
        epub.parse(book(more={"META-INF/encryption.xml": lock("OEBPS/text/c2.xhtml")}))
    assert raised.value.reason == "UNSUPPORTED_ENCRYPTION"


def test_a_path_that_leads_out_of_the_book_leads_nowhere() -> None:
    data = book(
        more={"META-INF/container.xml": CONTAINER.replace("OEBPS/book.opf", "../../../etc/passwd")}
    )
    with pytest.raises(InvalidArgument) as raised:
        epub.parse(data)
    assert raised.value.reason == "BROKEN_FILE"


def test_a_book_without_a_container_is_damaged() -> None:
    with pytest.raises(InvalidArgument) as raised:
        epub.parse(zipped({"mimetype": "application/epub+zip"}))
    assert raised.value.reason == "BROKEN_FILE"
