"""Opening a PDF: by pdfium, and where pdfium gives up, once more after a repair. A picture opens as a scan.

repair.py is imported where a file needs it: most do not, and its libraries take 0.1 s and 30 MiB of addresses.
"""

import stringprep
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing import media
from services.retriever.parsing.pdf.pictures import Pictures
from services.rpc.errors import FailedPrecondition, FolioError, InvalidArgument

_BROTLI = b"/BrotliDecode"


@contextmanager
def opened(data: bytes, password: str = "", mend: bool = False) -> Iterator[pdfium.PdfDocument]:
    """An open document. Raises FailedPrecondition (locked) and InvalidArgument (wrong password, broken, no pages).

    A password that a file does not need does no harm. `mend`: repaired even though pdfium opens it, for pages that
    it cannot load.
    """
    if media.is_picture(data):
        with closing(Pictures(data)) as scan:
            yield scan
        return
    # pdfium reads from these bytes for as long as the document is open.
    document, held = _document(_prepared(data), password, mend)
    try:
        if len(document) == 0:
            raise InvalidArgument("the PDF has no pages", reason="NO_PAGES")
        yield document
    finally:
        document.close()
        del held


def _prepared(data: bytes) -> bytes:
    """The file from its header on, in ways of packing that pdfium knows."""
    start = media.pdf_header(data)
    data = data[start:] if start > 0 else data
    if _BROTLI in data:
        from services.retriever.parsing.pdf import repair

        data = repair.without_brotli(data)
    return data


def _document(data: bytes, password: str, mend: bool) -> tuple[pdfium.PdfDocument, bytes]:
    handle, code = _load(data, password)
    document = pdfium.PdfDocument(handle) if handle else None
    if document is not None and len(document) and not mend:
        return document, data
    from services.retriever.parsing.pdf import repair

    for mended in repair.attempts(data, password):
        handle, _ = _load(mended, "")
        if handle:
            if document is not None:
                document.close()
            return pdfium.PdfDocument(handle), mended
    if document is None:
        raise _failure(code, password)
    return document, data


def _load(data: bytes, password: str) -> tuple[object, int]:
    """A handle, else pdfium's error. By itself PdfDocument takes a file without pages for a failure, and names the one
    of an earlier file."""
    # PDF 2.0 prepares passwords by SASLprep; older writers took them as they were typed.
    code = c.FPDF_ERR_SUCCESS
    for candidate in dict.fromkeys(("", password, _saslprep(password))):
        handle = c.FPDF_LoadMemDocument64(
            data, len(data), candidate.encode() if candidate else None
        )
        if handle:
            return handle, c.FPDF_ERR_SUCCESS
        code = c.FPDF_GetLastError()
        if code != c.FPDF_ERR_PASSWORD:
            break
    return None, code


def _saslprep(password: str) -> str:
    """RFC 4013, the mapping: spaces to one kind, what is commonly mapped to nothing away, NFKC."""
    mapped = (
        " " if stringprep.in_table_c12(char) else char
        for char in password
        if not stringprep.in_table_b1(char)
    )
    return unicodedata.normalize("NFKC", "".join(mapped))


def _failure(code: int, password: str) -> FolioError:
    if code == c.FPDF_ERR_PASSWORD and password:
        return InvalidArgument.field("password", "does not open this PDF")
    if code == c.FPDF_ERR_PASSWORD:
        return FailedPrecondition(
            "the PDF is encrypted: give its password", reason="PASSWORD_REQUIRED"
        )
    if code == c.FPDF_ERR_SECURITY:
        return FailedPrecondition(
            "the PDF is encrypted in a way that cannot be read: store it without encryption",
            reason="UNSUPPORTED_ENCRYPTION",
        )
    return InvalidArgument(
        "the PDF is damaged and could not be repaired: open it in a viewer and save it again",
        reason="BROKEN_PDF",
    )
