"""Files that were made to do harm, or were harmed: through the processes that read files, under their limits."""

import io
import socket
import struct
import zipfile
from collections.abc import AsyncIterator

import pytest

from services.retriever.parsing import ParseLimits, ParserPool
from services.retriever.parsing.office.grid import letters
from services.rpc.errors import FailedPrecondition, FolioError, InvalidArgument, ResourceExhausted
from tests.retriever.parsing.office.files import (
    W,
    changed,
    parts,
    saved,
    sheet,
    slides,
    with_parts,
    word,
    zipped,
)

pytestmark = pytest.mark.integration

FILES = {
    "a.docx": word(),
    "a.xlsx": saved(sheet([["Item", "Price"], ["Nuts", 2]])),
    "a.pptx": slides(),
}
MAIN = {
    "a.docx": "word/document.xml",
    "a.xlsx": "xl/worksheets/sheet1.xml",
    "a.pptx": "ppt/slides/slide1.xml",
}


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    pool = ParserPool(ParseLimits())
    yield pool
    await pool.close()


async def failure(pool: ParserPool, data: bytes, name: str) -> FolioError:
    with pytest.raises(FolioError) as raised:
        await pool.parse(data, file_name=name)
    return raised.value


@pytest.mark.parametrize("name", FILES)
async def test_a_part_that_unpacks_to_more_than_the_limit_is_not_unpacked(
    pool: ParserPool, name: str
) -> None:
    files = parts(FILES[name])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in files.items():
            if part != MAIN[name]:
                archive.writestr(part, content)
        with archive.open(MAIN[name], "w", force_zip64=True) as target:
            for _ in range(40):
                target.write(bytes(2**22))
    error = await failure(pool, file.getvalue(), name)
    assert isinstance(error, ResourceExhausted)
    assert error.reason == "TOO_LARGE"


async def test_a_part_that_lies_about_its_size_is_damaged(pool: ParserPool) -> None:
    size = 123_456_789
    data = zipped({**parts(FILES["a.docx"]), MAIN["a.docx"]: bytes(size)})
    assert data.count(struct.pack("<I", size)) == 2
    data = data.replace(struct.pack("<I", size), struct.pack("<I", 5_000))
    error = await failure(pool, data, "a.docx")
    assert error.reason == "BROKEN_FILE"


@pytest.mark.parametrize("name", FILES)
async def test_entities_are_never_expanded(pool: ParserPool, name: str) -> None:
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
        f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9)
    )

    def declared(text: str) -> str:
        start = text.index("?>") + 2 if text.startswith("<?xml") else 0
        return text[:start] + bomb + "]>" + text[start:]

    error = await failure(pool, changed(FILES[name], MAIN[name], declared), name)
    assert error.reason == "BROKEN_FILE"


@pytest.mark.parametrize("name", FILES)
async def test_xml_that_nests_without_end_is_damaged(pool: ParserPool, name: str) -> None:
    deep = "<a>" * 100_000 + "</a>" * 100_000
    error = await failure(pool, zipped({**parts(FILES[name]), MAIN[name]: deep}), name)
    assert error.reason == "BROKEN_FILE"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "how", ["cut", "overwritten", "without its list", "without the part", "no XML"]
)
async def test_a_damaged_file_has_one_reason(pool: ParserPool, name: str, how: str) -> None:
    data = FILES[name]
    files = parts(data)
    match how:
        case "cut":
            data = data[: len(data) // 2]
        case "overwritten":
            at = data.index(MAIN[name].encode()) + len(MAIN[name]) + 40
            data = data[:at] + bytes(100) + data[at + 100 :]
        case "without its list":
            data = data[: data.index(b"PK\x01\x02")]
        case "without the part":
            kept = {
                part: content for part, content in files.items() if not part.startswith("_rels/")
            }
            data = zipped(kept)
        case "no XML":
            data = zipped({**files, MAIN[name]: b"\x00\x01 no xml"})
    for _ in range(2):
        error = await failure(pool, data, name)
        assert isinstance(error, InvalidArgument)
        assert error.reason == "BROKEN_FILE"
    # Whatever was read before, the next file is read.
    assert (await pool.parse(FILES[name], file_name=name)).text


async def test_an_entry_with_a_password_says_so(pool: ParserPool) -> None:
    data = bytearray(FILES["a.docx"])
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 1)
    error = await failure(pool, bytes(data), "a.docx")
    assert isinstance(error, FailedPrecondition)
    assert error.reason == "UNSUPPORTED_ENCRYPTION"


async def test_macros_and_embedded_files_are_not_read(pool: ParserPool) -> None:
    files = parts(FILES["a.docx"])
    types = (
        files["[Content_Types].xml"]
        .decode()
        .replace(
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            "application/vnd.ms-word.document.macroEnabled.main+xml",
        )
    )
    data = zipped(
        {
            **files,
            "[Content_Types].xml": types,
            "word/vbaProject.bin": b"Sub AutoOpen",
            "word/embeddings/oleObject1.bin": b"x",
        }
    )
    found = await pool.parse(data, file_name="a.docm")
    assert found.text == "A line."
    assert found.warnings == ("macros not read", "embedded files not read: 1")


async def test_nothing_outside_the_file_is_ever_opened(pool: ParserPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        notes = f'<?xml version="1.0"?><w:footnotes {W}/>'
        data = with_parts(word(), "word/document.xml", ("word/footnotes.xml", "footnotes", notes))
        kinds = (
            "attachedTemplate",
            "image",
            "frame",
            "subDocument",
            "oleObject",
            "aFChunk",
            "styles",
        )
        links = "".join(
            f'<Relationship Id="x{kind}" TargetMode="External" Target="{address}/{kind}"'
            f' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/>'
            for kind in kinds
        )
        data = changed(
            data,
            "word/_rels/document.xml.rels",
            lambda text: text.replace("</Relationships>", f"{links}</Relationships>"),
        )
        data = changed(
            data,
            "word/document.xml",
            lambda text: text.replace(
                "<w:body>",
                '<w:body><w:altChunk xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
                ' r:id="xaFChunk"/>',
            ),
        )
        found = await pool.parse(data, file_name="a.docx")
        assert "A line." in found.text
        assert any(
            f"links to other files not followed: {len(kinds)}" in told for told in found.warnings
        )
        dtd = f'<!DOCTYPE container SYSTEM "{address}/a.dtd" [<!ENTITY % b SYSTEM "{address}/b"> %b;]>'
        container = '<container><rootfile full-path="a.opf"/></container>'
        book = zipped(
            {
                "mimetype": "application/epub+zip",
                "META-INF/container.xml": dtd + container,
                "a.opf": '<package><manifest><item id="a" href="a.html" media-type="text/html"/></manifest>'
                '<spine><itemref idref="a"/></spine></package>',
                "a.html": f'<p>Words.<img src="{address}/c"><link rel="stylesheet" href="{address}/d">',
            },
            "mimetype",
        )
        assert (await pool.parse(book, file_name="a.epub")).text == "Words."
        with pytest.raises(TimeoutError):
            server.accept()


async def test_names_that_lead_out_of_the_archive_lead_nowhere(pool: ParserPool) -> None:
    data = changed(
        FILES["a.docx"],
        "_rels/.rels",
        lambda text: text.replace('Target="word/document.xml"', 'Target="../../../../etc/passwd"'),
    )
    assert (await failure(pool, data, "a.docx")).reason == "BROKEN_FILE"


@pytest.mark.slow
async def test_a_workbook_of_many_cells_is_read_within_the_limits() -> None:
    row = "".join('<c t="str"><v>PX-100</v></c><c><v>12.5</v></c>' for _ in range(10))
    rows = f"<row>{row}</row>" * 12_000
    files = parts(FILES["a.xlsx"])
    files["xl/worksheets/sheet1.xml"] = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{rows}</sheetData></worksheet>"
    ).encode()
    pool = ParserPool(ParseLimits())
    found = await pool.parse(zipped(files), file_name="a.xlsx")
    await pool.close()
    assert any("the workbook has more than" in told for told in found.warnings)
    assert pool.stats.peak_memory < 2**30


async def test_a_sheet_with_a_cell_in_every_row_and_column_costs_no_more_than_its_cells(
    pool: ParserPool,
) -> None:
    rows = "".join(
        f'<row r="{i}"><c r="{letters(i)}{i}" t="str"><v>PX-{i}</v></c></row>'
        for i in range(1, 10_001)
    )
    files = parts(FILES["a.xlsx"])
    files["xl/worksheets/sheet1.xml"] = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{rows}</sheetData></worksheet>"
    ).encode()
    found = await pool.parse(zipped(files), file_name="a.xlsx")
    assert found.text.endswith("PX-10000")
    assert found.tables == ()


async def test_a_paragraph_of_many_raised_letters_costs_no_more_than_its_letters(
    pool: ParserPool,
) -> None:
    pair = (
        "<w:r><w:t>12</w:t></w:r>"
        '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>3</w:t></w:r>'
    )
    data = changed(
        FILES["a.docx"],
        MAIN["a.docx"],
        lambda text: text.replace("<w:body>", f"<w:body><w:p>{pair * 30_000}</w:p>"),
    )
    assert (await pool.parse(data, file_name="a.docx")).text.count("12[^3]") == 30_000
