"""OCR where it is installed, and a clear answer where it is not."""

import pytest

from services.retriever.parsing import ParserPool
from services.retriever.parsing.pdf import ocr
from services.rpc.errors import FailedPrecondition
from tests.retriever.parsing.pdfs import make

pytestmark = pytest.mark.integration

SCAN = make([b"q 612 0 0 792 0 0 cm /Im1 Do Q\n"])


@pytest.mark.skipif(not ocr.missing(), reason="OCR is installed")
async def test_what_is_missing_is_named() -> None:
    pool = ParserPool()
    with pytest.raises(FailedPrecondition, match="extra `ocr`") as refused:
        await pool.parse(SCAN, file_name="scan.pdf", ocr=True)
    assert refused.value.reason == "OCR_UNAVAILABLE"
    await pool.close()


@pytest.mark.skipif(bool(ocr.missing()), reason=f"OCR needs {ocr.missing()}")
async def test_a_scan_gets_a_text_layer() -> None:
    pool = ParserPool()
    document = await pool.parse(SCAN, file_name="scan.pdf", ocr=True)
    assert document.text_layer.startswith(b"%PDF-")
    assert len(document.pages) == 1
    await pool.close()


async def test_files_without_pages_need_no_ocr() -> None:
    pool = ParserPool()
    assert (await pool.parse(b"words", file_name="a.txt", ocr=True)).text == "words"
    await pool.close()
