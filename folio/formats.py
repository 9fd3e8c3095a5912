"""The file formats that Folio reads: the one list, for the service that parses them and for who picks files to send.

Pure, so that a client needs no parser library to know it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

_OOXML = "application/vnd.openxmlformats-officedocument"
# With macros, which are not read, and templates: the same formats under other names.
_DOCX = (".docx", ".docm", ".dotx", ".dotm")
_PPTX = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm")
_XLSX = (".xlsx", ".xlsm", ".xltx", ".xltm")


class PageKind(StrEnum):
    """What the pages of a file are, as `folio.common.v1.PageKind` has it: what a page's label names."""

    PAGE = "page"
    SLIDE = "slide"
    SHEET = "sheet"
    CHAPTER = "chapter"
    NONE = "none"
    """The file has none: it is one page here, and a place in it is named by its heading or its cell."""


class MediaType(StrEnum):
    """A format, one line each: its media type, what people call it, what its pages are, its files' endings."""

    PDF = "application/pdf", "PDF", PageKind.PAGE, ".pdf"
    MARKDOWN = "text/markdown", "Markdown", PageKind.NONE, ".md", ".markdown"
    HTML = "text/html", "HTML", PageKind.NONE, ".html", ".htm", ".xhtml"
    TEXT = "text/plain", "plain text", PageKind.PAGE, ".txt"
    DOCX = f"{_OOXML}.wordprocessingml.document", "Word (docx)", PageKind.NONE, *_DOCX
    PPTX = f"{_OOXML}.presentationml.presentation", "PowerPoint (pptx)", PageKind.SLIDE, *_PPTX
    XLSX = f"{_OOXML}.spreadsheetml.sheet", "Excel (xlsx)", PageKind.SHEET, *_XLSX
    CSV = "text/csv", "CSV", PageKind.NONE, ".csv"
    TSV = "text/tab-separated-values", "TSV", PageKind.NONE, ".tsv", ".tab"
    EML = "message/rfc822", "e-mail (eml)", PageKind.NONE, ".eml"
    EPUB = "application/epub+zip", "EPUB", PageKind.CHAPTER, ".epub"
    PNG = "image/png", "PNG", PageKind.PAGE, ".png"
    JPEG = "image/jpeg", "JPEG", PageKind.PAGE, ".jpg", ".jpeg"
    TIFF = "image/tiff", "TIFF", PageKind.PAGE, ".tif", ".tiff"

    called: str
    pages_are: PageKind
    suffixes: tuple[str, ...]

    def __new__(
        cls,
        media_type: str,
        called: str = "",
        pages_are: PageKind = PageKind.NONE,
        *suffixes: str,
    ) -> Self:
        member = str.__new__(cls, media_type)
        member._value_ = media_type
        member.called, member.pages_are, member.suffixes = called, pages_are, suffixes
        return member


SUFFIXES: Mapping[str, MediaType] = {
    suffix: format for format in MediaType for suffix in format.suffixes
}
"""By the ending of a file's name, in lower case and with its dot."""
PICTURES = frozenset((MediaType.PNG, MediaType.JPEG, MediaType.TIFF))
"""Formats that hold no text: OCR reads it."""
DRAWN = PICTURES | {MediaType.PDF}
"""Formats whose pages can be shown, with the place of a quote."""
