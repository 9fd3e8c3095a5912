"""The file formats that Folio reads: the one list, for the service that parses them and for who picks files to send.

Pure, so that a client needs no parser library to know it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self


class MediaType(StrEnum):
    """A format, one line each: its media type, what people call it, and how its files' names end."""

    PDF = "application/pdf", "PDF", ".pdf"
    MARKDOWN = "text/markdown", "Markdown", ".md", ".markdown"
    HTML = "text/html", "HTML", ".html", ".htm", ".xhtml"
    TEXT = "text/plain", "plain text", ".txt"

    called: str
    suffixes: tuple[str, ...]

    def __new__(cls, media_type: str, called: str = "", *suffixes: str) -> Self:
        member = str.__new__(cls, media_type)
        member._value_ = media_type
        member.called, member.suffixes = called, suffixes
        return member


SUFFIXES: Mapping[str, MediaType] = {
    suffix: format for format in MediaType for suffix in format.suffixes
}
"""By the ending of a file's name, in lower case and with its dot."""
